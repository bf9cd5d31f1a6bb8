"""Is a long run what the page says it is? Beside an event-by-event simulation of the page's words, closed forms, and what must not be."""
import collections
import json
import math
import random
import statistics
import unittest

from support import Case, cluster, scenario

HOUR = 3600.0
SHARES = ("effective_time_ratio", "checkpoint_share", "lost_share", "detection_share", "restart_share", "degraded_share")
NODES, GPUS = 6, 2
CLUSTER = cluster(nodes=NODES, gpus_per_node=GPUS, intra_node={"bandwidth": "12GBps", "latency": "5us"}, topology={"name": "fat-tree", "k": 4}, price_per_node_hour=2)
FAILURES = {"mtbf_per_gpu_h": 48, "kinds": [{"domain": "gpu"}, {"domain": "node", "rate": 500, "weibull_shape": 0.7}, {"domain": "switch", "rate": 1000}]}
RUN = {"samples": 200_000_000, "failures": FAILURES, "checkpoint": {"every": 1000, "write_s": 100, "stall_s": 20}, "restart": {"detect_s": 60, "restart_s": 300, "load_s": 40}}
POLICIES = ["restart", {"name": "hot-spare", "spares": 1, "repair_h": 3}, {"name": "shrink", "min_nodes": 4, "repair_h": 3}, {"name": "per-step", "min_nodes": 4, "repair_h": 3}]


def components():
    """(mean seconds to failure, shape, nodes that it takes, whether it is a part of one node)"""
    gpus = [(48 * HOUR, 1.0, [node], True) for node in range(NODES) for _ in range(GPUS)]
    nodes = [(48 * HOUR, 0.7, [node], True) for node in range(NODES)]
    switches = [(24 * HOUR, 1.0, [node, node + 1], False) for node in range(0, NODES, 2)]  # k = 4: two nodes on each edge switch
    return gpus + nodes + switches


