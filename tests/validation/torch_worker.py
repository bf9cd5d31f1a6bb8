"""One process of a PyTorch job. Its layers sleep where a GPU would compute, or compute themselves; everything else is what PyTorch does.

torch_worker.py JOBS RANK RANKS ADDRESS OUT: runs every job of the file JOBS with the others, and writes when its repetitions began and ended,
on the machine's clock. torch_jobs.py says what JOBS holds. With `probe` in place of jobs, OUT gets what syncopate.torch.probe measures; with
`record`, a trace of the model's training step, recorded while the others record theirs, and how much longer the step takes beside all-reduces."""
import datetime
import json
import math
import os
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "analysis"))

from syncopate.torch import MergedGradients, probe, record
from syncopate.torch.checking import buckets_of, compared_buckets
from syncopate.torch.plan import read_plan

TIMEOUT = datetime.timedelta(seconds=300)
INTERFACE = "eth0"


class Clock:
    """The time up to which a worker has computed. It goes on from where it was, so that what a sleep is late by does not add up."""

    def __init__(self):
        self.now = self.begin = time.monotonic()

    def phase(self):
        """Begins forward or backward, where the one before ended."""
        self.begin = self.now

    def sleep_until(self, seconds):
        """Seconds since the phase began."""
        self.now = self.begin + seconds
        left = self.now - time.monotonic()
        if left > 0:
            time.sleep(left)

    def catch_up(self):
        self.now = max(self.now, time.monotonic())


class SleepingGradient(torch.autograd.Function):
    """Forward ends when the layer's does; backward makes the gradient of a parameter when the trace says."""

    @staticmethod
    def forward(context, data, parameter, clock, ends, ready):
        context.clock, context.ready, context.like = clock, ready, parameter
        clock.sleep_until(ends)
        return data.view_as(data)

    @staticmethod
    def backward(context, gradient):
        context.clock.sleep_until(context.ready)
        return gradient, torch.zeros_like(context.like), None, None, None


class Edge(torch.autograd.Function):
    """The first layer of a model, whose backward ends last, and the last one, whose backward begins first."""

    @staticmethod
    def forward(context, data, clock, ends, backward_s):
        context.clock, context.backward_s = clock, backward_s
        clock.sleep_until(ends)
        return data.view_as(data)

    @staticmethod
    def backward(context, gradient):
        if context.backward_s:
            context.clock.sleep_until(context.backward_s)
        else:
            context.clock.phase()
        return gradient, None, None, None


