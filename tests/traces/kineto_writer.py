"""Writes torch.profiler files of a simulated training loop, together with the trace that a correct import makes of them.

A CPU thread launches kernels onto a FIFO GPU stream. Times are whole nanoseconds; nothing here reads or shares code with the importer.
"""
import contextlib
import gzip
import json
import math
import pathlib
import random
import statistics
import sys
from dataclasses import dataclass, field
from typing import NamedTuple

US = 1000
EPOCH = 1700000000 * 10**9  # 2023-11-14T22:13:20Z
FORWARD, BACKWARD = 100, 200  # threads
OLD = {"cpu_op": "Operator", "user_annotation": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel", "gpu_memset": "Memset",
       "gpu_memcpy": "Memcpy"}
GPU = {
    "kernel": ("void gemm<float>(int, float*)", "cudaLaunchKernel", "kernel"),
    "memset": ("Memset (Device)", "cudaMemsetAsync", "gpu_memset"),
    "copy": ("Memcpy DtoD (Device -> Device)", "cudaMemcpyAsync", "gpu_memcpy"),
    "upload": ("Memcpy HtoD (Pageable -> Device)", "cudaMemcpyAsync", "gpu_memcpy"),  # of no layer
    "nccl": ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", "cudaLaunchKernelExC", "kernel"),
}


class Node(NamedTuple):
    """A backward node, the forward operator that creates it, and the gradients that AccumulateGrad takes right after it."""
    name: str
    creator: str
    kernels: list  # us, or (kind, us)
    shapes: list = []


class Layer(NamedTuple):
    operator: str
    inputs: list  # "Input Dims"
    forward: list
    nodes: list  # in backward order
    before: list = []  # kernels of an operator just before it that creates no node
    sums: list = []  # kernels in backward, of no node, just before this layer's


def conv2d(**more):
    return Layer("aten::conv2d", [[8, 3, 32, 32], [16, 3, 3, 3], [16]], [4, ("upload", 3), 60, ("memset", 2)],
                 [Node("ConvolutionBackward0", "aten::convolution", [("memset", 3), 70, 55], [[16, 3, 3, 3], [16]])], **more)


def relu(**more):
    return Layer("aten::relu_", [[8, 16, 32, 32]], [9], [Node("ReluBackward0", "aten::clamp_min_", [11])], **more)


BATCH_NORM = Layer("aten::batch_norm", [[8, 16, 32, 32], [16], [16]], [30],
                   [Node("CudnnBatchNormBackward0", "aten::_batch_norm_impl_index", [45], [[16], [16]])], before=[2])
ADD = Layer("aten::add_", [[8, 16, 32, 32], [8, 16, 32, 32]], [("copy", 6), 12], [Node("AddBackward0", "aten::add_", [])])
LINEAR = Layer("aten::linear", [[8, 4096], [10, 4096], [10]], [21],
               [Node("AddmmBackward0", "aten::addmm", [17, 23, 5], [[10]]), Node("TBackward0", "aten::t", [], [[10, 4096]])])
LOSS = Layer("aten::cross_entropy_loss", [[8, 10], [8]], [4, 3],
             [Node("NllLossBackward0", "aten::nll_loss_nd", [("memset", 1), 2]), Node("LogSoftmaxBackward0", "aten::log_softmax", [3])])
EMBEDDING = Layer("aten::embedding", [[100, 64], [8, 12], []], [14], [Node("EmbeddingBackward0", "aten::embedding", [33], [[100, 64]])])
SMALL = [conv2d(), BATCH_NORM, LINEAR]
RESIDUAL = [conv2d(), BATCH_NORM, relu(sums=[8]), conv2d(sums=[7]), BATCH_NORM, ADD, relu(), LINEAR, LOSS]