class Job:
    """A run, event by event: whatever comes first of a failure, a repair and the end of what the job does."""

    missing = ()  # places, in the order of their failures

    def __init__(self, policy, speeds, draw, parts):
        self.policy = {"name": policy} if isinstance(policy, str) else policy
        self.kind, self.speeds, self.draw = self.policy["name"], speeds, draw
        self.parts, self.now = parts, 0.0
        self.fails = [self.life(part) for part in self.parts]
        self.up, self.repairs, self.spares = set(range(NODES)), [], self.policy.get("spares", 0)
        self.ledger, self.saved, self.writing = [], 0, None  # stretches of training; how many are saved; (complete at, how many)
        self.spent, self.failures = collections.Counter(), 0
        self.cold = False
        self.train()

    def life(self, part):
        mean, shape = part[:2]
        return self.now + mean / math.gamma(1 + 1 / shape) * (-math.log(1 - self.draw.random())) ** (1 / shape)

    def install(self):
        """The place that has been empty longest gets a new node."""
        node = self.missing.pop(0)
        self.up.add(node)
        for index, (_, _, nodes, inside) in enumerate(self.parts):
            if inside and nodes == [node]:
                self.fails[index] = self.life(self.parts[index])

    def begin(self, phase, seconds):
        self.phase, self.ends, self.since = phase, self.now + seconds, self.now

    def train(self):
        """Training goes on, with a new step."""
        self.cold, self.stretch, self.leave = False, 0.0, RUN["checkpoint"]["every"]
        self.go_on()

    def go_on(self):
        while self.kind == "per-step" and self.repairs and self.repairs[0] + 40 <= self.now and self.stretch == 0.0:
            self.repairs.pop(0)
            self.install()
        self.speed, self.step = self.speeds[len(self.up)]
        left = RUN["samples"] - sum(samples for _, samples in self.ledger)
        self.last = left / self.speed <= self.leave
        self.begin("train", min(left / self.speed, self.leave))
        self.joins = False
        if self.kind == "per-step" and self.repairs:
            loaded = max(self.now, self.repairs[0] + 40) - self.now
            join = math.ceil((self.stretch + loaded) / self.step) * self.step - self.stretch
            if self.now + join < self.ends:
                self.begin("train", join)
                self.joins = True

    def book(self):
        """What has passed since the phase's begin."""
        seconds = self.now - self.since
        if self.phase == "train":
            self.ledger.append((seconds, seconds * self.speed))
            self.stretch, self.leave = self.stretch + seconds, self.leave - seconds
        else:
            self.spent[self.phase] += seconds
        self.since = self.now

    def settle(self):
        if self.writing and self.writing[0] <= self.now + 1e-6:
            self.saved, self.writing = self.writing[1], None

    def write(self):
        self.settle()
        self.writing = (self.now + 100, len(self.ledger))
        self.stretch = 0.0
        self.rejoins = self.kind == "shrink" and not self.last and any(back <= self.now for back in self.repairs)
        self.begin("checkpoint", 100 if self.last or self.rejoins else 20)

    def take_repaired(self):
        while self.repairs and self.repairs[0] <= self.now and (self.missing or self.kind == "hot-spare"):
            self.repairs.pop(0)
            if self.kind == "hot-spare":
                self.spares += 1
            else:
                self.install()

    def gather(self):
        """After detection, and whenever a repair ends while the job waits."""
        waited = self.phase == "wait"
        if self.kind == "hot-spare":
            self.take_repaired()
            while self.spares and self.missing:
                self.spares -= 1
                self.install()
            self.cold = self.cold or bool(self.missing) or waited
            enough = not self.missing
        elif self.kind == "shrink":
            if not waited:
                self.take_repaired()
            elif len(self.up) < 4:
                self.repairs.pop(0)
                self.install()
            enough = len(self.up) >= 4
        elif self.kind == "per-step":
            while len(self.up) < 4 and self.repairs[0] + (0 if self.cold else 40) <= self.now + 1e-6:
                self.repairs.pop(0)
                self.install()
            enough = len(self.up) >= 4
        else:
            enough = True
        if not enough:
            self.begin("wait", self.repairs[0] + (40 if self.kind == "per-step" and not self.cold else 0) - self.now)
        elif self.kind == "per-step" and not self.cold:
            self.train()
        else:
            self.begin("restart", (300 if self.cold or self.kind in ("restart", "shrink") else 0) + 40)

    def fail(self, index):
        _, _, nodes, inside = self.parts[index]
        self.fails[index] = math.inf if inside else self.life(self.parts[index])
        hit = sorted(self.up.intersection(nodes))
        if not hit:
            return
        self.failures += 1
        self.book()
        self.settle()
        self.up -= set(hit)
        self.missing = [*self.missing, *hit]
        if self.kind == "restart":
            while self.missing:
                self.install()
        else:
            self.repairs += [self.now + 3 * HOUR] * len(hit)
        if self.kind == "per-step" and self.up:
            undone = self.stretch % self.step if self.phase == "train" else 0.0
            self.ledger.append((-undone, -undone * self.speed))
            self.spent["lost"] += undone
        else:
            self.spent["lost"] += sum(seconds for seconds, _ in self.ledger[self.saved:])
            del self.ledger[self.saved:]
            self.cold = self.cold or self.kind == "per-step"
        self.writing, self.stretch = None, 0.0
        self.begin("detection", 60)

    def finish_phase(self):
        self.book()
        if self.phase == "train" and self.joins:
            self.repairs.pop(0)
            self.install()
            self.stretch = 0.0
            self.go_on()
        elif self.phase == "train":
            self.write()
        elif self.phase == "checkpoint":
            self.settle()
            if self.last:
                return False
            if self.rejoins:
                self.take_repaired()
                self.begin("restart", 340)
            else:
                self.train()
        elif self.phase in ("detection", "wait"):
            self.gather()
        else:
            self.train()
        return True

    def play(self):
        while True:
            index = min(range(len(self.fails)), key=self.fails.__getitem__)
            if self.fails[index] < self.ends:
                self.now = self.fails[index]
                self.fail(index)
            else:
                self.now = self.ends
                if not self.finish_phase():
                    break
        trained = sum(seconds for seconds, _ in self.ledger)
        useful = RUN["samples"] / self.speeds[NODES][0]
        parts = (useful, self.spent["checkpoint"], self.spent["lost"], self.spent["detection"], self.spent["restart"] + self.spent["wait"], trained - useful)
        assert abs(sum(parts) - self.now) < 1e-3, (parts, self.now)
        return {"total_h": self.now / HOUR, "failures": self.failures} | {name: part / self.now for name, part in zip(SHARES, parts)}