class SleepingModel(torch.nn.Module):
    """Parameters of a trace, by name, and layers that sleep for its times."""

    def __init__(self, trace, clock):
        super().__init__()
        self.clock, self.trace = clock, trace
        ends, passed = {}, 0.0
        stretch = trace["iteration"]["forward_s"] / sum(layer["forward_s"] for layer in trace["layers"])
        for layer in trace["layers"]:
            passed += stretch * layer["forward_s"]
            ends[layer["name"]] = passed
        self.sleeps = []
        for gradient in reversed(sorted(trace["gradients"], key=lambda gradient: gradient["ready_s"])):
            parameter = torch.nn.Parameter(torch.zeros(gradient["bytes"] // 4))
            *path, own = gradient["name"].split(".")
            module = self
            for part in path:
                if not hasattr(module, part):
                    module.add_module(part, torch.nn.Module())
                module = getattr(module, part)
            module.register_parameter(own, parameter)
            self.sleeps.append((parameter, ends[gradient["layer"]], gradient["ready_s"]))

    def forward(self, data):
        iteration = self.trace["iteration"]
        self.clock.phase()
        data = Edge.apply(data, self.clock, 0.0, iteration["backward_s"])
        passed = 0.0
        for parameter, ends, ready in self.sleeps:
            passed = max(passed, ends)
            data = SleepingGradient.apply(data, parameter, self.clock, passed, ready)
        return Edge.apply(data, self.clock, iteration["forward_s"], 0.0)


class Sleeping:
    """Training steps that sleep for the times of a trace."""

    def __init__(self, trace):
        self.trace, self.clock = trace, Clock()
        self.model = SleepingModel(trace, self.clock)
        self.start = torch.zeros(1, requires_grad=True)

    def begin(self):
        self.clock.now = time.monotonic()

    def step(self, trained, wait):
        for parameter in self.model.parameters():
            parameter.grad = None
        trained(self.start).backward()
        wait()
        self.clock.catch_up()
        self.clock.phase()
        self.clock.sleep_until(self.trace["update_s"])


class Block(torch.nn.Module):
    """Two convolutions and what passes by them."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(outputs)
        self.conv2 = torch.nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(outputs)
        self.downsample = torch.nn.Identity()
        if inputs != outputs:
            self.downsample = torch.nn.Sequential(torch.nn.Conv2d(inputs, outputs, 1, stride, bias=False), torch.nn.BatchNorm2d(outputs))

    def forward(self, data):
        inside = torch.relu(self.bn1(self.conv1(data)))
        return torch.relu(self.bn2(self.conv2(inside)) + self.downsample(data))


class Computing:
    """Training steps of ResNet-18 on images of 64 x 64."""

    BATCH = 32

    def __init__(self):
        torch.manual_seed(1)
        widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
        blocks = [Block(a, b, 1 if a == b else 2) for a, b in zip(widths, widths[1:])]
        self.model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 64, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(64), torch.nn.ReLU(), torch.nn.MaxPool2d(3, 2, 1), *blocks,
            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(512, 1000))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-4, momentum=0.9)
        self.images, self.labels = torch.randn(self.BATCH, 3, 64, 64), torch.arange(self.BATCH)

    def begin(self):
        pass

    def step(self, trained, wait):
        self.optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(trained(self.images), self.labels).backward()
        wait()
        self.optimizer.step()


def median_time(what, prepare=lambda: None, times=7):
    """Seconds that `what` takes, when all ranks begin together after `prepare`."""
    found = []
    for _ in range(times):
        dist.barrier()
        finish = prepare()
        begin = time.monotonic()
        what()
        found.append(time.monotonic() - begin)
        if finish:
            finish()
    return statistics.median(found)


def record_step():
    """A trace of one process, while others record theirs: they share the machine's memory, as in the jobs. And by which part a step takes longer
    while all-reduces move."""
    training = Computing()
    trace = record(training.model, lambda: training.step(training.model, lambda: None), training.optimizer, batch=training.BATCH)
    moved = torch.zeros(1 << 22)
    times = torch.tensor([median_time(lambda: training.step(training.model, lambda: None)), median_time(lambda: dist.all_reduce(moved))])
    dist.all_reduce(times)
    count = math.ceil(3 * float(times[0] / times[1]))  # more than a step lasts, as many on every rank

    def start():
        works = [dist.all_reduce(moved, async_op=True) for _ in range(count)]
        return lambda: [work.wait() for work in works]
    beside = torch.tensor(median_time(lambda: training.step(training.model, lambda: None), start))
    dist.all_reduce(beside)
    return {"trace": trace, "overlap_slowdown": max(0.0, float(beside / times[0]) - 1)}


def run_job(job, trace):
    training = Sleeping(trace) if trace else Computing()
    merged = MergedGradients(training.model, job["plan"]) if job["bucket_mib"] is None else None
    first_bucket = dist._DEFAULT_FIRST_BUCKET_BYTES
    dist._DEFAULT_FIRST_BUCKET_BYTES = job["first_bucket"]
    trained = training.model if merged else torch.nn.parallel.DistributedDataParallel(training.model, bucket_cap_mb=job["bucket_mib"])
    dist._DEFAULT_FIRST_BUCKET_BYTES = first_bucket

    def step():
        training.step(trained, merged.wait if merged else lambda: None)

    def repetition(steps):
        dist.barrier()
        begin = time.monotonic()
        training.begin()
        for _ in range(steps):
            step()
        return [begin, time.monotonic()]

    repetition(job["warmup"])
    found = {"times": [repetition(job["steps"]) for _ in range(job["repeats"])]}
    if not merged:
        found["buckets"] = compared_buckets(buckets_of(trained, trained._get_ddp_logging_data()), read_plan(job["plan"]).groups)
    else:
        merged.close()
    return found


def one_thread(store, rank, size, **_):
    """gloo with a thread for all-reduces, so that they move one after another, as netprobe measures them and simctl simulates them. PyTorch's
    default is two."""
    options = dist.ProcessGroupGloo._Options()
    options._devices = [dist.ProcessGroupGloo.create_device(interface=INTERFACE)]
    options._threads, options._timeout = 1, TIMEOUT
    return dist.ProcessGroupGloo(store, rank, size, options)


def run_in_real_time():
    """From now on, with all threads: a worker stands for a machine of its own. All ranks begin together, since gloo polls for what others do, and
    would keep those of lower priority from doing it. They take turns, unlike with FIFO, since it also polls for locks."""
    dist.barrier()
    time.sleep(2)
    for thread in os.listdir("/proc/self/task"):
        os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(10))
    time.sleep(1)


def prefer_communication():
    """gloo's threads go before the one that computes: with as many cores as workers, they would wait for its time slices."""
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != os.getpid():
            os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(10))


def main():
    jobs_file, rank, ranks, address, out = sys.argv[1:]
    jobs = json.loads(pathlib.Path(jobs_file).read_text())
    sleeping = jobs["layers"] == "sleep"
    torch.set_num_threads(1)
    distributed_c10d.ProcessGroupGloo = one_thread
    dist.init_process_group("gloo", init_method=f"tcp://{address}:29500", rank=int(rank), world_size=int(ranks), timeout=TIMEOUT)
    if sleeping:
        run_in_real_time()
    else:
        prefer_communication()
    if "probe" in jobs:
        found = probe(**jobs["probe"])
    elif "record" in jobs:
        found = record_step()
    else:
        trace = json.loads(pathlib.Path(jobs["trace"]).read_text()) if sleeping else None
        found = [run_job(job, trace) for job in jobs["jobs"]]
    pathlib.Path(out).write_text(json.dumps(found))
    dist.barrier()


if __name__ == "__main__":
    main()
