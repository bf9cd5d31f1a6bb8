"""Does simctl say what plain recurrences, written apart from it, say?"""
import itertools
import json
import math
import os
import random
import unittest

import oracle
from support import ROOT, Case

ALGORITHMS = list(oracle.TERMS)
ALL_REDUCES = [*ALGORITHMS, "auto"]
SLOW = bool(os.environ.get("SYNCOPATE_SLOW"))
TRACES = 2 if SLOW else 1


def seconds(rng, zero=0.15):
    """Seconds of a phase: sometimes none, else over three orders of magnitude."""
    return 0.0 if rng.random() < zero else 10 ** rng.uniform(-5, -2)


def random_trace(rng):
    """A trace of a few layers, some with no gradient, in every form that trace/1 allows."""
    names = [f"layer{index}" for index in range(rng.randint(1, 8))]
    layers = [{"name": name, "type": "x", "forward_s": seconds(rng), "backward_s": seconds(rng)} for name in names]
    layers[rng.randrange(len(layers))].update(forward_s=10 ** rng.uniform(-4, -2), backward_s=10 ** rng.uniform(-4, -2))
    gradients = [{"name": f"{name}.{index}", "layer": name, "bytes": int(4 * 10 ** rng.uniform(0, 6))}
                 for name in reversed(names) for index in range(rng.randint(0, 3))]
    gradients = gradients or [{"name": "only", "layer": names[0], "bytes": 400}]
    trace = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "random"},
             "model": {"name": f"random{rng.randrange(1000)}", "batch": rng.randint(1, 64), "dtype": "fp32"},
             "layers": layers, "gradients": gradients}
    backward = sum(layer["backward_s"] for layer in layers)
    if rng.random() < 0.5:  # measured ready times, in any order of the layers
        rng.shuffle(gradients)
        ready = 0.0
        for gradient in gradients:
            ready += seconds(rng, zero=0.3)
            gradient["ready_s"] = ready
        gradients[-1]["ready_s"] = backward = max(ready, 1e-5)
    if rng.random() < 0.5:  # measured spans
        trace["iteration"] = {"forward_s": sum(layer["forward_s"] for layer in layers) * rng.uniform(1, 1.5),
                              "backward_s": backward * rng.choice([1.0, rng.uniform(1, 1.5)])}
    if rng.random() < 0.7:
        trace["update_s"] = seconds(rng)
    return trace


def random_cluster(rng, nodes, least_latency):
    bandwidth, latency = rng.uniform(0.5, 50), rng.uniform(1, 100)
    cluster = {"format": "cluster/1", "name": f"random{nodes}", "nodes": nodes, "topology": "star",
               "link": {"bandwidth": rng.choice([bandwidth * 1e9 / 8, f"{bandwidth:.3f}Gbps", f"{bandwidth * 100:.2f}MBps"]),
                        "latency": rng.choice([least_latency, latency * 1e-6, f"{latency:.2f}us"])}}
    if rng.random() < 0.5:
        cluster["reduce_s_per_B"] = 10 ** rng.uniform(-12, -10)
    if rng.random() < 0.4:
        cluster["fit"] = {"a_s": 10 ** rng.uniform(-6, -3), "b_s_per_B": 10 ** rng.uniform(-9, -8),
                          "nodes": rng.randint(2, 17), "algorithm": rng.choice(ALGORITHMS)}
    return cluster


def random_slow(rng, nodes):
    """Permanently slow ranks, each named once: '0,2-3' at one factor, perhaps others at another."""
    ranks = rng.sample(range(nodes), rng.randint(1, nodes))
    cut = rng.randint(1, len(ranks))
    parts = [sorted(ranks[:cut]), sorted(ranks[cut:])]
    named = [",".join(map(str, part)) for part in parts if part]
    if rng.random() < 0.3:
        named = [f"0-{rng.randrange(nodes)}"]
    return [{"ranks": part, "factor": rng.uniform(1, 4)} for part in named]


def random_scenario(rng, nodes, traces, slow):
    """One scenario file: every schedule, both granularities, two algorithms or all, `traces` traces, on clusters of `nodes` nodes."""
    schedules = [{"name": name} for name in oracle.SCHEDULES]
    schedules.append({"name": "fusion", "first_bucket": rng.choice([1, "20kB", 10000]), "bucket": rng.choice(["1MiB", 3e5, "40kB"]), "last_bucket": rng.random() < 0.5})
    first, *_ = clusters = [random_cluster(rng, count, 1e-6 if slow else 0.0) for count in nodes]
    sweep = {"/trace": [f"trace{index}.json" for index in range(traces)], "/cluster": clusters, "/granularity": ["tensor", "layer"],
             "/schedule": schedules, "/all_reduce": ALL_REDUCES if SLOW else rng.sample(ALL_REDUCES, 2)}
    scenario = {"format": "scenario/1", "name": "random", "trace": "trace0.json", "cluster": first,
                "schedule": {"name": "wfbp"}, "fidelity": "alpha-beta",
                "iterations": {"warmup": rng.randint(0, 3), "measured": rng.randint(1, 4)}, "sweep": sweep}
    if slow:
        sweep["/workers/slow"] = [random_slow(rng, min(nodes)) for _ in range(2)]
        scenario["workers"] = {"slow": []}
    return scenario, [random_trace(rng) for _ in range(traces)]


