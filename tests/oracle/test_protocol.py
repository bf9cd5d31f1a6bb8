"""Messages between nodes in segments, and by rendezvous: does a part of one wait for its notice, and for what it carries, and no longer?"""

import collections
import itertools
import random
import statistics
import unittest

import oracle
import plans
import test_messages
from comparing import accumulating, cluster, compressing, disturbances, node_windows, scenario, slow, trace
from network import alone
from running import Running, draws, swept, thinned
from support import cluster as plain_cluster
from support import scenario as plain_scenario
from test_distances import everything
from test_fidelities import NOT_COMPARED, Fidelities
from test_flat_ring import FLAT, LOCAL, dts
from test_latencies import HALVES, KNOWN, jittered
from test_messages import ALGORITHMS, ALPHA, BETA, GAMMA, MOVING, SIZE, Moving, star
from test_multi_gpu import INNER_ALPHA, INNER_BETA, gpus, one_slow, two_level
from test_operations import EVERYBODY, ODD, Trials
from test_regions import uneven, windows, world

GLOO = {"rendezvous": True, "segments": 2}
PROTOCOLS = [{"rendezvous": True}, {"segments": 2}, GLOO, {"segments": 5}, {"rendezvous": True, "segments": 3}]
SMALL, LARGE = 1e-9, 1e9  # bytes


def by(protocol, point):
    """The same, by it."""
    return point | {"cluster": point["cluster"] | {"protocol": protocol}}


