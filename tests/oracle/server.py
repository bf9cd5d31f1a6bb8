"""Schedules over a parameter server: clients' channels, fair-shared links and one queue. A fluid simulation that computes every rate
anew at every event."""

import collections
import itertools
import math

import collectives
from compute import TIE, chunks, ranks
from oracle import profile
from synchronous import groups
from window import Run, Step, covered, iterations


class Transfer:
    """A push or a pull: fixed seconds (a node's GPUs reduce; latency), the shared part, fixed seconds (its GPUs broadcast)."""

    def __init__(self, message, pull, start, lead, part, tail):
        self.message, self.pull, self.start = message, pull, start
        self.phases = [lead, part, tail]
        self.phase, self.until, self.left = 0, start + lead, part

    @property
    def shares(self):
        return self.phase == 1


class Message:
    """A gradient on its way: its push, and whether a pull of it follows."""

    def __init__(self, client, step, group, size, pulled):
        self.client, self.step, self.group, self.size, self.pulled = client, step, group, size, pulled


class Links:
    """Rates of the transfers that move at a moment."""

    def __init__(self, cluster, schedule):
        self.servers, self.bandwidth = schedule.get("servers", 1), 1 / collectives.link(cluster["link"])[1]
        self.colocated = schedule.get("colocated", False)

    def serves(self, client):
        return self.colocated and client < self.servers

    def parts(self, client):
        return self.servers - 1 if self.serves(client) else self.servers

    def loads(self, pushers, pullers):
        """(down, up): parts on the servers' busiest link of each direction."""
        if not self.colocated:
            return len(pushers), len(pullers)
        own, nodes = self.servers - 1, range(self.servers)
        return (max(sum(client != node for client in pushers) + own * (node in pullers) for node in nodes),
                max(sum(client != node for client in pullers) + own * (node in pushers) for node in nodes))

    def part_rates(self, moving):
        pushers = {transfer.message.client for transfer in moving if not transfer.pull}
        pullers = {transfer.message.client for transfer in moving if transfer.pull}
        down, up = self.loads(pushers, pullers)
        for transfer in moving:
            client = transfer.message.client
            shares = [self.parts(client), up if transfer.pull else down]
            if self.serves(client):
                shares.append(down if transfer.pull else up)
            yield self.bandwidth / max(shares)


