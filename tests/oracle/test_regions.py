"""All-reduce over regions: is it the recurrence over a ring of unlike links, in the order that makes it fastest?"""

import itertools
import json
import random
import unittest

import collectives
from comparing import Comparison, cluster, compressing, disturbances, node_windows, scenario, trace
from oracle import quantity
from running import draws

# Between AWS regions: round-trip time in ms, bandwidth in Mbit/s. A published measurement.
AWS = {("oregon", "ohio"): (49, 1100), ("oregon", "tokyo"): (96, 523), ("oregon", "london"): (136, 420),
       ("ohio", "tokyo"): (130, 694), ("ohio", "london"): (86, 1050), ("tokyo", "london"): (210, 366)}


def aws():
    names = ["oregon", "ohio", "tokyo", "london"]
    return {"format": "cluster/1", "name": "aws", "nodes": 4, "regions": [{"name": name, "nodes": 1} for name in names],
            "wan": [{"between": list(pair), "rtt": f"{rtt}ms", "bandwidth": f"{rate}Mbps"} for pair, (rtt, rate) in AWS.items()]}


def cycle(description, order):
    """One-way latency all around."""
    return sum(alpha for alpha, _ in collectives.hops(description, order))


def world(rng, regions, nodes, gpus=1):
    """Regions of up to `nodes` nodes, every pair at a distance of its own."""
    names = [f"region{index}" for index in range(regions)]
    sizes = [rng.randint(1, nodes) for _ in names]
    wan = [{"between": rng.sample(pair, 2), "rtt": f"{rng.uniform(1, 12):.4f}ms", "bandwidth": f"{rng.uniform(0.5, 5):.4f}Gbps"}
           for pair in itertools.combinations(names, 2)]
    return cluster(rng, sum(sizes), gpus, regions=[{"name": name, "nodes": size} for name, size in zip(names, sizes)], wan=wan)


def windows(rng, description):
    """Some of them bind, some do not."""
    for entry in description["wan"]:
        entry["tcp_window"] = round(quantity(entry["rtt"]) * quantity(entry["bandwidth"]) * rng.uniform(0.2, 1.5))
    return description


def uneven(rng, description):
    """Each link between regions has less bandwidth in one direction."""
    for entry in description["wan"]:
        for part in (entry, *entry.get("bandwidth_profile", [])):
            ways = [quantity(part["bandwidth"]) * share for share in (1, rng.uniform(0.2, 0.9))]
            if part is entry or rng.random() < 0.7:
                part["bandwidth"] = dict(zip(("up", "down"), rng.sample(ways, 2)))
    return description


def schedules(rng):
    return [{"name": "wfbp"}, {"name": "mg-wfbp"}, {"name": "mg-wfbp-optimal"}, {"name": "sync-easgd"},
            {"name": "dts", "delay": 2, "period": 1}, {"name": "dts", "delay": 1, "period": 2, "in_flight": "serial"},
            {"name": "dts", "delay": 1, "compression": rng.uniform(0.01, 0.4)},
            {"name": "sasgd", "interval": 2}, {"name": "lasgd", "tau_max": 3}, {"name": "lasgd", "tau_max": 3, "worker": "gpu"}]


