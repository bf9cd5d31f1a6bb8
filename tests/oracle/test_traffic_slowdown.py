"""Layers that are slowed down by bytes rather than by latencies: by as much of what is in flight as moves?"""

import itertools
import random
import unittest

import moving
from comparing import Comparison, accumulating, cluster, compressing, disturbances, expected, fit, scenario, trace
from running import draws
from test_delayed import by_gradient, schedules
from test_fit_points import POINTS, curve, measured
from test_gated import gated, slow_links
from test_host import LASGD
from test_known_values import TRACE, point
from test_latencies import DRAWN, KNOWN, jittered
from test_messages import ALGORITHMS, Moving
from test_operations import Trials
from test_regions import world
from test_server import SCHEDULES, long_updates
from test_server_in_flight import either
from test_server_regions import FIDELITIES

SYNCHRONOUS = [{"name": name} for name in ("wfbp", "mg-wfbp", "horovod")] + [{"name": "fusion", "first_bucket": "20kB", "bucket": "400kB"}]
DELAYED = [{"name": "dts", "delay": delay, "period": period, "launch": launch} for delay, period, launch in (
    (1, 1, "step"), (3, 1, "step"), (2, 2, "gradient"))]
SERIAL = [schedule | {"in_flight": "serial"} for schedule in DELAYED[::2]]
PAIRS = [{"name": name} for name in ("sgp", "d-psgd", "ad-psgd")]
LONG = TRACE | {"layers": [{"name": name, "forward_s": 0.001, "backward_s": seconds} for name, seconds in (("a", 0.01), ("b", 0.001))]}


def by_traffic(workers):
    return workers | {"overlap_slowdown": {"factor": workers["overlap_slowdown"], "by": "traffic"}}


def slowed(rng, workers):
    """Disturbances of which this is one."""
    return [by_traffic(drawn) for drawn in disturbances(rng, workers) if "overlap_slowdown" in drawn]


