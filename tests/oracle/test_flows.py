"""Fidelity flow where flows meet, and what links carried: are links shared max-min fairly, moment by moment?"""

import math
import random
import unittest

import collectives
import moving
import oracle
from comparing import accumulating, cluster, fit, node_windows, scenario, slow, trace
from movement import Engine, Path, fair_rates
from network import alone
from oracle import quantity
from running import draws
from test_messages import ALGORITHMS, MOVING, Moving
from test_regions import uneven, windows, world


def profiles(rng, description, order=list):
    for entry in description["wan"]:
        dates = sorted(rng.uniform(0, 0.15) for _ in range(40))
        rates = order([rng.uniform(0.5, 5) for _ in dates])
        entry["bandwidth_profile"] = [{"at_s": date, "bandwidth": f"{rate:.4f}Gbps"} for date, rate in zip(dates, rates)]
    return description


class Sharing(unittest.TestCase):
    """Does the oracle itself share as it should?"""

    def rates(self, expected, paths, **capacity):
        found = fair_rates({flow: Path(tuple(links), 0.0, *cap) for flow, (links, *cap) in enumerate(paths)}, capacity)
        self.assertEqual([found[flow] for flow in range(len(paths))], expected)

    def test_max_min(self):
        self.rates([5, 5], [["a"], ["a"]], a=10)
        self.rates([5, 5, 15], [["a"], ["ab"], ["b"]], a=10, b=20)  # what one flow cannot use, another can
        self.rates([2, 4, 4], [["a", 2], ["a"], ["a"]], a=10)
        self.rates([3, 3, 3, 11], [["abc"], ["a"], ["a"], ["c"]], a=9, b=100, c=14)
        self.rates([7], [["", 7]])

    def test_dates(self):
        """Two flows of 100 bytes over 10 B/s, the second 4 s later: 40 bytes alone, 60 at half the rate, then the rest."""
        for shared, expected in ((True, [16.0, 20.0]), (False, [10.0, 14.0])):
            engine, ends = Engine({"a": 10.0}, shared), []
            for date in (0.0, 4.0):
                engine.at(date, lambda: engine.transfer(100.0, Path(("a",), 0.0), lambda: ends.append(engine.now)))
            while engine.step():
                pass
            self.assertEqual(ends, expected)

    def test_changing_bandwidth(self):
        for bandwidth, cap, expected in ((30.0, math.inf, 6.0), (5.0, math.inf, 16.0), (30.0, 20.0, 7.0), (5.0, 20.0, 16.0)):
            engine, ends = Engine({"a": 10.0}, True), []
            engine.transfer(100.0, Path(("a",), 0.0, cap), lambda: ends.append(engine.now))
            engine.at(4.0, engine.change, "a", bandwidth)
            while engine.step():
                pass
            self.assertEqual(ends, [expected])

    def test_crossing(self):
        """Two regions of two nodes: halving/doubling crosses the WAN with two flows each way, of half the data each, that share it."""
        wan = {"between": ["a", "b"], "rtt": 0.01, "bandwidth": 1e8}
        point = {"cluster": {"nodes": 4, "link": {"bandwidth": 1e9, "latency": 1e-4}, "wan": [wan], "placement": "linear",
                             "regions": [{"name": "a", "nodes": 2}, {"name": "b", "nodes": 2}]}, "all_reduce": "halving-doubling"}
        near = 2 * (1e-4 + 0.25e6 / 1e9)
        for window, rate in ((None, 0.5e8), (400000, 0.4e8), (900000, 0.5e8)):
            if window:
                wan["tcp_window"] = window
            expected = near + 2 * (0.005 + 0.5e6 / rate)
            self.assertTrue(all(math.isclose(end, expected, rel_tol=1e-12) for end in alone(point, 1e6, shared=True)))


