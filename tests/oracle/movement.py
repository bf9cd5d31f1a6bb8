"""Messages that move over links, event by event: each at the bandwidth of its path, or as flows that share links fairly."""

import collections
import dataclasses
import functools
import heapq
import itertools
import math

import collectives
import delayed
import plans
import synchronous
import window
from compute import chunks, ranks
from oracle import overlap, profile, quantity


@dataclasses.dataclass(frozen=True)
class Path:
    links: tuple
    latency: float
    cap: float = math.inf  # bytes per second, whatever the links have


def fair_rates(paths, capacity):
    """Max-min: all rates grow together until a link is full or a flow reaches its cap."""
    rates, growing, left = {}, dict(paths), dict(capacity)
    while growing:
        users = collections.Counter(link for path in growing.values() for link in path.links)
        level = min([left[link] / count for link, count in users.items()] + [path.cap for path in growing.values()])
        full = {link for link, count in users.items() if left[link] / count <= level * (1 + 1e-14)}
        for flow, path in list(growing.items()):
            if path.cap <= level or not full.isdisjoint(path.links):
                rates[flow] = min(level, path.cap)
                del growing[flow]
                for link in path.links:
                    left[link] = max(0.0, left[link] - rates[flow])
    return rates


@dataclasses.dataclass
class Flow:
    path: Path
    done: object
    since: float
    left: float  # bytes, at `since`
    rate: float = 0.0

    def end(self):
        return self.since + (self.left / self.rate if self.left > 0 else 0.0)


class Engine:
    """A clock, and transfers in progress. `shared`: they are flows, else none disturbs another."""

    def __init__(self, capacity, shared):
        self.now, self.events, self.order = 0.0, [], itertools.count()
        self.capacity, self.shared, self.flows, self.stale = dict(capacity), shared, {}, False

    def at(self, date, action, *arguments):
        heapq.heappush(self.events, (float(date), next(self.order), action, arguments))

    def change(self, link, bandwidth):
        self.capacity[link], self.stale = bandwidth, True

    def transfer(self, size, path, done):
        if self.shared:
            self.flows[next(self.order)] = Flow(path, done, self.now, size)
            self.stale = True
        else:
            rate = min([path.cap] + [self.capacity[link] for link in path.links])
            self.at(self.now + size / rate, done)

    def share(self):
        rates = fair_rates({key: flow.path for key, flow in self.flows.items()}, self.capacity)
        for key, flow in self.flows.items():
            if rates[key] != flow.rate:
                flow.left = max(0.0, flow.left - flow.rate * (self.now - flow.since))
                flow.since, flow.rate = self.now, rates[key]
        self.stale = False

    def next_flow(self):
        if self.stale and not (self.events and self.events[0][0] <= self.now):
            self.share()
        if self.stale or not self.flows:
            return math.inf, None
        return min((flow.end(), key) for key, flow in self.flows.items())

    def step(self):
        """One event; False when there is none."""
        date, key = self.next_flow()
        if self.events and self.events[0][0] <= date:
            date, _, action, arguments = heapq.heappop(self.events)
            self.now = max(self.now, date)
            action(*arguments)
        elif key is not None:
            self.now, self.stale = max(self.now, date), True
            self.flows.pop(key).done()
        else:
            return False
        return True


# One collective


@functools.cache
def compiled(make, *arguments):
    """A plan as (its number of parts, messages in order, which ones each rank sends, and receives, how many receives a message
    waits for, which messages wait for a message)."""
    plan = make(*arguments)
    messages, stages = [], []
    for number, stage in enumerate(plan.stages):
        messages += stage
        stages += [number] * len(stage)
    sends, receives = ([[] for _ in range(plan.ranks)] for _ in range(2))
    for index, message in enumerate(messages):
        sends[message.sender].append(index)
        receives[message.receiver].append(index)
    followers = [[later for later in sends[message.receiver] if stages[later] > stages[index] and messages[later].lane == message.lane]
                 for index, message in enumerate(messages)]
    waits = collections.Counter(itertools.chain.from_iterable(followers))
    return plan.parts, messages, sends, receives, [waits[index] for index in range(len(messages))], followers


