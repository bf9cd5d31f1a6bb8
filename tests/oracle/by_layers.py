"""bytescheduler, p3, dear: a forward each of whose layers waits for its own gradients of the step before."""

import collections
import dataclasses
import functools
import itertools
import math

import collectives
import memory
import window
from compression import Compression
from compute import chunks, layers_of_gradients
from moving import Job, joined, report
from oracle import profile, quantity
from server_schedules import Synchronous
from streams import ByPriority

DEFAULTS = {
    "bytescheduler": {"partition": "4MB", "credit": "16MB", "over": "all-reduce"},
    "p3": {"partition": "160kB", "credit": 1, "over": "servers"},
}


def measured(point, by_layer):
    """(warm-up, measured); the first step, whose layers wait for nothing, is none of them."""
    warmup, steps = window.iterations(point)
    return warmup + (by_layer and collectives.workers(point) > 1), steps


def with_defaults(point):
    schedule = {"rule": "positive", "priority": "layer", "forward": "layer", **DEFAULTS[point["schedule"]["name"]], **point["schedule"]}
    return point | {"schedule": schedule}


@dataclasses.dataclass
class Part:
    """Of a gradient: its layer, its number in the gradient, seconds after the start of backward, bytes."""
    layer: int
    number: int
    position: float
    size: float


def cut(point):
    """All parts in the order of posting, and for the bytes of each layer its share of the update."""
    partition, result, sizes = quantity(point["schedule"]["partition"]), [], collections.Counter()
    for layer, (position, size) in zip(layers_of_gradients(point), gradients(point)):
        sizes[layer] += size
        result += [Part(layer, number, position, min(partition, size - number * partition)) for number in range(math.ceil(size / partition))]
    return result, updates(point, sizes)


def gradients(point):
    return profile(point["trace"], point.get("granularity", "tensor"))[3]


def updates(point, sizes):
    """Seconds of each layer's."""
    return {layer: point["trace"].get("update_s", 0.0) * size / sum(sizes.values()) for layer, size in sizes.items()}


def priority(schedule, part):
    return (part.layer, part.number) if schedule["priority"] == "layer" else 0


def order(schedule):
    """How much may be in flight."""
    return {"credit": quantity(schedule["credit"]), "fits": schedule["rule"] == "fits"}


# Over all-reduces


def forward_by_layers(job, rank, worker, number, layers, seconds, wait):
    """`wait(layer)`: until what it needs is there; `seconds`: of its update. None of that in the first step."""
    for layer, chunk in enumerate(layers):
        start = job.engine.now
        if number:
            yield from wait(layer)
            start = worker.advance(job.engine.now, worker.slow * seconds.get(layer, 0.0))
            yield start
        yield (yield from job.compute(rank, number, start, [chunk]))


def run_parts(point):
    schedule, n = point["schedule"], collectives.workers(point)
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    parts, seconds = cut(point)
    parts = parts if n > 1 else []
    layers, count, way = chunks(point, [part.position for part in parts]), len(point["trace"]["layers"]), Compression(point, n)
    encoding, decoding = ([code(part.size) for part in parts] for code in (way.encode, way.decode))
    of_layer = {layer: [index for index, part in enumerate(parts) if part.layer == layer] for layer in range(count)}
    by_layer, total, sent = schedule["forward"] == "layer", len(parts), [way.sent(part.size) for part in parts]

    def wait(job, rank, step, indices):
        """For these parts of a step; then they are decoded."""
        for index in indices:
            yield step * total + index
        yield from job.stand_still(rank, sum(decoding[index] for index in indices))

    def program(job, rank, worker):
        for number in itertools.count():
            if by_layer:
                yield from forward_by_layers(job, rank, worker, number, layers[:count], seconds,
                                             lambda layer: wait(job, rank, number - 1, of_layer[layer]))
            else:
                yield (yield from job.compute(rank, number, job.engine.now, layers[:count]))
            posts = [(number * total + index, size, priority(schedule, part), part.size)
                     for index, (size, part) in enumerate(zip(sent, parts))]
            yield (yield from job.compute(rank, number, job.engine.now, layers[count:], posts, encoding if any(encoding) else ()))
            if not by_layer:
                yield from wait(job, rank, number, range(total))
                yield worker.advance(job.engine.now, worker.slow * update)
            job.starts[rank].append(job.engine.now)

    cost, channels = way.over_gpus() if n > 1 else None, point.get("channels", math.inf)
    job, counts = Job(point, point.get("fidelity") == "flow", channels > 1), measured(point, by_layer)
    joined(job, point, way.make, lambda size: collectives.mean_parts(cost, size), channels=channels,
           kind=functools.partial(ByPriority, **order(schedule)))
    job.run(program, *counts)
    leaving = (n - 1 if way.gathers else 2 * (n - 1) / n) * sum(sent)
    run = report(job, counts, forward + backward + update, lambda number: (total, sum(sent), [0] * (n > 1), leaving))[1]
    run.memory = memory.states(point)
    return run


# Over servers


