"""Round-trip times that change: is a message as late, and its window as fast, as the distance of the moment says?"""

import math
import random
import unittest

from comparing import disturbances, scenario, slow, trace
from movement import Distance, Engine, FarPath
from network import alone
from running import draws
from test_flows import profiles
from test_messages import Moving
from test_regions import uneven, windows, world
from test_server import SCHEDULES
from test_server_regions import OverRegions, placed


def distances(rng, description, order=list):
    for entry in description["wan"]:
        dates = sorted(rng.uniform(0, 0.15) for _ in range(30))
        rtts = order([rng.uniform(1, 15) for _ in dates])
        entry["rtt_profile"] = [{"at_s": date, "rtt": rng.choice([rtt / 1000, f"{rtt:.6f}ms"])} for date, rtt in zip(dates, rtts)]
    return description


def with_windows(rng, description):
    return windows(rng, distances(rng, description))


def everything(rng, description):
    return uneven(rng, profiles(rng, with_windows(rng, description)))


CHANGES = [distances, with_windows, everything]


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def test_a_window_s_rate_changes_at_once(self):
        """100 bytes; 40 in a round trip of 4 s, of 8 s after 6 s, over a link of 20 B/s; at most 10 B/s, then 5."""
        for window, bandwidth, expected in ((math.inf, 20.0, 5.0), (40, 20.0, 6 + 40 / 5), (40, 4.0, 25.0), (40, 7.0, 6 + 58 / 5)):
            engine, ends, distance = Engine({"a": bandwidth}, True), [], Distance(4.0, window)
            path = FarPath(("a",), distance)
            engine.transfer(100.0, path, lambda: ends.append((engine.now, path.latency)))
            engine.at(6.0, engine.change, distance, 8.0)
            while engine.step():
                pass
            self.assertEqual(ends, [(expected, 2.0 if expected < 6 else 4.0)])

    def test_the_latency_is_that_of_the_last_byte(self):
        """Two messages of half the bytes each, one after the other, each way; the first one leaves after 5 ms."""
        wan = {"between": ["a", "b"], "rtt": 0.02, "bandwidth": 1e8}
        point = {"cluster": {"nodes": 2, "wan": [wan], "placement": "linear", "regions": [{"name": name, "nodes": 1} for name in "ab"]}}
        for date, rtt, expected in ((0.004, 0.04, 2 * (0.005 + 0.02)), (0.006, 0.04, 0.005 + 0.01 + 0.005 + 0.02),
                                    (0.0049, 0.01, 2 * (0.005 + 0.005)), (0.03, 0.04, 2 * (0.005 + 0.01))):
            wan["rtt_profile"] = [{"at_s": date, "rtt": rtt}]
            for end in alone(point, 1e6, shared=True):
                self.assertAlmostEqual(end, expected, places=12)


class AllReduces(Moving):
    def regions(self, seed, regions, nodes, gpus=1, *options, **changes):
        rng = random.Random(f"distances {seed}")
        drawn = [change(rng, world(rng, regions, nodes, gpus)) | rng.choice([{}, {"placement": "linear"}]) for change in CHANGES]
        sweep = {"/all_reduce": ["ring", "by-region", "halving-doubling"], "/workers": [{}, {"slow": slow(rng, regions)}]}
        self.draw(rng, drawn, *options, shared=True, fidelities=["flow"], **{
            "sweep": sweep, "schedule": {"name": "wfbp"}, "iterations": {"warmup": 1, "measured": 2}, **changes})

    def test_regions(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 1), (2, 3), (3, 2), (4, 1)])):
            self.regions(seed, regions, nodes)

    def test_several_gpus(self):
        self.regions(10, 2, 2, 2)

    def test_schedules(self):
        names = [{"name": "sync-easgd"}, {"name": "wfbp", "compression": "sign"}, {"name": "dts", "delay": 1, "in_flight": "serial"}]
        self.regions(20, 2, 3, sweep={"/schedule": names}, iterations={"warmup": 1, "measured": 4})

    def test_one_by_one(self):
        self.regions(30, 2, 2, 1, "--no-symmetry")

    def test_a_change_reaches_a_flow_under_way(self):
        """A node in each of two regions exchange everything after backward: 40% at the first rate, the rest at the second."""
        rng, seconds, size, window = random.Random(58), 0.004, 1e6, 1e7
        one = trace(rng, 1) | {"gradients": [{"name": "w", "layer": "layer0", "bytes": int(size)}], "iteration": {
            "forward_s": seconds / 2, "backward_s": seconds / 2}}
        for rtt, rate in ((0.02, 5e8), (0.005, 2e9), (0.001, 4e9)):
            wan = {"between": ["a", "b"], "rtt": 0.01, "bandwidth": 4e9, "tcp_window": int(window),
                   "rtt_profile": [{"at_s": seconds + 0.4 * size / 1e9, "rtt": rtt}]}
            content = {"format": "scenario/1", "name": "change", "all_reduce": "recursive-doubling", "schedule": {"name": "sync-easgd"},
                       "iterations": {"warmup": 0, "measured": 1}, "fidelity": "flow", "cluster": {
                           "format": "cluster/1", "name": "change", "nodes": 2, "wan": [wan],
                           "regions": [{"name": name, "nodes": 1} for name in "ab"]}}
            (_, row), = self.run_points(content, [one])
            self.close(row["iteration_s"], seconds + 0.4 * size / 1e9 + 0.6 * size / rate + rtt / 2 + one["update_s"])


class ServersAndPairs(OverRegions):
    def draw(self, seed, regions, nodes, gpus, *options):
        rng = random.Random(f"distances {seed}")
        for change in CHANGES:
            description = change(rng, world(rng, regions, nodes, gpus)) | rng.choice([{}, {"placement": "linear"}])
            schedules = [placed(rng, description, SCHEDULES[name](rng, description["nodes"])) for name in SCHEDULES]
            for schedule in schedules:
                if "grouping" in schedule:
                    schedule["grouping"] = "wfbp"
            workers = disturbances(rng, description["nodes"] * gpus, slowdown=False)
            sweep = {"/cluster": [description], "/schedule": [*schedules, {"name": "sgp"}, {"name": "d-psgd"}],
                     "/workers": [rng.choice(workers[1:])]}
            self.compare(scenario(rng, sweep=sweep, fidelity="flow", iterations={"warmup": rng.randint(0, 2), "measured": 3}),
                         [trace(rng, 3)], *options)

    def test_worlds(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 1, 1), (2, 3, 1), (3, 2, 1), (2, 2, 2)])):
            self.draw(seed, regions, nodes, gpus)

    def test_one_by_one(self):
        self.draw(10, 2, 2, 1, "--no-symmetry")


if __name__ == "__main__":
    unittest.main()