class LongRuns(Case):
    def rows(self, content, returncode=0):
        self.write("scenario.json", content)
        done = self.simctl("run", "scenario.json", "-o", "out", "--force")
        self.assertEqual(done.returncode, returncode, done.stderr)
        return json.loads((self.folder / "out/results.json").read_text())["points"] if returncode == 0 else done

    def row(self, content):
        (row,) = self.rows(content)
        return row


class WhatThePageSays(LongRuns):
    def assert_same_means(self, played, row, policy):
        for name in ("total_h", "failures", *SHARES):
            with self.subTest(policy=policy, column=name):
                values = [one[name] for one in played]
                error = statistics.stdev(values) * math.sqrt(1 / len(played) + 1 / 1000)
                self.assertLessEqual(abs(statistics.fmean(values) - row[name]), 3 * error + 1e-9)

    def test_an_event_by_event_simulation_has_the_same_means(self):
        self.write("cluster.json", CLUSTER)
        speeds = {row["nodes"]: (row["throughput_samples_per_s"], row["iteration_s"]) for row in self.rows(scenario(sweep={"/cluster/nodes": [4, 5, 6]}))}
        rows = self.rows(scenario(run=RUN | {"seeds": 1000}, sweep={"/run/policy": POLICIES}))
        for policy, row in zip(POLICIES, rows):
            draw = random.Random(7)
            self.assert_same_means([Job(policy, speeds, draw, components()).play() for _ in range(250)], row, policy)

    def test_so_has_one_of_failures_that_take_everything(self):
        self.write("cluster.json", CLUSTER | {"topology": "star"})
        speeds = {row["nodes"]: (row["throughput_samples_per_s"], row["iteration_s"]) for row in self.rows(scenario(sweep={"/cluster/nodes": [4, 5, 6]}))}
        kinds = {"kinds": [{"domain": "switch", "rate": 4000}, {"domain": "node", "rate": 500}]}
        parts = [(6 * HOUR, 1.0, list(range(NODES)), False), *((48 * HOUR, 1.0, [node], True) for node in range(NODES))]
        for policy, row in zip(POLICIES, self.rows(scenario(run=RUN | {"failures": kinds, "seeds": 1000}, sweep={"/run/policy": POLICIES}))):
            draw = random.Random(7)
            self.assert_same_means([Job(policy, speeds, draw, parts).play() for _ in range(250)], row, policy)

    def test_the_shares_add_up_and_the_rest_follows(self):
        self.write("cluster.json", CLUSTER)
        for row in self.rows(scenario(run=RUN | {"seeds": 20}, sweep={"/run/policy": POLICIES, "/schedule/name": ["wfbp", "asgd"]})):
            self.assertAlmostEqual(sum(row[name] for name in SHARES), 1.0, places=9)
            self.assertAlmostEqual(row["goodput"], row["effective_time_ratio"] * row["throughput_samples_per_s"], delta=1e-9 * row["goodput"])
            self.assertLess(row["total_low_h"], row["total_h"])
            self.assertLess(row["total_h"], row["total_high_h"])
            self.assertLess(row["effective_time_ratio_low"], row["effective_time_ratio"])
            self.assertLess(row["effective_time_ratio"], row["effective_time_ratio_high"])
            policy = row["sweep"]["/run/policy"]
            spares = policy.get("spares", 0) if isinstance(policy, dict) else 0
            servers = 1 if row["schedule"] == "asgd" else 0
            self.assertAlmostEqual(row["cost"] / (2 * (NODES + servers + spares) * row["total_h"]), 1.0)
            self.assertEqual(row["checkpoint_every_s"], 1000)

    def test_exponential_failures_have_the_closed_form(self):
        m = 24 * HOUR / (4 * 6)
        run = {"steps": 100_000_000, "failures": {"per_1000_node_days": 6000}, "checkpoint": {"write_s": 30}, "restart": {"detect_s": 60, "restart_s": 240}, "seeds": 400}
        row = self.row(scenario(run=run))
        every = math.sqrt(2 * 30 * m) * (1 + math.sqrt(30 / (2 * m)) / 3 + 30 / (18 * m)) - 30
        self.assertAlmostEqual(row["checkpoint_every_s"], every, places=6)
        expected = every / (m * math.exp(300 / m) * (math.exp((every + 30) / m) - 1))
        error = (row["effective_time_ratio_high"] - row["effective_time_ratio_low"]) / 2 / 1.96
        self.assertLess(abs(row["effective_time_ratio"] - expected), 3 * error)
        self.assertAlmostEqual(self.row(scenario(run=run | {"checkpoint": {"every": "young", "write_s": 30}}))["checkpoint_every_s"], math.sqrt(60 * m), places=6)

    def test_without_failures_and_checkpoints_it_is_the_plain_total(self):
        plain = self.row(scenario(samples=1000, epochs=500))
        for content in (scenario(run={"samples": 500_000}), scenario(samples=1000, epochs=500, run={}), scenario(samples=7, run={"samples": 500_000}),
                        scenario(run={"steps": 500_000 // 16})):
            row = self.row(content)
            self.assertAlmostEqual(row["total_h"] / plain["total_h"], 1.0, places=12)
            self.assertEqual((row["effective_time_ratio"], row["failures"], row["total_low_h"], row["checkpoint_every_s"]), (1.0, 0, None, None))
            self.assertEqual(row["iteration_s"], plain["iteration_s"])
        self.assertIsNone(plain["effective_time_ratio"])
        row = self.row(scenario(run={"samples": 500_000, "checkpoint": {"every": plain["total_h"] * HOUR / 4, "write_s": 10}}))
        self.assertAlmostEqual(row["total_h"] * HOUR, plain["total_h"] * HOUR + 40, places=6)

    def test_replicates_and_seeds(self):
        jitter = {"jitter": {"distribution": "lognormal", "cv": 0.2}}
        run = RUN | {"seeds": 10, "samples": 20_000_000, "failures": {"per_1000_node_days": 1000}}
        rows = self.rows(scenario(workers=jitter, run=run, replicates=3))
        again = self.rows(scenario(workers=jitter, run=run, replicates=3))
        self.assertEqual(rows, again)
        self.assertAlmostEqual(rows[0]["goodput"] / rows[0]["effective_time_ratio"] / rows[0]["throughput_samples_per_s"], 1.0, places=2)
        one, other = self.rows(scenario(run=run, sweep={"/seed": [1, 2]}))
        self.assertNotEqual(one["total_h"], other["total_h"])
        self.assertIsNone(self.row(scenario(run=run | {"seeds": 1}))["total_low_h"])

    def test_regions_fail_whole(self):
        regions = cluster(nodes=4, regions=[{"name": "a", "nodes": 2}, {"name": "b", "nodes": 2}], wan=[{"between": ["a", "b"], "rtt": "10ms", "bandwidth": "1Gbps"}])
        self.write("cluster.json", regions)
        run = {"steps": 1_000_000, "failures": {"kinds": [{"domain": "region", "rate": 5000}]}, "checkpoint": {"write_s": 10}}
        waits = run | {"policy": {"name": "hot-spare", "spares": 1, "repair_h": 5}}
        row, other = self.rows(scenario(sweep={"/run": [run, waits]}))
        self.assertGreater(row["failures"], 1)
        self.assertGreater(other["restart_share"], 2 * row["restart_share"])  # one spare does not replace two nodes

    def test_a_note_says_that_small_jobs_fail_more_often(self):
        self.write("scenario.json", scenario(run=RUN | {"seeds": 2, "failures": {"per_1000_node_days": 1000}}))
        self.assertIn("is optimistic for small jobs", self.simctl("run", "scenario.json").stdout)


class WhatMustNotBe(LongRuns):
    def test_a_run_that_does_not_get_ahead_has_no_numbers(self):
        run = RUN | {"failures": {"per_1000_node_days": 1e8}, "seeds": 3}
        done = self.rows(scenario(run=run), 4)
        self.assertIn("the run makes no progress: after 1000000 failures and", done.stderr)
        self.assertNotIn("effective", done.stdout)
        self.assertNotIn("goodput", done.stdout)
        self.assertEqual(len((self.folder / "out/results.csv").read_text().splitlines()), 1)  # the header

    def test_a_size_that_cannot_be_is_refused_beforehand(self):
        self.write("cluster.json", cluster(nodes=4))
        self.write("scenario.json", scenario(schedule={"name": "asgd", "servers": 4}, run=RUN | {"failures": {"per_1000_node_days": 1}, "policy": {"name": "shrink", "min_nodes": 2}}))
        done = self.simctl("check", "scenario.json")
        self.assertEqual(done.returncode, 3)
        self.assertIn("use at most as many as nodes (with 3 of 4 nodes, to which the run may shrink)", done.stderr)


if __name__ == "__main__":
    unittest.main()
