"""Whole iterations in per-message and flow fidelity."""

import collections
import functools
import itertools
import math

import collectives
import synchronous
import window
from compression import Compression
from compute import Slowdown, chunks, latency_factor, ranks
from delayed import Launches, as_dts
from network import Network, alone
from oracle import BY_COST, SCHEDULES, overlap, profile
from streams import Line, Stream


class Job:
    """Workers are generators that yield a date to go on at, a collective to go on with the own end of, or None to learn how much of a
    slowdown those bring about that move. A collective is (stream, number), or a number of the first stream."""

    def __init__(self, point, shared, turns=False):
        self.network, self.workers, self.slowdown = Network(point), ranks(point, 1), Slowdown(point)
        self.engine, count = self.network.engine(shared, turns=not shared and turns), len(self.workers)
        self.streams, self.waiting, self.blocked, self.exposed = [], [None] * count, [[] for _ in range(count)], [[] for _ in range(count)]
        self.starts = self.begins = [[0.0] for _ in range(count)]  # of steps; of what `iterations` counts
        self.cluster = point["cluster"]
        self.known = 0  # of steps that all have begun

    def add(self, stream):
        self.streams.append(stream)
        return stream

    def post(self, rank, *collective):
        self.streams[0].post(rank, *collective)

    def host_time(self, members, what):
        return collectives.host_time(self.cluster, members, what)

    def wake(self, rank, stream, number):
        """It has ended there."""
        if self.waiting[rank] == (stream, number):
            self.waiting[rank] = None
            self.blocked[rank][-1][1] = self.engine.now
            self.resume(rank)

    def resume(self, rank, answer=None):
        while True:
            request, answer = self.programs[rank].send(answer), None
            if request is None:
                self.engine.last.append((self.answer, rank))
                return
            if isinstance(request, float):
                self.engine.at(request, self.resume, rank)
                return
            stream, number = request if isinstance(request, tuple) else (self.streams[0], request)
            if number not in stream.ends[rank]:
                self.waiting[rank] = stream, number
                self.blocked[rank].append([self.engine.now, math.inf])
                return

    def answer(self, rank):
        self.resume(rank, min(1.0, sum(stream.load(rank) for stream in self.streams)))

    def compute(self, rank, number, start, layers, posts=(), encoding=()):
        """Layers of a step, and what is posted in them, by mark. Returns the end."""
        worker, now, load = self.workers[rank], start, 0.0
        for layer in layers:
            if self.slowdown.factor:
                yield worker.resume(now)
                load = yield None
            _, reached, now = worker.chunks(number, now, [layer], [load], self.slowdown.factor, encoding)
            for index, date in reached.items() if posts else []:
                self.engine.at(date, self.post, rank, *posts[index])
                if encoding:
                    self.exposed[rank].append((date - encoding[index], date))
        return now

    def stand_still(self, rank, seconds):
        if seconds:
            self.exposed[rank].append((self.engine.now, self.engine.now + seconds))
            yield self.engine.now + seconds

    def moving(self):
        return [span for stream in self.streams for span in stream.moving()]

    def run(self, program, warmup, measured):
        self.programs = [program(self, rank, worker) for rank, worker in enumerate(self.workers)]
        for rank in range(len(self.workers)):
            self.engine.at(0.0, self.resume, rank)
        while all(self.engine.step() for _ in range(32)):
            if self.is_covered(warmup, measured):
                return
        raise AssertionError(f"all wait: {self.waiting}")

    def is_covered(self, warmup, measured):
        known, self.known = self.known, min(map(len, self.starts))
        return self.known > known and window.covered(self.begins, self.starts, warmup, measured)


def single(point, shared, make, members=None, channels=None, kind=Stream):
    """A job of one stream."""
    channels = channels or point.get("channels", 1)
    job = Job(point, shared, channels > 1)
    stream = job.add(kind(job, make, members, channels=channels))
    if job.slowdown.by_traffic:
        stream.share = shares(point, shared, make)
    return job


