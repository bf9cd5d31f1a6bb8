"""A trace/1 of a training step, by hooks instead of a profiler."""

import contextlib
import dataclasses
import datetime
import functools
import json
import platform
import re
import statistics
import time
from pathlib import Path

import torch

from syncopate.common.errors import InputError
from syncopate.common.reading import shown
from syncopate.common.wording import counted, duration
from syncopate.common.writing import write
from syncopate.torch.hooks import on_gradient

LEAST_STEPS = 3


def record(model, step, optimizer, *, batch, output=None, name=None, steps=20, warmup=5):
    """A trace/1 (a dict) of your own training step, in fp32 or any other format, without the profiler:

        trace = record(model, lambda: train_step(next(batches)), optimizer, batch=32, output="mine.json")

    `step()` does one whole training step: one forward of `model`, one backward (loss.backward()), one optimizer.step(). It is called
    `warmup` + 2 x `steps` times and trains the model. `batch`: samples in a step. `output`: the file to write. `name`: of the model in the
    trace; default: its class. Record on one process, without DistributedDataParallel or MergedGradients: the trace is what one device
    computes.

    Layers are modules that own parameters. A layer's forward ends when its module's forward ends, and begins where the layer's before it
    ended; its backward begins when the gradient of its output is there, and ends where the next layer's begins. So all between counts, and
    the sum is the whole: the loss is the last layer's. `update_s` is from the end of backward to the end of optimizer.step().

    Steps with and without hooks take turns. `iteration` and `update_s` are medians of those without. Layers and gradients are medians of
    those with, scaled to the others' forward and backward. What the hooks cost stands in the provenance's note. Times are the host's on a
    CPU; on a GPU, of CUDA events, with the host waiting for the GPU between steps.

    Raises InputError if a step is not as said above, or if a trainable parameter gets no gradient; OutputError if the file cannot be
    written."""
    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        raise InputError("record: the model is wrapped in DistributedDataParallel, so backward would wait for others; record the model inside it, on one "
                         "process")
    if steps < LEAST_STEPS or warmup < 1 or batch < 1:
        raise InputError(f"record: expected batch >= 1, steps >= {LEAST_STEPS} and warmup >= 1, got {batch}, {steps} and {warmup}")
    recorder = _Recorder(model, optimizer)
    for _ in range(warmup):
        recorder.run(step, with_hooks=False)
    plain, hooked = [], []
    for _ in range(steps):
        plain.append(recorder.run(step, with_hooks=False))
        hooked.append(recorder.run(step, with_hooks=True))
    trace = _trace(recorder, plain, hooked, {"batch": batch, "name": name or type(model).__name__, "warmup": warmup})
    if output is not None:
        write(Path(output), (json.dumps(trace, indent=1) + "\n").encode())
    return trace


class _HostClock:
    kind, description = "cpu", "the host's"

    def __init__(self):
        self.name = platform.processor() or platform.machine()
        with contextlib.suppress(OSError):
            self.name = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)[1]
        self.name += f", {counted(torch.get_num_threads(), 'thread')}"
        self.mark = time.perf_counter

    def between(self, first, second):
        return second - first

    def settle(self):
        pass


class _CudaClock:
    kind, description = "gpu", "CUDA events"

    def __init__(self, device):
        self.device, self.name = device, torch.cuda.get_device_name(device)

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self.device))
        return event

    def between(self, first, second):
        return first.elapsed_time(second) / 1000

    def settle(self):
        torch.cuda.synchronize(self.device)


@dataclasses.dataclass
class _Marks:
    """When things happened in a step, as marks of the clock; lists in the order of events."""

    steps: list = dataclasses.field(default_factory=list)          # begin and end
    forwards: list = dataclasses.field(default_factory=list)       # begin of the model's
    backwards: list = dataclasses.field(default_factory=list)      # (begin, end)
    updates: list = dataclasses.field(default_factory=list)        # end of optimizer.step()
    layers: list = dataclasses.field(default_factory=list)         # (layer, end of its forward)
    gradients: list = dataclasses.field(default_factory=list)      # (layer, begin of its backward)
    parameters: dict = dataclasses.field(default_factory=dict)     # name: its gradient is ready


