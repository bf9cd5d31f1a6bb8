"""simctl and the oracle side by side on scenarios drawn at random."""

import math
import unittest

import by_layers
import delayed
import diloco
import local
import oracle
import pairs
import server_schedules
import sharded
import synchronous
import window
from running import Running, swept, thinned

FAMILIES = {
    **dict.fromkeys(oracle.SCHEDULES, synchronous.run),
    **dict.fromkeys(("dts", "sasgd", "local-sgd"), delayed.run),
    "lasgd": local.lasgd,
    "diloco": diloco.run,
    **dict.fromkeys(("sgp", "d-psgd", "ad-psgd"), pairs.run),
    **dict.fromkeys(("ps-sgd", "asgd", "dc-asgd", "ssd-sgd", "downpour", "eamsgd"), server_schedules.run),
    **dict.fromkeys(("bytescheduler", "p3", "dear"), by_layers.run),
    **dict.fromkeys(("fsdp", "zero"), sharded.run),
}
SPLIT = ("wait_s", "exposed_communication_s")  # differences of times: their error is that of an iteration


def expected(point):
    return window.columns(FAMILIES[point["schedule"]["name"]](point))


class ByHand(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def check(self, milliseconds, drawn, **others):
        row = expected(drawn)
        self.assertAlmostEqual(row["iteration_s"], milliseconds / 1000, places=12)
        for column, value in others.items():
            self.assertAlmostEqual(row[column], value, places=12, msg=column)


class Comparison(Running):
    tolerance = 1e-6

    def expected(self, index, point):
        return expected(point)

    def compare(self, scenario, traces, *options):
        """Every point of a scenario, or some where it is a random one; returns how many these are."""
        scenario = thinned(scenario) if scenario["name"] == "random" else scenario
        for index, trace in enumerate(traces):
            self.write(f"trace{index}.json", trace)
        self.run_well({"trace": "trace0.json", **scenario}, *options)
        points, rows = list(oracle.points(self.folder / "scenario.json")), self.rows()
        self.assertEqual(len(rows), len(points))
        wrong = []
        for index, (point, written) in enumerate(zip(points, rows)):
            right = self.expected(index, point)
            slack = {column: self.tolerance * right["iteration_s"] for column in SPLIT}
            for column, value in right.items():
                if not math.isclose(written[column], value, rel_tol=self.tolerance, abs_tol=slack.get(column, 1e-12)):
                    wrong.append(f"point {index} {swept(written)}: {column}: simctl {written[column]}, oracle {value!r}")
        self.assertFalse(wrong, "\n".join([f"{len(wrong)} values differ, the first:", *wrong[:12]]))
        return len(points)


# Scenarios


def trace(rng, layers=4):
    """A few layers of some milliseconds; about as much to send."""
    names = [f"layer{index}" for index in range(rng.randint(1, layers))]
    parts = [{"name": name, "type": "x", "forward_s": rng.uniform(2e-4, 3e-3), "backward_s": rng.uniform(4e-4, 6e-3)} for name in names]
    gradients = [{"name": f"{name}.{index}", "layer": name, "bytes": int(10 ** rng.uniform(3.5, 6.5))}
                 for name in reversed(names) for index in range(rng.choice([0, 1, 1, 2]))]
    gradients = gradients or [{"name": "only", "layer": names[0], "bytes": 1234567}]
    result = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "random"},
              "model": {"name": "random", "batch": rng.randint(1, 64), "dtype": rng.choice(["fp32", "fp16", "bf16"])},
              "layers": parts, "gradients": gradients, "update_s": rng.uniform(1e-4, 1e-3)}
    backward = sum(layer["backward_s"] for layer in parts)
    if rng.random() < 0.4:
        for gradient, share in zip(gradients, sorted(rng.uniform(0.1, 1) for _ in gradients)):
            gradient["ready_s"] = share * backward
    if rng.random() < 0.5:
        result["iteration"] = {"forward_s": sum(layer["forward_s"] for layer in parts) * rng.uniform(1, 1.4),
                               "backward_s": backward * rng.uniform(1, 1.4)}
    return result


def cluster(rng, nodes, gpus=1, **changes):
    result = {"format": "cluster/1", "name": f"{nodes}x{gpus}", "nodes": nodes, "gpus_per_node": gpus,
              "link": {"bandwidth": f"{rng.uniform(2, 20):.3f}Gbps", "latency": rng.uniform(1e-6, 3e-4)}, **changes}
    if gpus > 1:
        result["intra_node"] = {"bandwidth": f"{rng.uniform(1, 10):.3f}GBps", "latency": rng.uniform(1e-7, 1e-4)}
    if rng.random() < 0.5:
        result["reduce_s_per_B"] = 10 ** rng.uniform(-11, -10)
    return result


