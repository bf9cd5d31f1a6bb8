"""Does `simctl explain` give every second its reason, and is each of its what-ifs what a scenario changed by hand takes?"""
import collections
import concurrent.futures
import copy
import itertools
import json
import math
import os
import random
import re
import subprocess
import unittest

from oracle import profile, quantity
from support import SIMCTL, Case, scenario, trace

EXACT = 1e-9
NOTHING = 1e-12  # in place of no time at all, where a format needs some
SLOW = "SYNCOPATE_SLOW" in os.environ
INFINITE = 1e18  # bytes/s, the most that a format takes

# A scenario with one thing changed, as scenarios/EXPLAIN.md says what the rows of the second table mean


def times(where, key, factor):
    if where and key in where:
        where[key] = quantity(where[key]) * factor


def bytes_times(gradients, factor):
    for gradient in gradients:
        gradient["bytes"] = max(1, round(gradient["bytes"] * factor))


def rate_times(where, factor):
    """Of a link, with both ways and all that its profile says."""
    for entry in (where, *where.get("bandwidth_profile", [])):
        if isinstance(entry.get("bandwidth"), dict):
            times(entry["bandwidth"], "up", factor)
            times(entry["bandwidth"], "down", factor)
        else:
            times(entry, "bandwidth", factor)


def latency_times(where, factor):
    for entry in (where, *where.get("rtt_profile", [])):
        times(entry, "latency", factor)
        times(entry, "rtt", factor)


def fit_times(fit, latency=1.0, transfer=1.0):
    times(fit, "a_s", latency)
    times(fit, "b_s_per_B", transfer)
    if fit and "points" in fit:
        (first, begin), *_, (last, end) = fit["points"]
        start = max(0.0, begin - first * (end - begin) / (last - first))
        fit["points"] = [[size, latency * start + transfer * (seconds - start)] for size, seconds in fit["points"]]


def compute_times(trace, factor):
    """All of forward, backward and update."""
    for layer in trace["layers"]:
        times(layer, "forward_s", factor)
        times(layer, "backward_s", factor)
    for gradient in trace["gradients"]:
        times(gradient, "ready_s", factor)
    times(trace.get("iteration"), "forward_s", factor)
    times(trace.get("iteration"), "backward_s", factor)
    times(trace, "update_s", factor)


def layer_times(trace, name, phase, factor):
    """One layer, as it is stretched to a measured span; what comes after it comes as much earlier."""
    span, order = trace.get("iteration", {}), trace["layers"] if phase == "forward" else trace["layers"][::-1]
    total, key = sum(layer[f"{phase}_s"] for layer in order), f"{phase}_s"
    measured = phase == "backward" and "ready_s" in trace["gradients"][0]
    stretched = span.get(key, trace["gradients"][-1]["ready_s"] if measured else total) / total
    ends = list(itertools.accumulate((layer[key] * stretched for layer in order), initial=0.0))
    at = next(index for index, layer in enumerate(order) if layer["name"] == name)
    before = 0.0
    for gradient in trace["gradients"] if measured else []:
        inside = min(max(gradient["ready_s"] - ends[at], 0.0), ends[at + 1] - ends[at])
        gradient["ready_s"] = before = max(before, gradient["ready_s"] - (1 - factor) * inside)
    if key in span:
        span[key] = max([span[key] - (1 - factor) * (ends[at + 1] - ends[at])] + [gradient["ready_s"] for gradient in trace["gradients"] if measured])
    order[at][key] *= factor


def not_slow(workers, ranks):
    """The ranks that are slow, without some of them."""
    left = [(each, entry["factor"]) for entry in workers.pop("slow") for each in ranks_of(entry["ranks"]) if each not in ranks]
    if left:
        workers["slow"] = [{"ranks": str(each), "factor": factor} for each, factor in left]


def ranks_of(text):
    bounds = [[int(number) for number in part.split("-")] for part in text.split(",")]
    return [each for first, *last in bounds for each in range(first, (last or [first])[0] + 1)]


def changed(content, factor, change):
    """What `simctl run` is to take for a row."""
    content = copy.deepcopy(content)
    trace, cluster, workers = content["trace"], content["cluster"], content.get("workers", {})
    links = {"link": cluster.get("link"), "intra_node": cluster.get("intra_node")}
    links |= {"wan {} - {}".format(*link["between"]): link for link in cluster.get("wan", [])}
    *_, last = parts = factor.split(".")
    thing = ".".join(parts[:-1])
    if (factor, change) == ("network", "free"):
        for link in filter(None, links.values()):
            latency_times(link, NOTHING)
            for entry in (link, *link.get("bandwidth_profile", [])):
                if "bandwidth" in entry:
                    entry["bandwidth"] = INFINITE
            link.pop("latency_jitter", None)
            link.pop("tcp_window", None)
        if cluster.pop("fit", None):
            cluster["reduce_s_per_B"] = 0  # is inside it
    elif (factor, change) == ("compute", "free"):
        compute_times(trace, NOTHING)
    elif factor == "compute":
        compute_times(trace, 1 / change)
    elif factor == "bytes":
        bytes_times(trace["gradients"], change)
    elif factor.startswith("gradients."):
        name = factor.removeprefix("gradients.").removesuffix(".bytes")
        key = "layer" if content.get("granularity") == "layer" else "name"
        bytes_times([gradient for gradient in trace["gradients"] if gradient[key] == name], change)
    elif factor.startswith("layers."):
        layer_times(trace, thing.removeprefix("layers."), last, change)
    elif factor == "update":
        times(trace, "update_s", change)
    elif last == "bandwidth" and thing in links:
        rate_times(links[thing], change)
        if thing == "link":
            fit_times(cluster.get("fit"), transfer=1 / change)
            times(cluster if "fit" in cluster else {}, "reduce_s_per_B", 1 / change)  # is in it
    elif last == "latency" and thing in links:
        latency_times(links[thing], change)
        if thing == "link":
            fit_times(cluster.get("fit"), latency=change)
    elif factor in ("reduce_s_per_B", "copy_s_per_B"):
        times(cluster, factor, change)
    elif factor == "host":
        times(cluster["host"], "per_message_s", change)
        for key in ("per_collective_s", "per_rank_s", "per_tensor_s"):
            times(cluster["host"], key, change)
    elif factor == "servers":
        times(content["schedule"], "server_s_per_B", 1 / change)
        if isinstance(content["schedule"].get("compression"), dict):  # what is pulled is whole, so that nobody else decodes
            times(content["schedule"]["compression"], "decode_s_per_B", 1 / change)
    elif (factor, change) == ("workers", "equal"):
        for key in ("jitter", "slow", "events"):
            workers.pop(key, None)
    elif (factor, change) == ("latency_jitter", "off"):
        cluster.pop("latency_cv", None)
        for link in filter(None, links.values()):
            link.pop("latency_jitter", None)
    elif thing == "workers.slow" and change == "off":
        not_slow(workers, [int(last)])
    elif thing == "workers" and change == "off" and last in ("jitter", "events", "overlap_slowdown"):
        del workers[last]
    else:
        raise ValueError(f"no such factor on the page: {factor}, {change}")
    return content


