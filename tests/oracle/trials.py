"""The trial schedules: one collective of any operation after each step, and forward that waits for gradients layer by layer."""

import functools
import itertools

import collectives
import window
from compute import Slowdown, chunks
from moving import Job, report
from network import Network
from oracle import profile


class Line:
    """Collectives by their closed form: the latencies of those in flight pass at the same time, their transfers follow each other."""

    def __init__(self, point, cost):
        self.point, self.cost, self.free, self.begun = point, cost, 0.0, itertools.count()

    def make(self, members, _, engine, size, ended):
        return OnLine(self, members, engine, size, ended)


class OnLine:
    def __init__(self, line, members, engine, size, ended):
        self.line, self.left, self.engine, self.size, self.ended, self.members = line, len(members), engine, size, ended, members

    def enter(self, _):
        self.left -= 1
        if not self.left:
            latency, transfer = collectives.parts(self.line.point, self.line.cost, self.size, next(self.line.begun))
            self.line.free = max(self.engine.now + latency, self.line.free) + transfer
            self.engine.at(self.line.free, self.end)

    def end(self):
        for member in self.members:
            self.ended(member)


# One collective


def run_collective(point, fidelity, shared):
    count = collectives.workers(point)
    members = range(1, count, 2) if point["schedule"]["name"] == "collective-of-odd" else range(count)
    some, name = members if len(members) < count else None, point["schedule"].get("operation", "all-reduce")
    make = functools.partial(Network.operation, name=name, members=some)
    if fidelity == "alpha-beta":
        make = functools.partial(Line(point, collectives.over_ranks(point, name, some)).make, members)
    forward, backward, _, _ = profile(point["trace"], point.get("granularity", "tensor"))
    layers, size = chunks(point), collectives.model_bytes(point)

    def program(job, rank, worker):
        for number in itertools.count():
            yield worker.chunks(number, job.engine.now, layers, [False] * len(layers), 0.0)[2]
            if rank in members:
                job.post(rank, number, size)
                yield number
            job.starts[rank].append(job.engine.now)

    job, counts = Job(point, shared, make, members), window.iterations(point)
    job.run(program, *counts)
    payload = size / len(members) if name == "all-gather" else size  # what a rank comes with
    return report(job, counts, forward + backward, lambda number: (1, payload))


# Layer by layer


class ByPriority(Job):
    """What starts next is decided for all ranks at once, when a channel of the first rank frees and nothing else happens at the instant.
    Every rank starts it when it has posted it and has a channel free itself."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.undecided, self.decided = {}, []  # {number: (priority, size)} in the order of posting; (number, size)
        self.posted, self.started = [set() for _ in self.workers], [0] * len(self.workers)  # by rank: numbers, and how many

    def count(self, rank, number, size, priority=0.0):
        if not any(number in posted for posted in self.posted):
            self.undecided[number] = priority, size
        self.posts[number] += 1
        self.posted[rank].add(number)
        self.follow(rank)

    def follow(self, rank):
        self.engine.last.append((self.decide,))

    def decide(self):
        for rank in self.members:
            self.start(rank)
        free = any(self.flying[rank] < self.channels and self.started[rank] == len(self.decided) for rank in self.members)
        if free and (ready := self.ready()):
            number = min(ready, key=lambda number: self.undecided[number][0])
            self.decided.append((number, self.undecided.pop(number)[1]))
            self.decide()

    def start(self, rank):
        for number, size in self.decided[self.started[rank]:]:
            if self.flying[rank] == self.channels or number not in self.posted[rank]:
                return
            self.started[rank] += 1
            self.flying[rank] += 1
            self.enter(rank, number, size)

    def ready(self):
        """Among equals the first is, whoever has posted it; else what all have posted."""
        alike = len({priority for priority, _ in self.undecided.values()}) == 1
        return [number for number in self.undecided if alike or all(number in posted for posted in self.posted)]


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
        make = functools.partial(Line(point, cost).make, range(collectives.workers(point)))
    job, counts = (ByPriority if by_priority else Job)(point, shared, make), window.iterations(point)
    if fidelity == "alpha-beta":
        job.share = lambda size: slowdown.share(*collectives.mean_parts(cost, size))
    job.run(program, *counts)
    posted = (each, sum(sizes)) if len(job.workers) > 1 else (0, 0)
    return report(job, counts, forward + backward, lambda number: posted)


SCHEDULES = {"collective": run_collective, "collective-of-odd": run_collective, "gated": run_gated}


def expected(point, shared):
    """All columns; `shared`: flows meet."""
    return window.columns(SCHEDULES[point["schedule"]["name"]](point, point["fidelity"], shared)[1])
