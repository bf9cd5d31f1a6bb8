"""All-reduces of clusters and whole iterations in per-message and flow fidelity."""

import collections
import itertools
import math

import collectives
import delayed
import plans
import synchronous
import window
from compute import chunks, ranks
from movement import Engine, Operation, Path, compiled
from oracle import overlap, profile, quantity


# Clusters


def window_rate(entry):
    return quantity(entry["tcp_window"]) / quantity(entry["rtt"]) if "tcp_window" in entry else math.inf


class Network:
    """Links of a star or of regions, and routes over them by rank."""

    def __init__(self, point):
        self.point, cluster = point, point["cluster"]
        self.nodes, self.gpus = collectives.sizes(cluster)
        self.capacity, self.profiles, self.wan = {}, {}, {}
        if "link" in cluster:
            for node, way in itertools.product(range(self.nodes), ("up", "down")):
                self.capacity[f"node-{node} {way}"] = quantity(cluster["link"]["bandwidth"]) * cluster.get("nics", 1)
        if self.gpus > 1:
            for gpu, way in itertools.product(range(self.nodes * self.gpus), ("up", "down")):
                self.capacity[f"gpu-{gpu} {way}"] = quantity(cluster["intra_node"]["bandwidth"])
        regions = cluster.get("regions", [{"name": "", "nodes": self.nodes}])
        self.region = [region["name"] for region in regions for _ in range(region["nodes"])]
        for entry in cluster.get("wan", []):
            for pair in (entry["between"], entry["between"][::-1]):
                self.capacity[name := "wan " + "-".join(pair)] = quantity(entry["bandwidth"])
                self.profiles[name] = entry.get("bandwidth_profile", [])
                self.wan[tuple(pair)] = name, quantity(entry["rtt"]) / 2, window_rate(entry)
        self.place = list(range(self.nodes))
        if "regions" in cluster and cluster.get("placement", "by-region") == "by-region":
            self.place.sort(key=lambda node: point["region_order"].index(self.region[node]))

    def engine(self, shared, turns=False):
        engine = Engine(self.capacity, shared, turns)
        for link, changes in self.profiles.items():
            for change in changes:
                engine.at(change["at_s"], engine.change, link, quantity(change["bandwidth"]))
        return engine

    def route(self, sender, receiver):
        here, there = (self.place[rank // self.gpus] for rank in (sender, receiver))
        if here == there:
            return Path((f"gpu-{sender} up", f"gpu-{receiver} down"), quantity(self.point["cluster"]["intra_node"]["latency"]))
        up, down = [(f"node-{here} up",), (f"node-{there} down",)] if "link" in self.point["cluster"] else [(), ()]
        if self.region[here] == self.region[there]:
            return Path(up + down, quantity(self.point["cluster"]["link"]["latency"]))
        name, latency, cap = self.wan[self.region[here], self.region[there]]
        return Path(up + (name,) + down, latency, cap)

    def operation(self, engine, size, ended, name="all-reduce", members=None):
        """Over all ranks, or over some where every node has one."""
        algorithm, gamma = self.point.get("all_reduce", "ring"), self.point["cluster"].get("reduce_s_per_B", 0.0)
        chunk = quantity(algorithm["chunk"]) if isinstance(algorithm, dict) and "chunk" in algorithm else math.inf
        pipelined = self.gpus > 1 or name in ("all-reduce", "broadcast")  # levels, or a tree
        count = max(1, math.ceil(size / chunk)) if pipelined else 1
        plan = compiled(plans.two_level, collectives.between(self.point), len(members or self.place), self.gpus, count, name)
        return Operation(engine, plan, size, gamma, self.route, ended, members)

    def all_reduce(self, engine, size, ended):
        return self.operation(engine, size, ended)

    def all_gather(self, engine, size, ended):
        return self.operation(engine, size * self.nodes * self.gpus, ended, "all-gather")


def alone(point, size, shared=False, starts=None, make=Network.all_reduce):
    """When each rank ends an all-reduce, of ranks that start at 0 or at `starts`."""
    network = Network(point)
    engine, ends = network.engine(shared), {}

    def ended(rank):
        ends[rank] = engine.now

    collective = make(network, engine, size, ended)
    for rank in range(network.nodes * network.gpus):
        engine.at(starts[rank] if starts else 0.0, collective.enter, rank)
    while engine.step():
        pass
    return [ends[rank] for rank in range(network.nodes * network.gpus)]


# Whole iterations


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
        while self.engine.step():
            begun = min(map(len, self.starts))
            if begun > known and window.covered(self.starts, self.starts, warmup, measured):
                return
            known = begun
        raise AssertionError(f"all wait: {self.waiting}")


def run_synchronous(point, shared):
    messages, count = [], math.prod(collectives.sizes(point["cluster"]))
    if count > 1:
        line = (0.0, 0.0)
        if point["schedule"]["name"].startswith("mg-wfbp"):
            size = collectives.model_bytes(point)
            line = collectives.line(lambda size: max(alone(point, size, shared)), size)
        messages = synchronous.groups(point, *line, point["schedule"])
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    layers, total = chunks(point, [position for position, _ in messages]), len(messages)

    def program(job, rank, worker):
        for number in itertools.count():
            _, reached, computed = worker.chunks(number, job.starts[rank][-1], layers, [False] * len(layers), 0.0)
            for index, (_, size) in enumerate(messages):
                job.engine.at(reached[index], job.post, rank, number * total + index, size)
            yield computed
            for index in range(total):
                yield number * total + index
            date = worker.advance(job.engine.now, worker.slow * update)
            job.starts[rank].append(date)
            yield date

    job, counts = Job(point, shared, Network.all_reduce), window.iterations(point)
    job.run(program, *counts)
    return report(job, counts, forward + backward + update, lambda number: (total, sum(size for _, size in messages)))


def run_delayed(point, shared):
    schedule = point["schedule"]
    in_flight = {"pipelined": math.inf, "serial": 1}[schedule.get("in_flight", "pipelined")]
    delay, period, overhead = schedule["delay"], schedule.get("period", 1), schedule.get("overhead_s", 0.0)
    gather = schedule.get("compression", 1) < 1 and schedule.get("sparse", "all-gather") == "all-gather"
    forward, backward, update, _ = profile(point["trace"], point.get("granularity", "tensor"))
    layers, (_, payload) = chunks(point), delayed.launched(point, schedule)

    def program(job, rank, worker):
        for number in itertools.count():
            _, _, computed = worker.chunks(number, job.starts[rank][-1], layers, [False] * len(layers), 0.0)
            launches, due = number % period == period - 1, (number - delay) % period == period - 1 and number >= delay
            yield computed + launches * overhead
            if due and delay:
                yield number - delay
            if launches:
                job.post(rank, number, payload)
            if due and not delay:
                yield number
            date = worker.advance(job.engine.now, worker.slow * update)
            job.starts[rank].append(date)
            yield date

    counts = window.iterations(point, math.lcm(period, max(delay, 1)))
    job = Job(point, shared, Network.all_gather if gather else Network.all_reduce, channels=point.get("channels", in_flight))
    job.run(program, *counts)
    return report(job, counts, forward + backward + update, lambda number: (1, payload) if number % period == period - 1 else (0, 0))


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