def ready_first(count):
    """Gradients of 1 MB of the layer whose backward comes first; the other one's lasts 10 ms."""
    return LONG | {"gradients": [{"name": str(index), "layer": "b", "bytes": 1000000} for index in range(count)]}


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand? Of two ranks an all-reduce of 1 MB has two latencies and 1 ms of
    transfer."""

    def check(self, milliseconds, drawn, kinds=("alpha-beta", "per-message", "flow"), **others):
        for kind in kinds:
            row = expected(drawn) if kind == "alpha-beta" else moving.expected(drawn, kind == "flow")
            self.assertAlmostEqual(row["iteration_s"], milliseconds / 1000, places=12, msg=kind)
            for column, value in others.items():
                self.assertAlmostEqual(row[column], value, places=12, msg=column)

    def one(self, schedule, factor, latency, **changes):
        drawn = point(schedule, **{"workers": {"overlap_slowdown": {"factor": factor, "by": "traffic"}}, **changes})
        drawn["cluster"]["link"]["latency"] = latency
        return drawn

    def test_one_collective(self):
        """Forward 2 ms, backward 1 and, beside the all-reduce, 10 or more: half of that is transfer, or a quarter, nothing or all."""
        for latency, share in ((5e-4, 1 / 2), (1.5e-3, 1 / 4), (0, 1)):
            self.check(3 + 10 * (1 + 0.6 * share), self.one({"name": "wfbp"}, 0.6, latency, trace=ready_first(1)), compute_s=0.013)
        drawn = self.one({"name": "wfbp"}, 0.6, 1e-3, trace=ready_first(1))
        drawn["cluster"]["link"]["bandwidth"] = 1e21
        self.check(13, drawn)

    def test_several_in_flight(self):
        """A quarter of each; one at a time, the others wait and do not count."""
        for count, channels, share in ((2, 2, 1 / 2), (3, 3, 3 / 4), (3, 2, 1 / 2), (2, 1, 1 / 4), (5, 9, 1)):
            self.check(3 + 10 * (1 + 0.6 * share), self.one({"name": "wfbp"}, 0.6, 1.5e-3, trace=ready_first(count), channels=channels))

    def test_unequal_ranks(self):
        """A layer of the late one meets the all-reduce, for which that of the other one began too early."""
        late = {"slow": [{"ranks": "1", "factor": 2}], "overlap_slowdown": {"factor": 0.6, "by": "traffic"}}
        drawn = self.one({"name": "wfbp"}, 0.6, 5e-4, trace=ready_first(1), workers=late, iterations={"warmup": 3, "measured": 4})
        self.check(2 * (3 + 10 * (1 + 0.6 / 2)), drawn)

    def test_a_collective_of_the_step_before(self):
        """It begins with forward, which lasts 1 ms and a share of 0.6 more, and ends before backward."""
        for latency, share in ((1e-4, 1 / 1.2), (2.5e-4, 1 / 1.5)):
            for name in ({"name": "dts", "delay": 1}, {"name": "dts", "delay": 1, "in_flight": "serial"},
                         {"name": "lasgd", "tau_max": 3, "worker": "gpu"}):
                self.check(3 + 0.9 * share, self.one(name, 0.9, latency, iterations={"warmup": 2, "measured": 6}))

    def test_steps_in_flight(self):
        """Each lasts 10 ms, 1 of them transfer. When forward starts they are 0, 3.9 and 7.8 ms old, when backward does 1.3, 5.2 and 9.1."""
        self.check(3 * (1 + 3 / 10), self.one({"name": "dts", "delay": 4}, 1, 4.5e-3, iterations={"warmup": 8, "measured": 8}))

    def test_drawn_latencies(self):
        """The share is that of their mean."""
        drawn = self.one({"name": "dts", "delay": 1}, 0.9, 1e-4, iterations={"warmup": 2, "measured": 6})
        drawn["cluster"]["latency_cv"] = 0.3
        self.check(3 + 0.9 / 1.2, drawn, ["alpha-beta"])
        for spread in DRAWN:
            self.check(3 + 0.9 / 1.2, drawn | {"cluster": jittered(drawn["cluster"], spread, "link")}, ["per-message", "flow"])

    def test_a_curve(self):
        """Of 1.5 MB in 2.5 ms the tangent says 1.5."""
        drawn = self.one({"name": "wfbp"}, 0.6, 0, trace=LONG | {"gradients": [{"name": "w", "layer": "b", "bytes": 1500000}]})
        drawn["cluster"]["fit"] = measured(POINTS, 2)
        self.check(3 + 10 * (1 + 0.6 * 0.6), drawn, ["alpha-beta"])

    def test_servers_and_neighbours(self):
        """A message brings about all of it."""
        drawn = {name: SCHEDULES[name](random.Random(name), 2) for name in SCHEDULES} | {one["name"]: one for one in PAIRS}
        for schedule, constant in itertools.product(drawn.values(), ({"overlap_slowdown": 0.7}, {
                "overlap_slowdown": 0.7, "jitter": {"distribution": "lognormal", "cv": 0.2}})):
            one = point(schedule, trace=TRACE | {"update_s": 0.001}, workers=constant, iterations={"warmup": 2, "measured": 5})
            self.assertEqual(expected(one), expected(one | {"workers": by_traffic(constant)}))

    def test_nothing_but_bytes_or_latencies(self):
        """As if it were constant, or not there."""
        families = [{"name": "wfbp"}, {"name": "dts", "delay": 2}, {"name": "lasgd", "tau_max": 2, "worker": "gpu"}]
        for schedule, (link, like) in itertools.product(families, (({"latency": 0, "bandwidth": 2e8}, {"overlap_slowdown": 0.7}),
                                                                   ({"latency": 2e-3, "bandwidth": 1e21}, {}))):
            one = point(schedule, 3, iterations={"warmup": 2, "measured": 5}, workers=by_traffic({"overlap_slowdown": 0.7}))
            one["cluster"]["link"] = link
            for expect in (expected, lambda drawn: moving.expected(drawn, False), lambda drawn: moving.expected(drawn, True)):
                for column, value in expect(one | {"workers": like}).items():
                    self.assertAlmostEqual(expect(one)[column], value, places=12, msg=column)


class ClosedForms(Comparison):
    def draw(self, seed, description, drawn, *options, **changes):
        rng = random.Random(f"traffic {seed}")
        one = description(rng)
        sweep = {"/cluster": [one, one | {"link": {"bandwidth": "1Gbps", "latency": rng.uniform(1e-4, 4e-3)}}], "/schedule": drawn(rng),
                 "/workers": slowed(rng, one["nodes"] * one["gpus_per_node"])}
        self.compare(scenario(rng, sweep=sweep, **changes), [trace(rng)], *options)

    def synchronous(self, rng):
        return SYNCHRONOUS + accumulating(rng, SYNCHRONOUS[:2]) + compressing(rng, SYNCHRONOUS[:2] * 2)

    def delayed(self, rng):
        return schedules(rng) + by_gradient(rng)

    def rounds(self, rng):
        return LASGD + compressing(rng, LASGD[:2])

    def test_families(self):
        for seed, (family, (nodes, gpus)) in draws(enumerate(itertools.product((self.synchronous, self.delayed, self.rounds), ((2, 1), (5, 1), (3, 2))))):
            self.draw(seed, lambda rng: cluster(rng, nodes, gpus), family, all_reduce=ALGORITHMS[seed % 4])

    def test_channels(self):
        for seed in draws(range(10, 13)):
            self.draw(seed, lambda rng: cluster(rng, 4), lambda rng: self.synchronous(rng) + DELAYED, channels=seed - 8)

    def test_other_clusters(self):
        """Lines, points, latencies that are drawn, regions, posts that take time."""
        for seed, (family, changes) in draws(enumerate(itertools.product((self.synchronous, self.delayed, self.rounds), (
                lambda rng: {"fit": fit(rng)}, lambda rng: {"fit": [curve(rng, ["ring"]), curve(rng, ["ring"], operation="all-gather")]},
                lambda rng: {"latency_cv": 0.5}, lambda rng: {"host": {"per_collective_s": 2e-4}})), 21)):
            self.draw(seed, lambda rng: cluster(rng, 4, **changes(rng)), lambda rng: rng.sample(family(rng), 6))
        for seed, family in draws(enumerate((self.synchronous, self.delayed, self.rounds), 40)):
            self.draw(seed, lambda rng: world(rng, 3, 2), lambda rng: rng.sample(family(rng), 6))

    def test_participants(self):
        self.draw(60, lambda rng: cluster(rng, 5), lambda rng: [{"name": "lasgd", "tau_max": tau, "participants": 0.6} for tau in (1, 3, 9)])

    def test_one_by_one(self):
        for seed, family in draws(enumerate((self.synchronous, self.delayed, self.rounds), 50)):
            self.draw(seed, lambda rng: cluster(rng, 3), lambda rng: rng.sample(family(rng), 4), "--no-symmetry")


class Messages(Moving):
    def messages(self, seed, description, drawn, *options, **changes):
        rng = random.Random(f"traffic {seed}")
        one = description(rng)
        sweep = {"/schedule": drawn, "/workers": slowed(rng, one["nodes"] * one["gpus_per_node"])}
        self.draw(rng, [one], *options, sweep=sweep, **changes)

    def far(self, nodes, gpus=1):
        """As much latency as transfer, and as much of both as of compute."""
        return lambda rng: slow_links(rng, nodes, gpus)

    def test_one_at_a_time(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (4, 1), (2, 2), (3, 2)])):
            self.messages(seed, self.far(nodes, gpus), SYNCHRONOUS[::3] + SERIAL, all_reduce=ALGORITHMS[seed % 4])
            self.messages(seed, self.far(nodes, gpus), compressing(random.Random(seed), SYNCHRONOUS[:2]), all_reduce="ring")

    def test_several_at_a_time(self):
        for seed, nodes in draws(enumerate([2, 3], 10)):
            self.messages(seed, self.far(nodes), DELAYED, shared=True)
            self.messages(seed, self.far(nodes), SYNCHRONOUS[:1], shared=True, channels=2 + seed % 2)

    def test_hosts(self):
        """What a rank has posted does not move before its host has seen to it."""
        for seed, nodes in draws(enumerate([2, 3], 70)):
            rng = random.Random(f"traffic {seed}")
            described = slow_links(rng, nodes) | {"host": {"per_collective_s": rng.uniform(1e-3, 5e-3)}}
            drawn = [workers for workers in disturbances(rng, nodes) if "overlap_slowdown" in workers]
            self.draw(rng, [described], sweep={"/schedule": SYNCHRONOUS[:1] + SERIAL[:1], "/workers": drawn + [by_traffic(one) for one in drawn]})

    def test_protocols(self):
        """Latencies hide behind segments: bytes move for as long as the busiest channel is busy."""
        for seed, protocol in draws(enumerate([{"segments": 3}, {"rendezvous": True, "segments": 2}], 80)):
            self.messages(seed, lambda rng: slow_links(rng, 3) | {"protocol": protocol}, SYNCHRONOUS[:1], all_reduce=ALGORITHMS[seed % 4])

    def test_chunks(self):
        """Messages have latencies, however many of them there are."""
        chunked = [{"name": "binary-tree", "chunk": "300kB"}, {"name": "two-level", "between": "ring", "chunk": "300kB"}]
        for seed, (nodes, gpus) in draws(enumerate([(3, 1), (3, 2)], 60)):
            self.messages(seed, self.far(nodes, gpus), SYNCHRONOUS[:1], all_reduce=chunked[seed % 2])

    def test_rounds(self):
        self.messages(20, self.far(3), [{"name": "lasgd", "tau_max": tau, "worker": "gpu"} for tau in (1, 4)])

    def test_regions(self):
        for seed, (regions, nodes, name) in draws(enumerate([(2, 2, "ring"), (3, 1, "halving-doubling"), (2, 3, "by-region")], 30)):
            self.messages(seed, lambda rng: world(rng, regions, nodes) | {"placement": "linear"}, SYNCHRONOUS[:1] + DELAYED[:1],
                          shared=True, fidelities=["flow"], all_reduce=name)

    def test_one_by_one(self):
        self.messages(40, self.far(3), SYNCHRONOUS[:1] + SERIAL[:1], "--no-symmetry")

    def test_drawn_latencies(self):
        """Nobody waits for them, and the share is that of their mean."""
        for seed, spread in draws(enumerate(DRAWN, 50)):
            rng = random.Random(seed)
            drawn = jittered(cluster(rng, 3, link={"bandwidth": "9Gbps", "latency": rng.uniform(1e-5, 1e-4)}), spread, "link")
            one = KNOWN | {"layers": [{"name": "l", "type": "x", "forward_s": 0.2, "backward_s": 0.3}]}
            content = scenario(rng, sweep={"/fidelity": ["per-message", "flow"]}, cluster=drawn, schedule={"name": "dts", "delay": 1},
                               workers=by_traffic({"overlap_slowdown": 0.6}))
            self.compare(content, [one], shared=True)


class LayerByLayer(Trials):
    shared = True

    def layers(self, drawn):
        for seed, nodes in draws(enumerate([2, 3])):
            rng = random.Random(f"traffic {seed}")
            self.draw(rng, [slow_links(rng, nodes)], drawn, layers=3, sweep={"/channels": [1, 3], "/workers": slowed(rng, nodes)[:2]})

    def test_in_order(self):
        self.layers(gated(1, 3)[:2])

    def test_by_priority(self):
        self.layers(gated(1, 3)[2:])

    def test_the_share_of_what_moves(self):
        """By priority, the first layer's gradient, of next to no bytes, is there 8 s after the last layer's backward. Its forward lasts 1 s
        and 3/4, beside a part of 3 s of transfer and 1 of latency of the second layer, which is there 4 s later; then that one's lasts
        1 1/2, beside one that is half transfer, which is there another 2 s later."""
        one = KNOWN | {"layers": [{"name": f"l{index}", "type": "x", "forward_s": 1.0, "backward_s": 1.0} for index in range(3)],
                       "gradients": [{"name": f"w{index}", "layer": f"l{index}", "bytes": size} for index, size in (
                           (2, 2000000), (1, 6000000), (0, 2))]}
        content = scenario(random.Random(0), cluster=cluster(random.Random(0), 2, link={"bandwidth": 1e6, "latency": 0.5}),
                           schedule=gated(2)[1], workers=by_traffic({"overlap_slowdown": 1}), sweep={"/fidelity": FIDELITIES})
        content["cluster"]["reduce_s_per_B"] = 0
        self.compare(content | {"iterations": {"warmup": 2, "measured": 3}}, [one])
        for row in self.rows():
            self.assertAlmostEqual(row["iteration_s"], 16, places=5)
            self.assertAlmostEqual(row["exposed_communication_s"], 5 + 2.25 + 0.5, places=5)


class ServersAndNeighbours(Comparison):
    def draw(self, seed, description, drawn, **changes):
        rng = random.Random(f"traffic {seed}")
        one = description(rng)
        sweep = {"/cluster": [one], "/schedule": drawn(rng), "/workers": slowed(rng, one["nodes"] * one["gpus_per_node"])}
        self.compare(scenario(rng, sweep=sweep, iterations={"warmup": rng.randint(0, 2), "measured": rng.randint(1, 4)}, **changes),
                     [long_updates(rng)])

    def test_servers(self):
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (3, 1), (2, 2)])):
            for fidelity in FIDELITIES[::2]:
                self.draw(seed, lambda rng: cluster(rng, nodes, gpus), lambda rng: [either(rng, SCHEDULES[name](rng, nodes), 0.3) for name in SCHEDULES],
                          fidelity=fidelity)

    def test_neighbours(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (2, 2)], 10)):
            for fidelity in FIDELITIES:
                self.draw(seed, lambda rng: cluster(rng, nodes, gpus), lambda rng: PAIRS, fidelity=fidelity)


if __name__ == "__main__":
    unittest.main()
