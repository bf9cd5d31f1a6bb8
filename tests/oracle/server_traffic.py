"""What moves between clients and parameter servers: stages within nodes, channels, links, and the servers' queue. A fluid simulation
that computes every rate anew at every event."""

import collections
import itertools
import math

import collectives
import server_links
from compression import OverServers
from compute import TIE


class Message:
    """A gradient on its way: its bytes before compression, whether a pull of it follows its push, and whether the node spreads that.
    `asks`: it is but a request for a pull."""

    def __init__(self, client, step, group, size, pulled, spread=True, asks=False):
        self.client, self.step, self.group, self.size, self.pulled, self.spread = client, step, group, size, pulled, spread
        self.asks = asks


class Transfer:
    """A push or a pull: seconds in which the node reduces, if that is serial; parts; seconds in which it spreads."""

    def __init__(self, message, pull, start, lead, parts, tail):
        self.message, self.pull, self.start, self.parts, self.tail = message, pull, start, parts, tail
        self.phase, self.until = 0, start + lead

    def dates(self):
        return [part.until for part in self.parts if not part.moves] if self.phase == 1 else [self.until]


class Stage:
    """A message that a node reduces or spreads while its channels move others."""

    def __init__(self, message, start, seconds):
        self.message, self.start, self.until = message, start, start + seconds