class Flows(Moving):
    def regions(self, seed, draw, *options, fidelities=("flow",), workers=True, schedules=("wfbp",), **changes):
        rng = random.Random(seed)
        clusters = draw(rng)
        sweep = {"/all_reduce": ALGORITHMS, "/schedule": [{"name": name} for name in schedules]}
        if workers:
            sweep["/workers"] = [{}, {"slow": slow(rng, clusters[0]["nodes"])}]
        return self.draw(rng, clusters, *options, shared=True, fidelities=list(fidelities), sweep=sweep,
                         **{"iterations": {"warmup": 1, "measured": 2}, **changes})

    def test_regions(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 1), (2, 2), (2, 4), (3, 2), (3, 3), (4, 2)])):
            self.regions(seed, lambda rng: [world(rng, regions, nodes) | {"placement": "linear"}])

    def test_regions_in_their_best_order(self):
        for seed, regions in draws(enumerate([2, 3, 4], 10)):
            self.regions(seed, lambda rng: [world(rng, regions, 2), world(rng, regions, 2) | {"placement": "by-region"}], workers=False)

    def test_windows(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2), (4, 2)], 20)):
            self.regions(seed, lambda rng: [windows(rng, world(rng, regions, nodes)) | {"placement": "linear"}])

    def test_windows_in_the_best_order(self):
        """That of the fastest ring whose links are no faster than a window allows."""
        for seed in draws(range(25, 30)):
            self.regions(seed, lambda rng: [windows(rng, world(rng, 4, 2))], workers=False, schedules=("sync-easgd",))
            point = next(oracle.points(self.folder / "scenario.json"))
            description, size = point["cluster"], collectives.model_bytes(point)
            gamma = description.get("reduce_s_per_B", 0.0)
            for written in self.points:
                found = [int(name.removeprefix("region")) for name in written["region_order"]]
                self.close(*(collectives.ring_all_reduce(collectives.hops(description, order), size, gamma)
                             for order in (found, collectives.best_order(description, size))))

    def test_windows_of_nodes(self):
        for seed, (regions, nodes, change) in draws(enumerate([(2, 3, windows), (3, 2, lambda rng, description: description)], 150)):
            self.regions(seed, lambda rng: [node_windows(rng, change(rng, world(rng, regions, nodes))) | {
                "placement": "linear", "nics": nics} for nics in (1, 2)])

    def test_uneven_links(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2), (4, 2)], 160)):
            self.regions(seed, lambda rng: [uneven(rng, world(rng, regions, nodes)) | {"placement": "linear"}])
            self.regions(seed, lambda rng: [uneven(rng, windows(rng, world(rng, regions, nodes)))], workers=False)

    def test_uneven_links_change(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 2), (3, 2)], 170)):
            self.regions(seed, lambda rng: [uneven(rng, profiles(rng, world(rng, regions, nodes))) | {"placement": "linear"}])

    def test_steps_that_only_add_up(self):
        rng = random.Random(180)
        schedules = accumulating(rng, [{"name": name} for name in oracle.SCHEDULES])
        self.draw(rng, [world(rng, 3, 2)], shared=True, fidelities=["flow"], all_reduce="halving-doubling",
                  sweep={"/schedule": schedules, "/workers": [{}, {"slow": slow(rng, 3)}]})

    def test_no_flow_meets_another(self):
        """One node per region: per message is as exact."""
        for seed, regions in draws(enumerate([2, 3, 4], 30)):
            self.regions(seed, lambda rng: [windows(rng, world(rng, regions, 1)) | {"placement": "linear"}, world(rng, regions, 1)],
                         fidelities=MOVING)

    def test_node_links_are_unlimited(self):
        def draw(rng):
            description = world(rng, 3, 1) | {"placement": "linear"}
            del description["link"]
            return [description]

        self.regions(40, draw, fidelities=MOVING)

    def test_changing_bandwidth(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 1), (2, 2), (3, 2)], 50)):
            self.regions(seed, lambda rng: [profiles(rng, world(rng, regions, nodes)) | {"placement": "linear"}])

    def test_rising_and_falling_bandwidth(self):
        for seed, nodes in draws(enumerate([1, 3], 55)):
            self.regions(seed, lambda rng: [profiles(rng, windows(rng, world(rng, 2, nodes)), order) | {"placement": "linear"}
                                            for order in (sorted, lambda rates: sorted(rates, reverse=True))], workers=False)

    def test_a_change_reaches_a_flow_under_way(self):
        """A node in each of two regions exchange everything after backward: 40% at the first rate, the rest at the second."""
        rng, seconds, size, first = random.Random(58), 0.004, 1e6, 1e9
        one = trace(rng, 1) | {"gradients": [{"name": "w", "layer": "layer0", "bytes": int(size)}], "iteration": {
            "forward_s": seconds / 2, "backward_s": seconds / 2}}
        for second, limit, rate in ((4e9, None, 4e9), (1e8, None, 1e8), (4e9, 2e9, 2e9), (1e8, 2e9, 1e8)):
            wan = {"between": ["a", "b"], "rtt": 0.01, "bandwidth": first,
                   "bandwidth_profile": [{"at_s": seconds + 0.4 * size / first, "bandwidth": second}]}
            if limit:
                wan["tcp_window"] = int(limit * wan["rtt"])
            content = {"format": "scenario/1", "name": "change", "all_reduce": "recursive-doubling", "schedule": {"name": "sync-easgd"},
                       "iterations": {"warmup": 0, "measured": 1}, "fidelity": "flow", "cluster": {
                           "format": "cluster/1", "name": "change", "nodes": 2, "wan": [wan],
                           "regions": [{"name": name, "nodes": 1} for name in "ab"]}}
            (_, row), = self.run_points(content, [one])
            self.close(row["iteration_s"], seconds + 0.4 * size / first + 0.6 * size / rate + 0.005 + one["update_s"])

    def test_groupings(self):
        """By the line through what the collective costs with its links shared."""
        for seed, nodes in draws(enumerate([2, 3], 70)):
            self.regions(seed, lambda rng: [world(rng, 2, nodes) | {"placement": "linear"}],
                         schedules=("mg-wfbp", "mg-wfbp-optimal", "s-sgd"))

    def test_random_placement_on_a_star(self):
        """It is the same whatever node a rank is on."""
        rng = random.Random(80)
        drawn = cluster(rng, 5)
        placements = ["linear", "random", {"name": "random", "seed": 7}]
        self.draw(rng, [drawn | {"placement": placement} for placement in placements], schedule={"name": "wfbp"},
                  iterations={"warmup": 1, "measured": 2})

    def test_automatic_fidelity(self):
        """Flows only where some may meet."""
        rng = random.Random(90)
        alone = [cluster(rng, 5), cluster(rng, 3, 2), world(rng, 3, 1), world(rng, 3, 3) | {"placement": "linear"}]
        meeting = world(rng, 2, 1) | {"nodes": 4, "regions": [{"name": "region0", "nodes": 2}, {"name": "region1", "nodes": 2}]}
        for clusters, algorithm, fidelity in ((alone, "ring", "per-message"), ([meeting], "halving-doubling", "flow"),
                                              ([cluster(rng, 4, fit=fit(rng))], "ring", "alpha-beta")):
            content = scenario(rng, sweep={"/cluster": clusters}, schedule={"name": "wfbp"}, fidelity="auto", all_reduce=algorithm)
            for _, row in self.run_points(content, [trace(rng)]):
                self.assertEqual(row["fidelity"], fidelity)


