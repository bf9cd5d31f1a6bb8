"""Parameter servers and pairs over regions: are servers where they should be, and do parts of messages share the links between them?"""

import math
import random
import unittest

import server_links
from comparing import Comparison, disturbances, node_windows, scenario, trace
from running import draws
from test_flows import profiles
from test_regions import uneven, windows, world
from test_server import SCHEDULES, long_updates

FIDELITIES = ["alpha-beta", "per-message", "flow"]


def placed(rng, description, schedule):
    """Servers spread over the regions or in one of them, on clients' nodes or on nodes of their own."""
    region, colocated = rng.choice(description["regions"]), schedule.get("colocated", False)
    if rng.random() < 0.5:
        most = region["nodes"] if colocated else description["nodes"]
        schedule["servers"] = {"count": rng.randint(1, most), "region": region["name"]}
    return schedule


def without_link(description):
    return {key: value for key, value in description.items() if key != "link"}


def two_regions(schedule, **changes):
    """Three nodes; node links of 1 GB/s and 0.1 ms, 0.5 GB/s and 10 ms between the regions."""
    wan = {"between": ["a", "b"], "rtt": 0.02, "bandwidth": 5e8, **changes}
    return {"schedule": schedule, "region_order": ["a", "b"], "cluster": {
        "nodes": 3, "link": {"bandwidth": 1e9, "latency": 1e-4}, "regions": [{"name": "a", "nodes": 2}, {"name": "b", "nodes": 1}],
        "wan": [wan]}}


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def test_places(self):
        for servers, colocated, expected in ((1, True, [0]), (2, True, [0, 1]), (3, True, [0, 1, 2]), (2, False, ["a", "a"]),
                                             (3, False, ["a", "a", "b"]), ({"count": 3, "region": "b"}, False, ["b"] * 3),
                                             ({"count": 2, "region": "a"}, True, [0, 1]), ({"count": 1, "region": "b"}, True, [2])):
            found = server_links.links(two_regions({"servers": servers, "colocated": colocated}))
            self.assertEqual([server if colocated else found.network.region[server] for server in found.servers], expected)
            self.assertEqual(min(found.servers) >= 3, not colocated)

    def test_places_in_the_ring_s_order(self):
        point = two_regions({"servers": 3, "colocated": True}) | {"region_order": ["b", "a"]}
        self.assertEqual(server_links.links(point).servers, [2, 0, 1])

    def test_cost(self):
        """All push 1 byte to two servers in a: what b sends crosses the link between, and the servers get 3/2 bytes each."""
        servers = {"servers": {"count": 2, "region": "a"}}
        for changes, seconds in (({}, 2e-9), ({"bandwidth": 1e9}, 1.5e-9), ({"tcp_window": 4000000}, 2.5e-9)):
            a, b = server_links.links(two_regions(servers, **changes)).cost()
            self.assertAlmostEqual(a, 0.02, places=12)
            self.assertAlmostEqual(b, 2 * seconds, places=20)
        a, b = server_links.links(two_regions({"colocated": True})).cost()  # node 0 gets the bytes of two
        self.assertAlmostEqual(b, 2 * max(2e-9, 2e-9), places=20)


class OverRegions(Comparison):
    def expected(self, index, point):
        point["region_order"] = self.points[index].get("region_order")
        return super().expected(index, point)


