"""Messages that move over links, event by event: each at the bandwidth of its path, or as flows that share links fairly."""

import collections
import dataclasses
import functools
import heapq
import itertools
import math

import plans
from compute import TIE


@dataclasses.dataclass(frozen=True)
class Path:
    links: tuple
    latency: float
    cap: float = math.inf  # bytes per second, whatever the links have
    weight: int = 1  # it gets the shares of so many flows


class Distance:
    """Between two regions, which may change."""

    def __init__(self, rtt, window=math.inf):
        self.rtt, self.window = rtt, window

    @property
    def latency(self):
        return self.rtt / 2

    @property
    def cap(self):
        return self.window / self.rtt if self.rtt else math.inf


@dataclasses.dataclass(frozen=True)
class FarPath:
    links: tuple
    distance: Distance
    weight: int = 1

    @property
    def latency(self):
        return self.distance.latency

    @property
    def cap(self):
        return self.distance.cap


@dataclasses.dataclass(frozen=True)
class StoredPath:
    """All that moves is stored between two paths."""
    first: FarPath
    second: FarPath

    @property
    def links(self):
        return self.first.links + self.second.links

    @property
    def latency(self):
        return self.first.latency


class JitteredPath:
    """Its latency is drawn whenever it is read. Draws are of their own, not the simulator's."""

    def __init__(self, path, spread, draws):
        self.path, self.spread, self.draws, self.links = path, spread, draws, path.links
        self.weight = getattr(path, "weight", 1)

    @property
    def latency(self):
        return self.path.latency * self.factor()

    @property
    def cap(self):
        return self.path.cap

    def factor(self):
        if self.spread["distribution"] == "empirical":
            return self.draws.choice(self.spread["factors"]) * len(self.spread["factors"]) / sum(self.spread["factors"])
        if self.spread["distribution"] == "uniform":
            return 1 + self.spread["cv"] * math.sqrt(3) * self.draws.uniform(-1, 1)
        variance = math.log(1 + self.spread["cv"] ** 2)
        return self.draws.lognormvariate(-variance / 2, math.sqrt(variance))


def plain(path):
    return path.path if isinstance(path, JitteredPath) else path


def usual_latency(path):
    """Its mean, at this moment."""
    return plain(path).latency


def differs(spread):
    """Does it make latencies differ?"""
    return spread.get("cv", 0) > 0 or len(set(spread.get("factors", []))) > 1


def fair_rates(paths, capacity):
    """Max-min: all rates grow together, each by its weight, until a link is full or a flow reaches its cap."""
    rates, growing = {}, dict(paths)
    left = {link: capacity[link] for path in paths.values() for link in path.links}
    while growing:
        users = {}
        for path in growing.values():
            for link in path.links:
                users[link] = users.get(link, 0) + path.weight
        level = min([left[link] / count for link, count in users.items()] + [path.cap / path.weight for path in growing.values()])
        full = {link for link, count in users.items() if left[link] / count <= level * (1 + 1e-14)}
        for flow, path in list(growing.items()):
            if path.cap <= path.weight * level or not full.isdisjoint(path.links):
                rates[flow] = min(path.weight * level, path.cap)
                del growing[flow]
                for link in path.links:
                    left[link] = max(0.0, left[link] - rates[flow])
    return rates