def same(written, expected):
    if isinstance(expected, str):
        return written == expected
    return math.isclose(float(written), expected, rel_tol=1e-9, abs_tol=1e-12)


def differences(written, point):
    """{column: (simctl's value, the oracle's)}: of the admissible groupings, for the one that comes nearest."""
    cluster, algorithm = point["cluster"], point.get("all_reduce", "ring")
    ignored = set()
    if point["schedule"]["name"] == "mg-wfbp-optimal" and cluster["nodes"] > 1 and oracle.fastest(cluster, algorithm)(0)[0] == 0:
        ignored = {"communications_per_iteration"}  # merging saves nothing: the optimum leaves the number of groups open
    nearest = None
    for row in itertools.islice(oracle.rows(point), 1000):
        found = {column: (written[column], expected) for column, expected in row.items()
                 if column not in ignored and not same(written[column], expected)}
        if not found:
            return {}
        nearest = min(nearest or found, found, key=len)
    return nearest


class Oracle(Case):
    def compare(self, scenario, *options):
        """Every point of a scenario file; returns how many there are."""
        done = self.simctl("run", scenario, "-o", "out", "--force", "--quiet", *options)
        self.assertEqual(done.returncode, 0, f"{scenario.name} {options}: ... {done.stderr[-500:]}")
        points, rows = list(oracle.points(scenario)), self.rows()
        self.assertEqual(len(rows), len(points))
        wrong = []
        for index, (point, written) in enumerate(zip(points, rows)):
            for column, (value, expected) in differences(written, point).items():
                swept = {key: text[:60] for key, text in written.items() if key.startswith("/")}
                wrong.append(f"{scenario.name} point {index} {swept}: {column}: simctl {value}, oracle {expected!r}")
        self.assertFalse(wrong, "\n".join([f"{len(wrong)} values differ, the first:", *wrong[:10]]))
        return len(points)

    def compare_random(self, seed, nodes, traces, slow, *options):
        scenario, files = random_scenario(random.Random(seed), nodes, traces, slow)
        for index, trace in enumerate(files):
            self.write(f"trace{index}.json", trace)
        return self.compare(self.write(f"random-{seed}.json", scenario), *options)

    def test_quickstart(self):
        self.assertEqual(self.compare(ROOT / "scenarios" / "quickstart.json"), 6)

    def test_scalability(self):
        self.assertEqual(self.compare(ROOT / "scenarios" / "scalability.json"), 120)

    def test_equal_workers(self):
        for seed in range(6):
            nodes = [1 + (3 * seed + index) % 17 for index in range(3)]  # 1 to 17, each at least once
            self.compare_random(seed, nodes, TRACES, False)

    def test_equal_workers_simulated_one_by_one(self):
        self.compare_random(100, [1, 2, 7], TRACES, False, "--no-symmetry")

    def test_slow_workers(self):
        for seed in range(200, 208):
            self.compare_random(seed, [2 + seed % 8], TRACES, True)

    def test_slow_workers_simulated_one_by_one(self):
        """Dates that differ by a rounding are no reason to stop: with some of these factors two workers' clocks do."""
        trace = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "two workers, one layer"},
                 "model": {"name": "one", "batch": 1, "dtype": "fp32"},
                 "layers": [{"name": "layer", "type": "x", "forward_s": 0.0002512, "backward_s": 0.0090381}],
                 "gradients": [{"name": "weight", "layer": "layer", "bytes": 400}],
                 "iteration": {"forward_s": 0.0002894, "backward_s": 0.0090381}}
        factors = [2.7721114, *(1 + index / 37 for index in range(100 if SLOW else 30))]
        scenario = {"format": "scenario/1", "name": "rounding", "trace": "trace0.json", "schedule": {"name": "wfbp"},
                    "cluster": {"nodes": 2, "link": {"bandwidth": "10Gbps", "latency": "50us"}},
                    "fidelity": "alpha-beta", "iterations": {"warmup": 2, "measured": 20},
                    "sweep": {"/workers": [{"slow": [{"ranks": "0", "factor": factor}]} for factor in factors]}}
        self.write("trace0.json", trace)
        self.compare(self.write("rounding.json", scenario))
        self.compare(self.write("rounding.json", scenario), "--no-symmetry")

    def test_where_the_greedy_grouping_is_not_the_best(self):
        """With a = b = 1, Algorithm 1 gives 6.8 where 6.0 is possible."""
        gradients = [(1.0, 1), (1.9, 1), (2.8, 1)]
        for rule, expected in ((oracle.greedy, 6.8), (oracle.optimal, 6.0)):
            end = 0.0
            for group in next(rule(gradients, lambda size: (1.0, 1.0), {})):
                end = max(end, group[-1][0]) + 1.0 + oracle.size_of(group)
            self.assertAlmostEqual(end, expected, places=12)


if __name__ == "__main__":
    unittest.main()