class _Recorder:
    """Runs steps and marks their events. `layers`: names of modules that own parameters, in order of declaration."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.parameters = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
        if not self.parameters:
            raise InputError("record: no parameter of the model is trainable (requires_grad)")
        device = next(iter(self.parameters.values())).device
        if device.type not in ("cpu", "cuda"):
            raise InputError(f"record: the model is on {device}; only cpu and cuda can be recorded")
        self.clock = _HostClock() if device.type == "cpu" else _CudaClock(device)
        self.modules = {name or f"({type(module).__name__})": module for name, module in model.named_modules()
                        if any(True for _ in module.parameters(recurse=False))}
        self.layer_of = {}
        for name, module in self.modules.items():
            for parameter in module.parameters(recurse=False):
                self.layer_of.setdefault(parameter, name)
        self.marks, self.depth = None, 0           # depth: of backwards, as checkpoint() calls them inside one

    def run(self, step, with_hooks):
        """Seconds of a step and of its parts; see _Recorder.seconds."""
        self.marks = _Marks()
        with contextlib.ExitStack() as stack:
            stack.enter_context(_replaced(torch.autograd, "backward", self.mark_backward))
            stack.enter_context(_replaced(self.optimizer, "step", self.mark_update))
            handles = [self.model.register_forward_pre_hook(self.forward_begins)]
            if with_hooks:
                handles += [module.register_forward_hook(functools.partial(self.layer_ends, name)) for name, module in self.modules.items()]
                handles += [on_gradient(parameter, functools.partial(self.gradient_ready, name)) for name, parameter in self.parameters.items()]
            for handle in handles:
                stack.callback(handle.remove)
            self.clock.settle()
            begin = self.clock.mark()
            step()
            self.marks.steps = [begin, self.clock.mark()]
            self.clock.settle()
        return self.seconds(with_hooks)

    def forward_begins(self, *_):
        if not self.depth:
            self.marks.forwards.append(self.clock.mark())

    def mark_backward(self, original):
        @functools.wraps(original)
        def backward(*arguments, **more):
            begin = None if self.depth else self.clock.mark()
            self.depth += 1
            try:
                original(*arguments, **more)
            finally:
                self.depth -= 1
            if begin is not None:
                self.marks.backwards.append((begin, self.clock.mark()))
        return backward

    def mark_update(self, original):
        @functools.wraps(original)
        def update(*arguments, **more):
            result = original(*arguments, **more)
            self.marks.updates.append(self.clock.mark())
            return result
        return update

    def layer_ends(self, name, _module, _inputs, outputs):
        if not self.depth:
            self.marks.layers.append((name, self.clock.mark()))
        for tensor in _tensors(outputs):
            if tensor.requires_grad:
                tensor.register_hook(lambda _: self.marks.gradients.append((name, self.clock.mark())))

    def gradient_ready(self, name):
        self.marks.parameters[name] = self.clock.mark()

    def seconds(self, with_hooks):
        """Of what the marks say: parts of the step; with hooks also `forwards` and `backwards` by layer, and `ready` by parameter."""
        marks, between = self.marks, self.clock.between
        for what, found in (("ran forward of the model", marks.forwards), ("ran loss.backward()", marks.backwards), ("called optimizer.step()", marks.updates)):
            if len(found) != 1:
                raise InputError(f"record: a step {what} {counted(len(found), 'time')}, expected once; record a step that does each once, without accumulation")
        begin, (backward, end) = marks.forwards[0], marks.backwards[0]
        parts = {"step": between(marks.steps[0], marks.steps[1]), "forward": between(begin, backward), "backward": between(backward, end),
                 "update": between(end, marks.updates[0])}
        if not with_hooks:
            return parts
        if not marks.layers or not marks.gradients:
            raise InputError("record: no module that owns parameters was called in forward with gradients; hooks see neither torch.jit's modules nor "
                             "modules whose parameters are only used from elsewhere")
        forwards, backwards = {}, {}
        for (name, layer_ends), before in zip(marks.layers, [begin, *(mark for _, mark in marks.layers)]):
            forwards[name] = forwards.get(name, 0.0) + between(before, layer_ends)
        forwards[marks.layers[-1][0]] += between(marks.layers[-1][1], backward)
        starts = [backward, *(mark for _, mark in marks.gradients[1:])]       # the loss's backward is the last layer's
        for (name, _), start, after in zip(marks.gradients, starts, [*starts[1:], end]):
            backwards[name] = backwards.get(name, 0.0) + between(start, after)
        return parts | {"forwards": forwards, "backwards": backwards, "ready": {name: between(backward, mark) for name, mark in marks.parameters.items()}}


@contextlib.contextmanager
def _replaced(owner, name, make):
    """Inside, owner.name is make(what it was)."""
    original, is_own = getattr(owner, name), name in vars(owner)
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        if is_own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)


def _tensors(value):
    """The tensors in what a module returns."""
    if isinstance(value, torch.Tensor):
        yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from _tensors(vars(value))
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(item)


def _type_of(module):
    """batch_norm for BatchNorm2d, as in a model/1 file."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(module).__name__).lower()
    return re.sub(r"(?<=norm)\dd$", "", words)