class Links(Moving):
    def links(self, content, one):
        pairs = self.run_points(content, [one])
        return [(point, row, written["links"]) for (point, row), written in zip(pairs, self.points)]

    def test_ring_on_a_star(self):
        """Every link carries 2(N-1)/N of the bytes of every collective."""
        for seed, nodes in draws(enumerate([2, 3, 8])):
            rng = random.Random(seed)
            one, measured = trace(rng), rng.randint(1, 4)
            sweep = {"/cluster": [cluster(rng, nodes)], "/schedule": [{"name": "sync-easgd"}, {"name": "wfbp"}], "/fidelity": MOVING}
            content = scenario(rng, sweep=sweep, iterations={"warmup": 1, "measured": measured}, all_reduce="ring")
            for point, row, links in self.links(content, one):
                size = measured * sum(gradient["bytes"] for gradient in one["gradients"])
                bandwidth = quantity(point["cluster"]["link"]["bandwidth"])
                self.assertEqual(len(links), min(10, 2 * nodes))
                self.assertLessEqual({link["name"] for link in links}, {f"node-{n} {way}" for n in range(nodes) for way in ("up", "down")})
                self.assertEqual(len({link["name"] for link in links}), len(links))
                for link in links:
                    self.close(link["bandwidth_Bps"], bandwidth)
                    self.close(link["bytes"], 2 * (nodes - 1) / nodes * size)
                    self.close(link["utilisation"], link["bytes"] / bandwidth / (measured * row["iteration_s"]))

    def test_two_level_rings(self):
        rng = random.Random(10)
        nodes, gpus, measured, one = 2, 2, 3, trace(rng)
        content = scenario(rng, sweep={"/cluster": [cluster(rng, nodes, gpus)], "/fidelity": MOVING}, schedule={"name": "sync-easgd"},
                           iterations={"warmup": 0, "measured": measured})
        size = measured * sum(gradient["bytes"] for gradient in one["gradients"])
        for point, row, links in self.links(content, one):
            for link in links:
                inner = link["name"].startswith("gpu-")
                bandwidth = quantity(point["cluster"]["intra_node" if inner else "link"]["bandwidth"])
                self.close(link["bytes"], 2 * (1 - 1 / (gpus if inner else nodes)) * size)
                self.close(link["utilisation"], link["bytes"] / bandwidth / (measured * row["iteration_s"]))
            self.assertEqual(links, sorted(links, key=lambda link: -link["utilisation"]))

    def test_what_edges_cut_counts_pro_rata(self):
        for seed in draws(range(8)):
            rng = random.Random(seed)
            description = cluster(rng, 5, rng.randint(1, 2)) if seed % 2 else world(rng, 3, 2) | {"placement": "linear"}
            content = scenario(rng, sweep={"/cluster": [description], "/all_reduce": ["ring", "binary-tree"], "/fidelity": ["flow"]},
                               schedule={"name": "wfbp"}, workers={"slow": slow(rng, 3)}, iterations={"warmup": 0, "measured": 1})
            for point, _, links in self.links(content, trace(rng)):
                expected = moving.links(point, shared=True)
                self.assertEqual([link["utilisation"] for link in links], sorted((link["utilisation"] for link in links), reverse=True))
                for link, (_, _, utilisation) in zip(links, sorted(expected.values(), key=lambda values: -values[2])):
                    self.close(link["utilisation"], utilisation)
                    for found, right in zip((link["bandwidth_Bps"], link["bytes"], link["utilisation"]), expected[link["name"]]):
                        self.close(found, right)


if __name__ == "__main__":
    unittest.main()