def follow(rng, description, count=2):
    """The same by some protocols."""
    return [description | {"protocol": protocol} for protocol in rng.sample(PROTOCOLS, count)]


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def check(self, expected, point, size):
        for shared in (False, True):
            self.assertAlmostEqual(max(alone(point, size, shared)) / expected, 1, places=12)

    def test_every_rank_ends_with_every_contribution(self):
        """Segment after segment of each stage."""
        for make, count in itertools.product((
                *(lambda name=name: plans.all_reduce(name, 6, 2) for name in ALGORITHMS), lambda: plans.by_region((3, 1, 2), 4),
                lambda: plans.flat("all-reduce", 2, 3)), (1, 2, 3)):
            plan = plans.segmented(make(), count)
            plan.stages = [[message for message in stage if message.segment in here] for stage in plan.stages
                           for here in ((None,), *((segment,) for segment in range(count)))]
            held = [{part: collections.Counter([rank]) for part in range(plan.parts)} for rank in range(plan.ranks)]
            test_messages.Plans.carry_out(self, plan, held)
            self.assertEqual(held, [dict.fromkeys(range(plan.parts), collections.Counter(range(plan.ranks)))] * plan.ranks)

    def test_small_messages(self):
        """Each waits for the one before it, and for its notice, which has waited for the same."""
        for n, segments in itertools.product((2, 3, 4), (1, 2, 5)):
            for rendezvous, latencies in ((False, 2 * (n - 1)), (True, 4 * (n - 1))):
                self.check(latencies * 0.01, by({"rendezvous": rendezvous, "segments": segments}, star(
                    "ring", n, link={"bandwidth": 1 / BETA, "latency": 0.01})), SMALL)

    def test_large_messages(self):
        """All latencies but those of the first notice and of the last segment pass while another segment moves."""
        for n, segments in itertools.product((2, 3, 5), (2, 3, 5)):
            for rendezvous in (False, True):
                self.check(2 * (n - 1) / n * BETA * LARGE + (1 + rendezvous) * ALPHA, by(
                    {"rendezvous": rendezvous, "segments": segments}, star("ring", n)), LARGE)

    def test_ring(self):
        """From one message to the next pass all its segments, or one, its sum, its latency and a notice."""
        for n, segments, rendezvous, size in itertools.product((2, 3, 5), (1, 2, 3), (False, True), (1e4, 1e6, 1e7)):
            message, wait = BETA * size / n, (1 + rendezvous) * ALPHA
            summed, copied = (max(message, message / segments + wait + gamma * size / n / segments) for gamma in (GAMMA, 0))
            self.check(wait + message + (n - 1) * summed + (n - 2) * copied, by({"rendezvous": rendezvous, "segments": segments}, star(
                "ring", n)), size)

    def test_one_segment_without_rendezvous(self):
        for algorithm in ALGORITHMS:
            plain = star(algorithm, 6)
            self.assertEqual(alone(plain, SIZE), alone(by({"rendezvous": False, "segments": 1}, plain), SIZE))

    def test_nothing_else_to_receive(self):
        """Both halves of a tree's message back go as soon as they are whole: their notice has come long before."""
        there = 2 * ALPHA + (BETA + GAMMA) * SIZE / 2
        self.check(there + BETA * SIZE / 2 + BETA * SIZE / 2 + ALPHA, by(GLOO, star("binary-tree", 2)), SIZE)

    def test_late_rank(self):
        """Small messages: its own first one starts with it, that to it a latency later, and of the second ones that to it waits for
        the first one's notice and its own."""
        late = 1.0
        for starts, order in (([0, late], [3, 4]), ([late, 0], [4, 3])):
            found = alone(by({"rendezvous": True}, star("ring", 2)), SMALL, starts=starts)
            for end, latencies in zip(found, order):
                self.assertAlmostEqual(end, late + latencies * ALPHA, places=12)

    def test_between_two_levels(self):
        """Notices have come while sums are made in the nodes; what leaves these is whole, and so is what is spread in them."""
        inside, message = INNER_ALPHA + SIZE / 2 * INNER_BETA, BETA * SIZE / 2
        between = message + max(message, message / 2 + 2 * ALPHA + GAMMA * SIZE / 4) + ALPHA
        self.check(inside + GAMMA * SIZE / 2 + between + inside, by(GLOO, gpus(two_level("ring"), 2, 2)), SIZE)

    def test_inside_nodes(self):
        plain = gpus("ring", 1, 4)
        self.assertEqual(alone(plain, SIZE), alone(by(GLOO, plain), SIZE))

    def test_a_way_that_changes(self):
        """The notice of the second message has the latency of the moment at which the first one comes."""
        wan = {"between": ["a", "b"], "rtt": 0.02, "bandwidth": 1e18, "rtt_profile": [{"at_s": 0.015, "rtt": 0.06}]}
        point = {"cluster": {"nodes": 2, "wan": [wan], "placement": "linear", "regions": [{"name": name, "nodes": 1} for name in "ab"]}}
        for found in alone(by({"rendezvous": True}, point), SMALL, True):
            self.assertAlmostEqual(found, 2 * 0.01 + 2 * 0.03, places=12)


class Protocols(Moving):
    def protocols(self, seed, draw, algorithms, *options, workers=None, count=2, **changes):
        """`draw`: the clusters, each by some protocols."""
        rng = random.Random(f"protocol {seed}")
        described = draw(rng)
        ranks = described[0]["nodes"] * described[0]["gpus_per_node"]
        sweep = {"/all_reduce": algorithms, "/workers": workers(rng, ranks) if workers else [{}, {"slow": slow(rng, ranks)}],
                 **changes.pop("sweep", {})}
        return self.draw(rng, [one for description in described for one in follow(rng, description, count)], *options, sweep=sweep,
                         **{"schedule": {"name": "wfbp"}, "iterations": {"warmup": rng.randint(0, 1), "measured": rng.randint(1, 3)}, **changes})

    def far(self, seed, regions, nodes, count=1, change=lambda rng, description: description, algorithms=(*ALGORITHMS, "by-region"), **changes):
        self.protocols(f"regions {seed}", lambda rng: [change(rng, world(rng, regions, nodes, count)) | rng.choice([{}, {"placement": "linear"}])],
                       list(algorithms), shared=True, fidelities=["flow"], workers=lambda rng, ranks: [{}, {"slow": slow(rng, regions)}], **changes)


