"""lasgd (rounds of a non-blocking all-reduce among local steps) and sgp (push-sum between pairs)."""

import itertools
import math

import collectives
from compute import TIE, busy, chunks, ranks
from oracle import profile
from window import Run, Step, covered, iterations


class Collective:
    """A round's all-reduce: it gathers ranks, then moves."""

    def __init__(self):
        self.ranks, self.end = set(), math.inf


class Lasgd:
    def __init__(self, point):
        schedule, cluster = point["schedule"], point["cluster"]
        self.point, self.tau = point, schedule["tau_max"]
        gpus = cluster.get("gpus_per_node", 1)
        node = schedule.get("worker", "node") == "node"
        self.each = gpus if node else 1
        self.workers = ranks(point, self.each)
        self.inside = collectives.inside_node(cluster)(collectives.model_bytes(point)) if node else 0.0
        self.cost = collectives.over_nodes(point) if node else collectives.over_gpus(point)
        self.needed = math.ceil(schedule.get("participants", 1) * len(self.workers) - 1e-9)
        self.slowdown, self.layers = point.get("workers", {}).get("overlap_slowdown", 0.0), chunks(point)
        self.forward, self.backward, self.update, _ = profile(point["trace"], "tensor")
        self.gathering, self.free, self.moving = Collective(), 0.0, []
        empty = [[[] for _ in self.workers] for _ in range(5)]
        self.starts, self.begins, self.steps, self.blocked, self.inner = empty

    def worker(self, rank):
        """Yields (date, what happens then): a layer starts, a boundary is looked at, or a collective has been waited for."""
        worker, now, joined, since = self.workers[rank], 0.0, None, 0
        alone = len(self.workers) == 1
        for number in itertools.count():
            start, factor = now, worker.factor(number)
            self.starts[rank].append(start)
            for seconds, _ in self.layers:
                slowed = False
                if self.slowdown:
                    slowed = yield worker.resume(now), "layer"
                now = worker.advance(now, seconds * factor * (1 + self.slowdown * slowed))
            self.inner[rank].append((now, now + self.inside))
            now = worker.advance(now + self.inside, worker.slow * self.update)
            yield now, "boundary"
            since += 1
            mixed = []
            if joined and (joined.end <= now * (1 + TIE) or since == self.tau):
                if joined.end > now * (1 + TIE):
                    before, now = now, (yield joined, "wait")
                    self.blocked[rank].append((before, now))
                mixed, joined = [since], None
            begins = joined is None
            if begins:
                since = 0
                self.begins[rank].append(now)
                if not alone:
                    joined = self.gathering
                    joined.ranks.add(rank)
            size = collectives.model_bytes(self.point) if begins and not alone else 0
            self.steps[rank].append(Step(start, now, int(begins and not alone), size, mixed))

    def start_collective(self, now):
        if self.free > now * (1 + TIE) or len(self.gathering.ranks) < self.needed:
            return
        seconds = sum(collectives.parts(self.point, self.cost, collectives.model_bytes(self.point), len(self.moving)))
        self.gathering.end = self.free = now + seconds
        self.moving.append((now, self.free))
        self.gathering = Collective()

    def run(self):
        warmup, measured = iterations(self.point)
        programs = [self.worker(rank) for rank in range(len(self.workers))]
        wakes = [next(program) for program in programs]

        def date(wake):
            return wake[0].end if wake[1] == "wait" else wake[0]

        def resume(now, what):
            for rank, wake in enumerate(wakes):
                if wake[1] in what and date(wake) <= now * (1 + TIE):
                    wakes[rank] = programs[rank].send({"layer": busy(self.moving[-2:], now), "wait": date(wake)}.get(wake[1]))

        while not (all(self.begins) and covered(self.begins, self.starts, warmup, measured)):
            waking = [date(wake) for wake in wakes]
            now = min(waking + ([self.free] if len(self.gathering.ranks) >= self.needed and self.moving else []))
            resume(now, ("boundary", "wait"))
            if len(self.workers) > 1:
                self.start_collective(now)
            resume(now, ("layer",))
        communication = [self.moving + inner for inner in self.inner]
        return Run(warmup, measured, self.forward + self.backward + self.update, self.each, self.steps, self.begins, self.blocked,
                   self.moving, self.inner, communication)


def lasgd(point):
    return Lasgd(point).run()


def sgp(point):
    cluster, size = point["cluster"], collectives.model_bytes(point)
    gpus = cluster.get("gpus_per_node", 1)
    workers, layers = ranks(point, gpus), chunks(point)
    forward, backward, update, _ = profile(point["trace"], "tensor")
    warmup, measured = iterations(point)
    n, inside = len(workers), collectives.inside_node(cluster)(size)
    alpha, beta = collectives.link(cluster["link"])
    starts, steps, exposed, blocked, links = [[0.0] for _ in workers], *([[[] for _ in workers] for _ in range(4)])
    free, before = [0.0] * n, None  # before: what step i - 1 sent, by sender: (handed over, arrives)
    for number in itertools.count():
        sent = []
        for rank in range(n if n > 1 else 0):
            handed = starts[rank][-1]
            begin = max(handed, free[rank])
            free[rank] = begin + alpha + size * beta
            links[rank].append((begin, free[rank]))
            sent.append((handed, free[rank]))
        for rank, worker in enumerate(workers):
            start = starts[rank][-1]
            now = worker.chunks(number, start, layers, [False] * len(layers), 0.0)[2]
            exposed[rank].append((now, now + inside))
            links[rank].append((now, now + inside))
            now = worker.advance(now + inside, worker.slow * update)
            if before:
                handed, arrives = before[(rank - 2 ** ((number - 1) % math.ceil(math.log2(n)))) % n]
                exposed[rank].append((max(now, handed), max(now, arrives)))
                now = max(now, arrives)
            starts[rank].append(now)
            steps[rank].append(Step(start, now, int(n > 1), size if n > 1 else 0, [1] if before else []))
        before = sent
        if covered(starts, starts, warmup, measured):
            return Run(warmup, measured, forward + backward + update, gpus, steps, starts, blocked, [], exposed, links)
