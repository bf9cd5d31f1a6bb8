"""ad-psgd: exactly where there is one passive node, else by what must hold whatever is drawn, and on average."""

import json
import random
import statistics
import unittest

import pairs
from comparing import cluster, disturbances, expected, node_windows, scenario, slow, trace
from oracle import quantity
from running import draws
from support import Case
from test_distances import with_windows
from test_fidelities import Fidelities
from test_known_values import TRACE, point
from test_regions import uneven, windows, world
from test_server_regions import FIDELITIES, OverRegions

FORMS = [{"name": "ad-psgd", "peers": peers, "within_node": within} for peers in ("ring", "all") for within in ("overlapped", "blocking")]


def slow_link(rng):
    return {"bandwidth": f"{rng.uniform(0.3, 10):.3f}Gbps", "latency": rng.uniform(1e-5, 2e-3)}


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand? 3 ms of compute, or 6 where a rank is slow."""

    def check(self, latency, milliseconds, workers, **others):
        drawn = point({"name": "ad-psgd"}, iterations={"warmup": 9, "measured": 24}, workers=workers)
        drawn["cluster"]["link"]["latency"] = latency
        row = expected(drawn)
        self.assertAlmostEqual(row["iteration_s"], milliseconds / 1000, places=12)
        for column, value in others.items():
            self.assertAlmostEqual(row[column], value, places=12, msg=column)

    def test_two_nodes(self):
        """A model takes 1.1 or 4 ms there and as long back; passive steps last 3 ms, active ones 8 then: 11 in 24 ms."""
        self.check(1e-4, 3, {}, exposed_communication_s=0, communications_per_iteration=1, bytes_per_worker_per_iteration=1e6,
                   communication_s=0.0011)
        self.check(3e-3, 2 * 24 / 11, {}, exposed_communication_s=0.005 * 3 / 11, communications_per_iteration=6 / 11)

    def test_what_comes_back(self):
        """Both step alike: after 1.1 ms the passive one has the gradients of the step before."""
        self.check(1e-4, 3, {}, staleness_mean=1, staleness_max=1)
        self.check(1e-4, 6, {"slow": [{"ranks": "0-1", "factor": 2}]}, staleness_mean=1)


class OnePassiveNode(OverRegions):
    def draw(self, seed, clusters, workers, *options, fidelities=FIDELITIES):
        rng = random.Random(f"averaging {seed}")
        drawn = disturbances(rng, workers, slowdown=False)
        sweep = {"/cluster": clusters(rng), "/schedule": rng.sample(FORMS, 2), "/fidelity": fidelities,
                 "/workers": [drawn[0], *rng.sample(drawn[1:], 3)]}
        self.compare(scenario(rng, sweep=sweep), [trace(rng, 3)], *options)

    def test_star(self):
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (3, 1), (1, 2), (2, 3), (3, 2)])):
            self.draw(seed, lambda rng: [cluster(rng, nodes, gpus, link=slow_link(rng)) for _ in range(2)], nodes * gpus)

    def test_windows(self):
        for seed, nodes in draws(enumerate([2, 3], 10)):
            self.draw(seed, lambda rng: [node_windows(rng, cluster(rng, nodes, link=slow_link(rng), nics=nics)) for nics in (1, 2)], nodes)

    def regions(self, rng, regions, gpus, change):
        while (drawn := world(rng, regions, 2, gpus))["nodes"] > 3:
            pass
        return change(rng, drawn)

    def test_regions(self):
        for seed, (regions, gpus) in draws(enumerate([(2, 1), (3, 1), (2, 2)], 20)):
            self.draw(seed, lambda rng: [self.regions(rng, regions, gpus, lambda rng, one: uneven(rng, windows(rng, one)))
                                         for _ in range(2)], 2 * gpus)

    def test_changing_distances(self):
        for seed, regions in draws(enumerate([2, 3], 30)):
            self.draw(seed, lambda rng: [self.regions(rng, regions, 1, with_windows)], 2, fidelities=["flow"])

    def test_one_by_one(self):
        self.draw(40, lambda rng: [cluster(rng, 3, link=slow_link(rng)), cluster(rng, 2, 2)], 2, "--no-symmetry")


class WhateverIsDrawn(OverRegions):
    """Whatever is drawn."""

    def run_one(self, rng, one, *options, **changes):
        content = scenario(rng, sweep={}, **changes)
        self.write("trace0.json", one)
        done = Case.run_scenario(self, {"trace": "trace0.json", **content}, "--quiet", "--timeline", *options)
        self.assertEqual(done.returncode, 0, done.stderr[-1000:])
        return content | {"trace": one}, Case.rows(self)[0]

    def steps(self):
        """(start, end) in seconds, of the first eight ranks."""
        events = json.loads((self.folder / "out" / "timeline-0.json").read_text())["traceEvents"]
        found = [[] for _ in range(8)]
        for event in events:
            if event["ph"] == "X" and event["name"].startswith("iteration "):
                found[event["pid"] - 1].append((event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6))
        return found

    def iterations(self, content):
        self.run_well({"trace": "trace0.json", **content})
        return [point["iteration_s"] for point in self.points]

    def test_passive_nodes_wait_for_nobody(self):
        for seed, (nodes, gpus) in draws(enumerate([(4, 1), (5, 1), (8, 1), (4, 2), (3, 2)])):
            rng = random.Random(seed)
            drawn, _ = self.run_one(rng, trace(rng), cluster=cluster(rng, nodes, gpus, link=slow_link(rng)),
                                    fidelity=FIDELITIES[seed % 3], schedule=rng.choice(FORMS), iterations={"warmup": 1, "measured": 8},
                                    workers=rng.choice(disturbances(rng, nodes * gpus, slowdown=False)[1:]))
            starts = pairs.run(drawn).begins  # of passive ones: whatever the active ones do
            for rank, steps in enumerate(self.steps()[:nodes]):
                for (start, _), right in zip(steps, starts[rank]) if rank % 2 else []:
                    self.assertAlmostEqual(start, right, delta=2e-9)

    def test_active_nodes_wait_for_a_message_and_an_answer(self):
        """Of several, if others ask at the same time, but of no more than there are."""
        for seed, nodes in draws(enumerate([4, 5, 8], 10)):
            rng = random.Random(seed)
            one = trace(rng)
            drawn, row = self.run_one(rng, one, cluster=cluster(rng, nodes, link=slow_link(rng)), fidelity=FIDELITIES[seed % 2],
                                      schedule=rng.choice(FORMS), iterations={"warmup": 1, "measured": 8})
            link, compute = drawn["cluster"]["link"], float(row["compute_s"])
            message = quantity(link["latency"]) + sum(gradient["bytes"] for gradient in one["gradients"]) / quantity(link["bandwidth"])
            update = one["update_s"]
            active = (nodes + 1) // 2
            for steps in self.steps()[:nodes:2]:
                for start, end in steps:
                    self.assertGreaterEqual(end - start, max(compute, 2 * message + update) - 2e-9)
                    self.assertLessEqual(end - start, max(compute, (1 + active) * message + update) + 2e-9)
            for steps in self.steps()[1:nodes:2]:
                for start, end in steps:
                    self.assertAlmostEqual(end - start, compute, delta=2e-9)

    def test_draws(self):
        """The same for the same seed; those of the model are others, but on average the same."""
        link = {"bandwidth": "3Gbps", "latency": "1ms"}
        for nodes, peers in ((6, "ring"), (6, "all"), (8, "all")):
            rng = random.Random(nodes)
            one, seeds = TRACE | {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "known"}}, list(range(1, 9))
            one["layers"] = [layer | {"type": "x"} for layer in one["layers"]]
            content = scenario(rng, sweep={"/seed": seeds}, cluster=cluster(rng, nodes, link=link), fidelity="per-message",
                               schedule={"name": "ad-psgd", "peers": peers}, iterations={"warmup": 5, "measured": 100},
                               workers={"slow": slow(rng, nodes)})
            self.write("trace0.json", one)
            found, again = (self.iterations(content) for _ in range(2))
            self.assertEqual(found, again)
            self.assertEqual(len(set(found)), len(found))
            model = [expected(content | {"trace": one, "seed": seed})["iteration_s"] for seed in seeds]
            error = ((statistics.variance(found) + statistics.variance(model)) / len(seeds)) ** 0.5
            self.assertAlmostEqual(statistics.mean(found), statistics.mean(model), delta=4 * error)
            self.assertLess(error / statistics.mean(model), 0.02)


class AnyFidelity(Fidelities):
    def test_links_of_their_own(self):
        """A link of each sender's own, but for flows."""
        for seed, nodes in draws(enumerate([3, 4, 7])):
            rng = random.Random(seed)
            self.agree(rng, [cluster(rng, nodes)], {"/schedule": FORMS[::3], "/workers": disturbances(rng, nodes)},
                       fidelities=("alpha-beta", "per-message"))


if __name__ == "__main__":
    unittest.main()
