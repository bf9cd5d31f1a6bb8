"""Clusters in per-message and flow fidelity: links, ways over them, and all-reduces."""

import itertools
import math

import collectives
import plans
from movement import Engine, Operation, Path, compiled
from oracle import quantity


class Network:
    """Links of a star or of regions, and routes over them by rank."""

    def __init__(self, point):
        self.point, cluster = point, point["cluster"]
        self.nodes, self.gpus = collectives.sizes(cluster)
        self.capacity, self.profiles, self.wan = {}, [], {}
        regions = cluster.get("regions", [{"name": "", "nodes": self.nodes}])
        self.region = []
        for region in regions:
            for _ in range(region["nodes"]):
                self.add(region["name"])
        if self.gpus > 1:
            for gpu, way in itertools.product(range(self.nodes * self.gpus), ("up", "down")):
                self.capacity[f"gpu-{gpu} {way}"] = quantity(cluster["intra_node"]["bandwidth"])
        for entry in cluster.get("wan", []):
            for way, pair in enumerate(collectives.both_ways(entry)):
                self.capacity[name := "wan " + "-".join(pair)] = collectives.directed(entry["bandwidth"])[way]
                self.profiles += [(change["at_s"], name, collectives.directed(change["bandwidth"])[way])
                                  for change in entry.get("bandwidth_profile", [])]
                self.wan[pair] = name, quantity(entry["rtt"]) / 2, collectives.window_rate(entry)
        self.place = list(range(self.nodes))
        if "regions" in cluster and cluster.get("placement", "by-region") == "by-region":
            self.place.sort(key=lambda node: point["region_order"].index(self.region[node]))

    def add(self, region):
        """Another node: its number."""
        node, cluster = len(self.region), self.point["cluster"]
        self.region.append(region)
        if "link" in cluster:
            for way in ("up", "down"):
                self.capacity[f"node-{node} {way}"] = quantity(cluster["link"]["bandwidth"]) * cluster.get("nics", 1)
        return node

    def changes(self):
        """(date, link, bandwidth from then on), in order."""
        return sorted(self.profiles, key=lambda change: change[0])

    def engine(self, shared, turns=False):
        engine = Engine(self.capacity, shared, turns)
        for date, link, bandwidth in self.changes() if shared else []:
            engine.at(date, engine.change, link, bandwidth)
        return engine

    def route(self, sender, receiver):
        here, there = (self.place[rank // self.gpus] for rank in (sender, receiver))
        if here == there:
            inner = self.point["cluster"]["intra_node"]
            return Path((f"gpu-{sender} up", f"gpu-{receiver} down"), quantity(inner["latency"]), collectives.window_rate(inner))
        return self.way(here, there)

    def way(self, here, there):
        """Between two nodes."""
        link = self.point["cluster"].get("link")  # without one, nothing is known of a way inside a region: it takes no time
        up, down = [(f"node-{here} up",), (f"node-{there} down",)] if link else [(), ()]
        if self.region[here] == self.region[there]:
            cap = collectives.window_rate(link) * self.point["cluster"].get("nics", 1) if link else math.inf
            return Path(up + down, quantity(link["latency"]) if link else 0.0, cap)
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