# Scenarios drawn at random


def drawn_trace(rng):
    names = [f"{rng.choice(['conv', 'block.1.conv', 'fc 2', 'x'])}{index}" for index in range(rng.randint(2, 5))]
    layers = [{"name": name, "type": "x", "forward_s": rng.uniform(1e-3, 1e-2), "backward_s": rng.uniform(1e-3, 1e-2)} for name in names]
    gradients = [{"name": f"{name}.{index}", "layer": name, "bytes": 400 * rng.randint(10, 5000)}
                 for name in reversed(names) for index in range(rng.choice([0, 1, 1, 2]))]
    gradients = gradients or [{"name": "only", "layer": names[0], "bytes": 1234400}]
    forward, backward = (sum(layer[key] for layer in layers) for key in ("forward_s", "backward_s"))
    content = trace(layers=layers, gradients=gradients, model={"name": "drawn", "batch": 4, "dtype": rng.choice(["fp32", "fp16"])})
    if rng.random() < 0.5:
        for gradient, share in zip(gradients, sorted(rng.uniform(0.1, 1) for _ in gradients)):
            gradient["ready_s"] = share * backward
    if rng.random() < 0.5:
        content["iteration"] = {"forward_s": forward * rng.uniform(1, 1.4), "backward_s": backward * rng.uniform(1, 1.4)}
        if rng.random() < 0.3:
            del content["iteration"][rng.choice(["forward_s", "backward_s"])]
    if rng.random() < 0.7:
        content["update_s"] = rng.uniform(1e-4, 3e-3)
    return content


CLUSTERS = ["plain", "regions", "gpus", "fit", "regions", "points"]


def drawn_cluster(rng, kind):
    content = {"format": "cluster/1", "name": "drawn", "nodes": rng.randint(2, 5),
               "link": {"bandwidth": rng.uniform(1e8, 1e9), "latency": rng.uniform(1e-5, 1e-3)}}
    if kind == "gpus":
        content |= {"gpus_per_node": 2, "intra_node": {"bandwidth": f"{rng.uniform(1, 10):.3f}GBps", "latency": rng.uniform(1e-7, 1e-4)}}
    elif kind == "regions":
        content |= {"nodes": 4, "regions": [{"name": "a", "nodes": rng.choice([1, 2])}, {"name": "b b", "nodes": 1}]}
        content["regions"].append({"name": "c", "nodes": 3 - content["regions"][0]["nodes"]})
        content["wan"] = [{"between": list(pair), "rtt": f"{rng.uniform(0.1, 9):.3f}ms", "bandwidth": rng.uniform(5e7, 2e8)}
                          for pair in itertools.combinations(("a", "b b", "c"), 2)]
        content["wan"][0]["bandwidth"] = {"up": rng.uniform(5e7, 2e8), "down": "800Mbps"}
        if rng.random() < 0.3:
            content["wan"][1] |= {"bandwidth_profile": [{"at_s": 0.02, "bandwidth": 7e7}], "rtt_profile": [{"at_s": 0.05, "rtt": "2ms"}]}
    elif kind == "fit":
        content["fit"] = {"a_s": rng.uniform(1e-4, 3e-3), "b_s_per_B": rng.uniform(2e-9, 2e-8), "nodes": rng.randint(2, 9),
                          "algorithm": rng.choice(["ring", "halving-doubling"])}
    elif kind == "points":
        sizes, seconds = sorted(rng.sample(range(1000, 3000000), 4)), itertools.accumulate(rng.uniform(1e-4, 2e-2) for _ in range(4))
        content["fit"] = {"points": [list(point) for point in zip(sizes, seconds)], "nodes": rng.randint(2, 6), "algorithm": "ring"}
    for chance, changes in ((0.4, {"reduce_s_per_B": rng.uniform(1e-10, 2e-9)}), (0.3, {"copy_s_per_B": rng.uniform(1e-10, 1e-9)}),
                            (0.3, {"host": {"per_message_s": rng.uniform(1e-5, 1e-3), "per_collective_s": rng.uniform(1e-5, 1e-3), "per_rank_s": 1e-4, "per_tensor_s": 2e-5}}),
                            (0.15, {"latency_cv": 0.3}), (0.1, {"protocol": {"rendezvous": True, "segments": 2}}),
                            (0.15, {"topology": rng.choice(["fat-tree", {"name": "tree", "arity": 2}])}), (0.1, {"nics": 2})):
        if rng.random() < chance:
            content |= changes
    for chance, changes in ((0.1, {"efficiency": 0.8}), (0.1, {"tcp_window": rng.randint(10000, 500000)}),
                            (0.1, {"latency_jitter": {"distribution": "lognormal", "cv": 0.4}})):
        if rng.random() < chance:
            content["link"] |= changes
    return content


def drawn_workers(rng, count):
    content = {}
    if rng.random() < 0.3:
        content["jitter"] = rng.choice([{"distribution": rng.choice(["lognormal", "uniform"]), "cv": rng.uniform(0.05, 0.4)},
                                        {"distribution": "empirical", "factors": [0.2, 0.21, 0.25, 0.4]}])
    if rng.random() < 0.4:
        content["slow"] = [{"ranks": str(each), "factor": rng.uniform(1.1, 3)} for each in rng.sample(range(count), rng.choice([1, count - 1]))]
    if rng.random() < 0.3:
        content["events"] = [{"kind": "pause", "rank": rng.randrange(count), "at_s": rng.uniform(0.05, 0.3), "for_s": rng.uniform(0.005, 0.1)}]
    if rng.random() < 0.3:
        content["overlap_slowdown"] = rng.choice([0.3, {"factor": 0.4, "by": "traffic"}])
    return content


