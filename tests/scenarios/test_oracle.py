"""Does simctl say what plain recurrences, written apart from it, say? SIMCTL names the binary."""

import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import oracle  # noqa: E402

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
ALGORITHMS = list(oracle.TERMS)


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


def random_cluster(rng, nodes):
    bandwidth = rng.uniform(0.5, 50)
    cluster = {"format": "cluster/1", "name": f"random{nodes}", "nodes": nodes, "topology": "star",
               "link": {"bandwidth": rng.choice([bandwidth * 1e9 / 8, f"{bandwidth:.3f}Gbps", f"{bandwidth * 100:.2f}MBps"]),
                        "latency": rng.choice([0.0, seconds(rng, zero=0) / 10, f"{rng.uniform(1, 100):.2f}us"])}}
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
    """One scenario file: every schedule and algorithm, both granularities, `traces` traces, on clusters of `nodes` nodes."""
    schedules = [{"name": name} for name in oracle.SCHEDULES]
    schedules.append({"name": "fusion", "first_bucket": rng.choice([1, "20kB", 10000]), "bucket": rng.choice(["1MiB", 3e5, "40kB"])})
    first, *_ = clusters = [random_cluster(rng, count) for count in nodes]
    sweep = {"/trace": [f"trace{index}.json" for index in range(traces)], "/cluster": clusters,
             "/granularity": ["tensor", "layer"], "/schedule": schedules, "/all_reduce": ALGORITHMS}
    scenario = {"format": "scenario/1", "name": "random", "trace": "trace0.json", "cluster": first,
                "schedule": {"name": "wfbp"}, "fidelity": "alpha-beta",
                "iterations": {"warmup": rng.randint(0, 3), "measured": rng.randint(1, 4)}, "sweep": sweep}
    if slow:
        sweep["/workers/slow"] = [random_slow(rng, min(nodes)) for _ in range(3)]
        scenario["workers"] = {"slow": []}
    return scenario, [random_trace(rng) for _ in range(traces)]


def ambiguous(point):
    """The columns that the design leaves open: groupings that end at the same time differ in their number where a = 0."""
    cluster, name = point["cluster"], point["schedule"]["name"]
    free = name == "mg-wfbp-optimal" and cluster["nodes"] > 1 and oracle.cost(cluster, point.get("all_reduce", "ring"))[0] == 0
    return {"communications_per_iteration"} if free else set()


def same(written, expected):
    if isinstance(expected, str):
        return written == expected
    return math.isclose(float(written), expected, rel_tol=1e-9, abs_tol=1e-12)


class Oracle(unittest.TestCase):
    def rows(self, scenario, *options):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([os.environ["SIMCTL"], "run", str(scenario), "-o", folder, "--quiet", *options],
                                 capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            with open(Path(folder) / "results.csv", newline="") as file:
                return list(csv.DictReader(file))

    def compare(self, scenario, *options):
        """Every point of a scenario file; returns how many there are."""
        points, rows = list(oracle.points(scenario)), self.rows(scenario, *options)
        self.assertEqual(len(rows), len(points))
        differences = []
        for index, (point, written) in enumerate(zip(points, rows)):
            for column, expected in oracle.row(point).items():
                if not same(written[column], expected) and column not in ambiguous(point):
                    swept = {key: value[:60] for key, value in written.items() if key.startswith("/")}
                    differences.append(f"{scenario} point {index} {swept}: {column}: simctl {written[column]}, oracle {expected!r}")
        if differences:
            self.fail("\n".join([f"{len(differences)} values differ, the first:", *differences[:10]]))
        return len(points)

    def compare_random(self, seed, nodes, traces, slow, *options):
        scenario, files = random_scenario(random.Random(seed), nodes, traces, slow)
        with tempfile.TemporaryDirectory() as folder:
            for index, trace in enumerate(files):
                (Path(folder) / f"trace{index}.json").write_text(json.dumps(trace))
            path = Path(folder) / f"random-{seed}.json"
            path.write_text(json.dumps(scenario))
            return self.compare(path, *options)

    def test_quickstart(self):
        self.assertEqual(self.compare(SCENARIOS / "quickstart.json"), 6)

    def test_scalability(self):
        self.assertEqual(self.compare(SCENARIOS / "scalability.json"), 120)

    def test_equal_workers(self):
        for seed in range(8):
            nodes = [1 + (3 * seed + index) % 17 for index in range(3)]  # 1 to 17, each at least once
            self.compare_random(seed, nodes, 3, False)

    def test_equal_workers_simulated_one_by_one(self):
        self.compare_random(100, [1, 2, 7], 2, False, "--no-symmetry")

    def test_slow_workers(self):
        for seed in range(200, 208):
            self.compare_random(seed, [2 + seed % 8], 2, True)

    def test_design_example(self):
        """Design 4: with a = b = 1, Algorithm 1 gives 6.8 where 6.0 is possible."""
        gradients = [(1.0, 1), (1.9, 1), (2.8, 1)]
        for grouping, expected in ((oracle.greedy, 6.8), (oracle.optimal, 6.0)):
            end = 0.0
            for group in grouping(gradients, 1.0, 1.0, {}):
                end = max(end, group[-1][0]) + 1.0 + oracle.size_of(group)
            self.assertAlmostEqual(end, expected, places=12)


if __name__ == "__main__":
    unittest.main()
