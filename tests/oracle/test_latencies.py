"""Latencies that are drawn for each message: draws cannot be foreseen, but what they are between, what they are on average, and where
there are none."""

import math
import random
import statistics
import unittest

import moving
from comparing import Comparison, cluster, expected, scenario, slow, trace
from oracle import quantity
from running import draws
from test_averaging import FORMS
from test_fidelities import Fidelities
from test_known_values import TRACE
from test_regions import world
from test_server import SCHEDULES
from test_server_regions import FIDELITIES, OverRegions

DRAWN = [{"distribution": "lognormal", "cv": 0.4}, {"distribution": "uniform", "cv": 0.4},
         {"distribution": "empirical", "factors": [1, 2, 6]}]
HALVES = {"distribution": "empirical", "factors": [0.5, 1.5]}
KNOWN = TRACE | {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "known"},
                 "layers": [layer | {"type": "x"} for layer in TRACE["layers"]]}
PAIRS = [{"name": "sgp"}, {"name": "d-psgd"}, *FORMS[::3]]


def alike(rng):
    return {"distribution": "empirical", "factors": [10 ** rng.uniform(-3, 3)] * rng.randint(1, 4)}


def jittered(description, spread, *names):
    """The same, on these links."""
    changed = {name: description[name] | {"latency_jitter": spread} for name in names if name in description}
    return description | changed


def far_jittered(description, spread):
    return description | {"wan": [entry | {"latency_jitter": spread} for entry in description["wan"]]}


def without_merging(schedule):
    return schedule | ({"grouping": "wfbp"} if "grouping" in schedule else {})


class Exact(OverRegions):
    def draw(self, seed, clusters, schedules, workers, **changes):
        rng = random.Random(f"latencies {seed}")
        sweep = {"/cluster": clusters(rng), "/schedule": schedules(rng), "/workers": [{}, {"slow": slow(rng, workers)}],
                 "/fidelity": FIDELITIES, **changes.pop("sweep", {})}
        self.compare(scenario(rng, sweep=sweep, **changes), [trace(rng, 3)])

    def test_factors_that_are_alike(self):
        for seed, (nodes, gpus) in draws(enumerate([(3, 1), (2, 2)])):
            self.draw(seed, lambda rng: [jittered(cluster(rng, nodes, gpus), alike(rng), "link", "intra_node")],
                      lambda rng: [*PAIRS, *(without_merging(SCHEDULES[name](rng, nodes)) for name in SCHEDULES)], nodes * gpus)
            self.draw(seed, lambda rng: [far_jittered(jittered(world(rng, 2, 1, gpus), alike(rng), "link", "intra_node"), alike(rng))],
                      lambda rng: [*PAIRS, *(without_merging(SCHEDULES[name](rng, 2)) for name in SCHEDULES)], 2 * gpus)

    def test_alpha_beta_takes_the_mean(self):
        for seed, (nodes, gpus) in draws(enumerate([(3, 1), (2, 2)], 10)):
            self.draw(seed, lambda rng: [jittered(cluster(rng, nodes, gpus), rng.choice(DRAWN), "link", "intra_node")],
                      lambda rng: [*PAIRS, {"name": "wfbp"}, {"name": "mg-wfbp"}, {"name": "dts", "delay": 1},
                                   {"name": "lasgd", "tau_max": 2}],
                      nodes * gpus, sweep={"/fidelity": ["alpha-beta"]})

    def test_gpus_that_act_as_one_take_the_mean(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 2), (3, 2)], 20)):
            self.draw(seed, lambda rng: [jittered(cluster(rng, nodes, gpus), rng.choice(DRAWN), "intra_node")],
                      lambda rng: [*PAIRS, *(without_merging(SCHEDULES[name](rng, nodes)) for name in SCHEDULES)], nodes * gpus)


