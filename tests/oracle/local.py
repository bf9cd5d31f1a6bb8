"""lasgd: rounds of a non-blocking all-reduce among local steps."""

import itertools
import math

import collectives
from compression import Compression
from compute import TIE, Slowdown, chunks, is_one, load, ranks
from oracle import profile
from synchronous import groups
from window import Run, Step, covered_by, iterations, staying


class Inside:
    """The all-reduces among the GPUs of a node: in buckets as they are ready, or of all at once after backward."""

    def __init__(self, point):
        blocking, cost = point["schedule"].get("within_node", "overlapped") == "blocking", collectives.inside_node(point["cluster"])
        buckets = groups(point, {"name": "sync-easgd" if blocking else "fusion"})
        buckets = buckets if collectives.sizes(point["cluster"])[1] > 1 else []
        self.positions, self.seconds = [position for position, _ in buckets], [cost(size) for _, size in buckets]

    def spans(self, ready):
        """One after the other; `ready`: when each is."""
        spans = []
        for date, seconds in zip(ready, self.seconds):
            begin = max([date] + [end for _, end in spans[-1:]])
            spans.append((begin, begin + seconds))
        return spans


class Collective:
    """A round's all-reduce: it gathers ranks, then moves."""

    def __init__(self):
        self.ranks, self.ready, self.end, self.is_enough = set(), 0.0, math.inf, False


class Lasgd:
    def __init__(self, point):
        schedule, cluster = point["schedule"], point["cluster"]
        self.point, self.tau = point, schedule["tau_max"]
        gpus = cluster.get("gpus_per_node", 1)
        node = schedule.get("worker", "node") == "node"
        self.each = gpus if node else 1
        self.workers = ranks(point, self.each)
        self.inside = Inside(point) if node else None
        self.way, self.size = Compression(point, len(self.workers)), collectives.model_bytes(point)
        self.cost = self.way.over_nodes() if node else self.way.over_gpus()
        self.participants, self.there = schedule.get("participants", 1), len(self.workers)
        self.slowdown = Slowdown(point)
        self.layers = chunks(point, self.inside.positions if node else [])
        self.forward, self.backward, self.update, _ = profile(point["trace"], "tensor")
        self.gathering, self.free, self.moving = Collective(), 0.0, []
        whole = collectives.Merged(self.size, len(profile(point["trace"], point.get("granularity", "tensor"))[3]))
        self.host = collectives.host_time(cluster, len(self.workers), whole)
        self.share = self.slowdown.share(*collectives.mean_parts(self.cost, self.way.sent(self.size), self.host))
        empty = [[[] for _ in self.workers] for _ in range(6)]
        self.starts, self.begins, self.steps, self.blocked, self.inner, self.exposed = empty

    def worker(self, rank):
        """Yields (date, what happens then): a layer starts, a boundary is looked at, or a collective has been waited for."""
        worker, now, joined, since = self.workers[rank], 0.0, None, 0
        alone = len(self.workers) == 1
        for number in itertools.count():
            back = worker.returns(now)
            if back is not None:
                worker.away, self.there = True, self.there - 1
                yield back, "boundary"
                worker.away, self.there, now = False, self.there + 1, back
            start, factor, ready = now, worker.factor(number), []
            self.starts[rank].append(start)
            for seconds, marks in self.layers:
                met = 0.0
                if self.slowdown.factor:
                    met = yield worker.resume(now), "layer"
                stretch = factor * (1 + self.slowdown.factor * met)
                ready += [worker.advance(now, offset * stretch) for offset, _ in marks]
                now = worker.advance(now, seconds * stretch)
            if ready:
                spans = self.inside.spans(ready)
                self.inner[rank] += spans
                self.exposed[rank].append((now, max(now, spans[-1][1])))
                now = self.exposed[rank][-1][1]
            now = worker.advance(now, worker.slow * self.update)
            yield now, "boundary"
            since += 1
            mixed = []
            if joined and (joined.end <= now * (1 + TIE) or since == self.tau):
                if joined.end > now * (1 + TIE):
                    before, now = now, (yield joined, "wait")
                    self.blocked[rank].append((before, now))
                mixed, joined = [since], None
                now = yield from self.stand_still(rank, now, self.way.decode(self.size))
            begins = joined is None
            if begins:
                since = 0
                if not alone:
                    now = yield from self.stand_still(rank, now, self.way.encode(self.size))
                    joined = self.gathering
                    joined.ranks.add(rank)
                    joined.ready = max(joined.ready, now)
                self.begins[rank].append(now)
            size = self.way.sent(self.size) if begins and not alone else 0
            self.steps[rank].append(Step(start, now, int(begins and not alone), size, mixed))

    def stand_still(self, rank, now, seconds):
        """Encoding or decoding: its end."""
        if seconds:
            self.exposed[rank].append((now, now + seconds))
            yield now + seconds, "boundary"
        return now + seconds

    def next_start(self):
        """Of the collective that gathers ranks, if these are enough."""
        needed = max(1, math.ceil(self.participants * self.there - 1e-9))
        self.gathering.is_enough = self.gathering.is_enough or len(self.gathering.ranks) >= needed
        return max(self.free, self.gathering.ready) if self.gathering.is_enough else math.inf

    def start_collective(self, now):
        if self.next_start() > now * (1 + TIE):
            return
        *alone, queued = collectives.parts(self.point, self.cost, self.way.sent(self.size), len(self.moving), self.host)
        follows = self.moving and is_one(now, self.free)
        self.gathering.end = self.free = now + sum(queued if follows else alone)
        self.moving.append((now, self.free))
        self.gathering = Collective()

    def run(self):
        warmup, measured = iterations(self.point)
        programs = [self.worker(rank) for rank in range(len(self.workers))]
        wakes = [next(program) for program in programs]

        def date(wake):
            return wake[0].end if wake[1] == "wait" else wake[0]

        def resume(now, what):
            met = load(self.moving[-2:], itertools.repeat(self.share), now)
            for rank, wake in enumerate(wakes):
                if wake[1] in what and date(wake) <= now * (1 + TIE):
                    wakes[rank] = programs[rank].send({"layer": met, "wait": date(wake)}.get(wake[1]))

        begun = 0  # steps of all ranks
        while not (begun < (begun := sum(map(len, self.starts))) and all(staying(self.workers, self.begins)) and covered_by(self.workers, self.begins, self.starts, warmup, measured)):
            now = min([*(date(wake) for wake in wakes), self.next_start()])
            resume(now, ("boundary", "wait"))
            if len(self.workers) > 1:
                self.start_collective(now)
            resume(now, ("layer",))
        communication = [self.moving + inner for inner in self.inner]
        return Run(warmup, measured, self.forward + self.backward + self.update, self.each, self.steps, staying(self.workers, self.begins), self.blocked,
                   self.moving, self.exposed, communication)


def lasgd(point):
    return Lasgd(point).run()