class Regions(Comparison):
    def test_shortest_cycle_loses(self):
        """The all-reduce crosses 2(n-1) links in turn, not n: what counts is the cycle and its worst n-2 neighbours."""
        description = aws()
        orders = [(0, *rest) for rest in itertools.permutations((1, 2, 3))]
        shortest = min(orders, key=lambda order: cycle(description, order))
        self.assertAlmostEqual(cycle(description, shortest), 0.2205)
        for size in (0, 1000, 1e6, 1e8):
            best = collectives.best_order(description, size)
            self.assertAlmostEqual(cycle(description, best), 0.224)
            fastest, *_, slowest = sorted(collectives.ring_all_reduce(collectives.hops(description, order), size, 0.0) for order in orders)
            self.assertEqual(collectives.ring_all_reduce(collectives.hops(description, best), size, 0.0), fastest)
            self.assertGreater(collectives.ring_all_reduce(collectives.hops(description, shortest), size, 0.0), fastest)
            self.assertGreater(slowest, fastest)

    def test_equal_links_give_the_ring(self):
        links = [(3e-4, 1e-9)] * 6
        for size in (0, 1e6):
            self.assertAlmostEqual(collectives.ring_all_reduce(links, size, 2e-10),
                                   collectives.closed_form("ring", 6, 3e-4, 1e-9, 2e-10)(size), places=12)
            self.assertAlmostEqual(collectives.ring_all_gather(links, size), 5 * 3e-4 + 5 * 1e-9 * size, places=12)

    def test_measured_links(self):
        rng = random.Random(0)
        sweep = {"/cluster": [aws()], "/schedule": schedules(rng), "/workers": disturbances(rng, 4)[:2]}
        self.compare(scenario(rng, sweep=sweep), [trace(rng)])

    def test_no_link_carries_more_than_it_can(self):
        """However many all-reduces are in flight."""
        rng = random.Random(1)
        drawn = trace(rng)
        sweep = {"/cluster": [aws()] + [world(rng, 3, 2, 1) for _ in range(5)],
                 "/schedule": [{"name": "dts", "delay": 40, "period": 1}, {"name": "dts", "delay": 40, "period": 1, "sparse": "all-gather",
                                                                           "compression": 0.4}]}
        self.compare(scenario(rng, sweep=sweep, iterations={"warmup": 400, "measured": 40}), [drawn])
        for row in self.rows():
            description, schedule = row["/cluster"], row["/schedule"]
            n, payload = description["nodes"], row["bytes_per_worker_per_iteration"]
            crossing = (n - 1) * payload if "compression" in schedule else 2 * (n - 1) / n * payload
            links = collectives.hops(description, collectives.best_order(description, sum(one["bytes"] for one in drawn["gradients"])))
            self.assertGreaterEqual(row["iteration_s"] * (1 + 1e-9), crossing * max(beta for _, beta in links))

    def test_random_worlds(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 1, 1), (3, 2, 1), (4, 2, 1), (5, 1, 1), (2, 2, 2), (3, 1, 2)])):
            rng = random.Random(seed)
            clusters = [world(rng, regions, nodes, gpus), world(rng, regions, nodes, gpus) | {"latency_cv": 0.3}]
            workers = disturbances(rng, regions)
            sweep = {"/cluster": clusters, "/schedule": schedules(rng), "/workers": [workers[0], rng.choice(workers[1:])]}
            self.compare(scenario(rng, sweep=sweep), [trace(rng)])

    def test_uneven_links(self):
        """The order is that of the ring's direction."""
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 2, 1), (3, 2, 1), (4, 1, 1), (5, 1, 1), (3, 1, 2)], 10)):
            rng = random.Random(seed)
            sweep = {"/cluster": [uneven(rng, world(rng, regions, nodes, gpus)) for _ in range(3)], "/schedule": schedules(rng)}
            self.compare(scenario(rng, sweep=sweep), [trace(rng)])
            for written in self.points:
                description, size = written["sweep"]["/cluster"], sum(one["bytes"] for one in json.loads(
                    (self.folder / "trace0.json").read_text())["gradients"])
                names = [region["name"] for region in description["regions"]]
                self.assertEqual([names.index(name) for name in written["region_order"]],
                                 list(collectives.best_order(description, size)))

    def test_compression(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(3, 2, 1), (2, 2, 2)], 30)):
            rng = random.Random(seed)
            drawn = [schedule for schedule in schedules(rng) if schedule["name"] != "lasgd"]
            sweep = {"/cluster": [world(rng, regions, nodes, gpus) for _ in range(3)], "/schedule": compressing(rng, drawn)}
            self.compare(scenario(rng, sweep=sweep), [trace(rng)])

    def test_windows(self):
        """Of every link."""
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 3, 1), (3, 2, 2)], 20)):
            rng = random.Random(seed)
            sweep = {"/cluster": [windows(rng, node_windows(rng, world(rng, regions, nodes, gpus))) for _ in range(3)],
                     "/schedule": schedules(rng)}
            self.compare(scenario(rng, sweep=sweep), [trace(rng)])


if __name__ == "__main__":
    unittest.main()
