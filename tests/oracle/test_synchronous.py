"""Synchronous schedules of unequal workers, of nodes with several GPUs, and over regions: what do recurrences say?"""

import itertools
import random
import unittest

import oracle
from comparing import Comparison, accumulating, cluster, compressing, disturbances, fit, node_windows, scenario, trace
from running import draws
from test_latencies import KNOWN

SCHEDULES = [{"name": name} for name in oracle.SCHEDULES] + [{"name": "fusion", "first_bucket": "20kB", "bucket": "400kB"}, {"name": "groups", "groups": [1]}]


class Synchronous(Comparison):
    def draw(self, seed, clusters, workers, *options, schedules=SCHEDULES, **changes):
        rng = random.Random(seed)
        sweep = {"/cluster": clusters(rng), "/schedule": schedules, "/workers": disturbances(rng, workers)}
        self.compare(scenario(rng, sweep=sweep, **changes), [trace(rng, 5)], *options)

    def test_unequal_workers(self):
        for seed in draws(range(8)):
            self.draw(seed, lambda rng: [cluster(rng, 2 + seed)], 2 + seed)

    def test_a_late_worker_posts_ahead(self):
        """Worker 0 knows when its second gradient, which worker 1 has posted, will be ready: long after the first was sent. Meanwhile nothing slows a1 of
        worker 1 down, which ends the iteration."""
        backward = [("d", 1e-3), ("c", 5e-4), ("b", 9.5e-3), ("a2", 2e-3), ("a1", 1e-3)]
        late = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "by hand"}, "model": {"name": "late", "batch": 1, "dtype": "fp32"},
                "layers": [{"name": name, "type": "x", "forward_s": 1e-6, "backward_s": seconds} for name, seconds in reversed(backward)],
                "gradients": [{"name": name, "layer": name, "bytes": 2000000} for name in ("d", "c", "a1")]}
        pauses = [{"kind": "pause", "rank": rank, "at_s": at, "for_s": length} for rank, at, length in ((0, 5e-4, 9e-3), (0, 0.0103, 6.7e-3), (1, 0.0142, 0.05))]
        self.compare({"format": "scenario/1", "name": "late", "fidelity": "per-message", "granularity": "tensor", "iterations": {"warmup": 0, "measured": 1},
                      "cluster": {"format": "cluster/1", "name": "two", "nodes": 2, "link": {"bandwidth": 1e9, "latency": 1e-6}},
                      "schedule": {"name": "wfbp"}, "sweep": {"/workers": [{"overlap_slowdown": x, "events": pauses} for x in (0.3, 0.5, 0.7)]}}, [late])

    def test_pauses_that_begin_as_compute_ends(self):
        """Sums of tenths are not exact: that instants within 1e-12 are one decides whether the pause holds the update up."""
        layers = [{"name": name, "type": "x", "forward_s": 1e-4, "backward_s": 1e-4} for name in "abcdefg"]
        tenths = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "by hand"}, "model": {"name": "tenths", "batch": 1, "dtype": "fp32"},
                  "layers": layers, "gradients": [{"name": "g", "layer": "a", "bytes": 1000000}]}
        for slowdown, fidelity in itertools.product((0, 0.5), ("alpha-beta", "per-message")):
            pauses = [{"events": [{"kind": "pause", "rank": 1, "at_s": round(at * 1e-4, 4), "for_s": 0.01}], "overlap_slowdown": slowdown} for at in range(1, 15)]
            for options in ((), ("--no-symmetry",)):
                self.compare({"format": "scenario/1", "name": "tenths", "fidelity": fidelity, "granularity": "tensor", "iterations": {"warmup": 0, "measured": 1},
                              "cluster": {"format": "cluster/1", "name": "two", "nodes": 2, "link": {"bandwidth": 1e9, "latency": 1e-6}},
                              "schedule": {"name": "wfbp"}, "sweep": {"/workers": pauses}}, [tenths], *options)

    def test_sixteen_workers(self):
        self.draw(9, lambda rng: [cluster(rng, 16)], 16, schedules=SCHEDULES[1:4])

    def test_unequal_workers_carry_a_fit(self):
        for seed in draws(range(10, 13)):
            self.draw(seed, lambda rng: [cluster(rng, rng.randint(3, 9), fit=fit(rng)) for _ in range(2)], 3)

    def test_jittered_latency(self):
        for seed in draws(range(20, 22)):
            self.draw(seed, lambda rng: [cluster(rng, 4, latency_cv=rng.uniform(0.1, 1)) for _ in range(2)], 4, schedules=SCHEDULES[1:4])

    def test_several_gpus(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 2), (3, 2), (1, 4), (2, 4)], 30)):
            self.draw(seed, lambda rng: [cluster(rng, nodes, gpus), cluster(rng, nodes, gpus, fit=fit(rng))], nodes * gpus,
                      schedules=SCHEDULES[seed % 2::2], all_reduce=random.Random(seed).choice([*oracle.TERMS, "auto"]))

    def test_several_gpus_two_level_by_name(self):
        for seed, name in draws(enumerate(oracle.TERMS, 40)):
            self.draw(seed, lambda rng: [cluster(rng, 5, 2)], 3, schedules=SCHEDULES[3:4],
                      all_reduce={"name": "two-level", "between": name})

    def test_steps_that_only_add_up(self):
        for seed, nodes in draws(enumerate([2, 3, 6], 60)):
            self.draw(seed, lambda rng: [cluster(rng, nodes), cluster(rng, nodes, 2, latency_cv=0.3)], nodes,
                      schedules=accumulating(random.Random(seed), SCHEDULES), channels=1 + seed % 2)

    def test_one_worker_that_adds_up(self):
        self.draw(65, lambda rng: [cluster(rng, 1)], 1, schedules=[{"name": "wfbp", "accumulate": count} for count in (2, 3)])

    def test_windows(self):
        for seed, (nodes, gpus) in draws(enumerate([(3, 1), (2, 3)], 70)):
            self.draw(seed, lambda rng: [node_windows(rng, cluster(rng, nodes, gpus, nics=nics)) for nics in (1, 2)], nodes * gpus,
                      schedules=SCHEDULES[3:5], all_reduce=[*oracle.TERMS, "auto"][seed % 6])

    def test_compression(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (5, 1), (3, 2), (8, 1)], 80)):
            rng = random.Random(f"ways {seed}")
            schedules = compressing(rng, SCHEDULES + SCHEDULES[:5] + accumulating(rng, SCHEDULES[1:4]))
            self.draw(seed, lambda rng: [cluster(rng, nodes, gpus), cluster(rng, nodes, gpus, **rng.choice([{"fit": fit(rng)},
                                                                                                    {"latency_cv": 0.3}]))],
                      nodes * gpus, schedules=schedules, all_reduce=[*oracle.TERMS, "auto"][seed % 6], channels=1 + seed % 2)

    def test_copies(self):
        """Of merged gradients alone; the schedule that decides on merging by its cost meets latencies that leave it no choice."""
        merging = [{"name": "sync-easgd"}, *SCHEDULES[-2:], {"name": "fusion", "first_bucket": 1, "bucket": "900kB"}, {"name": "wfbp"}]
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (5, 1), (3, 2)], 100)):
            rng = random.Random(f"copies {seed}")
            self.draw(seed, lambda rng: [cluster(rng, nodes, gpus, copy_s_per_B=10 ** rng.uniform(-11, -9))], nodes * gpus,
                      schedules=merging + accumulating(rng, merging[:3]) + compressing(rng, merging[:3]))
            for latency in (0, 1):
                link = {"bandwidth": "9Gbps", "latency": latency}
                self.draw(seed, lambda rng: [cluster(rng, nodes, copy_s_per_B=1e-9, link=link)], nodes, schedules=[{"name": "mg-wfbp"}])

    def test_pauses_while_a_rank_stands_still(self):
        """Nothing is left of backward that they could hold up, however layers add up."""
        traces = [KNOWN | {"layers": [{"name": name, "type": "x", "forward_s": 0.001, "backward_s": backward} for name, backward in zip(
            "lmn", (0.0011, 0.0013, 0.001 + 0.0001 * index))]} for index in range(20)]
        sweep = {"/trace": [f"trace{index}.json" for index, _ in enumerate(traces)], "/schedule": [
            {"name": name, "compression": {"name": "none", "encode_s_per_B": 5e-9}} for name in ("wfbp", "ps-sgd")]}
        pauses = [{"kind": "pause", "rank": 1, "at_s": 0.009, "for_s": 0.05}]
        self.compare(scenario(random.Random(0), sweep=sweep, cluster=cluster(random.Random(0), 2), workers={"events": pauses},
                              iterations={"warmup": 0, "measured": 1}), traces)

    def test_compression_one_by_one(self):
        self.draw(90, lambda rng: [cluster(rng, 4)], 4, "--no-symmetry", schedules=compressing(random.Random(90), SCHEDULES[:4]))
        self.draw(91, lambda rng: [cluster(rng, 1)], 1, schedules=compressing(random.Random(91), SCHEDULES[:2]))

    def test_one_by_one(self):
        self.draw(50, lambda rng: [cluster(rng, 4, 2), cluster(rng, 7)], 7, "--no-symmetry")
        self.draw(51, lambda rng: [cluster(rng, 3)], 3, "--no-symmetry", schedules=accumulating(random.Random(51), SCHEDULES[:2]))


if __name__ == "__main__":
    unittest.main()