class Traffic:
    """`answer`: what the server does with a push that it has handled."""

    def __init__(self, point):
        schedule, cluster = point["schedule"], point["cluster"]
        self.links, self.way = server_links.links(point), OverServers(point)
        self.changes = collections.deque(self.links.changes)
        self.n, self.gpus = collectives.sizes(cluster)
        self.inner = collectives.link(cluster["intra_node"]) if self.gpus > 1 else (0.0, 0.0)
        self.gamma, self.work = cluster.get("reduce_s_per_B", 0.0), schedule.get("server_s_per_B", 0.0)
        self.host = collectives.host(cluster, "per_message_s")
        self.duplex = schedule.get("duplex", True)
        self.pipelined = self.gpus > 1 and schedule.get("within_node", "pipelined") == "pipelined"
        self.open = schedule.get("in_flight", "serial") == "pipelined"  # a channel does not wait for what is on its way
        self.requested = schedule.get("pulls", "sent") == "requested"

        self.now, self.instant = 0.0, 0.0  # what ends until then ends now
        self.queue, self.handling, self.arrived = collections.deque(), None, []
        self.underway = []  # (date, what happens then) of messages without bytes
        self.channels = {(client, pull): collections.deque() for client in range(self.n) for pull in (False, True)}
        self.transfers = {channel: [] for channel in self.channels}  # in the order in which they have begun
        self.held, self.sent = set(), {}  # serial channels between a push and its pull; the parts that went last, by channel
        self.lanes = {lane: collections.deque() for lane in self.channels} if self.pipelined else {}
        self.stages = {}  # by lane
        self.pulled = [set() for _ in range(self.n)]  # (step, group) of the pulls that are in
        self.handled, self.moving, self.own = collections.Counter(), [], [[] for _ in range(self.n)]

    def cost(self):
        """(a, b) of a push and its pull when all clients do both."""
        (a, b), (alpha, beta) = self.links.cost(), self.inner
        a = a * (0 if self.open else 2 if self.requested and not self.duplex else 1) + 2 * self.n * self.host
        b += self.n * self.work / self.links.count
        return a + 2 * (self.gpus - 1) * alpha, b + (self.gpus - 1) / self.gpus * (2 * beta + self.gamma)

    def moved(self, client, since):
        """Until now."""
        self.own[client].append((since, self.now))
        self.moving.append((since, self.now))

    # Nodes

    def within(self, size, reduces):
        """Seconds in which a node reduces or spreads."""
        alpha, beta = self.inner
        return (self.gpus - 1) * alpha + (self.gpus - 1) / self.gpus * size * (beta + self.gamma * reduces)

    def push(self, client, step, group, size, pulled, spread=True):
        message = Message(client, step, group, size, pulled, spread)
        if self.pipelined:
            self.lanes[client, False].append(message)
        else:
            self.send(message)

    def leave(self, lane, stage):
        del self.stages[lane]
        self.moved(lane[0], stage.start)
        if lane[1]:
            self.receive(stage.message)
        else:
            self.send(stage.message)

    def receive(self, message):
        self.pulled[message.client].add((message.step, message.group))

    # Channels

    def channel(self, client, pull):
        return client, pull and self.duplex

    def send(self, message):
        self.channels[self.channel(message.client, False)].append((message, False))

    def after(self, message, to_client, happens):
        """`happens` with the message when one without bytes has arrived."""
        date = self.now + self.links.longest(message.client, to_client) * self.requested
        if date > self.now:
            self.underway.append((date, happens, message))
        else:
            happens(message)

    def allow(self, message):
        """Its pull has become possible."""
        self.after(message, True, lambda message: self.after(message, False, self.give))

    def give(self, message):
        self.pull(message)

    def ask(self, message):
        """For a pull that answers no push."""
        self.after(message, False, lambda message: self.arrived.append(message))

    def pull(self, message):
        channel = self.channel(message.client, True)
        if channel in self.held:
            self.held.remove(channel)
            self.begin(message, True)
        else:
            self.channels[channel].append((message, True))

    def begin(self, message, pull):
        lead = self.within(message.size, True) if not pull and not self.pipelined else 0.0
        tail = self.within(message.size, False) if pull and message.spread and not self.pipelined else 0.0
        size = self.way.pulled(message.size) if pull else self.way.sent(message.size)
        parts = self.links.parts(message.client, pull, size)
        channel = self.channel(message.client, pull)
        for part, ahead in zip(parts, self.sent.get(channel, [])):  # long over unless it is open
            part.ahead = ahead
        self.sent[channel] = parts
        self.transfers[channel].append(Transfer(message, pull, self.now, lead, parts, tail))

    def is_over(self, transfer):
        if transfer.phase == 0 and self.due(transfer.until):
            transfer.phase = 1
            for part in transfer.parts:
                part.until = self.now + part.way.latency
        if transfer.phase == 1:
            for part in transfer.parts:
                if self.due(part.until):
                    part.go()
            transfer.parts = [part for part in transfer.parts if not part.is_over()]
            if not transfer.parts:
                transfer.phase, transfer.until = 2, self.now + (transfer.tail if transfer.pull else self.links.queue)
        return transfer.phase == 2 and self.due(transfer.until)

    def finish(self, channel, transfer):
        self.transfers[channel].remove(transfer)
        message = transfer.message
        self.moved(message.client, transfer.start)
        if not transfer.pull:
            if message.pulled and not self.duplex:
                self.held.add(channel)
            self.arrived.append(message)
        elif self.pipelined and message.spread:
            self.lanes[message.client, True].append(message)
        else:
            self.receive(message)

    def is_busy(self, client):
        """The client's channel, or its node with a push or a pull."""
        return any(self.transfers[client, pull] or (client, pull) in self.stages for pull in (False, True))

    def all_transfers(self):
        return list(itertools.chain.from_iterable(self.transfers.values()))

    # Time

    def due(self, date):
        return date <= self.instant

    def progress(self):
        """What ends now, and what starts when it has; False if there is nothing."""
        changed = False
        for channel, transfers in self.transfers.items():
            for transfer in list(transfers):
                if self.is_over(transfer):
                    self.finish(channel, transfer)
                    changed = True
        for lane, stage in list(self.stages.items()):
            if self.due(stage.until):
                self.leave(lane, stage)
                changed = True
        if self.handling and self.due(self.handling[1]):
            changed, message, self.handling = True, self.handling[0], None
            self.handled[message.group] += not message.asks
            self.answer(message)
        for one in [one for one in self.underway if self.due(one[0])]:
            changed = True
            self.underway.remove(one)
            one[1](one[2])
        for channel, waiting in self.channels.items():
            if waiting and (self.open or not self.transfers[channel]) and channel not in self.held:
                self.begin(*waiting.popleft())
                changed = True
        for lane, waiting in self.lanes.items():
            if waiting and lane not in self.stages:
                message = waiting.popleft()
                self.stages[lane] = Stage(message, self.now, self.within(message.size, reduces=not lane[1]))
                changed = True
        return changed

    def decide(self):
        """What starts only when all else of this instant has happened; False if there is nothing."""
        self.queue.extend(sorted(self.arrived, key=lambda message: message.client))
        self.arrived = []
        if self.handling or not self.queue:
            return False
        message = self.queue.popleft()
        seconds, pulls = 0.0 if message.asks else self.way.work(message.size, self.work), self.answers(message)
        if pulls:
            seconds += self.way.answer(message.size)
        seconds = seconds / self.links.count + (pulls + (not message.asks)) * self.host
        self.handling = message, self.now + seconds
        self.moving.append((self.now, self.now + seconds))
        return True

    def dates(self):
        """When what is in progress ends, but for parts that share links."""
        dates = [date for transfer in self.all_transfers() for date in transfer.dates() if not self.due(date)]
        dates += [date for date, *_ in self.underway]
        dates += [stage.until for stage in self.stages.values()] + ([self.handling[1]] if self.handling else [])
        return dates + [date for date, *_ in itertools.islice(self.changes, 1)]

    def flow(self, dates):
        """On to the first of these dates or to what ends before."""
        moving = [part for transfer in self.all_transfers() for part in transfer.parts if part.moves]
        rates = list(self.links.rates(moving))
        ends = [self.now + part.left / rate if rate else math.inf for part, rate in zip(moving, rates)]
        next_date = min(ends + dates + self.dates())
        for part, rate, end in zip(moving, rates, ends):
            part.left = 0.0 if end <= next_date * (1 + TIE) else part.left - rate * (next_date - self.now)
        self.links.move(moving, next_date - self.now)
        self.now, self.instant = next_date, next_date * (1 + TIE)
        while self.changes and self.due(self.changes[0][0]):
            _, what, value = self.changes.popleft()
            self.links.change(what, value)

    def cut(self):
        """The run ends, after the close of its window."""
        for one in [*self.all_transfers(), *self.stages.values()]:
            self.moved(one.message.client, one.start)

    def answers(self, message):
        """How many pulls will follow when this has been handled?"""
        raise NotImplementedError

    def answer(self, message):
        raise NotImplementedError