class Messages(Protocols):
    def test_one_collective(self):
        for seed, nodes in draws(enumerate([2, 3, 4, 7])):
            self.protocols(seed, lambda rng: [cluster(rng, nodes), cluster(rng, nodes, link={"bandwidth": "5Gbps", "latency": "2ms"})],
                           ALGORITHMS, schedule={"name": "sync-easgd"}, iterations={"warmup": 0, "measured": 1},
                           workers=lambda rng, ranks: [{}])

    def test_unequal_workers(self):
        for seed, nodes in draws(enumerate([2, 3, 4], 10)):
            self.protocols(seed, lambda rng: [cluster(rng, nodes)], ALGORITHMS, workers=lambda rng, ranks: rng.sample(
                disturbances(rng, ranks, slowdown=False), 3))

    def test_long_ways(self):
        """Latencies as long as steps."""
        for seed, nodes in draws(enumerate([2, 4], 20)):
            self.protocols(seed, lambda rng: [cluster(rng, nodes, link={"bandwidth": "1Gbps", "latency": "8ms"})], ALGORITHMS)

    def test_schedules(self):
        for seed, (nodes, count) in draws(enumerate([(3, 1), (2, 2)], 30)):
            names = [{"name": name} for name in oracle.SCHEDULES]
            drawn = [*accumulating(random.Random(seed), names[:4]), *LOCAL, *dts("serial"), *dts("serial", launch="gradient")]
            self.protocols(seed, lambda rng: [cluster(rng, nodes, count)], [ALGORITHMS[seed % 4]], sweep={"/schedule": drawn})

    def test_merging(self):
        """By the line through what a collective costs with all its notices."""
        for seed, (nodes, count) in draws(enumerate([(3, 1), (2, 2)], 40)):
            self.protocols(seed, lambda rng: [cluster(rng, nodes, count)], ["ring", "binary-tree"],
                           sweep={"/schedule": [{"name": "mg-wfbp"}, {"name": "mg-wfbp-optimal"}]}, layers=5)

    def test_compression(self):
        for seed, (nodes, count) in draws(enumerate([(3, 1), (2, 2)], 50)):
            drawn = compressing(random.Random(seed), [{"name": "wfbp"}, {"name": "sync-easgd"}, {"name": "mg-wfbp"}, *dts("serial")])
            gathering = [{"name": "wfbp", "compression": "sign"}, *dts("serial", compression=0.2)]
            self.protocols(seed, lambda rng: [cluster(rng, nodes, count)], ["ring", "halving-doubling"], sweep={"/schedule": drawn + gathering})

    def test_chunks(self):
        for seed, nodes in draws(enumerate([2, 5], 60)):
            self.protocols(seed, lambda rng: [cluster(rng, nodes)], [{"name": "binary-tree", "chunk": chunk} for chunk in ("200kB", 654321)])

    def test_several_gpus(self):
        """Nodes whose GPUs are late, and chunks of two levels."""
        for seed, (nodes, count) in draws(enumerate([(2, 2), (2, 3)], 70)):
            self.protocols(seed, lambda rng: [cluster(rng, nodes, count, nics=rng.choice([1, 2]))],
                           [*ALGORITHMS, two_level("ring", chunk="500kB"), two_level("binary-tree", chunk="300kB")],
                           workers=lambda rng, ranks: [{}, {"slow": slow(rng, ranks)}, one_slow(rng, ranks)], fidelities=[MOVING[seed % 2]])

    def test_one_node(self):
        self.protocols(75, lambda rng: [cluster(rng, 1, 3)], ["ring"])

    def test_turns(self):
        """A part of a message is one."""
        for seed, (nodes, count) in draws(enumerate([(2, 1), (4, 1), (2, 2)], 90)):
            self.protocols(seed, lambda rng: [cluster(rng, nodes, count, link={"bandwidth": "1Gbps", "latency": rng.uniform(0, 1e-3)})],
                           ["ring", ALGORITHMS[1 + seed % 3]], fidelities=["per-message"], sweep={
                               "/schedule": [*dts("pipelined"), *dts("pipelined", compression=0.3)[1:]]})

    def test_channels(self):
        for seed, nodes in draws(enumerate([2, 3], 100)):
            self.protocols(seed, lambda rng: [cluster(rng, nodes, link={"bandwidth": "2Gbps", "latency": rng.choice(["1ms", "20us"])})],
                           ["ring", "halving-doubling"], shared=True, sweep={"/channels": [2, 3]})

    def test_windows(self):
        self.protocols(110, lambda rng: [node_windows(rng, cluster(rng, 3, 2, nics=nics)) for nics in (1, 2)], ["ring", "binary-tree"])

    def test_latencies_that_vary_alike(self):
        spread = {"distribution": "empirical", "factors": [3, 3, 3]}
        self.protocols(115, lambda rng: [jittered(cluster(rng, 3, 2), spread, "link", "intra_node")], ["ring", "binary-tree"])

    def test_one_by_one(self):
        self.protocols(120, lambda rng: [cluster(rng, 4)], ALGORITHMS, "--no-symmetry")
        self.protocols(121, lambda rng: [cluster(rng, 2, 2)], ["ring", two_level("binary-tree", chunk="500kB")], "--no-symmetry")

    def test_regions(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 1)])):
            self.far(seed, regions, nodes)

    def test_regions_of_several_gpus(self):
        self.far(10, 2, 2, 2, algorithms=["ring", "by-region", two_level("binary-tree", chunk="500kB")])

    def test_regions_that_change(self):
        """A notice is as late as its way is long when it is sent."""
        for seed, (regions, nodes) in draws(enumerate([(2, 2), (3, 1)], 20)):
            self.far(seed, regions, nodes, 1, everything, ["by-region", *random.Random(seed).sample(ALGORITHMS, 2)])
        self.far(25, 2, 2, 2, everything, ["ring", "by-region"])

    def test_windows_of_regions(self):
        self.far(30, 3, 2, change=lambda rng, description: uneven(rng, windows(rng, node_windows(rng, description))))


