"""One process of a PyTorch job whose layers sleep where a GPU would compute; everything else is what PyTorch does.

torch_worker.py JOBS RANK RANKS ADDRESS OUT: runs every job of the file JOBS with the others, and writes when its repetitions began and ended,
on the machine's clock. torch_jobs.py says what JOBS holds."""
import datetime
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "analysis"))

from syncopate.torch import MergedGradients
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


def run_job(job, trace):
    clock = Clock()
    model = SleepingModel(trace, clock)
    merged = MergedGradients(model, job["plan"]) if job["bucket_mib"] is None else None
    trained = model if merged else torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=job["bucket_mib"])
    start = torch.zeros(1, requires_grad=True)

    def step():
        for parameter in model.parameters():
            parameter.grad = None
        trained(start).backward()
        if merged:
            merged.wait()
        clock.catch_up()
        clock.phase()
        clock.sleep_until(trace["update_s"])

    def repetition(steps):
        dist.barrier()
        clock.now = begin = time.monotonic()
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


def main():
    jobs_file, rank, ranks, address, out = sys.argv[1:]
    jobs = json.loads(pathlib.Path(jobs_file).read_text())
    trace = json.loads(pathlib.Path(jobs["trace"]).read_text())
    torch.set_num_threads(1)
    distributed_c10d.ProcessGroupGloo = one_thread
    dist.init_process_group("gloo", init_method=f"tcp://{address}:29500", rank=int(rank), world_size=int(ranks), timeout=TIMEOUT)
    run_in_real_time()
    found = [run_job(job, trace) for job in jobs["jobs"]]
    pathlib.Path(out).write_text(json.dumps(found))
    dist.barrier()


if __name__ == "__main__":
    main()
