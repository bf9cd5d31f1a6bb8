"""The links between clients and parameter servers: where servers are, and how fast the parts of messages move."""

import collections
import typing

import collectives
import movement
from network import Network


class Part:
    """A latency, then bytes that share links. `ahead`: a part whose bytes go before."""

    def __init__(self, way, size):
        self.way, self.left, self.ahead = way, size, None
        self.until, self.moves = None, False  # when the latency has passed; whether its bytes move

    def go(self):
        """Its latency has passed."""
        if not self.ahead or self.ahead.is_over():
            self.moves, self.ahead = True, None

    def is_over(self):
        return self.moves and not self.left


def links(point):
    if "regions" in point["cluster"]:
        return Flows(point)
    link = point["cluster"]["link"]
    if "tcp_window" in link or movement.differs(link.get("latency_jitter", {})):
        return FlowsOnStar(point)
    if point.get("fidelity") == "flow":
        return SharedOnStar(point)
    return {"shared": Star, "queued": QueueOnStar, "fifo": TurnsOnStar}[point["schedule"].get("service", "shared")](point)


class Links:
    changes = ()  # of capacities
    queue = 0.0  # seconds from when a push has left its client until it arrives

    def move(self, moving, seconds):
        """These parts have moved for so long."""

    def longest(self, client, pull):
        """The longest latency of its ways."""
        return max((part.way.latency for part in self.parts(client, pull, 1)), default=0.0)


class StarWay(typing.NamedTuple):
    client: int
    pull: bool
    latency: float


class Star(Links):
    """Processor sharing. A client's parts for all servers move alike, so that one of them stands for all."""

    def __init__(self, point):
        cluster, schedule = point["cluster"], point["schedule"]
        self.clients, self.count = cluster["nodes"], schedule.get("servers", 1)
        self.alpha, beta = collectives.node_link(cluster)
        self.bandwidth, self.colocated = 1 / beta, schedule.get("colocated", False)

    def serves(self, client):
        return self.colocated and client < self.count

    def leaving(self, client):
        """Parts that leave the client's node."""
        return self.count - 1 if self.serves(client) else self.count

    def parts(self, client, pull, size):
        return [Part(StarWay(client, pull, self.alpha), size / self.count)] if self.leaving(client) else []

    def loads(self, pushers, pullers):
        """(down, up): parts on the servers' busiest link of each direction."""
        if not self.colocated:
            return len(pushers), len(pullers)
        own, nodes = self.count - 1, range(self.count)
        return (max(sum(client != node for client in pushers) + own * (node in pullers) for node in nodes),
                max(sum(client != node for client in pullers) + own * (node in pushers) for node in nodes))

    def rates(self, moving):
        """Bytes per second of each part."""
        ways = [(part.way.client, part.way.pull) for part in moving]
        down, up = self.loads({client for client, pull in ways if not pull}, {client for client, pull in ways if pull})
        for client, pull in ways:
            shares = [self.leaving(client), up if pull else down]
            if self.serves(client):
                shares.append(down if pull else up)
            yield self.bandwidth / max(shares)

    def cost(self):
        """(a, b) of a push and its pull when all clients do both."""
        return 2 * self.alpha, 2 / min(self.bandwidth, self.count * self.bandwidth / self.clients)


class QueueOnStar(Star):
    """Pushes leave at their clients' full speed, and wait before the servers' links."""

    def rates(self, moving):
        return [rate if part.way.pull else self.bandwidth / self.count for part, rate in zip(moving, super().rates(moving))]

    def move(self, moving, seconds):
        pushes = sum(not part.way.pull for part in moving)
        self.queue = max(0.0, self.queue + (pushes / self.count - 1) * seconds)


class TurnsOnStar(Star):
    """First come, first served: in each direction as many messages at a time as there are servers, each at its client's full speed."""

    def __init__(self, point):
        super().__init__(point)
        self.lines = {False: [], True: []}  # by direction, in the order of coming

    def rates(self, moving):
        """Of parts in the order of the clients; asked when all that comes at an instant is there."""
        served = []
        for pull, line in self.lines.items():
            here = [part for part in moving if part.way.pull == pull]
            line[:] = [part for part in line if part in here] + [part for part in here if part not in line]
            served += line[:self.count]
        return [self.bandwidth / self.count if part in served else 0.0 for part in moving]


class Flows(Links):
    """Every part is a flow of its own; its way is a path."""

    def __init__(self, point):
        self.network, self.known = Network(point), ([], [])
        self.capacity, self.changes = self.network.capacity, self.network.changes()
        self.clients = self.network.place  # the node of each
        options, self.colocated = point["schedule"].get("servers", 1), point["schedule"].get("colocated", False)
        options = options if isinstance(options, dict) else {"count": options}
        self.count = options["count"]
        self.servers = self.near(options.get("region"))
        if not self.colocated:
            self.servers = [self.network.add(self.network.region[node]) for node in self.servers]
        self.ways = {(client, pull): self.paths(node, pull) for client, node in enumerate(self.clients) for pull in (False, True)}

    def near(self, region):
        """The node that each server is on, or near which it is."""
        if region is None:
            return [self.clients[server * len(self.clients) // self.count] for server in range(self.count)]
        inside = [node for node in self.clients if self.network.region[node] == region]
        return inside[:self.count] if self.colocated else inside[:1] * self.count

    def paths(self, node, pull):
        """Between a client's node and all servers elsewhere."""
        return [self.network.way(*((server, node) if pull else (node, server))) for server in self.servers if server != node]

    def parts(self, client, pull, size):
        return [Part(path, size / self.count) for path in self.ways[client, pull]]

    def change(self, what, value):
        movement.change(self.capacity, what, value)
        self.known = [], []

    def rates(self, moving):
        if self.known[0] != moving:
            rates = movement.fair_rates({index: part.way for index, part in enumerate(moving)}, self.capacity)
            self.known = moving, [rates[index] for index in range(len(moving))]
        return self.known[1]

    def cost(self):
        a = b = 0.0
        for pull in (False, True):
            paths = [path for client in range(len(self.clients)) for path in self.ways[client, pull]]
            crossing = collections.Counter(link for path in paths for link in path.links)
            a += max((path.latency for path in paths), default=0.0)
            b += max([count / self.capacity[link] for link, count in crossing.items()] + [1 / path.cap for path in paths],
                     default=0.0) / self.count
        return a, b


class FlowsOnStar(Flows):
    def near(self, region):
        return self.clients[:self.count]


class SharedOnStar(FlowsOnStar):
    """No window limits a flow: gradients are grouped as in the other fidelities."""

    def __init__(self, point):
        super().__init__(point)
        self.cost = Star(point).cost
