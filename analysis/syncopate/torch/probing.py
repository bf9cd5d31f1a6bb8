"""Measures a network through torch.distributed: the file that netprobe writes."""

import datetime
import json
import math
import socket
import statistics
import time
from pathlib import Path

import torch
from torch import distributed

from syncopate.common.errors import InputError
from syncopate.common.writing import write

LEAST_REPETITIONS, MOST_REPETITIONS = 3, 50
IN_A_ROW = 4               # all-reduces in flight in one repetition of `queued`
MOST_RANKS_IN_PAIRS = 16   # the pairs of more ranks would take minutes
NOISE = 0.05               # a transfer below this share of a round trip cannot be told from scatter of the latency


def probe(output=None, *, smallest=1 << 10, largest=64 << 20, budget_s=0.1, longest_s=1.0):
    """A network-probe/1 (a dict) of the ranks of torch.distributed's default group, as their training job uses the network:

        torch.distributed.init_process_group("nccl")
        probe("network.json")

    `simctl cluster fit network.json` makes a cluster of it. Call it on every rank, with nothing else running. Times hold what PyTorch
    takes to start a collective, which netprobe's do not. `output`: the file, which rank 0 writes. Sizes in bytes double from `smallest` to
    `largest`, or until an all-reduce takes `longest_s`; each is repeated for about `budget_s`, 3 to 50 times after once to warm up. Times
    are means over the ranks, each begun after a barrier, with quartiles over the repetitions. On GPUs a time ends when the GPU is done.

    `queued` is the time of each of four all-reduces in flight, as of DistributedDataParallel's buckets; `two_at_once` of two, until both are
    done. Raises InputError if there is no process group, one rank alone, or a size that is none; OutputError if the file cannot be
    written."""
    if not (distributed.is_available() and distributed.is_initialized()):
        raise InputError("probe: torch.distributed has no process group; call torch.distributed.init_process_group() on every rank first")
    if distributed.get_world_size() < 2:
        raise InputError("probe: one rank has nobody to communicate with; start at least two")
    if not (4 <= smallest <= largest // 2 and budget_s > 0 and longest_s > 0):
        raise InputError(f"probe: expected 4 <= smallest <= largest / 2 and times > 0, got {smallest}, {largest}, {budget_s} and {longest_s}; "
                         "leave them out for 1 KiB to 64 MiB")
    found = _Probe(budget_s, longest_s).run(smallest, largest)
    if output is not None and distributed.get_rank() == 0:
        write(Path(output), (json.dumps(found, indent=1) + "\n").encode())
    return found


class _Probe:
    def __init__(self, budget, longest):
        self.rank, self.ranks, self.backend = distributed.get_rank(), distributed.get_world_size(), distributed.get_backend()
        self.device = torch.device("cuda", torch.cuda.current_device()) if self.backend == "nccl" else torch.device("cpu")
        self.budget, self.longest, self.host_s = budget, longest, 0.0

    def run(self, smallest, largest):
        hosts = [None] * self.ranks
        distributed.all_gather_object(hosts, socket.gethostname())
        values, more = (torch.zeros(largest // 4, device=self.device) for _ in range(2))
        pairs = [self.pair(begin, end, values) for begin, end in self.all_pairs()]
        found = {"all_reduce": [], "queued": [], "two_at_once": [], "all_gather": []}
        size = smallest // 4 * 4
        while size <= largest:
            own, other = values[:size // 4], more[:size // 4]
            found["all_reduce"].append(self.timed(size, 1, lambda: distributed.all_reduce(own)))
            found["queued"].append(self.timed(size, IN_A_ROW, lambda: self.reduce([own] * IN_A_ROW)))
            found["two_at_once"].append(self.timed(size, 1, lambda: self.reduce([own, other])))
            if self.ranks * size <= largest:
                parts = list(more[:self.ranks * size // 4].split(size // 4))
                found["all_gather"].append(self.timed(size, 1, lambda: distributed.all_gather(parts, own)))
            if found["all_reduce"][-1]["quartiles_s"][1] >= self.longest:
                break
            size *= 2
        added = self.times_of(lambda: values.add_(more), MOST_REPETITIONS)
        head = {"format": "network-probe/1",
                "provenance": {"kind": "measured", "source": "syncopate.torch.probe", "utc": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"},
                "library": f"PyTorch {torch.__version__}, {self.backend}", "ranks": self.ranks, "nodes": len(set(hosts)), "hosts": hosts,
                "timing": {"clock": "wall", "of": "means over the ranks, each begun after a barrier", "budget_s": self.budget},
                "host_s_per_message": _rounded(self.host_s), "add_s_per_B": _rounded(statistics.median(added) / (values.numel() * 4))}
        return head | found | {"pairs": pairs}

    def finish(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def reduce(self, tensors):
        for work in [distributed.all_reduce(tensor, async_op=True) for tensor in tensors]:
            work.wait()

    def mean(self, seconds):
        """Over the ranks."""
        total = torch.tensor([seconds], dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return float(total) / self.ranks

    def times_of(self, work, repetitions):
        found = []
        for _ in range(repetitions):
            self.finish()
            begin = time.perf_counter()
            work()
            self.finish()
            found.append(time.perf_counter() - begin)
        return found

    def repetitions(self, seconds):
        return int(min(max(self.budget / seconds, LEAST_REPETITIONS), MOST_REPETITIONS))

    def timed(self, size, parts, work):
        def once():
            distributed.barrier()
            return self.mean(*self.times_of(work, 1))
        repetitions = self.repetitions(once())
        return {"bytes": size, "quartiles_s": _quartiles([once() / parts for _ in range(repetitions)]), "repetitions": repetitions}

    def all_pairs(self):
        near = self.ranks > MOST_RANKS_IN_PAIRS
        return [(begin, end) for begin in range(self.ranks) for end in range(self.ranks) if (end == (begin + 1) % self.ranks if near else end != begin)]

    def round_trips(self, first, second, values, repetitions):
        """Of all these values there, and of the first of them back. Every rank gets the times."""
        answer = values[:1].clone()
        distributed.barrier()
        before, times = time.process_time(), [0.0] * repetitions
        if self.rank == first:
            times = self.times_of(lambda: (distributed.send(values, second), distributed.recv(answer, second)), repetitions)
        elif self.rank == second:
            self.times_of(lambda: (distributed.recv(values, first), distributed.send(answer, first)), repetitions)
        if self.rank in (first, second) and values.numel() == 1:
            self.host_s = (time.process_time() - before) / (2 * repetitions)
        all_times = torch.tensor(times, dtype=torch.float64, device=self.device)
        distributed.broadcast(all_times, first)
        return all_times.tolist()

    def pair(self, first, second, values):
        each = statistics.median(self.round_trips(first, second, values[:1], LEAST_REPETITIONS))
        latency = _quartiles(self.round_trips(first, second, values[:1], self.repetitions(each)))
        count = min(1 << 18, values.numel())
        while True:
            whole = statistics.median(self.round_trips(first, second, values[:count], LEAST_REPETITIONS))
            transfer = whole - latency[1]
            bandwidth = 4 * count / (transfer if transfer > NOISE * whole else whole)
            if count == values.numel() or transfer > self.budget / LEAST_REPETITIONS:
                return {"from": first, "to": second, "latency_s": [_rounded(seconds / 2) for seconds in latency], "bandwidth_Bps": _rounded(bandwidth)}
            count = min(4 * count, values.numel())


def _rounded(value):
    return float(f"{value:.6g}") if math.isfinite(value) else 0.0


def _quartiles(times):
    return [_rounded(quartile) for quartile in statistics.quantiles(times, n=4, method="inclusive")]
