"""Forward that waits for gradients layer by layer, in the order of posting and by priority: does a stream start what it should?"""

import random
import unittest

from comparing import cluster, disturbances, slow
from running import draws
from test_messages import ALGORITHMS
from test_operations import FIDELITIES, Trials
from test_regions import world


def gated(*parts):
    return [{"name": "gated", "by_priority": by_priority, "parts": count} for by_priority in (False, True) for count in parts]


def slow_links(rng, nodes, gpus=1, **changes):
    """About as long in transfer as in compute."""
    return cluster(rng, nodes, gpus, link={"bandwidth": f"{rng.uniform(1, 5):.3f}Gbps", "latency": rng.uniform(1e-5, 1e-3)}, **changes)


class Known(Trials):
    """What can be worked out by hand."""

    def test_three_layers(self):
        """Gradients of 1, 4 and 4 s, the last layer's ready first: in the order of posting the first layer's is there after 10 s; by
        priority after 6; in parts of 1 s after 4, and the second's after 7."""
        layers = [{"name": f"l{index}", "type": "x", "forward_s": 1.0, "backward_s": 1.0} for index in range(3)]
        gradients = [{"name": f"w{index}", "layer": f"l{index}", "bytes": size}
                     for index, size in ((2, 4000000), (1, 4000000), (0, 1000000))]
        one = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "known"},
               "model": {"name": "known", "batch": 1, "dtype": "fp32"}, "layers": layers, "gradients": gradients}
        schedules = gated(1)[:1] + gated(1, 4)[2:]
        content = {"format": "scenario/1", "name": "known", "cluster": {
            "format": "cluster/1", "name": "two", "nodes": 2, "link": {"bandwidth": 1e6, "latency": 0}},
            "sweep": {"/schedule": schedules, "/fidelity": FIDELITIES}, "schedule": schedules[0],
            "iterations": {"warmup": 1, "measured": 2}}
        self.compare(content, [one])
        for row, expected in zip(self.rows(), [13] * 3 + [12] * 3 + [11] * 3):
            self.assertAlmostEqual(row["iteration_s"], expected, places=12)


class Gated(Trials):
    def test_equal_workers(self):
        for seed, nodes in draws(enumerate([1, 2, 3, 4, 6])):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], gated(1, 3), layers=4, sweep={"/all_reduce": ["ring", rng.choice(ALGORITHMS[1:])]})

    def test_channels(self):
        for seed, nodes in draws(enumerate([2, 4, 5], 10)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], gated(1, 4), layers=4, fidelities=["alpha-beta"],
                      sweep={"/channels": [2, 3], "/workers": disturbances(rng, nodes)})
            self.draw(rng, [slow_links(rng, nodes)], gated(1, 4), layers=4, fidelities=["per-message"],
                      sweep={"/channels": [2, 3], "/workers": disturbances(rng, nodes, slowdown=False)})

    def test_unequal_workers(self):
        for seed, nodes in draws(enumerate([2, 3, 5], 20)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], gated(1, 3), layers=4,
                      sweep={"/workers": [{"slow": slow(rng, nodes)}, *disturbances(rng, nodes, slowdown=False)[2:5]]})


    def test_several_gpus(self):
        for seed, (nodes, count) in draws(enumerate([(1, 3), (2, 2), (3, 2)], 40)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes, count)], gated(1, 3), layers=3, sweep={
                "/all_reduce": ["ring", rng.choice(ALGORITHMS[1:])], "/workers": [{}, {"slow": slow(rng, nodes * count)}]})

    def test_long_runs(self):
        """Ranks far apart, many parts."""
        for seed, nodes in draws(enumerate([2, 4], 50)):
            rng = random.Random(seed)
            workers = [{"jitter": {"distribution": "lognormal", "cv": cv}} for cv in (0.3, 1.0)]
            self.draw(rng, [slow_links(rng, nodes) for _ in range(2)], gated(2, 7)[2:], layers=5, iterations={"warmup": 2, "measured": 12},
                      sweep={"/workers": workers})

    def test_one_by_one(self):
        rng = random.Random(60)
        self.draw(rng, [slow_links(rng, 3), slow_links(rng, 2, 2)], gated(1, 2), "--no-symmetry", layers=3)


class SharedLinks(Trials):
    shared = True

    def test_flows(self):
        for seed, nodes in draws(enumerate([2, 3, 4], 30)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], gated(1, 2), layers=3, fidelities=["per-message", "flow"],
                      sweep={"/channels": [2, 3], "/workers": [{}, {"slow": slow(rng, nodes)}]})

    def test_jitter(self):
        for seed, nodes in draws(enumerate([3, 4], 40)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], gated(3), layers=4, fidelities=["per-message", "flow"], sweep={
                "/channels": [2, 4], "/workers": [{"jitter": {"distribution": "lognormal", "cv": cv}} for cv in (0.3, 1.0)]})

    def test_regions(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 2), (3, 2)], 70)):
            rng = random.Random(seed)
            drawn = world(rng, regions, nodes)
            self.draw(rng, [drawn], gated(1, 2), layers=3, fidelities=["alpha-beta", "flow"],
                      sweep={"/channels": [1, 3], "/workers": [{}, {"slow": slow(rng, drawn["nodes"])}]})


if __name__ == "__main__":
    unittest.main()
