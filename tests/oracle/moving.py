"""Whole iterations in per-message and flow fidelity."""

import collections
import functools
import itertools
import math

import collectives
import synchronous
import window
from compression import Compression
from compute import Slowdown, chunks, ranks
from delayed import Launches, as_dts
from network import Network, alone
from oracle import SCHEDULES, overlap, profile


class Job:
    """Workers are generators that yield a date to go on at, the number of a collective to go on with the own end of, or None to learn
    how much of a slowdown those bring about that move. Numbers are in the order of posting. `members`: the ranks whose collectives these
    are."""

    def __init__(self, point, shared, make, members=None, channels=None):
        self.network, self.workers, self.make, self.channels = Network(point), ranks(point, 1), make, channels or point.get("channels", 1)
        self.engine, count = self.network.engine(shared, turns=not shared and self.channels > 1), len(self.workers)
        self.members = members or range(count)
        self.slowdown, self.sizes, self.posts = Slowdown(point), {}, collections.Counter()  # posts: ranks, of a collective
        self.underway = [set() for _ in range(count)]  # what each has entered and not ended
        self.share = shares(point, shared, make) if self.slowdown.by_traffic else lambda size: 1.0
        self.collectives, self.spans, self.queues, self.flying = {}, {}, [collections.deque() for _ in range(count)], [0] * count
        self.entered, self.left = collections.Counter(), collections.Counter()  # ranks, of a collective
        self.ends, self.waiting, self.blocked = [{} for _ in range(count)], [None] * count, [[] for _ in range(count)]
        self.starts = self.begins = [[0.0] for _ in range(count)]  # of steps; of what `iterations` counts
        self.host, self.until = collectives.host(point["cluster"], "per_collective_s"), [0.0] * count  # until: hosts are busy

    def post(self, rank, *collective):
        """It counts when the host has spent its time on it, after that on others."""
        self.until[rank] = max(self.engine.now, self.until[rank]) + self.host
        self.engine.at(self.until[rank], self.count, rank, *collective)

    def count(self, rank, number, size):
        self.posts[number] += 1
        self.queues[rank].append((number, size))
        self.follow(rank)

    def follow(self, rank):
        """A rank's stream is FIFO."""
        while self.flying[rank] < self.channels and self.queues[rank]:
            self.flying[rank] += 1
            self.enter(rank, *self.queues[rank].popleft())

    def enter(self, rank, number, size):
        if number not in self.collectives:
            self.collectives[number] = self.make(self.network, self.engine, size, lambda one: self.ended(one, number))
            self.collectives[number].age = number
            self.spans[number], self.sizes[number] = [0.0, 0.0], size
        self.spans[number][0] = self.engine.now
        self.entered[number] += 1
        self.underway[rank].add(number)
        self.collectives[number].enter(rank)

    def ended(self, rank, number):
        self.ends[rank][number] = self.spans[number][1] = self.engine.now
        self.flying[rank] -= 1
        self.underway[rank].remove(number)
        self.left[number] += 1
        self.follow(rank)
        if self.waiting[rank] == number:
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
            if request not in self.ends[rank]:
                self.waiting[rank] = request
                self.blocked[rank].append([self.engine.now, math.inf])
                return

    def answer(self, rank):
        """A collective keeps a rank's channel busy from when this one has entered and all have posted until this one ends."""
        moving = [number for number in self.underway[rank] if self.posts[number] == len(self.members)]
        self.resume(rank, min(1.0, sum(self.share(self.sizes[number]) for number in moving)))

    def compute(self, rank, number, start, layers, posts=(), encoding=()):
        """Layers of a step, and what is posted in them, (number, size) by mark. Returns the end."""
        worker, now, load = self.workers[rank], start, 0.0
        for layer in layers:
            if self.slowdown.factor:
                yield worker.resume(now)
                load = yield None
            _, reached, now = worker.chunks(number, now, [layer], [load], self.slowdown.factor, encoding)
            for index, date in reached.items() if posts else []:
                self.engine.at(date, self.post, rank, *posts[index])
        return now

    def moving(self):
        return [(begin, end if self.left[number] == len(self.members) else math.inf) for number, (begin, end) in self.spans.items()
                if self.entered[number] == len(self.members)]

    def run(self, program, warmup, measured):
        self.programs = [program(self, rank, worker) for rank, worker in enumerate(self.workers)]
        for rank in range(len(self.workers)):
            self.engine.at(0.0, self.resume, rank)
        known = 0
        while all(self.engine.step() for _ in range(32)):
            begun = min(map(len, self.starts))
            if begun > known and window.covered(self.begins, self.starts, warmup, measured):
                return
            known = begun
        raise AssertionError(f"all wait: {self.waiting}")