def joined(job, point, make, mean_parts, members=None, channels=1, kind=Stream):
    """A stream of a job, with draws of its own; in alpha-beta fidelity collectives take their `mean_parts`, (latency, transfer)."""
    place, fidelity, members = len(job.streams), point.get("fidelity", "alpha-beta"), list(members or range(len(job.workers)))

    def parts(what, index):
        latency, transfer = mean_parts(what)
        return latency * latency_factor(point, index, place), transfer

    def share_of_line(what):
        latency, transfer = mean_parts(what)
        return job.slowdown.share(job.host_time(len(members), what) + latency, transfer)

    if fidelity == "alpha-beta":
        make, share = Line(parts).make(members), share_of_line
    elif job.slowdown.by_traffic:
        share = shares(point, fidelity == "flow", make, members)
    else:
        share = lambda what: 1.0
    stream = job.add(kind(job, make, members, channels=channels))
    stream.share = share
    return stream


def without_bytes(make):
    """The same messages, empty."""
    def made(*arguments):
        operation = make(*arguments)
        operation.part = 0.0
        return operation

    return made


def shares(point, shared, make, members=None):
    """By the bytes of a collective, or what else `make` knows it by: the share of its time in which these move, if it has all links to
    itself."""
    usual = point | {"fidelity": "alpha-beta"}  # latencies are their means

    @functools.cache
    def share(size, tensors):  # noqa: ARG001: tensors are part of the size
        host = collectives.host_time(point["cluster"], len(members or range(collectives.workers(point))), size)
        latency, whole = (max(alone(usual, size, shared, make=some, members=members)) for some in (without_bytes(make), make))
        network = Network(usual)
        transfer = max(whole - latency, make(network, network.engine(shared), size, None).busiest())
        return Slowdown(point).share(host + whole - transfer, transfer)

    return lambda size: share(size, getattr(size, "tensors", 1))


def run_synchronous(point, shared):
    count, messages, encoding, decoding = math.prod(collectives.sizes(point["cluster"])), [], [], 0.0
    way = Compression(point, count)
    if count > 1:
        tangent = None
        if point["schedule"]["name"] in BY_COST:
            tangent = synchronous.with_host(point, way.tangent(lambda size: max(alone(point, size, shared, make=way.make))), count)
        messages, encoding, decoding = synchronous.sending(point, way, tangent)
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    layers, total = chunks(point, [position for position, _ in messages]), len(messages)
    cycle = point["schedule"].get("accumulate", 1)

    def program(job, rank, worker):
        for number in itertools.count():
            last, first = synchronous.sends(number, cycle), number // cycle * total
            posts = [(first + index, size) for index, (_, size) in enumerate(messages if last else [])]
            yield (yield from job.compute(rank, number, job.starts[rank][-1], layers, posts, encoding if last else ()))
            for index in range(total if last else 0):
                yield first + index
            date = worker.advance(job.engine.now + decoding * last, worker.slow * update * last)
            job.starts[rank].append(date)
            yield date

    job, counts = single(point, shared, way.make), window.iterations(point, cycle)
    job.run(program, *counts)
    posted = total, sum(size for _, size in messages)
    return report(job, counts, forward + backward + update / cycle, lambda number: posted if synchronous.sends(number, cycle) else (0, 0))


def run_delayed(point, shared):
    schedule = as_dts(point["schedule"])
    in_flight = {"pipelined": math.inf, "serial": 1}[schedule.get("in_flight", "pipelined")]
    delay, period = schedule["delay"], schedule.get("period", 1)
    way = Compression(point, collectives.workers(point))
    sent = Launches(point, way)
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    layers, count = chunks(point, sent.positions), len(sent.payloads)

    def wait(job, launched):
        for index in range(count):
            yield launched // period * count + index
        yield job.engine.now + sent.decoding

    def program(job, rank, worker):
        for number in itertools.count():
            launches, due = number % period == period - 1, (number - delay) % period == period - 1 and number >= delay
            first, half = number // period * count, len(layers) // 2
            posts = [(first + index, size) for index, size in enumerate(sent.payloads if launches else [])]
            passed = yield from job.compute(rank, number, job.starts[rank][-1], layers[:half])
            computed = yield from job.compute(rank, number, passed + launches * sent.between, layers[half:], posts,
                                              sent.encoding if launches else ())
            yield computed + launches * sent.after
            if due and delay:
                yield from wait(job, number - delay)
            if launches and not sent.each:
                job.post(rank, first, sent.payloads[0])
            if due and not delay:
                yield from wait(job, number)
            date = worker.advance(job.engine.now, worker.slow * update)
            job.starts[rank].append(date)
            yield date

    counts = window.iterations(point, math.lcm(period, max(delay, 1)))
    job = single(point, shared, way.make, channels=point.get("channels", in_flight))
    job.run(program, *counts)
    return report(job, counts, forward + backward + update,
                  lambda number: (count, sum(sent.payloads)) if number % period == period - 1 else (0, 0))