def change(capacity, what, value):
    if isinstance(what, Distance):
        what.rtt = value
    else:
        capacity[what] = value


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
    """A clock, and transfers in progress. `shared`: they are flows, else none disturbs another, and `turns`: each waits for the channels
    of its two ends."""

    def __init__(self, capacity, shared, turns=False):
        self.now, self.events, self.order = 0.0, [], itertools.count()
        self.capacity, self.shared, self.flows, self.stale = dict(capacity), shared, {}, False
        self.first = math.inf, None  # when the first flow ends, and which one: until they share anew
        self.last = collections.deque()  # what comes when nothing else happens at this instant
        self.turns, self.waiting, self.taken, self.undecided = turns, [], set(), False
        self.last_arrivals = {}  # by way

    def at(self, date, action, *arguments):
        heapq.heappush(self.events, (float(date), next(self.order), action, arguments))

    def change(self, what, value):
        """A link's bandwidth, or the round-trip time of a distance."""
        change(self.capacity, what, value)
        self.stale = True

    def transfer(self, size, path, done, age=0, channels=()):
        if self.turns:
            self.waiting.append((age, size, path, done, set(channels)))
            self.undecided = True
        elif self.shared and isinstance(plain(path), StoredPath):
            first, second = plain(path).first, plain(path).second
            self.transfer(size, first, lambda: self.transfer(size, second, done))
        elif self.shared:
            self.flows[next(self.order)] = Flow(path, done, self.now, size)
            self.stale = True
        else:
            self.at(self.now + size / self.full_rate(path), done)

    def full_rate(self, path):
        path = plain(path)
        if isinstance(path, StoredPath):
            return 1 / (1 / self.full_rate(path.first) + 1 / self.full_rate(path.second))
        return min([path.cap] + [self.capacity[link] for link in path.links])

    def arrival(self, way, latency):
        """Of what leaves now. What overtakes waits for what was sent before."""
        self.last_arrivals[way] = max(self.now + latency, self.last_arrivals.get(way, 0.0))
        return self.last_arrivals[way]

    def decide(self):
        """What waits for free channels starts, the oldest collective's messages first."""
        self.undecided = False
        for message in sorted(self.waiting, key=lambda message: message[0]):
            _, size, path, done, channels = message
            if self.taken.isdisjoint(channels):
                self.waiting.remove(message)
                self.taken |= channels
                self.at(self.now + size / self.full_rate(path), self.release, channels, done)

    def release(self, channels, done):
        self.taken -= channels
        self.undecided = True
        done()

    def share(self):
        rates = fair_rates({key: flow.path for key, flow in self.flows.items()}, self.capacity)
        for key, flow in self.flows.items():
            if rates[key] != flow.rate:
                flow.left = max(0.0, flow.left - flow.rate * (self.now - flow.since))
                flow.since, flow.rate = self.now, rates[key]
        self.first = min(((flow.end(), key) for key, flow in self.flows.items()), default=(math.inf, None))
        self.stale = False

    def next_flow(self):
        if self.stale and not (self.events and self.events[0][0] <= self.now):
            self.share()
        return (math.inf, None) if self.stale else self.first

    def is_over(self, date):
        """This instant, when no flow ends before `date`."""
        return min([date] + [event[0] for event in self.events[:1]]) > self.now * (1 + TIE)

    def step(self):
        """One event; False when there is none."""
        date, key = self.next_flow()
        if (self.last or self.undecided) and self.is_over(date):
            if self.last:
                action, *arguments = self.last.popleft()
                action(*arguments)
            else:
                self.decide()
        elif self.events and self.events[0][0] <= date:
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


@dataclasses.dataclass
class Compiled:
    plan: plans.Plan
    messages: list  # in order
    waits: list  # how many receives each waits for
    followers: list  # which messages wait for its arrival
    channels: list  # the sender's and the receiver's: a rank has one inside its node and one to other nodes
    sends: dict  # messages, by channel
    receives: dict
    left: collections.Counter  # sends and receives, by rank
    coming: collections.Counter  # messages, by node