@dataclass
class Profile:
    layers: list = field(default_factory=lambda: SMALL)
    steps: int = 5
    old: bool = False
    cpu: bool = False  # the operators do the work themselves, and there is no GPU
    integer: bool = False  # whole microseconds of the epoch, else fractions since baseTimeNanoseconds
    world: int = 1  # more than one: DDP, its NCCL kernels on a stream of their own
    optimizer: bool = True
    annotated: bool = True  # ProfilerStep#
    cut_start: bool = False  # the window opens in the first step's backward
    cut_end: bool = False  # the window closes in the last step's backward
    other: tuple = ()  # steps that run another operator
    odd: bool = False  # events that an import must ignore
    shuffled: bool = False  # events in no order, a late one first
    dtype: str = "float"  # of gradients, as "Input type" has it
    shapes: bool = True  # record_shapes
    stack: int = 0  # bytes of "Call stack"
    root: dict = field(default_factory=dict)

    def write(self, path):
        path = pathlib.Path(path)
        with (gzip.open(path, "wt") if path.suffix == ".gz" else open(path, "w", encoding="utf-8")) as file:
            file.write(json.dumps(self.header())[:-1] + ', "traceEvents": [\n')
            for index, event in enumerate(self.events()):
                file.write((",\n" if index else "") + json.dumps(event))
            file.write("\n]}\n")
        return path

    def document(self):
        return self.header() | {"traceEvents": list(self.events())}

    def header(self):
        header = {"schemaVersion": 1} | ({} if self.cpu else {"deviceProperties": [{"id": 0, "name": "Simulated GPU", "numSms": 80}]})
        if not self.integer:
            header["baseTimeNanoseconds"] = EPOCH
        if self.world > 1:
            header["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": self.world}
        return header | self.root

    def events(self):
        self.random = random.Random(1)
        self.now, self.free, self.correlation, self.sequence, self.thread = 100 * US, {}, 0, 890, FORWARD
        self.closed = {}  # spans of operators that have ended, the last of each name
        self.kept = []  # what an import must find in each step that counts
        events = self.events_of_steps()
        if self.shuffled:
            events = list(events)
            random.Random(2).shuffle(events)
            events.insert(0, events.pop(events.index(max(events, key=lambda event: event["ts"]))))
        yield from events

    def events_of_steps(self):
        for step in range(self.steps):
            self.pending = []
            other = step in self.other
            found, middle = self.step(step, [*self.layers[:1], relu(), *self.layers[1:]] if other else self.layers)
            opens = middle if self.cut_start and step == 0 else 0
            closes = middle if self.cut_end and step == self.steps - 1 else math.inf
            if not other and not opens and closes == math.inf:
                self.kept.append(found)
            yield from (event for start, end, event in self.pending if opens <= start and end <= closes)
        if self.odd:
            yield from self.odd_events()

    def step(self, number, layers):
        forward, backward = [[] for _ in layers], [[] for _ in layers]
        ready, in_backward, update = [], [], []
        name = f"ProfilerStep#{number}"
        with self.operator(name, "user_annotation") if self.annotated else contextlib.nullcontext():
            with self.operator("aten::to", number=self.sequence), self.operator("aten::copy_", number=self.sequence):
                self.launch(("upload", 40))
            for layer, kernels in zip(layers, forward):
                if layer.before:
                    with self.operator("aten::add_", number=self.sequence):
                        self.launch_all(layer.before)
                with self.operator(layer.operator, number=self.sequence, inputs=layer.inputs):
                    for node in reversed(layer.nodes):
                        with self.operator(node.creator, number=self.sequence), self.operator("aten::empty"):
                            pass
                        with self.operator(node.creator, number=self.sequence):
                            if node is layer.nodes[0]:
                                kernels += self.launch_all(layer.forward)
                        self.sequence += 1
                self.own_time(kernels, layer.operator)
            if self.old:
                with self.operator("Optimizer.zero_grad#SGD.zero_grad", "user_annotation"):
                    with self.operator("aten::zero_", number=self.sequence):
                        self.launch(2)
            with self.operator("aten::ones_like", number=self.sequence):
                self.launch(1)
            self.thread, number, middle = BACKWARD, self.sequence, 0
            self.now += 30 * US
            for position, (layer, kernels) in enumerate(zip(reversed(layers), reversed(backward))):
                if position == len(layers) // 2:
                    middle = self.now
                if layer.sums:
                    with self.operator("aten::add"):
                        in_backward += self.launch_all(layer.sums)
                for node in layer.nodes:
                    number -= 1
                    done = len(kernels)
                    with self.node(node.name, number):
                        kernels += self.launch_all(node.kernels)
                    self.own_time(kernels, node.name.rstrip("0") if self.old else node.name, done)
                    in_backward += kernels
                    for shape in node.shapes:
                        done = len(kernels)
                        with self.accumulate(shape):
                            if self.old:
                                with self.operator("aten::add_"):
                                    kernels += self.launch_all([1])
                        self.own_time(kernels, "torch::autograd::AccumulateGrad", done)
                        in_backward += kernels
                        ready.append(in_backward[-1][1])
            self.thread = FORWARD
            if self.optimizer:
                with self.operator("Optimizer.step#SGD.step", "user_annotation"):
                    for size in (9, 13):
                        with self.operator("aten::_foreach_add_"):
                            update += self.launch_all([size])
                self.own_time(update, "Optimizer.step#SGD.step")
        start = in_backward[0][0]
        return {"layers": [[sum(end - begin for begin, end in side) for side in pair] for pair in zip(forward, backward)],
                "ready": [end - start for end in ready],
                "spans": [max(end for _, end in span) - min(begin for begin, _ in span) if span else 0
                          for span in (sum(forward, []), in_backward, update)]}, middle

    @contextlib.contextmanager
    def operator(self, name, category="cpu_op", number=None, forward_thread=0, inputs=None, types=None):
        start, args = self.now, {"External id": len(self.pending)}
        if number is not None:
            args |= {"Fwd thread id": forward_thread, "Sequence number": number}
        if inputs is not None and self.shapes:
            args |= {"Input Dims": inputs, "Input type": types or ["float"] * len(inputs)}
        if self.stack:
            args["Call stack"] = f"train.py({len(self.pending)}): step;"[:self.stack].ljust(self.stack, "s")
        self.now += 2 * US
        yield
        self.now += 1 * US
        self.closed[name] = (start, self.now)
        self.emit(category, name, start, self.now - start, args)

    @contextlib.contextmanager
    def node(self, name, number):
        with contextlib.ExitStack() as stack:
            if not self.old:
                stack.enter_context(self.operator(f"autograd::engine::evaluate_function: {name}", number=number, forward_thread=1))
            stack.enter_context(self.operator(name.rstrip("0") if self.old else name, number=number, forward_thread=1))
            yield

    @contextlib.contextmanager
    def accumulate(self, shape):
        name = "torch::autograd::AccumulateGrad"
        with contextlib.nullcontext() if self.old else self.operator(f"autograd::engine::evaluate_function: {name}"):
            with self.operator(name, inputs=[shape], types=[self.dtype]):
                yield
            if self.world > 1:
                self.launch(("nccl", 90), stream=20)

    def own_time(self, kernels, operator, done=0):
        """On the CPU an operator's time takes the place of what it launched."""
        if self.cpu:
            kernels[done:] = [self.closed[operator]]

    def launch_all(self, kernels):
        """Launches them; returns the spans of those that count as a layer's time."""
        spans = [(kernel, self.launch(kernel)) for kernel in kernels]
        return [span for kernel, span in spans if not (isinstance(kernel, tuple) and kernel[0] == "upload")]

    def launch(self, kernel, stream=7):
        kind, duration = ("kernel", kernel) if not isinstance(kernel, tuple) else kernel
        name, call, category = GPU[kind]
        duration = round(duration * US * self.random.uniform(0.9, 1.1))
        duration -= duration % US if self.integer and duration > US else 0
        duration = max(duration, US) if self.integer else duration
        if self.cpu:
            self.now += duration
            return self.now - duration, self.now
        self.correlation += 1
        start = max(self.now + 7 * US, self.free.get(stream, 0), self.free.get(7, 0) if kind == "nccl" else 0)
        self.free[stream] = start + duration + US
        device = {"device": 0, "context": 1, "stream": stream, "correlation": self.correlation}
        self.emit("cuda_runtime", call, self.now, 5 * US, {"cbid": 211, "correlation": self.correlation})
        self.emit(category, name, start, duration, device, pid=0, thread=f"stream {stream}" if self.old else stream)
        if self.odd:
            self.pending += [(0, 0, {"ph": phase, "id": self.correlation, "pid": 1, "tid": FORWARD, "ts": self.time(self.now),
                                     "cat": "ac2g", "name": "ac2g", "bp": "e"}) for phase in "sf"]
            self.emit("kernel", name, -EPOCH if self.integer else 0, 5 * US, device, pid=0, thread=7)
        self.now += 6 * US
        return start, start + duration

    def emit(self, category, name, start, duration, args, pid=1, thread=None):
        thread = thread or (str(self.thread) if self.old else self.thread)
        self.pending.append((start, start + duration, {
            "ph": "X", "cat": OLD[category] if self.old else category, "name": name, "pid": pid, "tid": thread,
            "ts": self.time(start), "dur": duration // US if self.integer else duration / US, "args": args}))

    def time(self, start):
        return (EPOCH + start) // US if self.integer else start / US

    def odd_events(self):
        self.pending = []
        for index in range(5):
            self.emit("cuda_runtime", "cudaLaunchKernel", (index + 1) * 150 * US, US, {"correlation": 10**6 + index})
            self.emit("kernel", "lost", (index + 1) * 170 * US, 3 * US, {"correlation": 2 * 10**6 + index}, pid=0, thread=7)
            self.emit("cuda_runtime", "cudaStreamSynchronize", (index + 1) * 190 * US, US, {"correlation": 3 * 10**6 + index})
        end = self.now
        span = {"ph": "X", "ts": self.time(0), "dur": end // US}
        for event in [
                {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": FORWARD, "ts": self.time(end // 2), "args": {"Bytes": 512}},
                {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": self.time(end)},
                {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": self.time(0), "args": {"name": "python"}},
                span | {"cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler"},
                span | {"cat": "python_function", "name": "train.py(1): <module>", "pid": 1, "tid": FORWARD},
                span | {"cat": "gpu_user_annotation", "name": "ProfilerStep#1", "pid": 0, "tid": 7},
                span | {"cat": "gpu_user_annotation", "name": "Optimizer.step#SGD.step", "pid": 0, "tid": 7}]:
            self.pending.append((0, 0, event))
        return [event for _, _, event in self.pending]

    def trace(self):
        """What a correct import makes of it, once the events have been made."""
        def over(pick):
            """Median and quartiles over the steps, in seconds."""
            values = sorted(pick(step) * 1e-9 for step in self.kept)
            ranks = [(len(values) - 1) * part for part in (0.25, 0.75)]
            return statistics.median(values), [values[int(r)] + (r - int(r)) * (values[math.ceil(r)] - values[int(r)]) for r in ranks]

        layers, gradients, counts = [], [], {}
        for index, layer in enumerate(self.layers):
            kind = layer.operator.removeprefix("aten::").removesuffix("_")
            counts[kind] = counts.get(kind, 0) + 1
            layers.append({"name": f"{kind}_{counts[kind]}", "type": kind})
            for side, key in enumerate(("forward", "backward")):
                layers[-1][f"{key}_s"], layers[-1][f"{key}_quartiles_s"] = over(lambda step: step["layers"][index][side])
        for layer, made in zip(reversed(self.layers), reversed(layers)):
            for index, shape in enumerate(shape for node in layer.nodes for shape in node.shapes):
                size = math.prod(shape) * (4 if self.dtype == "float" else 2)
                gradients.append({"name": f"{made['name']}.{index}", "layer": made["name"], "bytes": size, "shape": shape,
                                  "ready_s": over(lambda step: step["ready"][len(gradients)])[0]})
        forward, backward, update = (over(lambda step: step["spans"][index])[0] for index in range(3))
        return {"update_s": update, "iteration": {"forward_s": forward, "backward_s": backward}, "layers": layers, "gradients": gradients}


if __name__ == "__main__":
    Profile(root={"note": "written by tests/traces/kineto_writer.py, not measured"}).write(sys.argv[1])