def node_windows(rng, description):
    """On the links of nodes and inside these: some of them bind, some do not."""
    for entry in (description[name] for name in ("link", "intra_node") if name in description):
        rate = oracle.quantity(entry["bandwidth"]) * rng.uniform(0.2, 1.5)
        entry["tcp_window"] = max(1, round(2 * oracle.quantity(entry["latency"]) * rate))
    return description


def fit(rng):
    return {"a_s": 10 ** rng.uniform(-4, -2.5), "b_s_per_B": 10 ** rng.uniform(-9, -8.5), "nodes": rng.randint(2, 9),
            "algorithm": rng.choice(list(oracle.TERMS))}


def accumulating(rng, schedules):
    """The same, some steps at a time."""
    return [schedule | {"accumulate": rng.randint(1, 4)} for schedule in schedules]


def compression(rng):
    """A way to compress, by its name alone or with parameters and what it costs."""
    name = rng.choice(["none", "fp16", "sign", "terngrad", "qsgd", "top-k", "gtop-k", "random-k"])
    if rng.random() < 0.2:
        return name
    result, drawn = {"name": name}, {"ratio": rng.uniform(0.001, 0.4), "index_bytes": rng.choice([0, 2, 8]), "bits": rng.randint(2, 8),
                                     "bucket": rng.choice([64, 1000])}
    known = {"qsgd": ["bits", "bucket"], "top-k": ["ratio", "index_bytes"], "gtop-k": ["ratio", "index_bytes"], "random-k": ["ratio"]}
    result.update((key, drawn[key]) for key in known.get(name, []) if rng.random() < 0.6)
    result.update((key, 10 ** rng.uniform(-11, -9)) for key in ("encode_s_per_B", "decode_s_per_B") if rng.random() < 0.7)
    return result


def compressing(rng, schedules):
    """The same, each in a way of its own."""
    return [schedule | {"compression": compression(rng)} for schedule in schedules]


def over_servers(rng, schedule):
    """The same, compressed; groups are not those of a merging schedule, which reckons with what that costs."""
    way = compression(rng)
    if isinstance(way, dict) and rng.random() < 0.6:
        way["pull"] = "compressed"
    grouping = {"name": "fusion", "first_bucket": "50kB", "bucket": "1MB"}
    fixed = {"grouping": rng.choice(["wfbp", "wfbp", "sync-easgd", "s-sgd", grouping])} if "grouping" in schedule else {}
    return schedule | fixed | {"compression": way}


def slow(rng, workers):
    """Every rank at a pace of its own."""
    return [{"ranks": str(rank), "factor": rng.uniform(1, 1.6)} for rank in range(workers)]


def pauses(rng, workers):
    return [{"kind": "pause", "rank": rng.randrange(workers), "at_s": rng.uniform(0, 0.15), "for_s": rng.uniform(1e-3, 0.05)}
            for _ in range(rng.randint(1, 4))]


def disturbances(rng, workers, slowdown=True):
    """All kinds, one after another."""
    factors = [rng.uniform(0.5, 2) for _ in range(rng.randint(2, 6))]
    result = [
        {},
        {"slow": slow(rng, workers)},
        {"jitter": {"distribution": "lognormal", "cv": rng.uniform(0.05, 0.5)}},
        {"jitter": {"distribution": "uniform", "cv": rng.uniform(0.05, 0.5)}, "events": pauses(rng, workers)},
        {"jitter": {"distribution": "empirical", "factors": factors}, "slow": slow(rng, workers)},
        {"slow": [{"ranks": f"0-{workers // 2}", "factor": rng.uniform(1, 2)}], "events": pauses(rng, workers)},
    ]
    if slowdown:
        result += [
            {"overlap_slowdown": rng.uniform(0.05, 0.8)},
            {"overlap_slowdown": rng.uniform(0.05, 0.8), "slow": slow(rng, workers)},
            {"overlap_slowdown": rng.uniform(0.05, 0.8), "jitter": {"distribution": "lognormal", "cv": 0.2},
             "events": pauses(rng, workers)},
        ]
    return result


def scenario(rng, **changes):
    result = {"format": "scenario/1", "name": "random", "fidelity": "alpha-beta", "granularity": rng.choice(["tensor", "layer"]),
              "iterations": {"warmup": rng.randint(0, 2), "measured": rng.randint(1, 4)}, "seed": rng.randrange(2**rng.choice([8, 40])),
              **changes}
    sweep = result["sweep"]
    for key in ("trace", "cluster", "schedule", "workers"):  # a value for every key that the sweep replaces
        if f"/{key}" in sweep:
            result[key] = sweep[f"/{key}"][0]
    return result