def _in_forward_order(declared, called):
    """Those that were called in that order; each other one after the one that is declared before it."""
    order = list(dict.fromkeys(called))
    before = None
    for name in declared:
        if name not in order:
            order.insert(order.index(before) + 1 if before else 0, name)
        before = name
    return order


def _quartiles(values):
    return [statistics.quantiles(values, n=4, method="inclusive")[place] for place in (0, 2)]


def _trace(recorder, plain, hooked, about):
    spans = {part: statistics.median(step[part] for step in plain) for part in ("step", "forward", "backward", "update")}
    with_hooks = {part: statistics.median(step[part] for step in hooked) for part in ("step", "forward", "backward")}
    scale = {part: spans[part] / with_hooks[part] for part in ("forward", "backward")}
    layers = []
    for name in _in_forward_order(recorder.modules, hooked[0]["forwards"]):
        layer = {"name": name, "type": _type_of(recorder.modules[name])}
        for part in ("forward", "backward"):
            values = [scale[part] * step[f"{part}s"].get(name, 0.0) for step in hooked]
            layer |= {f"{part}_s": statistics.median(values), f"{part}_quartiles_s": _quartiles(values)}
        layers.append(layer)
    ready = {}
    for name in recorder.parameters:
        values = [step["ready"][name] for step in hooked if name in step["ready"]]
        if not values:
            raise InputError(f"record: parameter {shown(name)} got no gradient in any recorded step; freeze what is never trained (requires_grad = False)")
        ready[name] = min(scale["backward"] * statistics.median(values), spans["backward"])
    first = list(hooked[0]["ready"])
    gradients = []
    for name in sorted(ready, key=lambda name: (ready[name], first.index(name) if name in first else len(first))):
        parameter = recorder.parameters[name]
        gradients.append({"name": name, "layer": recorder.layer_of[parameter], "bytes": parameter.numel() * parameter.element_size(),
                          **({"shape": list(parameter.shape)} if parameter.dim() else {}), "ready_s": ready[name]})
    cost = with_hooks["step"] / spans["step"] - 1
    covered = (spans["forward"] + spans["backward"] + spans["update"]) / spans["step"]
    dtypes = dict.fromkeys(str(parameter.dtype).removeprefix("torch.") for parameter in recorder.parameters.values())
    return {
        "format": "trace/1",
        "provenance": {
            "kind": "measured", "source": f"a training step of {about['name']}, recorded by syncopate.torch.record",
            "utc": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "note": f"the recorder's hooks change a step by {100 * cost:+.1f}%, from {duration(spans['step'])} to {duration(with_hooks['step'])} (medians of "
                    f"{len(plain)} steps each, in turns); layers and gradients are scaled to steps without hooks. Forward, backward and update are "
                    f"{100 * covered:.1f}% of a step"},
        "model": {"name": about["name"], "batch": about["batch"], "dtype": "+".join({"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}.get(name, name)
                                                                                    for name in dtypes)},
        "device": {"kind": recorder.clock.kind, "name": recorder.clock.name},
        "software": {"torch": torch.__version__, **({"cuda": torch.version.cuda} if recorder.clock.kind == "gpu" else {})},
        "timing": {"method": f"medians of {len(hooked)} steps", "clock": recorder.clock.description, "warmup": about["warmup"], "step_s": spans["step"],
                   "step_with_hooks_s": with_hooks["step"]},
        "update_s": spans["update"],
        "iteration": {"forward_s": spans["forward"], "backward_s": spans["backward"]},
        "layers": layers,
        "gradients": gradients,
    }