class Means(Comparison):
    """Two nodes whose messages take 10 ms on average, and 0.1 ms for their bytes; 3 ms of compute."""

    def seconds(self, schedule, spread, steps=1500, nodes=2, fidelity="per-message", one=KNOWN, seed=1, latency=0.01):
        self.write("trace0.json", one)
        link = {"bandwidth": 1e10, "latency": latency, "latency_jitter": spread}
        content = scenario(random.Random(0), sweep={}, schedule=schedule, fidelity=fidelity, seed=seed, granularity="tensor", cluster={
            "format": "cluster/1", "name": "two", "nodes": nodes, "link": link}, iterations={"warmup": 3, "measured": steps})
        self.run_well({"trace": "trace0.json", **content})
        return self.points[0]["iteration_s"]

    def near(self, found, mean, deviation, steps=1500):
        self.assertAlmostEqual(found, mean, delta=4 * deviation / steps ** 0.5)

    def test_the_later_of_two(self):
        """A step of d-psgd lasts as long as the later message; neither node sends the next one before."""
        variance = math.log(1 + 0.3 ** 2)
        later = 1 + math.erf(math.sqrt(variance) / 2)  # of two lognormal ones
        for spread, factor, deviation in ((HALVES, 1.25, 0.433), ({"distribution": "uniform", "cv": 0.3}, 1 + 0.3 / 3 ** 0.5, 0.3),
                                          ({"distribution": "lognormal", "cv": 0.3}, later, 0.3),
                                          ({"distribution": "empirical", "factors": [7, 7, 7]}, 1, 0)):
            for fidelity, seed in (("per-message", 1), ("flow", 2)):
                found = self.seconds({"name": "d-psgd"}, spread, fidelity=fidelity, seed=seed)
                self.near(found, 0.0001 + 0.01 * factor, 0.01 * deviation + 1e-12)

    def test_a_ring_of_two(self):
        """The later of two sums of two."""
        mean, square = (1 * 1 + 2 * 8 + 3 * 7) / 16, (1 * 1 + 4 * 8 + 9 * 7) / 16
        for fidelity in ("per-message", "flow"):
            self.near(self.seconds({"name": "sync-easgd"}, HALVES, fidelity=fidelity), 0.003 + 0.0001 + 0.01 * mean,
                      0.01 * (square - mean * mean) ** 0.5)

    def test_a_push_and_a_pull(self):
        for name in ("ps-sgd", "asgd"):
            for fidelity in ("per-message", "flow"):
                self.near(self.seconds({"name": name}, HALVES, nodes=1, fidelity=fidelity), 0.003 + 2 * 0.0101, 0.01 * 0.5 * 2 ** 0.5)

    def test_draws_are_those_of_the_messages(self):
        """By sender, receiver and number, whatever the rest takes."""
        faster = KNOWN | {"layers": [{"name": "l", "type": "x", "forward_s": 1e-4, "backward_s": 1e-4}]}
        for spread in (HALVES, *DRAWN[:2]):
            usual, less, again, other = (
                self.seconds({"name": "d-psgd"}, spread, 50, one=one, seed=seed, fidelity=fidelity) for one, seed, fidelity in (
                    (KNOWN, 1, "per-message"), (faster, 1, "per-message"), (KNOWN, 1, "flow"), (KNOWN, 2, "flow")))
            if spread is HALVES:  # no message is faster than compute
                self.assertAlmostEqual(less, usual, places=12)
            self.assertAlmostEqual(again, usual, places=12)
            self.assertNotAlmostEqual(other, usual, places=6)
        scaled = HALVES | {"factors": [20, 60]}
        self.assertEqual(self.seconds({"name": "d-psgd"}, scaled, 50), self.seconds({"name": "d-psgd"}, HALVES, 50))
        twice = self.seconds({"name": "d-psgd"}, HALVES, 50, latency=0.02)
        self.assertAlmostEqual(twice - 1e-4, 2 * (self.seconds({"name": "d-psgd"}, HALVES, 50) - 1e-4), places=12)


