"""diloco: inner steps on models of workers' own, and for each fragment of the model an outer step once a round."""

import dataclasses
import itertools

import collectives
import memory
import window
from by_layers import closed_forms, operation
from compression import value_bytes
from compute import chunks, layers_of_gradients
from moving import Job, joined, report
from network import Network, alone
from oracle import BY_COST, profile, size_of
from quorum import Quorum
from synchronous import posted, slices, with_host

DEFAULTS = {"interval": 100, "fragments": 1, "pattern": "strided", "overlap": 0, "mix": 0, "bits": 16, "quantize_s_per_B": 0.0, "worker": "gpu",
            "inner": "wfbp", "matchmaking_s": 0.0, "posts": "fragment", "quorum": 1, "deadline_s": 0.0}


# Who is a worker


def islands(point):
    """Ranks of each worker."""
    nodes, gpus = collectives.sizes(point["cluster"])
    if point["schedule"]["worker"] == "gpu":
        return [[rank] for rank in range(nodes * gpus)]
    if point["schedule"]["worker"] == "node":
        return [list(range(node * gpus, (node + 1) * gpus)) for node in range(nodes)]
    network, found = Network(point | {"region_order": names_in_order(point)}), {}
    for rank in range(nodes * gpus):
        found.setdefault(network.region[network.place[rank // gpus]], []).append(rank)
    return list(found.values())


def names_in_order(point):
    cluster = point["cluster"]
    order = collectives.named_order(point) or collectives.best_order(cluster, collectives.model_bytes(point))
    return [cluster["regions"][index]["name"] for index in order]


# Fragments


@dataclasses.dataclass
class Message:
    """Of a fragment, or of one of its layers: seconds after the start of backward when it is ready, bytes in the trace."""
    position: float
    size: float


def layers_with_gradients(point):
    """From the input on; the place of the last gradient, when that is ready, bytes."""
    gradients, found = profile(point["trace"], point.get("granularity", "tensor"))[3], {}
    for place, (layer, (ready, size)) in enumerate(zip(layers_of_gradients(point), gradients)):
        before = found.get(layer, (0, 0.0, 0.0))
        found[layer] = place, max(ready, before[1]), size + before[2]
    return [found[layer] for layer in sorted(found)]


def fragments(point):
    """Messages of each."""
    schedule, layers = point["schedule"], layers_with_gradients(point)
    count = schedule["fragments"]
    place = {"strided": lambda index: index % count, "sequential": lambda index: index * count // len(layers)}[schedule["pattern"]]
    parts = [[layer for index, layer in enumerate(layers) if place(index) == fragment] for fragment in range(count)]
    if schedule["posts"] == "layer":
        return [[Message(ready, size) for _, ready, size in sorted(part)] for part in parts]
    return [[Message(0.0, sum(size for *_, size in part))] for part in parts]


def ends(schedule):
    """Steps of the round after which each fragment has its outer step."""
    return [-(-(fragment + 1) * schedule["interval"] // schedule["fragments"]) for fragment in range(schedule["fragments"])]


# Inner steps


class Inside:
    """What the GPUs of an island send in a step: as the synchronous schedule does."""

    def __init__(self, point, largest):
        named = point["schedule"]["inner"]
        schedule, self.messages = {"name": named} if isinstance(named, str) else named, []
        if len(largest) == 1:
            return
        tangent = self.tangent(point, largest) if schedule["name"] in BY_COST else None
        sliced = slices(point, tangent, schedule)
        self.messages = posted(point, sliced, schedule)
        self.copies = [point["cluster"].get("copy_s_per_B", 0.0) * size_of(group) * (len(group) > 1) for group in sliced]

    def tangent(self, point, largest):
        fidelity, members = point.get("fidelity", "alpha-beta"), largest if len(largest) < collectives.workers(point) else None
        if fidelity == "alpha-beta":
            cost = collectives.over_ranks(point, "all-reduce", members)
            if isinstance(cost, collectives.Curve):
                return with_host(point, cost.tangent, len(largest))
        else:
            make = lambda network, engine, size, ended: network.operation(engine, size, ended, "all-reduce", members)
            cost = lambda size: max(alone(point, size, fidelity == "flow", make=make, members=members))
        a, b = collectives.line(cost, collectives.model_bytes(point))
        return with_host(point, lambda size: (a, b), len(largest))


# Ranks


class Workers(Job):
    """Who may leave and join."""

    def is_covered(self, warmup, measured):
        return window.covered_by(self.workers, self.starts, self.starts, warmup, measured)


class Rank:
    """`workers`: the stream of all-reduces, None where this rank is no island's first; `spreads`: that of its island's broadcasts."""

    def __init__(self, job, number, schedule, workers, spreads, inner):
        self.job, self.number, self.schedule = job, number, schedule
        self.workers, self.spreads, self.inner = workers, spreads, inner
        self.sent, self.underway, self.posts = 0, {}, []  # underway: tickets, by round and fragment; posts: of a step, (operation, bytes, ranks)

    def post(self, what_for, size):
        """A message. What its island's others get follows the all-reduce."""
        ticket, later = self.sent, self.schedule["matchmaking_s"]
        self.sent += 1
        if self.workers:
            what = "all-reduce", size
            self.job.engine.at(self.job.engine.now + later, self.workers.count, self.number, ticket, what)
            self.posts.append((*what, len(self.workers.members)))
        if self.spreads:
            what, handled = ("broadcast", size), self.job.engine.now + later
            self.posts.append((*what, len(self.spreads.members)))
            count = lambda: self.job.engine.at(max(self.job.engine.now, handled), self.spreads.count, self.number, ticket, what)
            if self.workers:
                self.workers.after[self.number, ticket] = count
            else:
                count()
        self.underway.setdefault(what_for, []).append(ticket)

    def wait(self, what_for):
        for ticket in self.underway.pop(what_for):
            yield self.spreads or self.workers, ticket


def averaging(job, point, members):
    """That waits for a quorum only."""
    schedule, some = point["schedule"], members if len(members) < collectives.workers(point) else None
    cost = closed_forms(point, some)
    if point.get("fidelity", "alpha-beta") != "alpha-beta":
        make = operation(some)
        cost = lambda what: (0.0, max(alone(point, what, make=make, members=some)))
    return job.add(Quorum(job, point, sorted(members), schedule["quorum"], schedule["deadline_s"], lambda what, number: sum(cost(what))))


def run(point):
    schedule = DEFAULTS | point["schedule"]
    point = point | {"schedule": schedule}
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    h, count, overlap = schedule["interval"], schedule["fragments"], schedule["overlap"]
    groups, parts, outer = islands(point), fragments(point), ends(schedule)
    first_of, channels = [group[0] for group in groups], point.get("channels", 1)
    payload = lambda size: size / value_bytes(point) * schedule["bits"] / 8
    quantize = lambda size: schedule["quantize_s_per_B"] * size
    inside = Inside(point, max(groups, key=len))
    job, (warmup, measured) = Workers(point, point.get("fidelity") == "flow", channels > 1), window.iterations(point, h)
    warmup += h * (overlap == outer[0] and len(groups) > 1)  # a first round in which a snapshot is missing

    def stream(members):
        some = members if len(members) < collectives.workers(point) else None
        return joined(job, point, operation(some), closed_forms(point, some), members, channels)

    inner = {rank: made for group in groups if len(group) > 1 for made in [stream(group)] for rank in group}
    between = None
    if len(groups) > 1:
        between = stream(first_of) if schedule["quorum"] == 1 else averaging(job, point, first_of)
    spreads = {rank: made for group in groups if between and len(group) > 1 for made in [stream(group)] for rank in group}
    ranks = [Rank(job, rank, schedule, between if rank in first_of else None, spreads.get(rank), inner.get(rank)) for rank in range(len(job.workers))]
    snapshots, steps = {end - overlap: fragment for fragment, end in enumerate(outer)}, {end: fragment for fragment, end in enumerate(outer)}
    by_layer = schedule["posts"] == "layer"
    plain, halves = chunks(point), [chunks(point, [message.position for message in part]) for part in parts]
    within, rows = chunks(point, [position for position, _ in inside.messages]), [[] for _ in ranks]

    def backward_posts(rank, number, worker, layers, send, encoding):
        """Of a step, with what is sent in it."""
        now, still = job.engine.now, job.exposed[rank.number]
        for layer in layers:
            load = 0.0
            if job.slowdown.factor:
                yield worker.resume(now)
                load = yield None
            _, reached, now = worker.chunks(number, now, [layer], [load], job.slowdown.factor, encoding)
            for index, date in reached.items():
                job.engine.at(date, send, index)
                if encoding:
                    still.append((date - encoding[index], date))
        yield now

    def inner_step(rank, number, worker):
        if rank.inner is None:
            yield from backward_posts(rank, number, worker, plain, None, ())
            return
        first, total = number * len(inside.messages), len(inside.messages)

        def send(index):
            what = "all-reduce", inside.messages[index][1]
            rank.posts.append((*what, len(rank.inner.members)))
            rank.inner.post(rank.number, first + index, what)

        yield from backward_posts(rank, number, worker, within, send, inside.copies if any(inside.copies) else ())
        for index in range(total):
            yield rank.inner, first + index
        yield from job.stand_still(rank.number, sum(inside.copies))

    def layer_by_layer(rank, number, worker, fragment, what_for):
        encoding = [quantize(message.size) for message in parts[fragment]]
        send = lambda index: rank.post(what_for, payload(parts[fragment][index].size))
        yield from backward_posts(rank, number, worker, halves[fragment], send, encoding if any(encoding) else ())

    def post(rank, fragment, what_for):
        for message in parts[fragment]:
            yield from job.stand_still(rank.number, quantize(message.size))
            rank.post(what_for, payload(message.size))

    def begins_round(step):
        """Is its end a snapshot at the begin of the next round?"""
        return step % h + 1 == h and h not in snapshots

    def ending_of(step):
        """The fragment of which its end is the snapshot."""
        return snapshots.get(0 if begins_round(step) else step % h + 1) if between else None

    def away(rank, worker, back):
        """Returns whether it has missed one."""
        worker.away = True
        between.leave(rank.number)
        yield float(back)
        worker.away = False
        between.there.add(rank.number)
        job.starts[rank.number].append(job.engine.now)
        for what_for in list(rank.underway):
            yield from rank.wait(what_for)
        missed = between.has_missed(rank.number)
        if missed:
            rank.post("missed", payload(parts[0][0].size))
            yield from rank.wait("missed")
        return missed

    def program(job, number, worker):
        rank, step, looks = ranks[number], 0, False  # step: of the rounds as it counts them
        for computed in itertools.count():
            back, stale = worker.returns(job.engine.now), [0] if rank.inner else []  # of the inner update, and of outer ones
            if back is not None:
                missed = yield from away(rank, worker, back)
                looks, step = True, -(-step // h) * h if missed else step
            start = job.starts[number][-1]
            ending = ending_of(step)
            if by_layer and ending is not None:
                yield from layer_by_layer(rank, computed, worker, ending, (step // h + begins_round(step), ending))
            else:
                yield from inner_step(rank, computed, worker)
            yield worker.advance(job.engine.now, worker.slow * update)
            if looks and ending is None and (yield from between.is_awaited(number)):
                step = step // h * h + (outer[0] - overlap or h) - 1
                ending = ending_of(step)
            if ending is not None:
                looks = False
                if not by_layer:
                    yield from post(rank, ending, (step // h + begins_round(step), ending))
            awaited = step // h, steps.get(step % h + 1)
            if awaited in rank.underway:
                yield from rank.wait(awaited)
                stale.append(overlap)
            rows[number].append(window.Step(start, job.engine.now, *row(rank.posts, stale)))
            rank.posts, step = [], step + 1
            job.starts[number].append(job.engine.now)

    job.run(program, warmup, measured)
    result = report(job, (warmup, measured), forward + backward + update, lambda number: ())[1]
    result.begins, result.steps, result.memory = window.staying(job.workers, job.starts), rows, memory.states(point)
    return result


def row(posts, stale):
    """(how many, payload, staleness, bytes sent) of a step."""
    leaving = sum((2 if name == "all-reduce" else 1) * (count - 1) / count * size for name, size, count in posts)
    return len(posts), sum(size for _, size, _ in posts), stale, leaving