@functools.cache
def compiled(segments, make, *arguments):
    plan = plans.segmented(make(*arguments), segments)
    messages = [message for stage in plan.stages for message in stage]
    stages = [number for number, stage in enumerate(plan.stages) for _ in stage]
    sends, of_node = collections.defaultdict(list), collections.defaultdict(list)
    for index, message in enumerate(messages):
        sends[message.lane, message.level, message.sender].append(index)
        for node in {rank // plan.node for rank in (message.sender, message.receiver)}:
            of_node[message.lane, node].append(index)

    def after(index):
        """A rank hands on what it has received, in the same segment; and what goes from or to a node at a later level waits for all that it
        has received."""
        _, receiver, _, _, lane, level, segment = messages[index]
        return [later for later in sends[lane, level, receiver]
                if stages[later] > stages[index] and (segment is None or messages[later].segment in (None, segment))] + [
            later for later in of_node[lane, receiver // plan.node] if messages[later].level > level]

    followers = [after(index) for index in range(len(messages))]
    waits = collections.Counter(itertools.chain.from_iterable(followers))
    channels = [tuple((rank, message.segment is None) for rank in (message.sender, message.receiver)) for message in messages]
    queues = [collections.defaultdict(list) for _ in range(2)]
    for index, ends in enumerate(channels):
        for queue, channel in zip(queues, ends):
            queue[channel].append(index)
    left = collections.Counter(rank for ends in channels for rank, _ in ends)
    coming = collections.Counter(message.receiver // plan.node for message in messages)
    return Compiled(plan, messages, [waits[index] for index in range(len(messages))], followers, channels, *queues, left, coming)


class Operation:
    """A plan that moves `size` bytes. `route(sender, receiver)` is a Path; `ended(rank)` is called when a rank has ended. Where a node's
    ranks enter together, what goes from or to it waits for all of them. `members`: who are the plan's ranks. `rendezvous`: what comes
    from another node waits for the receiver's notice."""

    def __init__(self, engine, made, size, gamma, route, ended, members=None, rendezvous=False):
        plan, self.messages, self.followers, self.channels = made.plan, made.messages, made.followers, made.channels
        self.engine, self.node, self.part, self.gamma, self.route, self.ended = engine, plan.node, size / plan.parts, gamma, route, ended
        self.for_all, self.coming, self.over = plan.for_all, made.coming.copy(), set()
        self.together, self.members = plan.together, members or range(plan.ranks)
        self.waits, self.entered, self.left = list(made.waits), [False] * plan.ranks, made.left.copy()
        self.sends, self.receives = ({channel: collections.deque(queue) for channel, queue in queues.items()}  # still to be transferred
                                     for queues in (made.sends, made.receives))
        self.started, self.carried = set(), collections.Counter()  # bytes, by link
        self.age, self.row = 0, 0  # the less, the earlier it was posted; with the others of a row it takes turns
        self.unannounced = collections.defaultdict(lambda: collections.defaultdict(collections.deque))  # messages, by receiver and segment
        for index, message in enumerate(self.messages if rendezvous else []):
            if message.segment is not None:
                self.unannounced[message.receiver][message.segment].append(index)
                self.waits[index] += 1

    def busiest(self):
        """For how long the channel that moves most is busy in one direction, if it has all links to itself."""
        busy = collections.Counter()
        for index, (sender, receiver, parts, *_) in enumerate(self.messages):
            seconds = self.part * len(parts) / self.engine.full_rate(self.route(self.members[sender], self.members[receiver]))
            for way, channel in zip(("out", "in"), self.channels[index]):
                busy[way, channel] += seconds
        return max(busy.values(), default=0.0)

    def enter(self, rank):
        rank = self.members.index(rank)
        self.entered[rank] = True
        for segment in self.unannounced[rank]:
            self.announce(rank, segment)
        for channel in itertools.product(self.mates(rank), (True, False)):
            self.consider(channel)
        self.finish(rank, 0)

    def announce(self, receiver, segment):
        """A notice for the next message: all before it have come."""
        if self.unannounced[receiver][segment]:
            index = self.unannounced[receiver][segment].popleft()
            path = self.route(*(self.members[rank] for rank in self.messages[index][:2]))
            self.engine.at(self.engine.now + usual_latency(path), self.proceed, index)

    def consider(self, channel):
        """Start the messages at the head of a channel's sends and receives, if all that they wait for is there."""
        for queue in (self.sends.get(channel), self.receives.get(channel)):
            if queue and queue[0] not in self.started and not self.waits[queue[0]]:
                self.start(queue[0])

    def mates(self, rank):
        """With whom it enters."""
        first = rank // self.node * self.node
        return range(first, first + self.node) if self.together else [rank]

    def present(self, rank, inside):
        return self.entered[rank] if inside else all(self.entered[mate] for mate in self.mates(rank))

    def start(self, index):
        sender, receiver, parts, reduces, *_ = self.messages[index]
        ends = here, there = self.channels[index]
        if self.sends[here][0] == index == self.receives[there][0] and self.present(*here) and self.present(*there):
            self.started.add(index)
            size, path = self.part * len(parts), self.route(self.members[sender], self.members[receiver])
            adding = self.gamma * size if reduces else 0.0
            for link in path.links:
                self.carried[link] += size
            channels = [(self.row, way, self.members[rank], inside) for way, (rank, inside) in zip(("out", "in"), ends)]
            self.engine.transfer(size, path, lambda: self.transferred(index, sender, receiver, path, adding), self.age, channels)

    def transferred(self, index, sender, receiver, path, adding):
        arrival = self.engine.arrival((self.members[sender], self.members[receiver]), path.latency)
        self.engine.at(arrival + adding, self.arrived, index, receiver)
        here, there = self.channels[index]
        self.sends[here].popleft()
        self.receives[there].popleft()
        self.consider(here)
        self.consider(there)
        self.finish(sender, 1)

    def arrived(self, index, receiver):
        for follower in self.followers[index]:
            self.proceed(follower)
        self.announce(receiver, self.messages[index].segment)
        self.coming[receiver // self.node] -= 1
        self.finish(receiver, 1)

    def proceed(self, index):
        """It waits for one thing less."""
        self.waits[index] -= 1
        if not self.waits[index]:
            self.consider(self.channels[index][0])

    def finish(self, rank, count):
        self.left[rank] -= count
        for mate in self.mates(rank) if self.for_all else [rank]:
            if not self.left[mate] and mate not in self.over and not (self.for_all and self.coming[mate // self.node]):
                self.over.add(mate)
                self.ended(self.members[mate])