class Servers(OverRegions):
    def draw(self, names, seed, regions, nodes, gpus, *options, change=lambda rng, description: description, count=2, one=trace, **changes):
        rng = random.Random(f"{[*names]} {seed}")
        description = change(rng, world(rng, regions, nodes, gpus)) | rng.choice([{}, {}, {"nics": 2}])
        clusters = [description, description | {"placement": "linear"}]
        schedules = [placed(rng, description, SCHEDULES[name](rng, description["nodes"])) for name in names for _ in range(count)]
        workers = disturbances(rng, description["nodes"] * gpus, slowdown=False)
        sweep = {"/cluster": [rng.choice(clusters)], "/schedule": schedules, "/workers": [workers[0], *rng.sample(workers[1:], 2)]}
        self.compare(scenario(rng, sweep=sweep, **{"fidelity": rng.choice(FIDELITIES), "iterations": {
            "warmup": rng.randint(0, 2), "measured": rng.randint(1, 4)}, **changes}), [one(rng, 3)], *options)

    def test_worlds(self):
        for name in SCHEDULES:
            for seed, (regions, nodes, gpus) in draws(enumerate([(2, 1, 1), (2, 3, 1), (3, 2, 1), (4, 2, 1), (2, 2, 2)]), name):
                self.draw([name], seed, regions, nodes, gpus)

    def test_local_updates(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 2, 1), (2, 2, 3), (3, 1, 2)], 10)):
            self.draw(["ssd-sgd"], seed, regions, nodes, gpus, one=long_updates)

    def test_node_links_are_unlimited(self):
        for seed, regions in draws(enumerate([2, 3], 20)):
            self.draw(SCHEDULES, seed, regions, 1, 1, change=lambda rng, description: without_link(description), count=1)

    def test_windows(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2), (3, 1)], 30)):
            self.draw(SCHEDULES, seed, regions, nodes, 1, change=windows, count=1)

    def test_changing_bandwidth(self):
        for seed, regions in draws(enumerate([2, 3], 40)):
            self.draw(SCHEDULES, seed, regions, 2, 1, change=lambda rng, description: profiles(rng, windows(rng, description)), count=1,
                      fidelity="flow")

    def test_windows_of_nodes(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 3, 1), (2, 2, 2)], 35)):
            self.draw(SCHEDULES, seed, regions, nodes, gpus, change=node_windows, count=1)

    def test_uneven_links(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2), (4, 1)], 70)):
            self.draw(SCHEDULES, seed, regions, nodes, 1, change=uneven, count=1)
        self.draw(SCHEDULES, 75, 2, 2, 1, change=lambda rng, description: uneven(rng, profiles(rng, description)), count=1, fidelity="flow")

    def test_fidelities_agree(self):
        rng = random.Random(50)
        description = world(rng, 3, 2)
        schedules = [placed(rng, description, SCHEDULES[name](rng, description["nodes"])) for name in SCHEDULES]
        self.compare(scenario(rng, sweep={"/cluster": [description], "/schedule": schedules, "/fidelity": FIDELITIES}, name="fidelities"), [trace(rng, 3)])
        for one, *others in zip(*[iter(self.rows())] * 3):
            for other in others:
                self.assertTrue(math.isclose(one["iteration_s"], other["iteration_s"], rel_tol=1e-9))

    def test_one_by_one(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 2, 1), (2, 2, 2)], 60)):
            self.draw(SCHEDULES, seed, regions, nodes, gpus, "--no-symmetry", count=1)


class PushSum(OverRegions):
    name = "sgp"

    def draw(self, seed, regions, nodes, gpus, *options, change=lambda rng, description: description, fidelities=FIDELITIES):
        rng = random.Random(f"{self.name} {seed}")
        description = change(rng, world(rng, regions, nodes, gpus))
        workers = disturbances(rng, description["nodes"] * gpus, slowdown=False)
        sweep = {"/cluster": [description, description | {"placement": "linear"}], "/fidelity": fidelities,
                 "/workers": [workers[0], *rng.sample(workers[1:], 2)]}
        content = scenario(rng, sweep=sweep, schedule={"name": self.name, "within_node": rng.choice(["overlapped", "blocking"])})
        self.compare(content, [trace(rng)], *options)

    def test_worlds(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 1, 1), (2, 3, 1), (3, 2, 1), (4, 2, 1), (2, 2, 2), (3, 1, 3)])):
            self.draw(seed, regions, nodes, gpus)

    def test_windows(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2)], 10)):
            self.draw(seed, regions, nodes, 1, change=windows)

    def test_changing_bandwidth(self):
        """Of flows."""
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2)], 20)):
            self.draw(seed, regions, nodes, 1, change=profiles, fidelities=["flow"])

    def test_node_links_are_unlimited(self):
        self.draw(30, 3, 1, 1, change=lambda rng, description: without_link(description))

    def test_one_by_one(self):
        self.draw(40, 3, 2, 1, "--no-symmetry")

    def test_windows_of_nodes(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 3, 1), (2, 2, 2)], 50)):
            self.draw(seed, regions, nodes, gpus, change=lambda rng, description: node_windows(rng, windows(rng, description)))

    def test_uneven_links(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2), (4, 1)], 60)):
            self.draw(seed, regions, nodes, 1, change=uneven)
        self.draw(65, 2, 2, 1, change=lambda rng, description: uneven(rng, profiles(rng, description)), fidelities=["flow"])


class Neighbours(PushSum):
    name = "d-psgd"


if __name__ == "__main__":
    unittest.main()
