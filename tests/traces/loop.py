"""A small training loop as torch.profiler writes it: linear layers on a GPU, whose times are known.

Every layer takes 100 us forward and 200 us backward, the optimiser 50 us. The CPU is ahead of the GPU, so nothing waits for launches."""
import json
import pathlib
import sys

FORWARD, BACKWARD = 1, 2  # threads
SHAPES = [[64], [64, 64]]  # of a layer's gradients, in the order of backward


class Loop:
    def __init__(self, steps=3, layers=2, shapes=True, pid=10, gpu=0, begin=1_000_000.0, device="Some GPU", category="kernel", runtime="cuda_runtime",
                 first=None):
        self.events, self.pid, self.gpu, self.shapes = [], pid, gpu, shapes
        self.category, self.runtime = category, runtime
        self.now, self.free, self.correlation, self.sequence = begin, begin, 0, 0
        self.header = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": device}] if device else []}
        self.layers, self.steps = layers, steps
        self.first = first  # number of the first ProfilerStep#, if there are such

    # What a subclass changes
    def after_layer(self, step, layer):
        """Called after a layer's forward operator."""

    def in_node(self, step, layer):
        """Called inside a layer's backward node, after its kernel was launched."""

    def after_gradients(self, step, layer):
        """Called after a layer's gradients."""

    def after_backward(self, step):
        """Called between backward and update."""

    def duration(self, step, layer, backward):
        return 200 if backward else 100

    def operator(self):
        return "aten::linear"

    def write(self, path):
        path.write_text(self.text(), encoding="utf-8")
        return path

    def text(self):
        return json.dumps(self.document())

    def document(self):
        for step in range(self.steps):
            begin, inside = max(self.now, self.free - 300), len(self.events)
            self.step(step if self.first is None else self.first + step)
            if self.first is not None:
                self.event("user_annotation", f"ProfilerStep#{self.first + step}", begin, self.now - begin, FORWARD, {}, at=inside)
        return self.header | {"traceEvents": self.events}

    def step(self, step):
        self.now = max(self.now, self.free - 300)
        for layer in range(self.layers):
            self.sequence += 1
            begin, inside = self.now, len(self.events)
            self.launch("gemm_forward", self.duration(step, layer, False), at=begin + 3)
            self.event("cpu_op", self.operator(), begin, 20, FORWARD, self.number() | self.inputs([[32, 64], [64, 64], [64]]), at=inside)
            self.event("cpu_op", "aten::addmm", begin + 1, 18, FORWARD, self.number() | self.inputs([[64], [32, 64], [64, 64]]), at=inside + 1)
            self.now += 21
            self.after_layer(step, layer)
        for layer in reversed(range(self.layers)):
            number = {"Sequence number": self.sequence - (self.layers - 1 - layer), "Fwd thread id": 1}
            self.event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", self.now, 20, BACKWARD, number)
            self.event("cpu_op", "AddmmBackward0", self.now + 1, 18, BACKWARD, number | self.inputs([[32, 64]]))
            self.launch("gemm_backward", self.duration(step, layer, True), at=self.now + 3, thread=BACKWARD)
            self.in_node(step, layer)
            self.now += 21
            for shape in SHAPES:
                self.accumulate(shape, "float")
            self.after_gradients(step, layer)
        self.after_backward(step)
        self.event("user_annotation", "Optimizer.step#SGD.step", self.now, 20, FORWARD, {})
        self.launch("foreach_add", 50, at=self.now + 3)
        self.now += 25

    def accumulate(self, shape, kind, thread=BACKWARD):
        name = "torch::autograd::AccumulateGrad"
        self.event("cpu_op", f"autograd::engine::evaluate_function: {name}", self.now, 4, thread, {})
        self.event("cpu_op", name, self.now + 1, 2, thread, self.inputs([shape], kind))
        self.now += 5

    def number(self):
        return {"Sequence number": self.sequence}

    def inputs(self, dims, kind="float"):
        return {"Input Dims": dims, "Input type": [kind] * len(dims)} if self.shapes else {}

    def launch(self, name, duration, at, thread=FORWARD, stream=7, after=None, args=()):
        """Launches a kernel; it starts when the GPU is free, and `after` a time. Returns its end."""
        self.correlation += 1
        start = max(self.free, at + 5, after or 0)
        self.event(self.runtime, "launchKernel", at, 1, thread, {"correlation": self.correlation})
        self.event(self.category, name, start, duration, stream, {"device": 0, "stream": stream, "correlation": self.correlation} | dict(args), pid=self.gpu)
        self.free = start + duration
        return self.free

    def event(self, category, name, start, duration, thread, args, pid=None, at=None):
        event = {"ph": "X", "cat": category, "name": name, "pid": self.pid if pid is None else pid, "tid": thread, "ts": start, "dur": duration, "args": args}
        self.events.insert(len(self.events) if at is None else at, event)


NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


class Rank(Loop):
    """One rank of a job. Rank 2 needs half as long again for its second layer from the fourth step on; the others wait for it."""

    def __init__(self, rank, ranks=4, **options):
        super().__init__(**options)
        self.rank = rank
        self.header |= {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}}

    def slow(self, step):
        return 1.5 if step >= 3 else 1.0

    def duration(self, step, layer, backward):
        return super().duration(step, layer, backward) * (self.slow(step) if (self.rank, layer) == (2, 1) else 1)

    def after_backward(self, step):
        late = 0 if self.rank == 2 else 300 * (self.slow(step) - 1)
        self.launch(NCCL, 400 + late, at=self.now, thread=BACKWARD, stream=20)


def write_job(folder):
    """The shipped example of a job's profiles."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(4):
        loop = Rank(rank, steps=6)
        loop.header["note"] = "written by tests/traces/loop.py, not measured"
        loop.write(folder / f"rank{rank}.json")


if __name__ == "__main__":
    write_job(pathlib.Path(sys.argv[1]))