class Job:
    """Clients, channels and the server. A schedule says what a client does and what the server's answer is."""

    by_gradient = True  # else one message for the model

    def __init__(self, point):
        self.point, self.schedule, cluster = point, point["schedule"], point["cluster"]
        self.links = Links(cluster, self.schedule)
        self.n, self.gpus = collectives.sizes(cluster)
        self.alone = self.n * self.gpus == 1
        self.alpha = collectives.link(cluster["link"])[0]
        self.inner = collectives.link(cluster["intra_node"]) if self.gpus > 1 else (0.0, 0.0)
        self.gamma, self.work = cluster.get("reduce_s_per_B", 0.0), self.schedule.get("server_s_per_B", 0.0)
        self.duplex = self.schedule.get("duplex", True)
        self.clients = ranks(point, self.gpus)
        self.forward, self.backward, self.update, _ = profile(point["trace"], point.get("granularity", "tensor"))
        self.slowdown = point.get("workers", {}).get("overlap_slowdown", 0.0)
        self.messages = self.grouped() if self.by_gradient and not self.alone else []
        self.layers = chunks(point, [position for position, _ in self.messages])

        self.now, self.queue, self.handling, self.arrived = 0.0, collections.deque(), None, []
        self.channels = {(client, pull): collections.deque() for client in range(self.n) for pull in (False, True)}
        self.transfers, self.held = {}, set()  # by channel; a serial channel between its push and its pull
        self.pulled = [set() for _ in range(self.n)]  # (step, group) of the pulls that are in
        self.handled, self.moving = collections.Counter(), []
        self.starts, self.steps, self.blocked, self.own = ([[] for _ in range(self.n)] for _ in range(4))

    def grouped(self):
        a, b = 2 * self.alpha, 2 / min(self.links.bandwidth, self.links.servers * self.links.bandwidth / self.n)
        b += self.n * self.work / self.links.servers
        alpha, beta = self.inner
        a += 2 * (self.gpus - 1) * alpha
        b += (self.gpus - 1) / self.gpus * (2 * beta + self.gamma)
        grouping = self.schedule.get("grouping", "wfbp")
        return groups(self.point, a, b, {"name": grouping} if isinstance(grouping, str) else grouping)

    # Channels

    def channel(self, client, pull):
        return client, pull and self.duplex

    def begin(self, message, pull):
        alpha, beta = self.inner
        share = (self.gpus - 1) / self.gpus * message.size
        parts = self.links.parts(message.client)
        lead = (self.alpha if parts else 0.0) + (0.0 if pull else (self.gpus - 1) * alpha + share * (beta + self.gamma))
        tail = (self.gpus - 1) * alpha + share * beta if pull else 0.0
        part = message.size / self.links.servers if parts else 0.0
        self.transfers[self.channel(message.client, pull)] = Transfer(message, pull, self.now, lead, part, tail)

    def push(self, client, step, group, size, pulled):
        self.channels[self.channel(client, False)].append((Message(client, step, group, size, pulled), False))

    def pull(self, message):
        channel = self.channel(message.client, True)
        if channel in self.held:
            self.held.remove(channel)
            self.begin(message, True)
        else:
            self.channels[channel].append((message, True))

    def finish(self, channel, transfer):
        del self.transfers[channel]
        interval = transfer.start, self.now
        self.own[transfer.message.client].append(interval)
        self.moving.append(interval)
        if transfer.pull:
            self.pulled[transfer.message.client].add((transfer.message.step, transfer.message.group))
            return
        if transfer.message.pulled and not self.duplex:
            self.held.add(channel)
        self.arrived.append((transfer.message.client, transfer.message))

    # Time

    def due(self, date):
        return date <= self.now * (1 + TIE)

    def move(self, resume):
        """Everything that happens now."""
        changed = True
        while changed:
            changed = False
            for channel, transfer in list(self.transfers.items()):
                while transfer.phase < 3 and (self.due(transfer.until) if transfer.phase != 1 else transfer.left == 0):
                    transfer.phase += 1
                    transfer.until = self.now + transfer.phases[2] if transfer.phase == 2 else math.nan
                if transfer.phase == 3:
                    self.finish(channel, transfer)
                    changed = True
            self.queue.extend(message for _, message in sorted(self.arrived, key=lambda entry: entry[0]))
            self.arrived = []
            if self.handling and self.due(self.handling[1]):
                changed, message, self.handling = True, self.handling[0], None
                self.handled[message.group] += message.size > 0
                self.answer(message)
            if self.queue and not self.handling:
                message = self.queue.popleft()
                seconds = self.work * message.size / self.links.servers
                self.handling, changed = (message, self.now + seconds), True
                self.moving.append((self.now, self.now + seconds))
            for channel, waiting in self.channels.items():
                if waiting and channel not in self.transfers and channel not in self.held:
                    self.begin(*waiting.popleft())
                    changed = True
            changed = resume("date", "wait") or changed

    def run(self, cycle=1, before=0):
        warmup, measured = iterations(self.point, cycle)
        warmup += before
        programs = [self.program(client) for client in range(self.n)]
        wakes = [next(program) for program in programs]

        def resume(*kinds):
            changed = False
            for client, (kind, what) in enumerate(wakes):
                if kind in kinds and (what() if kind == "wait" else self.due(what)):
                    busy = any((client, pull) in self.transfers for pull in (False, True))
                    wakes[client], changed = programs[client].send(busy), True
            return changed

        while not covered(self.starts, self.starts, warmup, measured):
            self.move(resume)
            if resume("layer"):
                continue
            shared = [transfer for transfer in self.transfers.values() if transfer.shares]
            rates = list(self.links.part_rates(shared))
            ends = [self.now + transfer.left / rate for transfer, rate in zip(shared, rates)]
            dates = [transfer.until for transfer in self.transfers.values() if not transfer.shares]
            dates += [what for kind, what in wakes if kind != "wait"] + ([self.handling[1]] if self.handling else [])
            next_date = min(ends + dates)
            for transfer, rate, end in zip(shared, rates, ends):
                transfer.left = 0.0 if end <= next_date * (1 + TIE) else transfer.left - rate * (next_date - self.now)
            self.now = next_date
        for transfer in self.transfers.values():  # cut off by the end of the run, after the close
            self.own[transfer.message.client].append((transfer.start, self.now))
        return Run(warmup, measured, self.seconds(), self.gpus, self.steps, self.starts, self.blocked, self.moving,
                   [[] for _ in self.own], self.own)

    # A client's step

    def compute(self, client, step, pulled):
        """Forward and backward; pushes each gradient when it is ready."""
        worker, now, factor = self.clients[client], self.now, self.clients[client].factor(step)
        for seconds, marks in self.layers:
            stretch = factor
            if self.slowdown and (yield "layer", worker.resume(now)):
                stretch = factor * (1 + self.slowdown)
            for offset, group in marks:
                yield "date", worker.advance(now, offset * stretch)
                self.push(client, step, group, self.messages[group][1], pulled)
            now = worker.advance(now, seconds * stretch)
        yield "date", now

    def local(self, client, seconds):
        worker = self.clients[client]
        yield "date", worker.advance(self.now, worker.slow * seconds)

    def until(self, client, condition):
        begin = self.now
        yield "wait", condition
        self.blocked[client].append((begin, self.now))

    def until_pulled(self, client, step):
        yield from self.until(client, lambda: all((step, group) in self.pulled[client] for group in range(len(self.messages))))

    def program(self, client):
        for number in itertools.count():
            start = self.now
            self.starts[client].append(start)
            posts, payload, staleness = yield from self.step(client, number)
            self.steps[client].append(Step(start, self.now, posts, payload, staleness))

    def posted(self, pulled):
        """(posts, payload) of a step that pushes every gradient."""
        return len(self.messages) * (1 + pulled), (1 + pulled) * sum(size for _, size in self.messages)

    def seconds(self):
        return self.forward + self.backward

    def step(self, client, number):
        raise NotImplementedError

    def answer(self, message):
        raise NotImplementedError