def drawn_schedule(rng, name):
    content = {"name": name}
    compression = rng.choice([None, None, "fp16", {"name": "top-k", "ratio": 0.2, "encode_s_per_B": 1e-9, "decode_s_per_B": 2e-9}])
    if name in ("ps-sgd", "asgd", "dc-asgd", "ssd-sgd", "downpour", "eamsgd"):
        content |= {"servers": rng.choice([1, 2]), "colocated": rng.random() < 0.3, "server_s_per_B": rng.choice([0.0, 1e-9, 4e-9])}
        content |= rng.choice([{}, {}, {"in_flight": "pipelined"}, {"duplex": False}, {"service": "queued"}, {"service": "fifo"}])
    if name in ("s-sgd", "wfbp", "mg-wfbp", "fsdp", "zero") and rng.random() < 0.3:
        content["accumulate"] = 2
    if name == "dear" and compression:
        compression = "fp16"
    if compression and name not in ("dts", "sgp", "d-psgd", "ad-psgd", "fsdp", "zero", "diloco"):
        content["compression"] = compression
    content |= {"fusion": {"first_bucket": 300000, "bucket": 1000000}, "horovod": {"cycle_s": 0.0023, "threshold": 3000000},
                "ssd-sgd": {"delay": 2} | rng.choice([{}, {"local_update_s": 0.002}]), "downpour": {"interval": 2}, "eamsgd": {"interval": 2},
                "dts": {"delay": rng.choice([0, 1, 2]), "launch": rng.choice(["step", "gradient"]), "overhead_s": rng.choice([0.0, 0.001])},
                "sasgd": {"interval": 2}, "local-sgd": {"interval": 2},
                "lasgd": {"tau_max": rng.choice([1, 3]), "worker": rng.choice(["node", "gpu"])},
                "bytescheduler": {"partition": 400000, "credit": rng.choice([1, 1000000])} | rng.choice([{}, {"forward": "barrier"}, {"over": "servers"}]),
                "p3": {"partition": 300000}, "dear": {"bucket": 1000000},
                "fsdp": {"units": "layer", "shard_group": rng.choice(["all", "node"]), "prefetch": rng.choice(["pre", "none"]), "streams": rng.choice([1, 2])},
                "zero": {"units": 2} | rng.choice([{"stage": 1}, {"stage": 2, "gather": "next-forward"}, {}])}.get(name, {})
    if name == "diloco":
        content |= {"interval": 2, "overlap": rng.choice([0, 1]), "quantize_s_per_B": rng.choice([0.0, 1e-9])}
        content |= rng.choice([{"posts": "layer"}, {"worker": "node"}, {"fragments": 2}, {"matchmaking_s": 0.002}])
    return content


SCHEDULES = ["s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", "fusion", "horovod", "ps-sgd", "asgd", "dc-asgd", "ssd-sgd", "downpour",
             "eamsgd", "dts", "sasgd", "local-sgd", "lasgd", "sgp", "d-psgd", "ad-psgd", "bytescheduler", "p3", "dear", "fsdp", "zero",
             "diloco"]


def drawn(rng, name, kind):
    cluster = drawn_cluster(rng, kind)
    algorithms = ["ring", "ring", "by-region"] if "regions" in cluster else ["ring", "ring", "recursive-doubling", "double-binary-tree"]
    algorithms += [{"name": "ring", "across": "gpus"}] if "gpus_per_node" in cluster else []
    return scenario(trace=drawn_trace(rng), cluster=cluster, schedule=drawn_schedule(rng, name), seed=rng.randint(1, 99),
                    workers=drawn_workers(rng, cluster["nodes"] * cluster.get("gpus_per_node", 1)),
                    granularity=rng.choice(["tensor", "layer"]), fidelity=rng.choice(["auto", "alpha-beta", "per-message", "flow"]),
                    all_reduce=rng.choice(algorithms), channels=rng.choice([1, 1, 2]),
                    iterations={"warmup": rng.randint(0, 2), "measured": rng.randint(1, 4)})


# The critical path of equal workers in alpha-beta, walked back by hand


def all_reduce(cluster, size):
    """Seconds of one by a ring: {(class, what): s}."""
    nodes, gpus = cluster["nodes"], cluster.get("gpus_per_node", 1)
    if "fit" in cluster:
        fit, ranks = cluster["fit"], nodes * gpus
        return {("latency", "link"): fit["a_s"] * (ranks - 1) / (fit["nodes"] - 1),
                ("transfer", "link"): fit["b_s_per_B"] * size * (ranks - 1) / ranks * fit["nodes"] / (fit["nodes"] - 1)}
    parts = collections.Counter()
    for link, ranks in (("link", nodes), ("intra_node", gpus)):
        if ranks > 1:
            parts["latency", link] = 2 * (ranks - 1) * quantity(cluster[link]["latency"])
            parts["transfer", link] = 2 * (ranks - 1) / ranks * size / quantity(cluster[link]["bandwidth"])
            parts["reduce", ""] += (ranks - 1) / ranks * size * cluster.get("reduce_s_per_B", 0)
    return parts


def walked(content):
    """Of s-sgd and wfbp: an iteration's seconds by class and what."""
    trace = content["trace"]
    forward, backward, update, gradients = profile(trace, content.get("granularity", "tensor"))
    costs = [all_reduce(content["cluster"], size) for _, size in gradients]
    posts = [ready if content["schedule"]["name"] == "wfbp" else backward for ready, _ in gradients]
    ends = []
    for post, cost in zip(posts, costs):
        ends.append(max(post, ends[-1] if ends else 0.0) + sum(cost.values()))
    path, reached, last = collections.Counter({("update", ""): update}), backward, len(ends) - 1
    while last >= 0 and ends[last] >= reached:
        path.update(costs[last])
        reached = posts[last]
        if last and ends[last - 1] > reached:
            reached = ends[last - 1]
        last -= 1
    for phase, layers, span, until in (("forward", trace["layers"], forward, math.inf), ("backward", trace["layers"][::-1], backward, reached)):
        begin, total = 0.0, sum(layer[f"{phase}_s"] for layer in layers)
        for layer in layers:
            end = begin + layer[f"{phase}_s"] * span / total
            path["compute", f"layers.{layer['name']}.{phase}"] += max(0.0, min(end, until) - begin)
            begin = end
    return path


