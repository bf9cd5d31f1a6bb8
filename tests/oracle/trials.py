"""The trial schedules: one collective of any operation after each step, and forward that waits for gradients layer by layer."""

import functools
import itertools

import collectives
import window
from compute import Slowdown, chunks
from moving import report, single
from network import Network
from oracle import profile
from streams import ByPriority, Line, Stream


def on_line(point, cost, members):
    return Line(lambda size, index: collectives.parts(point, cost, size, index)).make(members)


# One collective


def run_collective(point, fidelity, shared):
    count = collectives.workers(point)
    members = range(1, count, 2) if point["schedule"]["name"] == "collective-of-odd" else range(count)
    some, name = members if len(members) < count else None, point["schedule"].get("operation", "all-reduce")
    make = functools.partial(Network.operation, name=name, members=some)
    if fidelity == "alpha-beta":
        make = on_line(point, collectives.over_ranks(point, name, some), members)
    forward, backward, _, _ = profile(point["trace"], point.get("granularity", "tensor"))
    layers, size = chunks(point), collectives.model_bytes(point)

    def program(job, rank, worker):
        for number in itertools.count():
            yield worker.chunks(number, job.engine.now, layers, [False] * len(layers), 0.0)[2]
            if rank in members:
                job.post(rank, number, size)
                yield number
            job.starts[rank].append(job.engine.now)

    job, counts = single(point, shared, make, members), window.iterations(point)
    job.run(program, *counts)
    payload = size / len(members) if name == "all-gather" else size  # what a rank comes with
    return report(job, counts, forward + backward, lambda number: (1, payload), members)


# Layer by layer


def run_gated(point, fidelity, shared):
    schedule, trace, slowdown = point["schedule"], point["trace"], Slowdown(point)
    by_priority, parts = schedule.get("by_priority", False), schedule.get("parts", 1)
    make = Network.all_reduce
    forward, backward, _, _ = profile(trace, point.get("granularity", "tensor"))
    layers = [seconds for seconds, _ in chunks(point)]
    count = len(trace["layers"])
    sizes = [sum(gradient["bytes"] for gradient in trace["gradients"] if gradient["layer"] == layer["name"]) for layer in trace["layers"]]
    sent = [layer for layer in reversed(range(count)) if sizes[layer]]
    numbers = {layer: range(index * parts, (index + 1) * parts) for index, layer in enumerate(sent)}  # of a step
    each = len(sent) * parts

    def compute(job, worker, seconds):
        begin = worker.resume(job.engine.now)
        yield begin
        load = (yield None) if slowdown.factor else 0.0
        yield worker.advance(begin, seconds * (1 + slowdown.factor * load))

    def program(job, rank, worker):
        for number in itertools.count():
            factor = worker.factor(number)
            for layer in range(count):
                for index in numbers.get(layer, []) if number and len(job.workers) > 1 else []:
                    yield (number - 1) * each + index
                yield from compute(job, worker, layers[layer] * factor)
            for layer in reversed(range(count)):
                yield from compute(job, worker, layers[2 * count - 1 - layer] * factor)
                for index in numbers.get(layer, []) if len(job.workers) > 1 else []:
                    rest = (layer,) if by_priority else ()
                    job.post(rank, number * each + index, sizes[layer] / parts, *rest)
            job.starts[rank].append(job.engine.now)

    cost = collectives.over_gpus(point)
    if fidelity == "alpha-beta":
        make = on_line(point, cost, range(collectives.workers(point)))
    job, counts = single(point, shared, make, kind=ByPriority if by_priority else Stream), window.iterations(point)
    if fidelity == "alpha-beta":
        job.streams[0].share = lambda size: slowdown.share(*collectives.mean_parts(cost, size))
    job.run(program, *counts)
    posted = (each, sum(sizes)) if len(job.workers) > 1 else (0, 0)
    return report(job, counts, forward + backward, lambda number: posted)


SCHEDULES = {"collective": run_collective, "collective-of-odd": run_collective, "gated": run_gated}


def expected(point, shared):
    """All columns; `shared`: flows meet."""
    return window.columns(SCHEDULES[point["schedule"]["name"]](point, point["fidelity"], shared)[1])
