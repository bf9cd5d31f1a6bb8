"""fsdp, zero: parameters, gradients and the optimiser's state in shards, which are gathered when they are needed."""

import dataclasses
import itertools

import collectives
import memory
import window
from by_layers import closed_forms, operation
from compute import TIE, chunks, layers_of_gradients
from moving import Job, joined, report
from oracle import profile, quantity

DEFAULTS = {"stage": 3, "units": "100MB", "reshard_after_forward": True, "prefetch": "pre", "reshard_last": False, "limit_all_gathers": 2,
            "streams": 1, "shard_group": "all", "parameter_bytes": 1.0, "reduce_bytes": 1.0, "accumulate": 1, "gather": "after-update"}


# Units


@dataclasses.dataclass
class Unit:
    """Parameters and gradients in bytes; what is computed: seconds and whether a layer begins with them."""
    parameters: float
    gradients: float
    forward: list
    backward: list


def cut(units, sizes):
    """How many layers each unit has, of layers of these bytes."""
    if isinstance(units, int):
        return [len(sizes[first:first + units]) for first in range(0, len(sizes), units)]
    if units == "layer":
        return [1] * len(sizes)
    counts, total = [], 0.0
    for size in sizes:
        if counts and total + size <= quantity(units):
            counts[-1], total = counts[-1] + 1, total + size
        else:
            counts.append(1)
            total = size
    return counts