def run_rounds(point, shared):
    """lasgd whose ranks are GPUs."""
    way, size, tau = Compression(point, collectives.workers(point)), collectives.model_bytes(point), point["schedule"]["tau_max"]
    forward, backward, update, _ = profile(point["trace"], "tensor")
    sent = collectives.Merged(way.sent(size), len(profile(point["trace"], point.get("granularity", "tensor"))[3]))
    layers, job, counts = chunks(point), single(point, shared, way.make), window.iterations(point)
    job.begins, posts = ([[] for _ in job.workers] for _ in range(2))  # posts: (how many, bytes), by step

    def program(job, rank, worker):
        joined, since = None, 0
        for number in itertools.count():
            computed = yield from job.compute(rank, number, job.engine.now, layers)
            yield worker.advance(computed, worker.slow * update)
            since += 1
            begins = joined is None or since == tau or joined in job.streams[0].ends[rank]
            if begins:
                if joined is not None:
                    yield joined
                    yield job.engine.now + way.decode(size)
                yield job.engine.now + way.encode(size)
                joined, since = len(job.begins[rank]), 0
                job.begins[rank].append(job.engine.now)
                job.post(rank, joined, sent)
            posts[rank].append((1, sent) if begins else (0, 0))
            job.starts[rank].append(job.engine.now)

    job.run(program, *counts)
    steps = [[window.Step(*edges, *posted) for *edges, posted in zip(dates, dates[1:], rows)] for dates, rows in zip(job.starts, posts)]
    return as_run(job, counts, forward + backward + update, steps)


def report(job, counts, compute, posted, members=None):
    """`posted`: (how many, bytes, ...) of a step."""
    steps = [[window.Step(*edges, *(posted(number) if members is None or rank in members else (0, 0)))
              for number, edges in enumerate(zip(dates, dates[1:]))] for rank, dates in enumerate(job.starts)]
    return as_run(job, counts, compute, steps)


def as_run(job, counts, compute, steps):
    moving = job.moving()
    return job, window.Run(*counts, compute, 1, steps, job.begins, job.blocked, moving, job.exposed, [moving for _ in job.workers])


def simulate(point, shared):
    name = point["schedule"]["name"]
    run = run_rounds if name == "lasgd" else run_synchronous if name in SCHEDULES else run_delayed
    return run(point, shared)


def expected(point, shared):
    """The columns of results.csv that say when workers begin their steps."""
    columns = window.columns(simulate(point, shared)[1])
    times = ("iteration_s", "iteration_p50_s", "iteration_p95_s", "compute_s", "efficiency")
    return {column: columns[column] for column in times + ("communications_per_iteration", "bytes_per_worker_per_iteration")}


def links(point, shared):
    """{name: (bandwidth, bytes, utilisation)}. Of a collective that an edge of the window cuts, from when its last rank joins until
    its last rank ends, the bytes count pro rata."""
    job, run = simulate(point, shared)
    edges = opening, close = window.window(run.begins, run.warmup, run.measured)
    total = collections.Counter()
    for stream, number in ((stream, number) for stream in job.streams for number in stream.spans):
        begin, end = stream.spans[number]
        share = overlap((begin, end), edges) / (end - begin) if end > begin else 0.0
        total.update({link: share * size for link, size in stream.collectives[number].carried.items()})
    return {link: (bandwidth, total[link], total[link] / bandwidth / (close - opening)) for link, bandwidth in job.network.capacity.items()}