class AcrossGpus(Protocols):
    def test_nodes_of_one_gpu(self):
        self.protocols(200, lambda rng: [cluster(rng, 3)], [FLAT], workers=lambda rng, ranks: [{}, {"slow": slow(rng, ranks)}])


class Operations(Trials):
    shared = True

    def test_everybody_and_odd_ranks(self):
        for seed, (nodes, count) in draws(enumerate([(2, 1), (5, 1), (2, 2), (3, 2)])):
            rng = random.Random(f"protocol {seed}")
            self.draw(rng, follow(rng, cluster(rng, nodes, count), 1), EVERYBODY + (ODD if nodes > 3 else []), fidelities=MOVING,
                      sweep={"/all_reduce": ["ring", ALGORITHMS[1 + seed % 3]], "/workers": [{}, {"slow": slow(rng, nodes * count)}]})


class Means(Running):
    def test_a_notice_takes_the_mean(self):
        """Down a tree of two, and up: rank 1 starts as much later as its last message took, and its own one starts then, or when the
        notice of rank 0 has come; that to it starts when its notice, too, has come, which it sends when it starts."""
        usual, moves = 0.01, 1e-4
        drawn = [max(max(usual, last) + moves + up, last + usual) + moves for last, up in itertools.product((0.005, 0.015), repeat=2)]
        steps = 20000
        self.write("trace0.json", KNOWN)
        for fidelity, seed in (("per-message", 1), ("flow", 2)):
            content = scenario(random.Random(0), sweep={}, schedule={"name": "sync-easgd"}, fidelity=fidelity, seed=seed, granularity="tensor",
                               all_reduce="binary-tree", iterations={"warmup": 3, "measured": steps}, cluster={
                                   "format": "cluster/1", "name": "two", "nodes": 2, "protocol": {"rendezvous": True},
                                   "link": {"bandwidth": 1e10, "latency": usual, "latency_jitter": HALVES}})
            self.run_well({"trace": "trace0.json", **content})
            error = statistics.pstdev(drawn) / steps ** 0.5
            self.assertAlmostEqual(self.points[0]["iteration_s"], 0.003 + statistics.mean(drawn), delta=4 * error)