class Operation:
    """A plan that moves `size` bytes. `route(sender, receiver)` is a Path; `ended(rank)` is called when a rank has ended; `carried`
    counts the bytes of every link."""

    def __init__(self, engine, plan, size, gamma, route, ended, carried=None):
        parts, self.messages, self.sends, self.receives, waits, self.followers = plan
        self.engine, self.part, self.gamma, self.route, self.ended = engine, size / parts, gamma, route, ended
        self.waits, count, self.carried = list(waits), len(self.sends), collections.Counter() if carried is None else carried
        self.entered, self.sent, self.received = [False] * count, [0] * count, [0] * count
        self.started, self.left = set(), [len(out) + len(inward) for out, inward in zip(self.sends, self.receives)]

    def enter(self, rank):
        self.entered[rank] = True
        self.consider(self.sends[rank], self.sent[rank])
        self.consider(self.receives[rank], self.received[rank])
        self.finish(rank, 0)

    def consider(self, queue, position):
        """Start the message at the head of a rank's sends or receives, if all that it waits for is there."""
        if position == len(queue):
            return
        index = queue[position]
        sender, receiver, carried, reduces, _ = self.messages[index]
        ready = self.entered[sender] and self.entered[receiver] and not self.waits[index] and index not in self.started
        if ready and self.sends[sender][self.sent[sender]] == index == self.receives[receiver][self.received[receiver]]:
            self.started.add(index)
            size, path = self.part * len(carried), self.route(sender, receiver)
            delay = path.latency + (self.gamma * size if reduces else 0.0)
            self.carried.update(dict.fromkeys(path.links, size))
            self.engine.transfer(size, path, lambda: self.transferred(index, sender, receiver, delay))

    def transferred(self, index, sender, receiver, delay):
        self.engine.at(self.engine.now + delay, self.arrived, index, receiver)
        self.sent[sender] += 1
        self.received[receiver] += 1
        self.consider(self.sends[sender], self.sent[sender])
        self.consider(self.receives[receiver], self.received[receiver])
        self.finish(sender, 1)

    def arrived(self, index, receiver):
        for follower in self.followers[index]:
            self.waits[follower] -= 1
        self.consider(self.sends[receiver], self.sent[receiver])
        self.finish(receiver, 1)

    def finish(self, rank, count):
        self.left[rank] -= count
        if not self.left[rank]:
            self.ended(rank)


