"""All-reduces of gradients in the groups of a plan."""

import contextlib
import functools
import json
import warnings

import torch
import torch.distributed as dist

from syncopate.common.errors import Failure, InputError
from syncopate.common.reading import shown
from syncopate.torch.hooks import on_gradient
from syncopate.torch.plan import parameters_of, read_plan


class MergedGradients:
    """Averages a model's gradients over all ranks in the groups of a plan, while backward runs:

        merged = MergedGradients(model, "plan.json")  # once, on every rank, after init_process_group; the model is where it trains
        loss_function(model(inputs), labels).backward()
        merged.wait(); optimizer.step()

    Takes the place of DistributedDataParallel: the model is not wrapped. A group is all-reduced, asynchronously, when all its gradients are
    ready and the groups before it in the plan have been started, on every rank in the plan's order. Parameters and buffers become those of
    rank 0 at the beginning; later, buffers (such as batch_norm's running means) stay each rank's own.

    A parameter without a gradient counts as DDP's with find_unused_parameters: as zero if another rank has one; if none has, its grad stays
    as it is. Its group waits for wait(), and so do the groups after it: a warning names it once.

    `plan`: a plan/1 file, or a dict with its content. `process_group`: as of torch.distributed; default: all ranks.
    Raises InputError on all ranks, before anything is sent in training, if on one of them the plan is wrong, does not name every
    trainable parameter once or has other bytes, or if ranks differ in plans or in parameters' shapes."""

    def __init__(self, model, plan, process_group=None):
        if not dist.is_available() or not dist.is_initialized():
            raise Failure("MergedGradients: there is no process group; call torch.distributed.init_process_group first")
        self._process_group = process_group
        self._ranks = dist.get_world_size(process_group)
        if self._ranks < 1:
            raise Failure("MergedGradients: this rank is not in the process group; call it on the group's ranks only")
        groups = self._agree(model, plan)
        self._broadcast(model)
        self._groups = [_Group(members, self._ranks) for members in groups]
        self._started = 0             # groups whose all-reduce has been started since wait()
        self._synchronises = True
        self._has_warned = False
        self._hooks = [on_gradient(parameter, functools.partial(self._ready, group, place))
                       for group in self._groups for place, parameter in enumerate(group.parameters)]

    def wait(self):
        """Call it after the last backward of a step, before gradients are clipped and optimizer.step(): starts what has not been started,
        waits, and stores the averages in the parameters' grad. On a GPU only the stream waits."""
        missing = [name for group in self._groups[self._started:] for name, used in zip(group.names, group.used) if not used]
        if missing and not self._has_warned:
            warnings.warn(f"MergedGradients: parameter {shown(missing[0])} got no gradient (of {len(missing)} such): its group and those after it were sent "
                          "after backward. Freeze what is never trained (requires_grad = False), and make the plan without it", stacklevel=2)
            self._has_warned = True
        with torch.no_grad():
            self._start(len(self._groups))
            for group in self._groups:
                group.finish()
        self._started = 0

    @contextlib.contextmanager
    def no_sync(self):
        """Gradients of a backward inside are added up on the rank, and sent by the next backward outside:

            with merged.no_sync():
                loss_of(first_half).backward()
            loss_of(second_half).backward()
            merged.wait(); optimizer.step()
        """
        before, self._synchronises = self._synchronises, False
        try:
            yield
        finally:
            self._synchronises = before

    def close(self):
        """Removes the hooks: gradients are a rank's own again."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _agree(self, model, plan):
        """Parameters of each group, if every rank has the same."""
        groups, wrong, digest = [], None, None
        try:
            checked = read_plan(plan)
            groups = parameters_of(checked, model)
            digest = [checked.digest(), json.dumps([[name, str(parameter.dtype), *parameter.shape] for members in groups for name, parameter in members])]
        except InputError as error:
            wrong = error
        found = [None] * self._ranks
        dist.all_gather_object(found, (digest, wrong and str(wrong)), group=self._process_group)
        if wrong:
            raise wrong
        for rank, (_, message) in enumerate(found):
            if message:
                raise InputError(f"rank {rank} refuses its plan: {message}")
        for rank, ((other, shapes), _) in enumerate(found):
            first, first_shapes = found[0][0]
            if other != first:
                raise InputError(f"the plan of rank {rank} differs from that of rank 0; give every rank the same file")
            if shapes != first_shapes:
                mine, theirs = next((a, b) for a, b in zip(json.loads(first_shapes), json.loads(shapes)) if a != b)
                raise InputError(f"parameter {shown(mine[0])} is {mine[1]} {mine[2:]} on rank 0, but {theirs[1]} {theirs[2:]} on rank {rank}; "
                                 "make the same model on every rank")
        return groups

    def _broadcast(self, model):
        group = self._process_group
        source = 0 if group is None else getattr(dist, "get_global_rank", lambda group, rank: rank)(group, 0)
        with torch.no_grad():
            for tensor in [*model.parameters(), *model.buffers()]:
                whole = tensor.detach().contiguous()
                dist.broadcast(whole, source, group=group)
                tensor.copy_(whole)

    def _ready(self, group, place):
        """The gradient of a parameter has been added to its grad."""
        group.used[place] = True
        if group.is_ready[place]:
            raise Failure(f"MergedGradients: parameter {shown(group.names[place])} got a second gradient before wait(); call merged.wait() before each "
                          "optimizer.step(), run all backwards of a step but the last in merged.no_sync(), and give checkpoint() use_reentrant=False")
        if not self._synchronises:
            return
        with torch.no_grad():
            group.take(place)
            ready = self._started
            while ready < len(self._groups) and all(self._groups[ready].is_ready):
                ready += 1
            self._start(ready)

    def _start(self, end):
        """Starts the all-reduces of the groups before number `end` that have not been started."""
        while self._started < end:
            self._groups[self._started].start(self._process_group)
            self._started += 1


class _Group:
    """Parameters whose gradients are sent together; one all-reduce for each number format among them."""

    def __init__(self, members, ranks):
        self.names = [name for name, _ in members]
        self.parameters = [parameter for _, parameter in members]
        self.is_ready = [False] * len(members)    # the gradient is in the buffer
        self.used = [False] * len(members)        # it got a gradient since wait()
        self.work = []
        self._scale = 1.0 / ranks
        self._buffers = []
        self._parts = [None] * len(members)       # of each parameter: where its gradient stands, and 1 if this rank has one
        kinds = {}
        for place, parameter in enumerate(self.parameters):
            kinds.setdefault((parameter.device, parameter.dtype), []).append(place)
        for (device, dtype), places in kinds.items():
            sizes = [self.parameters[place].numel() for place in places]
            buffer = torch.zeros(sum(sizes) + len(places), dtype=dtype, device=device)
            flags = buffer[sum(sizes):]
            for number, (place, part) in enumerate(zip(places, buffer[:sum(sizes)].split(sizes))):
                self._parts[place] = part.view_as(self.parameters[place]), flags[number:number + 1]
            self._buffers.append(buffer)

    def take(self, place):
        """Moves a gradient, or zero where there is none, to the buffer."""
        gradient, (part, flag) = self.parameters[place].grad, self._parts[place]
        if gradient is None:
            part.zero_()
        elif gradient.layout != torch.strided:
            raise Failure(f"MergedGradients: the gradient of parameter {shown(self.names[place])} is sparse; make its layer with sparse=False")
        else:
            torch.mul(gradient, self._scale, out=part)
        flag.fill_(1.0 if self.used[place] else 0.0)
        self.is_ready[place] = True

    def start(self, process_group):
        for place, is_ready in enumerate(self.is_ready):
            if not is_ready:
                self.take(place)
        self.work = [dist.all_reduce(buffer, group=process_group, async_op=True) for buffer in self._buffers]

    def finish(self):
        for work in self.work:
            work.wait()
        for place, (parameter, (part, flag)) in enumerate(zip(self.parameters, self._parts)):
            if not self.used[place] and flag.item() == 0:
                continue                          # on no rank
            if parameter.grad is None:
                parameter.grad = torch.empty_like(parameter)
            parameter.grad.copy_(part)
        self.work = []
        self.is_ready = [False] * len(self.is_ready)
        self.used = [False] * len(self.used)