class Without(Fidelities):
    """simctl with itself: where a protocol makes no difference."""

    def alike(self, seed, clusters, protocols, drawn, fidelities=MOVING, **changes):
        rng = random.Random(f"without {seed}")
        both = [one for description in clusters(rng) for one in (description, *(description | {"protocol": protocol} for protocol in protocols))]
        content = scenario(rng, sweep={"/schedule": drawn, "/fidelity": list(fidelities), "/cluster": both}, **changes)
        rows = [row for _, row in self.run_points(thinned(content, "/cluster"), [trace(rng)])]
        each = 1 + len(protocols)
        for first, other in ((rows[index - index % each], row) for index, row in enumerate(rows) if index % each):
            wrong = [f"{column}: {first[column]}, but {other[column]}" for column in first if column not in (*NOT_COMPARED, "/cluster")
                     and not self.same(first[column], other[column], 1e-9 * first["iteration_s"])]
            self.assertFalse(wrong, "\n".join([str(swept(other)), *wrong]))

    def test_nothing_said(self):
        self.alike(0, lambda rng: [cluster(rng, 3), cluster(rng, 2, 2)], [{}, {"segments": 1}, {"rendezvous": False}],
                   [{"name": "wfbp"}, {"name": "mg-wfbp"}], ("alpha-beta", *MOVING))

    def test_one_node(self):
        self.alike(1, lambda rng: [cluster(rng, 1, 3)], PROTOCOLS[1:3], [{"name": "wfbp"}, {"name": "mg-wfbp"}])

    def test_servers_and_neighbours(self):
        self.alike(2, lambda rng: [cluster(rng, 4), cluster(rng, 2, 2)], PROTOCOLS[:3],
                   [{"name": "ps-sgd"}, {"name": "asgd"}, {"name": "sgp"}, {"name": "d-psgd"}, {"name": "ad-psgd"}])

    def test_automatic_fidelity(self):
        """A message's segments follow each other, so that no link can be filled by two."""
        rng = random.Random(3)
        content = scenario(rng, sweep={"/cluster": [cluster(rng, 4, protocol=GLOO), cluster(rng, 2, 2, protocol=GLOO)]}, fidelity="auto",
                           schedule={"name": "wfbp"})
        for _, row in self.run_points(content, [trace(rng)]):
            self.assertEqual(row["fidelity"], "per-message")


class Refused(Running):
    def check(self, protocol, place):
        done = self.run_scenario(plain_scenario(cluster=plain_cluster(protocol=protocol), fidelity="per-message"))
        self.assertEqual(done.returncode, 3 if place else 0, done.stderr[-1000:])
        self.assertIn(f"/cluster/protocol{place}:" if place else "", done.stderr)

    def test_a_ring_across_gpus_of_nodes(self):
        """Whose messages inside nodes have no protocol."""
        inside = {"gpus_per_node": 2, "intra_node": {"bandwidth": 1e9, "latency": 1e-6}}
        done = self.run_scenario(plain_scenario(cluster=plain_cluster(protocol=GLOO, **inside), all_reduce=FLAT))
        self.assertEqual(done.returncode, 3)
        self.assertIn("/all_reduce: a ring across GPUs also sends messages inside nodes", done.stderr)

    def test_values(self):
        for protocol in ({}, {"segments": 1}, {"segments": 64}, {"rendezvous": True, "segments": 64}):
            self.check(protocol, "")
        for segments in (0, 65, -1, 1.5, "2"):
            self.check({"segments": segments}, "/segments")
        for rendezvous in (1, "true"):
            self.check({"rendezvous": rendezvous}, "/rendezvous")
        self.check({"eager": True}, "/eager")


if __name__ == "__main__":
    unittest.main()