class TwoLevel:
    """Reduce-scatter in every node, `outer` among the nodes, all-gather in every node; GPUs of a node wait for each other between."""

    def __init__(self, engine, nodes, gpus, outer, size, gamma, routes, ended):
        route_gpus, route_nodes = routes
        self.gpus, self.missing, self.first, self.carried = gpus, [gpus] * nodes, [], collections.Counter()

        def inside(plan, node, after):
            return Operation(engine, compiled(plan, gpus), size, gamma, lambda a, b: route_gpus(node * gpus + a, node * gpus + b), after,
                             self.carried)

        def scattered(node):
            self.missing[node] -= 1
            if not self.missing[node]:
                among.enter(node)

        def gather(node):
            last = inside(plans.all_gather_in_node, node, lambda gpu: ended(node * gpus + gpu))
            for gpu in range(gpus):
                last.enter(gpu)

        among = Operation(engine, outer, size, gamma, route_nodes, gather, self.carried)
        for node in range(nodes):
            self.first.append(inside(plans.reduce_scatter_in_node, node, lambda gpu, node=node: scattered(node)))

    def enter(self, rank):
        self.first[rank // self.gpus].enter(rank % self.gpus)


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

    def engine(self, shared):
        engine = Engine(self.capacity, shared)
        for link, changes in self.profiles.items():
            for change in changes:
                engine.at(change["at_s"], engine.change, link, quantity(change["bandwidth"]))
        return engine

    def between_nodes(self, sender, receiver):
        here, there = self.place[sender], self.place[receiver]
        up, down = [(f"node-{here} up",), (f"node-{there} down",)] if "link" in self.point["cluster"] else [(), ()]
        if self.region[here] == self.region[there]:
            return Path(up + down, quantity(self.point["cluster"]["link"]["latency"]))
        name, latency, cap = self.wan[self.region[here], self.region[there]]
        return Path(up + (name,) + down, latency, cap)

    def inside_node(self, sender, receiver):
        return Path((f"gpu-{sender} up", f"gpu-{receiver} down"), quantity(self.point["cluster"]["intra_node"]["latency"]))

    def all_reduce(self, engine, size, ended):
        algorithm, gamma = self.point.get("all_reduce", "ring"), self.point["cluster"].get("reduce_s_per_B", 0.0)
        chunk = quantity(algorithm["chunk"]) if isinstance(algorithm, dict) and "chunk" in algorithm else math.inf
        plan = compiled(plans.all_reduce, collectives.between(self.point), self.nodes, max(1, math.ceil(size / chunk)))
        if self.gpus == 1:
            return Operation(engine, plan, size, gamma, self.between_nodes, ended)
        return TwoLevel(engine, self.nodes, self.gpus, plan, size, gamma, (self.inside_node, self.between_nodes), ended)

    def all_gather(self, engine, size, ended):
        plan = compiled(plans.all_gather, collectives.between(self.point), self.nodes)
        return Operation(engine, plan, size * self.nodes, 0.0, self.between_nodes, ended)


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
    """Workers are generators that yield a date to go on at, or the number of a collective to go on with the own end of."""

    def __init__(self, point, shared, make):
        self.network, self.workers, self.make = Network(point), ranks(point, 1), make
        self.engine, count = self.network.engine(shared), len(self.workers)
        self.collectives, self.spans, self.queues, self.busy = {}, {}, [collections.deque() for _ in range(count)], [False] * count
        self.ends, self.waiting = [{} for _ in range(count)], [None] * count
        self.starts = [[0.0] for _ in range(count)]  # of steps

    def post(self, rank, number, size):
        self.queues[rank].append((number, size))
        self.follow(rank)

    def follow(self, rank):
        """A rank's stream is FIFO."""
        if self.busy[rank] or not self.queues[rank]:
            return
        self.busy[rank] = True
        number, size = self.queues[rank].popleft()
        if number not in self.collectives:
            self.collectives[number] = self.make(self.network, self.engine, size, lambda one: self.ended(one, number))
            self.spans[number] = [0.0, 0.0]
        self.spans[number][0] = self.engine.now
        self.collectives[number].enter(rank)

    def ended(self, rank, number):
        self.ends[rank][number], self.spans[number][1], self.busy[rank] = self.engine.now, self.engine.now, False
        self.follow(rank)
        if self.waiting[rank] == number:
            self.waiting[rank] = None
            self.resume(rank)

    def resume(self, rank):
        for request in self.programs[rank]:
            if isinstance(request, float):
                self.engine.at(request, self.resume, rank)
                return
            if request not in self.ends[rank]:
                self.waiting[rank] = request
                return

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
    """dts, with its collectives one after another."""
    schedule = point["schedule"]
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
    job = Job(point, shared, Network.all_gather if gather else Network.all_reduce)
    job.run(program, *counts)
    return report(job, counts, forward + backward + update, lambda number: (1, payload) if number % period == period - 1 else (0, 0))


def report(job, counts, compute, posted):
    steps = [[window.Step(*edges, *posted(number)) for number, edges in enumerate(zip(dates, dates[1:]))] for dates in job.starts]
    nothing = [[] for _ in job.workers]
    return job, window.Run(*counts, compute, 1, steps, job.starts, nothing, [], nothing, nothing)


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
