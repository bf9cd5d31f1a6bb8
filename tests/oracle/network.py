"""Clusters in per-message and flow fidelity: links, ways over them, and all-reduces."""

import itertools
import math
import random

import collectives
import plans
from movement import Distance, Engine, FarPath, JitteredPath, Operation, Path, StoredPath, compiled
from oracle import quantity


class Network:
    """Links of a star or of regions, and routes over them by rank."""

    def __init__(self, point):
        self.point, cluster = point, point["cluster"]
        self.nodes, self.gpus = collectives.sizes(cluster)
        self.capacity, self.profiles, self.wan = {}, [], {}
        self.ways, self.draws = {}, random.Random(point.get("seed", 1))
        regions = cluster.get("regions", [{"name": "", "nodes": self.nodes}])
        self.region = []
        self.regions = {region["name"]: region for region in regions}
        for region in regions:
            for way in ("up", "down"):
                if "uplink" in region:
                    self.capacity[f"uplink {region['name']} {way}"] = collectives.uplinks(region, way)["uplink"]
            for _ in range(region["nodes"]):
                self.add(region["name"])
        if self.gpus > 1:
            for gpu, way in itertools.product(range(self.nodes * self.gpus), ("up", "down")):
                self.capacity[f"gpu-{gpu} {way}"] = quantity(cluster["intra_node"]["bandwidth"])
        for entry in cluster.get("wan", []):
            for way, pair in enumerate(collectives.both_ways(entry)):
                name, names, window = "wan " + "-".join(pair), (), quantity(entry.get("tcp_window", math.inf)) * entry.get("connections", 1)
                if "via" in entry:
                    download = entry["via"].get("download", entry["bandwidth"]) if isinstance(entry["via"], dict) else entry["bandwidth"]
                    names = f"{name} upload", f"{name} download"
                    self.capacity |= {names[0]: collectives.directed(entry["bandwidth"])[way], names[1]: collectives.directed(download)[way]}
                elif "bandwidth" in entry:
                    names, self.capacity[name] = (name,), collectives.directed(entry["bandwidth"])[way]
                self.profiles += [(change["at_s"], name, collectives.directed(change["bandwidth"])[way])
                                  for change in entry.get("bandwidth_profile", [])]
                self.wan[pair] = names, Distance(quantity(entry["rtt"]), window), entry
                self.profiles += [(change["at_s"], self.wan[pair][1], quantity(change["rtt"])) for change in entry.get("rtt_profile", [])]
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
        for way in ("up", "down"):
            if "node_uplink" in self.regions[region]:
                self.capacity[f"node_uplink {node} {way}"] = collectives.uplinks(self.regions[region], way)["node_uplink"]
        return node

    def changes(self):
        """(date, link, bandwidth from then on) or (date, distance, round-trip time), in order."""
        return sorted(self.profiles, key=lambda change: change[0])

    def engine(self, shared, turns=False):
        engine = Engine(self.capacity, shared, turns)
        for date, what, value in self.changes() if shared else []:
            engine.at(date, engine.change, what, value)
        return engine

    def route(self, sender, receiver):
        here, there = (self.place[rank // self.gpus] for rank in (sender, receiver))
        if here == there:
            inner = self.point["cluster"]["intra_node"]
            path = Path((f"gpu-{sender} up", f"gpu-{receiver} down"), quantity(inner["latency"]), collectives.window_rate(inner), inner.get("connections", 1))
            return self.jittered(path, inner)
        return self.way(here, there)

    def way(self, here, there):
        """Between two nodes."""
        if (here, there) not in self.ways:
            self.ways[here, there] = self.new_way(here, there)
        return self.ways[here, there]

    def new_way(self, here, there):
        link = self.point["cluster"].get("link")  # without one, nothing is known of a way inside a region: it takes no time
        up, down = [(f"node-{here} up",), (f"node-{there} down",)] if link else [(), ()]
        if self.region[here] == self.region[there]:
            cap = collectives.window_rate(link) * self.point["cluster"].get("nics", 1) if link else math.inf
            return self.jittered(Path(up + down, quantity(link["latency"]) if link else 0.0, cap, (link or {}).get("connections", 1)), link)
        names, distance, entry = self.wan[self.region[here], self.region[there]]
        up, down = up + self.lines(here, "up"), self.lines(there, "down") + down
        if "via" in entry:
            return self.jittered(StoredPath(FarPath(up + names[:1], distance), FarPath(names[1:] + down, distance)), entry)
        return self.jittered(FarPath(up + names + down, distance, entry.get("connections", 1)), entry)

    def lines(self, node, way):
        """A node's own one out of its region, and the region's."""
        region = self.region[node]
        return tuple(name for key, name in (("node_uplink", f"node_uplink {node} {way}"), ("uplink", f"uplink {region} {way}"))
                     if key in self.regions[region])

    def jittered(self, path, description):
        if not description or "latency_jitter" not in description or self.point.get("fidelity") == "alpha-beta":
            return path
        return JitteredPath(path, description["latency_jitter"], self.draws)

    def operation(self, engine, size, ended, name="all-reduce", members=None):
        """Over all ranks, or over some of which every node has none or as many."""
        algorithm, gamma = self.point.get("all_reduce", "ring"), self.point["cluster"].get("reduce_s_per_B", 0.0)
        chunk = quantity(algorithm["chunk"]) if isinstance(algorithm, dict) and "chunk" in algorithm else math.inf
        places, each = collectives.nodes_of(self.point["cluster"], members)
        between = collectives.between(self.point)
        pipelined = each > 1 or between == "binary-tree" and name in ("all-reduce", "broadcast")  # levels, or a tree
        whole = size / (len(places) * each) if name == "all-gather" else size  # or what each comes with
        count = max(1, math.ceil(whole / chunk)) if pipelined else 1
        if between == "by-region":
            among = algorithm.get("between", "ring") if isinstance(algorithm, dict) else "ring"
            between, count = ((*self.by_region(size, chunk, places), among), 1) if name == "all-reduce" else ("ring", 1)
        levels = plans.two_level, between, len(places), each, count, name
        if collectives.is_flat(self.point):
            levels = plans.flat, name, len(places), each
        protocol = self.point["cluster"].get("protocol", {})
        plan = compiled(protocol.get("segments", 1), *levels)
        return Operation(engine, plan, size, gamma, self.route, ended, members, protocol.get("rendezvous", False))

    def by_region(self, size, chunk, places):
        """Nodes of each region in the order of the nodes, and in how many pieces a vector goes to and from their first ones."""
        sizes = tuple(len(list(nodes)) for _, nodes in itertools.groupby(places, lambda place: self.region[self.place[place]]))
        return sizes, max(sizes) if chunk == math.inf else max(1, math.ceil(size / chunk))

    def all_reduce(self, engine, size, ended):
        return self.operation(engine, size, ended)

    def all_gather(self, engine, size, ended):
        return self.operation(engine, size * self.nodes * self.gpus, ended, "all-gather")


def alone(point, size, shared=False, starts=None, make=Network.all_reduce, members=None):
    """When each rank ends an all-reduce, of ranks that start at 0 or at `starts`."""
    network = Network(point)
    engine, ends = network.engine(shared), {}

    def ended(rank):
        ends[rank] = engine.now

    collective = make(network, engine, size, ended)
    for rank in members or range(network.nodes * network.gpus):
        engine.at(starts[rank] if starts else 0.0, collective.enter, rank)
    while engine.step():
        pass
    return [ends[rank] for rank in members or range(network.nodes * network.gpus)]
