"""Whole iterations in per-message and flow fidelity."""

import collections
import itertools
import math

import collectives
import synchronous
import window
from compression import Compression
from compute import chunks, ranks
from delayed import Launches
from network import Network, alone
from oracle import overlap, profile


class Job:
    """Workers are generators that yield a date to go on at, the number of a collective to go on with the own end of, or None to learn
    whether one moves. Numbers are in the order of posting. `members`: the ranks whose collectives these are."""

    def __init__(self, point, shared, make, members=None, channels=None):
        self.network, self.workers, self.make, self.channels = Network(point), ranks(point, 1), make, channels or point.get("channels", 1)
        self.engine, count = self.network.engine(shared, turns=not shared and self.channels > 1), len(self.workers)
        self.members = members or range(count)
        self.collectives, self.spans, self.queues, self.flying = {}, {}, [collections.deque() for _ in range(count)], [0] * count
        self.entered, self.left = collections.Counter(), collections.Counter()  # ranks, of a collective
        self.ends, self.waiting, self.blocked = [{} for _ in range(count)], [None] * count, [[] for _ in range(count)]
        self.starts = [[0.0] for _ in range(count)]  # of steps

    def post(self, rank, number, size):
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
            self.spans[number] = [0.0, 0.0]
        self.spans[number][0] = self.engine.now
        self.entered[number] += 1
        self.collectives[number].enter(rank)

    def ended(self, rank, number):
        self.ends[rank][number] = self.spans[number][1] = self.engine.now
        self.flying[rank] -= 1
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
        """A collective moves from when its last rank enters until its last rank ends."""
        self.resume(rank, any(count == len(self.members) > self.left[number] for number, count in self.entered.items()))

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
            if begun > known and window.covered(self.starts, self.starts, warmup, measured):
                return
            known = begun
        raise AssertionError(f"all wait: {self.waiting}")


def run_synchronous(point, shared):
    count, messages, encoding, decoding = math.prod(collectives.sizes(point["cluster"])), [], [], 0.0
    way = Compression(point, count)
    if count > 1:
        line = (0.0, 0.0)
        if point["schedule"]["name"].startswith("mg-wfbp"):
            line = way.line(lambda size: max(alone(point, size, shared, make=way.make)))
        messages, encoding, decoding = synchronous.sending(point, way, line)
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    layers, total = chunks(point, [position for position, _ in messages]), len(messages)
    cycle = point["schedule"].get("accumulate", 1)

    def program(job, rank, worker):
        for number in itertools.count():
            last, first = synchronous.sends(number, cycle), number // cycle * total
            _, reached, computed = worker.chunks(number, job.starts[rank][-1], layers, [False] * len(layers), 0.0, encoding if last else ())
            for index, (_, size) in enumerate(messages if last else []):
                job.engine.at(reached[index], job.post, rank, first + index, size)
            yield computed
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
    schedule = point["schedule"]
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
            _, reached, computed, _ = sent.passes(worker, number, job.starts[rank][-1], layers, [False] * len(layers), 0.0, launches)
            first = number // period * count
            for index in reached if launches else []:
                job.engine.at(reached[index], job.post, rank, first + index, sent.payloads[index])
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


def report(job, counts, compute, posted):
    steps = [[window.Step(*edges, *(posted(number) if rank in job.members else (0, 0)))
              for number, edges in enumerate(zip(dates, dates[1:]))] for rank, dates in enumerate(job.starts)]
    nothing, moving = [[] for _ in job.workers], job.moving()
    return job, window.Run(*counts, compute, 1, steps, job.starts, job.blocked, moving, nothing, [moving for _ in job.workers])


def simulate(point, shared):
    return (run_delayed if point["schedule"]["name"] == "dts" else run_synchronous)(point, shared)


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