class Between(Fidelities):
    """What never ends earlier when a message is later ends between what it does when all are early and when all are late."""

    def bounds(self, rng, description, change, sweep, **changes):
        clusters = [change(description, 0.5), change(description, 1.0, HALVES), change(description, 1.5)]
        content = scenario(rng, sweep={**sweep, "/cluster": clusters}, **changes)
        rows = [row["iteration_s"] for _, row in self.run_points(content, [trace(rng, 3)])]
        triples = list(zip(*[iter(rows)] * 3))
        for early, drawn, late in triples:
            self.assertLessEqual(early, drawn * (1 + 1e-12))
            self.assertLessEqual(drawn, late * (1 + 1e-12))
        self.assertGreater(sum(early < drawn < late for early, drawn, late in triples), len(triples) // 2)

    def near(self, description, factor, spread=None):
        latency = quantity(description["link"]["latency"]) * factor
        return description | {"link": description["link"] | {"latency": latency} | ({"latency_jitter": spread} if spread else {})}

    def far(self, description, factor, spread=None):
        return description | {"wan": [entry | {"rtt": quantity(entry["rtt"]) * factor} | ({"latency_jitter": spread} if spread else {})
                                      for entry in description["wan"]]}

    def test_star(self):
        link = {"bandwidth": "3Gbps", "latency": "5ms"}
        for seed, nodes in draws(enumerate([2, 3, 5])):
            rng = random.Random(seed)
            self.bounds(rng, cluster(rng, nodes, link=link), self.near, {
                "/schedule": [{"name": "wfbp"}, {"name": "d-psgd"}, {"name": "sgp"}],
                "/all_reduce": ["ring", "halving-doubling", "binary-tree"]}, fidelity="per-message")

    def test_regions(self):
        for seed, regions in draws(enumerate([2, 3], 10)):
            rng = random.Random(seed)
            self.bounds(rng, world(rng, regions, 2) | {"placement": "linear"}, self.far, {
                "/schedule": [{"name": "sync-easgd"}, {"name": "d-psgd"}], "/all_reduce": ["ring", "by-region"]}, fidelity="per-message")


class OnAverage(OverRegions):
    """simctl's draws beside the model's own."""

    def agree(self, rng, content, model, steps=60, seeds=5):
        content = scenario(rng, sweep={"/seed": list(range(seeds))}, iterations={"warmup": 2, "measured": steps}, **content)
        self.write("trace0.json", KNOWN)
        self.run_well({"trace": "trace0.json", **content})
        found = [point["iteration_s"] for point in self.points]
        order = {"region_order": [region["name"] for region in content["cluster"].get("regions", [])]}
        right = [model({**content, "trace": KNOWN, "seed": seed, **order})["iteration_s"] for seed in range(seeds)]
        error = ((statistics.variance(found) + statistics.variance(right)) / seeds) ** 0.5
        self.assertAlmostEqual(statistics.mean(found), statistics.mean(right), delta=4 * error)
        self.assertGreater(error, 0)
        self.assertLess(error / statistics.mean(right), 0.04)

    def test_all_reduces(self):
        for seed, (nodes, algorithm) in draws(enumerate([(3, "ring"), (4, "binary-tree")])):
            rng = random.Random(seed)
            link = {"bandwidth": "3Gbps", "latency": "2ms", "latency_jitter": DRAWN[seed]}
            self.agree(rng, {"cluster": cluster(rng, nodes, link=link), "all_reduce": algorithm, "schedule": {"name": "wfbp"},
                             "fidelity": "per-message"}, lambda point: moving.expected(point, False))

    def test_pairs_and_servers(self):
        link = {"bandwidth": "3Gbps", "latency": "2ms"}
        for seed, schedule in draws(enumerate([{"name": "d-psgd"}, {"name": "ps-sgd", "servers": 2}, {"name": "asgd"}])):
            rng = random.Random(seed)
            self.agree(rng, {"cluster": jittered(cluster(rng, 3, link=link), DRAWN[seed % 3], "link"), "schedule": schedule,
                             "fidelity": "flow"}, expected)

    def test_regions(self):
        for seed, schedule in draws(enumerate([{"name": "wfbp"}, {"name": "d-psgd"}, {"name": "ps-sgd", "servers": 2}])):
            rng = random.Random(seed)
            drawn = far_jittered(world(rng, 2, 2), DRAWN[seed]) | {"placement": "linear"}
            self.agree(rng, {"cluster": drawn, "schedule": schedule, "fidelity": "flow"},
                       expected if seed else lambda point: moving.expected(point, True))


if __name__ == "__main__":
    unittest.main()
