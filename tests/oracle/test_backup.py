"""Backup workers of ps-sgd: are steps as long as the first pushes take, and do the late ones give up as the page says?"""

import math
import random
import unittest

from comparing import Comparison, cluster, compression, disturbances, scenario, trace
from running import draws
from test_server import GROUPINGS, servers

LAYER = {"name": "a", "type": "x", "forward_s": 0.4, "backward_s": 0.6}
ONE = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "by hand"}, "model": {"name": "one", "batch": 8, "dtype": "fp32"},
       "layers": [LAYER], "gradients": [{"name": "g", "layer": "a", "bytes": 1000}], "update_s": 0}
TWO = {**ONE, "layers": [LAYER, LAYER | {"name": "b"}], "gradients": [{"name": "h", "layer": "b", "bytes": 3000}, {"name": "g", "layer": "a", "bytes": 1000}]}


def fast(nodes):
    """A network that takes no time."""
    return {"format": "cluster/1", "name": "fast", "nodes": nodes, "link": {"bandwidth": 1e15, "latency": 0}}


def point(nodes, backup, **changes):
    return {"format": "scenario/1", "name": "backup", "trace": ONE, "cluster": fast(nodes), "schedule": {"name": "ps-sgd", "backup": backup},
            "iterations": {"warmup": 1, "measured": 10}, **changes}


def harmonic(first, last, power=1):
    return sum(1 / number**power for number in range(first, last + 1))