def without_bytes(make):
    """The same messages, empty."""
    def made(*arguments):
        operation = make(*arguments)
        operation.part = 0.0
        return operation

    return made


def shares(point, shared, make):
    """By the bytes of a collective: the share of its time in which these move, if it has all links to itself."""
    usual = point | {"fidelity": "alpha-beta"}  # latencies are their means

    @functools.cache
    def share(size):
        latency, whole = (max(alone(usual, size, shared, make=some)) for some in (without_bytes(make), make))
        network = Network(usual)
        transfer = max(whole - latency, make(network, network.engine(shared), size, None).busiest())
        return Slowdown(point).share(whole - transfer, transfer)

    return share


def run_synchronous(point, shared):
    count, messages, encoding, decoding = math.prod(collectives.sizes(point["cluster"])), [], [], 0.0
    way = Compression(point, count)
    if count > 1:
        tangent = None
        if point["schedule"]["name"].startswith("mg-wfbp"):
            tangent = way.tangent(lambda size: max(alone(point, size, shared, make=way.make)))
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

    job, counts = Job(point, shared, way.make), window.iterations(point, cycle)
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
    job = Job(point, shared, way.make, channels=point.get("channels", in_flight))
    job.run(program, *counts)
    return report(job, counts, forward + backward + update,
                  lambda number: (count, sum(sent.payloads)) if number % period == period - 1 else (0, 0))


def run_rounds(point, shared):
    """lasgd whose ranks are GPUs."""
    way, size, tau = Compression(point, collectives.workers(point)), collectives.model_bytes(point), point["schedule"]["tau_max"]
    forward, backward, update, _ = profile(point["trace"], "tensor")
    layers, job, counts = chunks(point), Job(point, shared, way.make), window.iterations(point)
    job.begins, posts = ([[] for _ in job.workers] for _ in range(2))  # posts: (how many, bytes), by step

    def program(job, rank, worker):
        joined, since = None, 0
        for number in itertools.count():
            computed = yield from job.compute(rank, number, job.engine.now, layers)
            yield worker.advance(computed, worker.slow * update)
            since += 1
            begins = joined is None or since == tau or joined in job.ends[rank]
            if begins:
                if joined is not None:
                    yield joined
                    yield job.engine.now + way.decode(size)
                yield job.engine.now + way.encode(size)
                joined, since = len(job.begins[rank]), 0
                job.begins[rank].append(job.engine.now)
                job.post(rank, joined, way.sent(size))
            posts[rank].append((1, way.sent(size)) if begins else (0, 0))
            job.starts[rank].append(job.engine.now)

    job.run(program, *counts)
    steps = [[window.Step(*edges, *posted) for *edges, posted in zip(dates, dates[1:], rows)] for dates, rows in zip(job.starts, posts)]
    return as_run(job, counts, forward + backward + update, steps)


def report(job, counts, compute, posted):
    steps = [[window.Step(*edges, *(posted(number) if rank in job.members else (0, 0)))
              for number, edges in enumerate(zip(dates, dates[1:]))] for rank, dates in enumerate(job.starts)]
    return as_run(job, counts, compute, steps)


def as_run(job, counts, compute, steps):
    nothing, moving = [[] for _ in job.workers], job.moving()
    return job, window.Run(*counts, compute, 1, steps, job.begins, job.blocked, moving, nothing, [moving for _ in job.workers])


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
    for number, (begin, end) in job.spans.items():
        share = overlap((begin, end), edges) / (end - begin) if end > begin else 0.0
        total.update({link: share * size for link, size in job.collectives[number].carried.items()})
    return {link: (bandwidth, total[link], total[link] / bandwidth / (close - opening)) for link, bandwidth in job.network.capacity.items()}