def in_units(point, schedule):
    trace, named = point["trace"], layers_of_gradients(point)
    gradients = profile(trace, point.get("granularity", "tensor"))[3]
    sizes = {layer: sum(size for one, (_, size) in zip(named, gradients) if one == layer) for layer in sorted(set(named))}
    firsts = [0, *itertools.accumulate(cut(schedule["units"], list(sizes.values())))]
    begins = [list(sizes)[first] for first in firsts[:-1]]
    begins, ends = [0, *begins[1:]], [*begins[1:], len(trace["layers"])]
    inside = [{layer: size for layer, size in sizes.items() if begin <= layer < end} for begin, end in zip(begins, ends)]
    edges = backward_edges(point, begins, [max(ready for one, (ready, _) in zip(named, gradients) if one in mine) for mine in inside])
    layers = chunks(point, edges)
    forward, backward = layers[:len(layers) // 2], pieces(layers[len(layers) // 2:], len(begins))
    return [Unit(schedule["parameter_bytes"] * sum(mine.values()), schedule["reduce_bytes"] * sum(mine.values()),
                 [(seconds, True) for seconds, _ in forward[begin:end]], part)
            for begin, end, mine, part in zip(begins, ends, inside, reversed(backward))]


def backward_edges(point, begins, ready):
    """Seconds after the start of backward at which each unit's ends, from the last unit on."""
    backward = profile(point["trace"], point.get("granularity", "tensor"))[1]
    times = [seconds for seconds, _ in chunks(point)[len(point["trace"]["layers"]):]]
    done = list(itertools.accumulate(times))[::-1]  # by layer
    edges = list(itertools.accumulate((max(done[begin], date) for begin, date in zip(begins[::-1], ready[::-1])), max))
    return edges[:-1] + [backward]


def pieces(layers, count):
    """Of backward, for each unit from the last one on: (seconds, does a layer begin with them?)."""
    result, unit = [[] for _ in range(count)], 0
    for seconds, marks in layers:
        done = 0.0
        for offset, _ in marks:
            if offset > done:
                result[unit].append((offset - done, not done))
            unit, done = min(unit + 1, count - 1), offset
        if not done or seconds - done > TIE * seconds:
            result[unit].append((seconds - done, not done))
    return result


# Groups


def groups(point, schedule):
    """Those that shard, and the replicas: ranks with the same place."""
    n, (_, gpus) = collectives.workers(point), collectives.sizes(point["cluster"])
    size = {"all": n, "node": gpus}.get(schedule["shard_group"], schedule["shard_group"])
    shards = [range(first, first + size) for first in range(0, n, size)]
    return shards, [range(place, n, size) for place in range(size)]


class Rank:
    """What it has posted in each of its streams; None is a stream in which it is alone."""

    def __init__(self, job, rank, units, gathers, scatters, reduces):
        self.job, self.rank, self.units = job, rank, units
        self.gathers, self.scatters, self.reduces = gathers, scatters, reduces
        self.counts = {stream: itertools.count() for stream in (gathers, scatters, reduces)}
        self.gathered, self.waiting, self.posts = {}, [], []  # gathered: by unit; posts: of a step, (operation, bytes)
        self.held, self.peak, self.stretch = set(), 0.0, 1.0

    def post(self, stream, name, size):
        if stream is None:
            return None
        ticket = stream, next(self.counts[stream])
        stream.post(self.rank, ticket[1], (name, size))
        self.posts.append((name, size, len(stream.members)))
        return ticket

    def gather(self, unit):
        self.gathered[unit] = self.post(self.gathers, "all-gather", self.units[unit].parameters)
        self.held.add(unit)
        self.peak = max(self.peak, sum(self.units[one].parameters for one in self.held if self.gathers))

    def free(self, unit):
        self.held.remove(unit)

    def scatter(self, unit):
        """And, when that has ended, reduces over replicas."""
        size, ticket = self.units[unit].gradients, self.post(self.scatters, "reduce-scatter", self.units[unit].gradients)
        share = size / len(self.scatters.members) if ticket else size
        if ticket is not None and self.reduces is not None:
            handled = self.job.engine.now

        def reduce():
            number, what = next(self.counts[self.reduces]), ("all-reduce", share)
            self.waiting.append((self.reduces, number))
            self.posts.append((*what, len(self.reduces.members)))
            self.job.engine.at(max(self.job.engine.now, handled), self.reduces.count, self.rank, number, what)

        if ticket is None:
            self.waiting.append(self.post(self.reduces, "all-reduce", share))
        else:
            self.waiting.append(ticket)
        if ticket is not None and self.reduces is not None:
            self.scatters.after[self.rank, ticket[1]] = reduce

    def wait(self, ticket):
        if ticket is not None:
            yield ticket

    def wait_for_all(self):
        while self.waiting:
            yield from self.wait(self.waiting.pop(0))

    def compute(self, step, pieces):
        worker, slowdown = self.job.workers[self.rank], self.job.slowdown.factor
        now, factor = self.job.engine.now, worker.factor(step)
        for seconds, begins in pieces:
            if begins and slowdown:
                yield worker.resume(now)
                self.stretch = factor * (1 + slowdown * (yield None))
            elif begins:
                self.stretch = factor
            now = worker.advance(now, seconds * self.stretch)
        yield now


# Steps


def sharded_step(rank, schedule, step, last):
    """Parameters are gathered for every unit."""
    units, limit, prefetch = rank.units, schedule["limit_all_gathers"], schedule["prefetch"]
    stays = not schedule["reshard_after_forward"] or schedule["stage"] == 2
    end = len(units) - 1
    for unit in range(end + 1 if stays else min(limit, end + 1)):
        rank.gather(unit)
    for unit, one in enumerate(units):
        yield from rank.wait(rank.gathered[unit])
        yield from rank.compute(step, one.forward)
        if not stays and (unit < end or schedule["reshard_last"]):
            rank.free(unit)
        if not stays and unit + limit <= end:
            rank.gather(unit + limit)
    if not stays and schedule["reshard_last"]:
        rank.gather(end)
    for unit in range(end, -1, -1):
        again = not stays and unit > 0
        yield from rank.wait(rank.gathered[unit])
        if again and prefetch == "pre":
            rank.gather(unit - 1)
        yield from rank.compute(step, units[unit].backward)
        rank.free(unit)
        if again and prefetch == "post":
            rank.gather(unit - 1)
        if last:
            rank.scatter(unit)
        if again and prefetch == "none":
            rank.gather(unit - 1)
    yield from rank.wait_for_all()


def whole_step(rank, step, last):
    """Parameters are there, or were gathered when the step before ended."""
    for unit, one in enumerate(rank.units):
        yield from rank.wait(rank.gathered.pop(unit, None))
        yield from rank.compute(step, one.forward)
    for unit in range(len(rank.units) - 1, -1, -1):
        yield from rank.compute(step, rank.units[unit].backward)
        if last:
            rank.scatter(unit)
    yield from rank.wait_for_all()


def run(point):
    schedule = DEFAULTS | point["schedule"]
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    n, units, cycle, channels = collectives.workers(point), in_units(point, schedule), schedule["accumulate"], point.get("channels", 1)
    shards, replicas = groups(point, schedule)
    whole = schedule["name"] == "zero" and schedule["stage"] < 3
    job, counts = Job(point, point.get("fidelity") == "flow", channels > 1), window.iterations(point, cycle)

    def streams(members):
        """By rank."""
        made = {rank: joined(job, point, operation(group), closed_forms(point, group), group, channels)
                for group in members if len(group) > 1 for rank in group[:1]}
        return {rank: made.get(group[0]) for group in members for rank in group}

    gathers = streams(shards)
    scatters = streams(shards) if schedule["streams"] == 2 else gathers
    reduces = streams(replicas)
    ranks = [Rank(job, rank, units, gathers[rank], scatters[rank], reduces[rank]) for rank in range(n)]
    rows = {}  # by step, alike on all ranks

    def program(job, number, worker):
        rank = ranks[number]
        for step in itertools.count():
            last = step % cycle == cycle - 1
            yield from whole_step(rank, step, last) if whole else sharded_step(rank, schedule, step, last)
            if last:
                yield worker.advance(job.engine.now, worker.slow * update / len(shards[0]))
            for unit in range(len(units)) if last and whole else []:
                rank.gather(unit)
            for unit in range(len(units)) if last and whole and schedule["gather"] == "after-update" else []:
                yield from rank.wait(rank.gathered.pop(unit))
            rows[step] = row(rank.posts, n > 1 and last)
            rank.posts = []
            job.starts[number].append(job.engine.now)

    job.run(program, *counts)
    sharing = len(shards[0])
    result = report(job, counts, forward + backward + update / sharing / cycle, rows.get)[1]
    result.memory = memory.states(point, sharing)
    if not whole:
        result.memory["memory_gathered_peak_bytes"] = max(rank.peak for rank in ranks)
    return result


def row(posts, sends):
    """(how many, payload, staleness, bytes sent) of a step."""
    payload = sum(size / (count if name == "all-gather" else 1) for name, size, count in posts)
    leaving = sum((2 if name == "all-reduce" else 1) * (count - 1) / count * size for name, size, count in posts)
    return len(posts), payload, [0] * sends, leaving