class Backup(Comparison):
    def row(self, content, *options):
        self.run_well(content, *options)
        return self.rows()

    def check(self, content, tolerance=1e-6, **expected):
        row = self.row(content)[0]
        for column, value in expected.items():
            self.assertAlmostEqual(row[column], value, delta=tolerance * max(1, abs(value)), msg=column)

    # By hand

    def test_slow_workers(self):
        """Steps of 1, 1, 2 and 3 s."""
        workers = {"slow": [{"ranks": "2", "factor": 2}, {"ranks": "3", "factor": 3}]}
        for backup, step, computed in ((0, 3, 7), (1, 2, 6), (2, 1, 4), (3, 1, 4)):
            kept = 4 - backup
            late = {0: 0, 1: 2, 2: 2, 3: 3}[backup]
            self.check(point(4, backup, workers=workers), iteration_s=step * 4 / kept, throughput_samples_per_s=8 * kept / step, iteration_p50_s=step,
                       efficiency=kept / 4 / step, wasted_share=late / computed, exposed_communication_s=0, staleness_max=0, wait_s=step * 4 / kept - 1)

    def test_equal_workers(self):
        """The last of them have computed in vain."""
        self.check(point(4, 1), iteration_s=4 / 3, wasted_share=1 / 4, throughput_samples_per_s=24)
        self.check(point(2, 1), iteration_s=2, wasted_share=1 / 2)

    def test_a_pause_of_a_worker_that_is_not_waited_for(self):
        paused = {"events": [{"kind": "pause", "rank": 1, "at_s": 1.5, "for_s": 3}]}
        self.check(point(2, 1, workers=paused), iteration_s=2, iteration_p95_s=1)
        first = {"events": [{"kind": "pause", "rank": 0, "at_s": 1.5, "for_s": 100}]}
        self.check(point(2, 1, workers=first), iteration_s=2, iteration_p95_s=1)

    def test_groups_are_by_themselves(self):
        """h is ready after 1.4 s, g after 2 s. Rank 1 comes in time with h only, which has 3/4 of the bytes, and rank 2 with g only."""
        workers = {"slow": [{"ranks": "2", "factor": 1.4}], "events": [{"kind": "pause", "rank": 1, "at_s": 1.5, "for_s": 1.35}]}
        content = point(3, 1, trace=TWO, workers=workers, iterations={"warmup": 0, "measured": 1})
        self.check(content, iteration_s=2.8 * 3 / 2, wasted_share=(2.8 / 4 + 2.8 * 3 / 4) / (2 + 2.8 + 2.8))

    def test_the_network_counts(self):
        """Pushes of 1 s, and pulls of 1 s to three at a time over one server's link."""
        link = {"bandwidth": 1000, "latency": 0.1}
        content = point(3, 1, cluster=fast(3) | {"link": link}, workers={"slow": [{"ranks": "2", "factor": 50}]})
        self.check(content, iteration_s=(1 + 0.1 + 2 + 0.1 + 3) * 3 / 2, wasted_share=6.2 / (1 + 1 + 6.2))

    # By formulas

    def mean_steps(self, nodes, backup, mean, deviation, cv, scale, seed):
        """A mean of order statistics, within three standard errors."""
        steps = 250 if nodes < 50 else 100
        content = point(nodes, backup, workers={"jitter": {"distribution": "exponential", "cv": cv}}, iterations={"warmup": 0, "measured": steps}, seed=seed)
        found = self.row(content)[0]["iteration_s"] * (nodes - backup) / nodes * scale
        self.assertAlmostEqual(found, mean, delta=3 * deviation / math.sqrt(steps))

    def test_order_statistics(self):
        self.assertAlmostEqual(harmonic(2, 32), 3.0585, places=4)
        self.assertAlmostEqual(harmonic(3, 34), 2.6182, places=4)
        for seed, (nodes, backup) in draws(enumerate(((32, 1), (34, 2), (4, 0)))):
            self.mean_steps(nodes, backup, harmonic(backup + 1, nodes), math.sqrt(harmonic(backup + 1, nodes, 2)), 1, 1, seed)

    def test_a_hundred_workers(self):
        """Of 1 + 0.1 X seconds; speeds as Chen et al. define them."""
        speeds = {0: 0.658, 1: 0.698, 2: 0.716, 4: 0.733, 6: 0.738, 10: 0.734, 20: 0.690}
        for backup, speed in speeds.items():
            mean, deviation = 1 + 0.1 * harmonic(backup + 1, 100), 0.1 * math.sqrt(harmonic(backup + 1, 100, 2))
            self.assertAlmostEqual((100 - backup) / 100 / mean, speed, delta=6e-4)
            self.mean_steps(100, backup, mean, deviation, 0.1 / 1.1, 1.1, backup)

    # By a second simulation

    def draw(self, seed, nodes, gpus=1, *options, compressed=False, **changes):
        rng = random.Random(f"backup {seed}")
        schedules = []
        for _ in range(3):
            schedule = {"name": "ps-sgd", **servers(rng, nodes), "grouping": rng.choice(GROUPINGS), "backup": rng.randint(1, nodes - 1)}
            schedule.pop("pulls", None)
            del_duplex = schedule.pop("duplex", None)
            if del_duplex is not None and schedule.get("within_node") != "serial":
                schedule["in_flight"] = "pipelined"
            if compressed:
                schedule |= {"compression": compression(rng), "grouping": rng.choice(["wfbp", "sync-easgd"])}
            schedules.append(schedule)
        workers = [one for one in disturbances(rng, nodes * gpus, slowdown=False) if one]
        sweep = {"/cluster": [cluster(rng, nodes, gpus)], "/schedule": schedules, "/workers": workers}
        self.compare(scenario(rng, sweep=sweep, iterations={"warmup": rng.randint(0, 2), "measured": rng.randint(1, 6)}, **changes),
                     [trace(rng, 3)], *options)

    def test_drawn(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (4, 1), (7, 1), (3, 2)])):
            self.draw(seed, nodes, gpus)

    def test_as_flows(self):
        self.draw("flows", 4, fidelity="flow")

    def test_compressed(self):
        self.draw("compressed", 4, compressed=True)

    def test_one_by_one(self):
        self.draw("one by one", 4, 1, "--no-symmetry")


if __name__ == "__main__":
    unittest.main()