class OverServers(Synchronous):
    """Clients push, and pull, by priority: what may begin is decided when all else of an instant has happened."""

    def __init__(self, point):
        self.parts, _ = cut(point)
        super().__init__(point | {"schedule": point["schedule"] | {"in_flight": "pipelined"}})
        self.count, self.by_layer = len(point["trace"]["layers"]), self.schedule["forward"] == "layer"
        self.of_layer = collections.defaultdict(list)
        for index, part in enumerate(self.parts):
            self.of_layer[part.layer].append(index)
        self.offered = {channel: [] for channel in self.channels}  # what has no credit yet, as it came
        self.credit, self.fits = order(self.schedule).values()

    def grouped(self):
        return None, [(part.position, part.size) for part in self.parts]

    def send(self, message):
        self.offered[message.client, False].append(message)

    def pull(self, message):
        self.offered[message.client, True].append(message)

    def decide(self):
        return super().decide() or self.admit()

    def admit(self):
        changed = False
        for channel, offered in self.offered.items():
            while offered and self.has_credit(channel, message := min(offered, key=self.urgency)):
                offered.remove(message)
                self.begin(message, channel[1])
                changed = True
        return changed

    def urgency(self, message):
        return priority(self.schedule, self.parts[message.group])

    def has_credit(self, channel, message):
        left = self.credit - sum(transfer.message.size for transfer in self.transfers[channel])
        return left >= message.size if self.fits else left > 0

    def held_up(self, client, layer, now):
        step, mine = len(self.starts[client]) - 1, self.of_layer.get(layer, [])  # layers of backward have none
        if not (mine and step and self.by_layer):
            return now
        yield "date", now
        yield from self.until(client, lambda: all((step - 1, index) in self.pulled[client] for index in mine))
        return (yield from self.stand_still(client, sum(self.way.decode_pulled(self.parts[index].size) for index in mine), self.now))

    def step(self, client, number):
        yield from self.compute(client, number, True)
        if not self.by_layer:
            yield from self.until_pulled(client, number)
        return *self.posted(True), [0]

    def report(self):
        run = self.run(before=int(self.by_layer))
        for step in itertools.chain.from_iterable(run.steps):
            step.sent = sum(self.way.sent(part.size) for part in self.parts)
        run.memory = memory.states(self.point)
        return run


# In halves


@dataclasses.dataclass
class Bucket:
    layers: set
    position: float
    size: float
    gradients: int


def buckets(point):
    """In the order of readiness; each is closed by the gradient that reaches the size."""
    least, result = quantity(point["schedule"].get("bucket", "25MB")), []
    for layer, (position, size) in zip(layers_of_gradients(point), gradients(point)):
        if not result or result[-1].size >= least:
            result.append(Bucket(set(), position, 0.0, 0))
        last = result[-1]
        last.layers.add(layer)
        last.position, last.size, last.gradients = position, last.size + size, last.gradients + 1
    return result


def run_dear(point):
    n, sizes = collectives.workers(point), collections.Counter()
    for layer, (_, size) in zip(layers_of_gradients(point), gradients(point)):
        sizes[layer] += size
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    sent, seconds, way = buckets(point) if n > 1 else [], updates(point, sizes), Compression(point, n)
    layers, count, total = chunks(point, [bucket.position for bucket in sent]), len(point["trace"]["layers"]), len(sent)
    copies = [point["cluster"].get("copy_s_per_B", 0.0) * bucket.size * (bucket.gradients > 1) for bucket in sent]
    before, after = ([code(bucket.size) + copy for bucket, copy in zip(sent, copies)] for code in (way.encode, way.decode))
    payloads = [way.sent(bucket.size) for bucket in sent]
    gathered = sorted(range(total), key=lambda index: min(sent[index].layers))

    def wait(job, rank, step, waiting, layer):
        """For buckets with its gradients that nobody has waited for; each is decoded and copied."""
        for place, index in enumerate(gathered):
            if index in waiting and layer in sent[index].layers:
                waiting.remove(index)
                yield (2 * step + 1) * total + place
                yield from job.stand_still(rank, after[index])

    def program(job, rank, worker):
        for number in itertools.count():
            waiting = set(range(total))
            yield from forward_by_layers(job, rank, worker, number, layers[:count], seconds,
                                         lambda layer: wait(job, rank, number - 1, waiting, layer))
            posts = [(2 * number * total + index, ("reduce-scatter", size)) for index, size in enumerate(payloads)]
            yield (yield from job.compute(rank, number, job.engine.now, layers[count:], posts, before if any(before) else ()))
            for index in range(total):
                yield 2 * number * total + index
            for place, index in enumerate(gathered):
                job.post(rank, (2 * number + 1) * total + place, ("all-gather", payloads[index]))
            job.starts[rank].append(job.engine.now)

    channels = point.get("channels", 1)
    job, counts = Job(point, point.get("fidelity") == "flow", channels > 1), measured(point, True)
    joined(job, point, operation(), closed_forms(point), channels=channels)
    job.run(program, *counts)
    posted = 2 * total, sum(payloads) * (1 + 1 / n), [0] * (n > 1), 2 * (n - 1) / n * sum(payloads)
    run = report(job, counts, forward + backward + update, lambda number: posted)[1]
    run.memory = memory.states(point)
    return run


def operation(members=None):
    """Makes what is posted as (operation, bytes)."""
    return lambda network, engine, what, ended: network.operation(engine, what[1], ended, what[0], members)


def closed_forms(point, members=None):
    """(latency, transfer) of what is posted as (operation, bytes)."""
    known = functools.cache(lambda name: collectives.over_ranks(point, name, members))
    return lambda what: collectives.mean_parts(known(what[0]), what[1])


def run(point):
    dear = point["schedule"]["name"] == "dear"
    point = point if dear else with_defaults(point)
    if point["schedule"].get("over") == "servers":
        return OverServers(point).report()
    if collectives.workers(point) == 1:  # nothing to wait for: a step ends with its update
        return run_parts(with_defaults(point | {"schedule": {"name": "bytescheduler", "forward": "barrier"}}))
    return run_dear(point) if dear else run_parts(point)