class Explain(Case):
    def call(self, command, content, *words, name="scenario"):
        self.write(f"{name}.json", content)
        return subprocess.run([SIMCTL, command, f"{name}.json", "-j", "1", *words], capture_output=True, text=True, cwd=self.folder, timeout=900)

    def explain(self, content, *words, name="scenario"):
        done = self.call("explain", content, "--format", "json", *words, name=name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def points(self, content, name="scenario"):
        """What a run says of each point, {"error": text} of one that fails; None where the scenario is refused."""
        done = self.call("run", content, "--quiet", "--format", "json", name=name)
        if done.returncode not in (0, 4):
            return None
        results = json.loads(done.stdout)
        found = {point["point"]: point for point in results["points"] + results["failed"]}
        return [found[index] for index in range(results["points_total"])]

    def path(self, explained):
        """{(class, what): s}; each of them once."""
        found = {(part["class"], part["what"]): part["s"] for part in explained["path"]}
        self.assertEqual(len(found), len(explained["path"]))
        return found

    def classes(self, explained):
        found = collections.Counter()
        for part in explained["path"]:
            found[part["class"]] += part["s"]
        return found

    def assert_seconds(self, found, expected, scale):
        """Of dictionaries, in which what is missing is 0."""
        for key in found.keys() | expected.keys():
            self.assertAlmostEqual(found.get(key, 0.0), expected.get(key, 0.0), delta=EXACT * scale, msg=key)


UNIT = 1000000  # bytes that take a second


def three_layers(gradients=(1, 4, 4), **changes):
    names = ("1", "2", "3")
    return trace(layers=[{"name": name, "type": "x", "forward_s": 1.0, "backward_s": 1.0} for name in names],
                 gradients=[{"name": f"g{name}", "layer": name, "bytes": round(size * UNIT)} for name, size in list(zip(names, gradients))[::-1]],
                 **changes)


def ring_of_two(**changes):
    """T(M) = 0.25 s + M."""
    return {"format": "cluster/1", "name": "two", "nodes": 2, "link": {"bandwidth": UNIT, "latency": 0.125}} | changes


FIT = {"format": "cluster/1", "name": "fit", "nodes": 4, "link": {"bandwidth": "1Gbps", "latency": "1us"},
       "fit": {"a_s": 0.25, "b_s_per_B": 1 / UNIT, "nodes": 4, "algorithm": "ring"}}


def small(**changes):
    return scenario(**({"trace": three_layers(), "cluster": ring_of_two(), "fidelity": "alpha-beta"} | changes))


class ClosedForm(Explain):
    """Gradients of 4, 4 and 1 s are ready at 4, 5 and 6 s: all-reduces end at 8.25, 12.5 and 13.75 s."""

    PATH = {("transfer", "link"): 9.0, ("latency", "link"): 0.75, ("compute", "layers.3.backward"): 1.0,
            **{("compute", f"layers.{name}.forward"): 1.0 for name in (1, 2, 3)}}
    ROWS = {("link.bandwidth", 1.1): 4.75 + 9 / 1.1, ("link.latency", 0.9): 13.675, ("compute", 1.1): 9.75 + 4 / 1.1, ("bytes", 0.5): 9.25,
            **{(f"layers.{name}", 0.9): 13.65 for name in ("1.forward", "2.forward", "3.forward", "3.backward")},
            ("gradients.g3.bytes", 0.9): 13.35, ("gradients.g2.bytes", 0.9): 13.35, ("gradients.g1.bytes", 0.9): 13.65,
            ("network", "free"): 6.0, ("compute", "free"): 9.75}
    OFF_THE_PATH = {("layers.2.backward", 0.9): 13.75, ("layers.1.backward", 0.9): 13.75}  # need not be among the ten

    def test_seconds_and_rows(self):
        for cluster, fidelity in ((FIT, "auto"), (ring_of_two(), "alpha-beta"), (ring_of_two(), "per-message"), (ring_of_two(), "flow")):
            with self.subTest(cluster["name"], fidelity=fidelity):
                explained = self.explain(small(cluster=cluster, fidelity=fidelity))
                self.assertEqual(explained["format"], "explanation/1")
                self.assertEqual((explained["scenario"], explained["point"], explained["sweep"]), ("scenario.json", 0, {}))
                self.assertEqual(explained["fidelity"], fidelity.replace("auto", "alpha-beta"))
                self.assertAlmostEqual(explained["iteration_s"], 13.75, delta=EXACT)
                self.assert_seconds(self.path(explained), self.PATH, 13.75)
                rows = {(row["factor"], row["change"]): row for row in explained["what_if"]}
                self.assertEqual(len(rows), len(explained["what_if"]))
                self.assertEqual(rows.keys() - self.OFF_THE_PATH.keys(), self.ROWS.keys())
                for key, row in rows.items():
                    expected = (self.ROWS | self.OFF_THE_PATH)[key]
                    self.assertAlmostEqual(row["iteration_s"], expected, delta=13.75 * EXACT, msg=key)
                    self.assertAlmostEqual(row["time_saved"], 1 - expected / 13.75, delta=EXACT, msg=key)

    def test_the_walk_says_the_same(self):
        for cluster in (FIT, ring_of_two()):
            self.assert_seconds(walked(small(cluster=cluster)), self.PATH, 13.75)
            for (factor, change), expected in (self.ROWS | self.OFF_THE_PATH).items():
                row = changed(small(cluster=copy.deepcopy(cluster)), factor, change)
                self.assertAlmostEqual(sum(walked(row).values()), expected, delta=1e-6 if change == "free" else 13.75 * EXACT, msg=factor)

    def test_no_jitter_without_any(self):
        for cluster in (ring_of_two(), ring_of_two(nodes=4), ring_of_two(nodes=5)):
            for fidelity in ("alpha-beta", "per-message", "flow"):
                with self.subTest(nodes=cluster["nodes"], fidelity=fidelity):
                    self.assertNotIn("jitter", self.classes(self.explain(small(cluster=cluster, fidelity=fidelity))))

    def test_text(self):
        done = self.call("explain", small())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [re.split("  +", line) for line in done.stdout.splitlines()]
        for line in (["transfer", "link", "9 s", "65.5%"], ["compute", "forward", "3 s", "21.8%"], ["compute", "backward", "1 s", "7.3%"],
                     ["latency", "link", "0.75 s", "5.5%"], ["link.bandwidth", "x 1.1", "12.93 s", "6.0%"], ["network", "free", "6 s", "56.4%"]):
            self.assertIn(line, lines)


class Rows(Explain):
    """Each row and `simctl run` on the scenario changed by hand."""

    def skipped(self, content, factor, change):
        """Limits of which no scenario/1 has the like, as no time and next to none differ in what happens at one instant."""
        workers = content.get("workers", {})
        if (factor, change) == ("compute", "free"):  # a pause holds up no step of no time, and the window cuts none
            return any(workers.get(key) for key in ("jitter", "slow", "events"))
        return (factor, change) == ("network", "free") and "overlap_slowdown" in workers  # what takes no time slows no layer that begins then

    def compare(self, name, content, by, *words, limits_only=False):
        """What is wrong: a list of lines, None if the scenario is refused; and how many rows agree."""
        simulated, = self.points(content, name) or [{"error": ""}]
        if "error" in simulated:
            return None, 0
        try:
            explained = self.explain(content, *(words or ("--by", str(by))), name=name)
        except subprocess.TimeoutExpired as late:
            return [f"no answer after {late.timeout} s"], 0
        wrong, before = [], explained["iteration_s"]
        pinned = content | {"fidelity": explained["fidelity"]}

        def equal(what, found, expected, tolerance=EXACT):
            if not abs(found - expected) <= tolerance * abs(expected):
                wrong.append(f"{what}: explain {found!r}, expected {expected!r}, iteration_s {before!r}")

        if explained["fidelity"] != simulated["fidelity"]:
            wrong.append(f"fidelity: explain {explained['fidelity']}, run {simulated['fidelity']}")
        equal("iteration_s", before, simulated["iteration_s"])
        equal("the sum of the path", sum(part["s"] for part in explained["path"]), before)
        wrong += [f"below 0: {part}" for part in explained["path"] if part["class"] != "jitter" and part["s"] < 0]
        answers = [(row["factor"], answer) for row in explained["what_if"] for answer in row.get("curve", [row])]
        answers = [(factor, answer) for factor, answer in answers if not self.skipped(content, factor, answer["change"])
                   and not (limits_only and isinstance(answer["change"], float))]
        by_hand = self.iterations(pinned, [changed(pinned, factor, answer["change"]) for factor, answer in answers], name)
        for (factor, answer), expected in zip(answers, by_hand):
            change = answer["change"]
            if "error" in answer or isinstance(expected, str):
                if not ("error" in answer and isinstance(expected, str)):
                    wrong.append(f"{factor} {change}: {answer}, and by hand {expected}")
                continue
            near = change == "free" or factor.startswith("gradients.") and change == 0  # a gradient has a byte at least
            equal(f"{factor} {change}", answer["iteration_s"], expected, 1e-5 if near else EXACT)
            if not abs(answer["time_saved"] - (1 - answer["iteration_s"] / before)) <= EXACT:
                wrong.append(f"{factor} {change}: time_saved {answer['time_saved']}")
            if change not in ("free", "off", "equal") and "--curve" not in words and factor != "bytes":
                equal(f"the change of {factor}", change, 1 + by if change > 1 else 1 - by)
        return wrong, len(answers)

    def iterations(self, content, others, name):
        """Of scenarios that differ from one in a key or two, the seconds or the error; those that differ in the same key are a sweep."""
        found, alike = [None] * len(others), collections.defaultdict(list)
        for index, other in enumerate(others):
            keys = [key for key in other if other[key] != content[key]]
            alike[keys[0] if len(keys) == 1 else index].append(index)
        for key, indices in alike.items():
            points = None
            if isinstance(key, str):
                points = self.points(content | {"sweep": {f"/{key}": [others[index][key] for index in indices]}}, name)
            points = points or [(self.points(others[index], name) or [{"error": "refused"}])[0] for index in indices]
            for index, point in zip(indices, points, strict=True):
                found[index] = point.get("error", point.get("iteration_s"))
        return found

    def all_of(self, drawing):
        """Of (name, by, words, scenarios without end) each the first scenario that is not refused."""
        def first(name, by, words, contents):
            return next((content, *result) for content in contents if (result := self.compare(name, content, by, *words))[0] is not None)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            running = {drawn[0]: pool.submit(first, *drawn) for drawn in drawing}
        rows = 0
        for name, future in running.items():
            with self.subTest(name):
                content, wrong, right = future.result()
                self.assertEqual(wrong, [], "\n".join(["", *wrong, json.dumps(content)]))
                rows += right
        return rows

    def test_every_schedule(self):
        def contents(number, name):
            rng = random.Random(f"{name} {number}")
            for attempt in itertools.count():
                yield drawn(rng, name, CLUSTERS[(number + attempt // 8) % len(CLUSTERS)])

        seeds = range(4 if SLOW else 1)
        rows = self.all_of([(f"{name}-{seed}", (0.1, 0.25, 0.5)[(index + seed) % 3], (), contents(index + seed, name))
                            for index, name in enumerate(SCHEDULES) for seed in seeds])
        self.assertGreater(rows, 300 * len(seeds))

    def test_curves(self):
        def contents(name):
            rng = random.Random(f"curves {name}")
            while True:
                yield drawn(rng, name, "plain")

        self.assertGreater(self.all_of([(name, 0.1, ("--curve",), contents(name)) for name in ("wfbp", "ssd-sgd")]), 80)

    def test_a_layer_without_bytes(self):
        """However many gradients it has, they move as one."""
        content = small(granularity="layer")
        content["trace"]["gradients"].append({"name": "more", "layer": "1", "bytes": 2 * UNIT})
        rows = {row["factor"]: row for row in self.explain(content, "--curve")["what_if"]}
        for answer, expected in zip(rows["gradients.1.bytes"]["curve"], (15.75, 15.45, 15, 14.25, 12.75)):
            self.assertAlmostEqual(answer["iteration_s"], expected, delta=1e-7, msg=answer["change"])

    def test_limits_of_what_is_delayed_merged_or_served(self):
        contents = [scenario(trace=three_layers(), cluster=ring_of_two(nodes=3), schedule=schedule)
                    for schedule in ({"name": "dts", "delay": 1}, {"name": "sgp"}, {"name": "ssd-sgd", "delay": 2}, {"name": "sasgd", "interval": 2})]
        contents += [small(schedule={"name": name}, fidelity=fidelity) for name, fidelity in (
            ("mg-wfbp", "alpha-beta"), ("mg-wfbp", "flow"), ("mg-wfbp-optimal", "per-message"), ("ps-sgd", "alpha-beta"), ("ps-sgd", "flow"), ("asgd", "flow"))]
        for content in contents:
            with self.subTest(content["schedule"], fidelity=content.get("fidelity")):
                wrong, right = self.compare("limits", content, 0.1, limits_only=True)
                self.assertEqual(wrong, [])
                self.assertGreater(right, 0)

    def test_a_fit_has_the_reduction_in_it(self):
        """Also when it is carried to another algorithm."""
        cluster = FIT | {"reduce_s_per_B": 0.1 / UNIT}
        for carried, compression in (("ring", "none"), ("recursive-doubling", "none"), ("double-binary-tree", "none"), ("ring", "top-k")):
            with self.subTest(carried, compression=compression):
                rows = self.explain(small(cluster=cluster, schedule={"name": "s-sgd", "compression": compression}, all_reduce=carried))["what_if"]
                free = next(row for row in rows if row["factor"] == "network")
                self.assertNotIn("error", free)
                self.assertAlmostEqual(free["iteration_s"], 6, delta=1e-7)

    def test_which_there_are(self):
        """Ten layers, ten gradients, and what else applies."""
        layers = [{"name": f"l{index}", "type": "x", "forward_s": 0.001 * (index + 1), "backward_s": 0.0005} for index in range(14)]
        gradients = [{"name": f"g{index}", "layer": f"l{index}", "bytes": 1000000 - 1000 * index} for index in reversed(range(14))]
        content = small(trace=trace(layers=layers, gradients=gradients, update_s=0.001),
                        cluster=ring_of_two(link={"bandwidth": 1e9, "latency": 1e-4}))
        plain = {"link.bandwidth", "link.latency", "bytes", "compute", "update", "network"}

        def factors(content):
            return {row["factor"] for row in self.explain(content)["what_if"]}

        found = factors(content)
        self.assertEqual({factor for factor in found if factor.startswith("gradients.")}, {f"gradients.g{index}.bytes" for index in range(10)})
        self.assertEqual(len([factor for factor in found if factor.startswith("layers.")]), 10)
        self.assertIn("layers.l13.forward", found)
        self.assertEqual({factor for factor in found if not factor.startswith(("gradients.", "layers."))}, plain)
        content["workers"] = {"jitter": {"distribution": "lognormal", "cv": 0.1}, "slow": [{"ranks": "1,3", "factor": 2}], "overlap_slowdown": 0.2,
                              "events": [{"kind": "pause", "rank": 0, "at_s": 0.1, "for_s": 0.1}]}
        content["cluster"] |= {"gpus_per_node": 2, "intra_node": {"bandwidth": 1e9, "latency": 1e-5}, "reduce_s_per_B": 1e-9, "copy_s_per_B": 1e-9,
                               "host": {"per_collective_s": 1e-4}}
        content["schedule"] = {"name": "fusion"}
        more = {"intra_node.bandwidth", "intra_node.latency", "reduce_s_per_B", "copy_s_per_B", "host", "workers", "workers.jitter",
                "workers.slow.1", "workers.slow.3", "workers.events", "workers.overlap_slowdown"}
        self.assertEqual({factor for factor in factors(content) if not factor.startswith(("gradients.", "layers."))}, plain | more)

    def test_no_steps_without_end(self):
        """Compute is never free where nothing else takes time."""
        for changes in ({"schedule": {"name": "ad-psgd"}}, {"cluster": ring_of_two(nodes=1)}):
            rows = {(row["factor"], row["change"]) for row in self.explain(small(**changes))["what_if"]}
            self.assertNotIn(("compute", "free"), rows)
            self.assertIn(("compute", 1.1), rows)

    def test_next_to_the_own_server(self):
        """A client whose messages do not move makes steps without end, too, where compute is free."""
        regions = {"format": "cluster/1", "name": "two", "nodes": 2, "regions": [{"name": "a", "nodes": 1}, {"name": "b", "nodes": 1}],
                   "wan": [{"between": ["a", "b"], "rtt": "100ms", "bandwidth": UNIT}]}
        for cluster, schedule in ((ring_of_two(), {"name": "asgd", "colocated": True}), (regions, {"name": "downpour", "interval": 1})):
            with self.subTest(schedule["name"]):
                rows = {(row["factor"], row["change"]) for row in self.explain(small(cluster=cluster, schedule=schedule))["what_if"]}
                self.assertIn(("compute", 1.1), rows)

    def test_all_of_them_slow(self):
        """Nobody slow is a limit here, too."""
        rows = self.explain(small(workers={"slow": [{"ranks": "0-1", "factor": 2}]}))["what_if"]
        self.assertIn(("workers", 13.75), [(row["factor"], row["iteration_s"]) for row in rows])


class Paths(Explain):
    def test_a_walk_back(self):
        rng, begun = random.Random(5), collections.Counter()
        for index in range(60 if SLOW else 30):
            link = {"bandwidth": 10 ** rng.uniform(7.5, 9.5), "latency": 10 ** rng.uniform(-5, -2.5)}
            cluster = ring_of_two(nodes=rng.randint(2, 8), link=link)
            kind = ("plain", "fit", "gpus")[index % 3]
            if kind == "fit":
                cluster["fit"] = {"a_s": rng.uniform(1e-4, 3e-3), "b_s_per_B": 10 ** rng.uniform(-9.5, -8), "nodes": rng.randint(2, 9),
                                  "algorithm": "ring"}
            elif rng.random() < 0.5:
                cluster["reduce_s_per_B"] = 10 ** rng.uniform(-11, -9)
            if kind == "gpus":
                link = {"bandwidth": 10 ** rng.uniform(8, 10), "latency": 10 ** rng.uniform(-6, -4)}
                cluster |= {"gpus_per_node": rng.randint(2, 4), "intra_node": link}
            content = scenario(trace=drawn_trace(rng), cluster=cluster, fidelity="alpha-beta", granularity=rng.choice(["tensor", "layer"]),
                               schedule={"name": rng.choice(["s-sgd", "wfbp", "wfbp"])})
            with self.subTest(json.dumps(content)):
                explained, expected = self.explain(content), walked(content)
                self.assertAlmostEqual(explained["iteration_s"], sum(expected.values()), delta=EXACT * explained["iteration_s"])
                self.assert_seconds(self.path(explained), expected, explained["iteration_s"])
                begun[sum(key[0] == "compute" and seconds > 0 for key, seconds in expected.items())] += 1
        self.assertGreater(len(begun), 4)

    # Analytic ones: forward and backward of 3 s each, one all-reduce of T(9) = 9.25 s, or three with 9.75 s

    def test_one_slow_worker(self):
        """It takes half as long again."""
        for update, fidelity, name in ((0.0, "alpha-beta", "s-sgd"), (0.4, "per-message", "s-sgd"), (0.4, "flow", "s-sgd"), (0.4, "alpha-beta", "local-sgd"), (0.0, "flow", "local-sgd")):
            with self.subTest(update=update, fidelity=fidelity, schedule=name):
                schedule = {"name": name} | ({"interval": 1} if name == "local-sgd" else {})
                explained = self.explain(small(trace=three_layers(update_s=update), schedule=schedule, fidelity=fidelity,
                                               workers={"slow": [{"ranks": "1", "factor": 1.5}]}))
                latency = 0.25 if name == "local-sgd" else 0.75
                self.assertAlmostEqual(explained["iteration_s"], 9 + latency + 1.5 * (6 + update), delta=1e-7)
                self.assert_seconds({key: seconds for key, seconds in self.path(explained).items() if key[0] != "compute"},
                                    {("straggler", "worker 1"): 0.5 * (6 + update), ("update", ""): update, ("transfer", "link"): 9.0,
                                     ("latency", "link"): latency}, 20)
                self.assertAlmostEqual(self.classes(explained)["compute"], 6.0, delta=1e-7)

    def test_a_pause(self):
        """In steps of 15.75 s, of which the first 6 are compute: all of it is on the path, or the part in that, or none."""
        for at, lasts, held in ((15.75 + 2.3, 1.5, 1.5), (15.75 + 5.5, 2.0, 2.0), (15.75 - 1.0, 3.0, 2.0), (15.75 + 7.0, 8.0, 0.0)):
            with self.subTest(at=at):
                explained = self.explain(small(schedule={"name": "s-sgd"}, iterations={"warmup": 1, "measured": 2},
                                               workers={"events": [{"kind": "pause", "rank": 1, "at_s": at, "for_s": lasts}]}))
                self.assertAlmostEqual(explained["iteration_s"], 15.75 + held / 2, delta=1e-7)
                found = {key: seconds for key, seconds in self.path(explained).items() if key[0] != "compute"}
                self.assert_seconds(found, {("pause", "worker 1"): held / 2, ("transfer", "link"): 9.0, ("latency", "link"): 0.75}, 20)

    def test_overlap(self):
        """An all-reduce from 3.5 to 4.25 s slows the layer that starts at 4 s; the other one begins when backward has ended."""
        content = small(trace=three_layers((2, 1, 0.5), iteration={"backward_s": 3.0}), workers={"overlap_slowdown": 0.3})
        content["trace"]["gradients"] = [entry | {"ready_s": ready} for entry, ready in zip(content["trace"]["gradients"][::2], (0.5, 3.0))]
        for fidelity in ("alpha-beta", "per-message", "flow"):
            explained = self.explain(content | {"fidelity": fidelity})
            self.assertAlmostEqual(explained["iteration_s"], 6 + 0.3 + 2.25, delta=1e-7)
            self.assert_seconds(self.classes(explained), {"compute": 6, "overlap_slowdown": 0.3, "latency": 0.25, "transfer": 2.0}, 10)
            what = {part["what"] for part in explained["path"] if part["class"] == "overlap_slowdown"}
            self.assertRegex(what.pop(), r"\Aworker \d+\Z")

    def test_a_server(self):
        """Four clients push and pull 9 s each at once, and the server works on one push after the other."""
        shared = {"transfer": 18, "queue": 54}
        for fidelity, moving in (("alpha-beta", shared), ("per-message", shared), ("flow", {"transfer": 72})):
            with self.subTest(fidelity):
                explained = self.explain(small(cluster=ring_of_two(nodes=4), fidelity=fidelity,
                                               schedule={"name": "ps-sgd", "grouping": "sync-easgd", "server_s_per_B": 0.1 / UNIT}))
                self.assertAlmostEqual(explained["iteration_s"], 6 + 72 + 0.25 + 3.6, delta=1e-6)
                self.assert_seconds(self.classes(explained), {"compute": 6, "latency": 0.25, "server": 3.6} | moving, 100)

    def test_what_else_a_worker_does(self):
        """A merged gradient of 9 units is copied twice, encoded and decoded; each rank's host takes its time; two nodes add up half of it."""
        cluster = ring_of_two(copy_s_per_B=0.02 / UNIT, reduce_s_per_B=0.04 / UNIT, host={"per_collective_s": 0.7})
        compression = {"name": "fp16", "encode_s_per_B": 0.05 / UNIT, "decode_s_per_B": 0.06 / UNIT}
        for fidelity in ("alpha-beta", "per-message", "flow"):
            with self.subTest(fidelity):
                explained = self.explain(small(cluster=cluster, schedule={"name": "sync-easgd", "compression": compression}, fidelity=fidelity,
                                               trace=three_layers(update_s=0.2)))
                expected = {"compute": 6, "update": 0.2, "compression": 9 * (2 * 0.02 + 0.05 + 0.06), "host": 0.7, "latency": 0.25, "transfer": 4.5,
                            "reduce": 0.09}
                self.assert_seconds(self.classes(explained), expected, 20)

    def test_jitter(self):
        """All that is not known without."""
        for workers, cluster in (({"jitter": {"distribution": "lognormal", "cv": 0.3}}, ring_of_two()), ({}, ring_of_two(latency_cv=0.5))):
            explained = self.explain(small(workers=workers, cluster=cluster, schedule={"name": "s-sgd"}))
            self.assertNotAlmostEqual(explained["iteration_s"], 15.75, places=3)
            expected = {"compute": 6.0, "latency": 0.75, "transfer": 9.0, "jitter": explained["iteration_s"] - 15.75}
            self.assert_seconds(self.classes(explained), expected, 20)
            for part in explained["path"]:
                if part["class"] == "jitter":
                    self.assertRegex(part["what"], r"\Aworker \d\Z" if workers else r"\A\Z")


class Asking(Explain):
    SWEPT = {"/cluster/link/latency": [0.125, 0.25]}

    def test_two_points(self):
        content = small(sweep=self.SWEPT)
        explained = self.explain(content, "--point", "0", "--against", "1")
        for number, (found, latency) in enumerate(((explained, 0.75), (explained["against"], 1.5))):
            self.assertEqual((found["point"], found["sweep"], found["fidelity"]), (number, {"/cluster/link/latency": latency / 6}, "alpha-beta"))
            self.assertAlmostEqual(found["iteration_s"], 13 + latency, delta=1e-7)
            self.assert_seconds(self.path(found), ClosedForm.PATH | {("latency", "link"): latency}, 14)
        done = self.call("explain", content, "--point", "1", "--against", "0")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [re.split("  +", line) for line in done.stdout.splitlines()]
        for line in (["iteration", "14.5 s", "13.75 s", "-750 ms"], ["latency", "link", "1.5 s", "0.75 s", "-750 ms"],
                     ["transfer", "link", "9 s", "9 s", "0 ms"]):
            self.assertIn(line, lines)

    def test_one_point_of_several(self):
        self.assertAlmostEqual(self.explain(small(sweep=self.SWEPT), "--point", "1")["iteration_s"], 14.5, delta=1e-7)
        self.assertAlmostEqual(self.explain(small(sweep=self.SWEPT), "--set", "/cluster/link/latency=0.25")["iteration_s"], 14.5, delta=1e-7)

    def test_curves(self):
        explained = self.explain(small(), "--curve")
        curves = {row["factor"]: row["curve"] for row in explained["what_if"] if "curve" in row}
        self.assertEqual(curves.keys(), {factor for factor, change in ClosedForm.ROWS if change in (0.9, 1.1)})
        for factor, curve in curves.items():
            shares = (0, 0.1, 0.25, 0.5, 1)
            expected = [1 + share if factor in ("link.bandwidth", "compute") else 1 - share for share in shares]
            self.assertEqual([round(answer["change"], 12) for answer in curve], [round(change, 12) for change in expected])
            self.assertEqual((curve[0]["iteration_s"], curve[0]["time_saved"]), (explained["iteration_s"], 0))
        for factor, times in (("link.bandwidth", [4.75 + 9 / (1 + share) for share in shares]),
                              ("gradients.g3.bytes", [13.75, 13.35, 12.75, 11.75, 10.5])):
            for answer, expected in zip(curves[factor], times):
                self.assertAlmostEqual(answer["iteration_s"], expected, delta=1e-7)

    def test_by(self):
        self.assertEqual(self.explain(small(), "--by", "0.25"), self.explain(small(), "--by", "25%"))
        self.assertEqual(self.explain(small(), "--by", "10%"), self.explain(small()))
        rows = self.explain(small(), "--by", "25%")["what_if"]
        rows = {row["factor"]: (row["change"], row["iteration_s"]) for row in rows if row["change"] != "free"}
        for factor, expected in (("link.bandwidth", (1.25, 4.75 + 9 / 1.25)), ("link.latency", (0.75, 13.5625)), ("bytes", (0.5, 9.25))):
            for found, value in zip(rows[factor], expected):
                self.assertAlmostEqual(found, value, delta=1e-7)

    def test_what_cannot_be_asked(self):
        content = small(sweep=self.SWEPT)
        for words in ((), ("--against", "1"), ("--point", "2"), ("--point", "0", "--against", "2")):
            with self.subTest(words):
                done = self.call("explain", content, *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("0 is /cluster/link/latency=0.125, 1 is ", done.stderr)
                self.assertIn("/cluster/link/latency=0.25\n", done.stderr)
        for by in ("0", "1.5", "x", "-10%", "nan", "", "10%%", "inf"):
            with self.subTest(by=by):
                done = self.call("explain", small(), "--by", by)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertRegex(done.stderr, r"\Asimctl: --by\b[^\n]*\n\Z")
        for words in (("--point", "-1"), ("--point", "x"), ("--point", "1"), ("--curve", "--against", "0")):
            with self.subTest(words):
                done = self.call("explain", small(), *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertLess(len(done.stderr.splitlines()[0]), 200)
        done = self.simctl("explain", "none.json")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("none.json", done.stderr)


class BesideARun(Case):
    def test_the_files_are_what_explain_says_and_the_next_run_removes_them(self):
        jitter = {"jitter": {"distribution": "lognormal", "cv": 0.2}}
        content = scenario(workers=jitter, sweep={"/schedule/name": ["wfbp", "s-sgd", "asgd"]}, replicates=3)
        self.write("scenario.json", content)
        done = self.simctl("run", "scenario.json", "-o", "out", "--force", "--explain", "0,2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(path.name for path in (self.folder / "out").glob("explanation-*")), ["explanation-0.json", "explanation-2.json"])
        for point in (0, 2):
            said = json.loads(self.simctl("explain", "scenario.json", "--point", point, "--format", "json").stdout)
            self.assertEqual(json.loads((self.folder / f"out/explanation-{point}.json").read_text()), said)
        self.simctl("run", "scenario.json", "-o", "out", "--force", "--explain", "1")
        self.assertEqual([path.name for path in (self.folder / "out").glob("explanation-*")], ["explanation-1.json"])
        self.simctl("run", "scenario.json", "-o", "out", "--force")
        self.assertEqual([path.name for path in (self.folder / "out").glob("explanation-*")], [])


if __name__ == "__main__":
    unittest.main()
