"""diloco: does each fragment leave at its snapshot, arrive at its outer step, and hold up those who wait for it, and nobody else?"""

import random
import unittest

import collectives
import diloco
from comparing import cluster, disturbances, fit, node_windows, slow, trace
from running import draws
from test_by_layers import DRAWS, FIDELITIES, MOVING, ByLayers, expected, late, layers, pair, steady
from test_flat_ring import FLAT
from test_flows import profiles
from test_gated import slow_links
from test_host import hosts
from test_messages import ALGORITHMS
from test_protocol import follow
from test_regions import uneven, windows, world

INNER = ["wfbp", "s-sgd", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", {"name": "fusion", "first_bucket": "300kB", "bucket": "1MB"}, {"name": "horovod", "cycle_s": 2e-3}]
GIGABIT = {"format": "cluster/1", "name": "known", "nodes": 8, "link": {"bandwidth": "1Gbps", "latency": 0}}

# Streaming DiLoCo, Table 4: of 1e9 parameters the least Gb/s for a compute utilisation. DiLoCo has one fragment; 4 bits at 50% are 0.31 here.
UTILISATIONS = (0.5, 0.8, 0.9, 0.95, 0.99)
STREAMING = {"name": "diloco", "fragments": 8, "posts": "layer"}
TABLE_4 = [({"name": "wfbp"}, (86.8, 152.6, 184.2, 222.3, 569.0)), ({"name": "diloco", "posts": "layer"}, (1.4, 6.2, 13.3, 23.3, 86.8)), (STREAMING, (1.4, 5.2, 9.1, 16.0, 28.1)),
           (STREAMING | {"overlap": 1}, (1.4, 4.3, 6.2, 9.1, 11.0)), (STREAMING | {"overlap": 1, "bits": 4}, (0.4, 0.9, 1.7, 2.0, 3.0))]
GRID = [10 ** (-1 + 4 * k / 49) for k in range(50)]


def billion(step=1.0, count=8):
    """Parameters in bf16, in equal layers."""
    sizes = [2e9 * (index + 1) // count - 2e9 * index // count for index in range(count)]
    return layers([(step / 3 / count, step * 2 / 3 / count)] * count, [size / 1e6 for size in sizes], "bf16")


def line(gigabits):
    """13 1/3 bits of a parameter, which has 16."""
    return pair(fit={"a_s": 0, "b_s_per_B": 40 / 3 / (gigabits * 1e9) / 2, "nodes": 2, "algorithm": "ring"})


def nearest(gigabits):
    return min(range(50), key=lambda k: abs(GRID[k] / gigabits - 1))


def utilisation(row):
    return row["compute_s"] / row["iteration_s"]


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def share(self, schedule, description=GIGABIT, step=1.0, fidelity="alpha-beta", **changes):
        one = steady(billion(step), description, {"name": "diloco", **schedule}, iterations={"warmup": 0, "measured": 1}, fidelity=fidelity, **changes)
        return utilisation(expected(one))

    def test_an_all_reduce(self):
        """2(N-1)/N of 16 Gb."""
        self.assertAlmostEqual(collectives.over_ranks({"cluster": GIGABIT, "trace": billion()}, "all-reduce")(2e9), 28.0)
        late = GIGABIT | {"link": {"bandwidth": "1Gbps", "latency": 0.5}}
        self.assertAlmostEqual(collectives.over_ranks({"cluster": late, "trace": billion()}, "all-reduce")(2e9), 28 + 14 * 0.5)

    def test_utilisation(self):
        for schedule, share in (({"interval": 500}, 500 / 528), ({}, 0.78125), ({"fragments": 8}, 0.78125), ({"fragments": 8, "overlap": 1}, 100 / 120),
                                ({"fragments": 8, "overlap": 5}, 1.0), ({"overlap": 100}, 1.0)):
            self.assertAlmostEqual(self.share(schedule), share, places=11, msg=schedule)
        self.assertEqual(round(100 * self.share({"interval": 500}), 2), 94.70)
        self.assertEqual(round(100 * self.share({"fragments": 8, "overlap": 1}), 2), 83.33)

    def test_eager(self):
        """A round lasts as long as its steps or its all-reduce."""
        for step in (0.07, 0.28, 1.0):
            self.assertAlmostEqual(self.share({"overlap": 100}, step=step), min(1, 100 * step / 28), places=11)

    def test_fidelities(self):
        for fidelity in MOVING:
            self.assertAlmostEqual(self.share({"interval": 10, "fragments": 2, "overlap": 1, "bits": 8}, fidelity=fidelity), 10 / (10 + 2 * (7 - 1)), places=11)

    def test_turns(self):
        """Of five steps and three fragments."""
        self.assertEqual(diloco.ends({"interval": 5, "fragments": 3}), [2, 4, 5])
        self.assertEqual(diloco.ends({"interval": 100, "fragments": 8}), [13, 25, 38, 50, 63, 75, 88, 100])

    def test_patterns(self):
        one = layers([(1, 1)] * 5, [1, 2, 4, 8, 16])
        for pattern, sizes in (("strided", [9, 18, 4]), ("sequential", [3, 12, 16])):
            drawn = {"trace": one, "schedule": diloco.DEFAULTS | {"fragments": 3, "pattern": pattern}}
            self.assertEqual([part[0].size for part in diloco.fragments(drawn)], [1e6 * size for size in sizes])
            drawn["schedule"] |= {"posts": "layer"}
            self.assertEqual([sum(message.size for message in part) for part in diloco.fragments(drawn)], [1e6 * size for size in sizes])
            self.assertTrue(all(part[0].position <= part[-1].position for part in diloco.fragments(drawn)))

    def test_quantize_and_matchmake(self):
        """Two of 4 MB in float32: 2 s in 16 bits, or a quarter of that. Who stands still does so on top of it."""
        one = layers([(1, 1)] * 2, [2, 2])
        for changes, seconds in (({}, 2), ({"bits": 4}, 0.5), ({"quantize_s_per_B": 1e-6}, 2 + 4), ({"matchmaking_s": 3}, 2 + 3), ({"matchmaking_s": 3, "overlap": 1}, 1),
                                 ({"quantize_s_per_B": 1e-6, "overlap": 1, "matchmaking_s": 1}, 4)):
            row = expected(steady(one, pair(), {"name": "diloco", "interval": 2, **changes}, iterations={"warmup": 0, "measured": 2}))
            self.assertAlmostEqual(row["iteration_s"], 4 + seconds / 2, places=11, msg=changes)
            self.assertAlmostEqual(row["exposed_communication_s"] + row["wait_s"], seconds / 2, places=11)

    def test_islands(self):
        """Two nodes of two: 1 s in each for the two gradients' inner all-reduces of a step (the first one beside backward), 2 MB of a fragment
        between them (2 s), 1 s to halve it for the other GPU and 1 s to swap the halves: broadcast takes 2 s."""
        one = layers([(1, 1)] * 2, [1, 1], "fp16")
        description = pair(nodes=2, gpus_per_node=2, intra_node={"bandwidth": 1e6, "latency": 0})
        for fidelity in FIDELITIES:
            row = expected(steady(one, description, {"name": "diloco", "interval": 4, "worker": "node"}, fidelity=fidelity))
            self.assertAlmostEqual(row["iteration_s"], 5 + (2 + 2) / 4, places=11)
            self.assertAlmostEqual(row["communications_per_iteration"], 2 + 0.75 * 0.5, places=11)

    def test_a_single_worker_sends_nothing(self):
        description = pair(nodes=1, gpus_per_node=2, intra_node={"bandwidth": 1e6, "latency": 0})
        schedule = {"name": "diloco", "interval": 4, "worker": "node", "quantize_s_per_B": 1.0, "matchmaking_s": 9}
        row = expected(steady(layers([(1, 1)] * 2, [1, 1], "fp16"), description, schedule))
        self.assertAlmostEqual(row["iteration_s"], 5, places=11)

    def test_table_4(self):
        """Both runs of the grid's neighbours: the least that is enough."""
        one = billion(0.1, 24)
        for schedule, row in TABLE_4:
            found = {}
            for place, (share, published) in enumerate(zip(UTILISATIONS, row)):
                here = nearest(published) - (schedule.get("bits") == 4 and place == 0)
                for k in (here - 1, here):
                    if k not in found:
                        found[k] = utilisation(expected(steady(one, line(GRID[k]), schedule, iterations={"warmup": 0, "measured": 100})))
                self.assertLess(found[here - 1], share)
                self.assertGreaterEqual(found[here], share)


def parameters(rng, one, **changes):
    """Of a model that has this trace."""
    interval = rng.choice([1, 2, 3, 5, 8])
    fragments = rng.randint(1, min(interval, len({gradient["layer"] for gradient in one["gradients"]})))
    result = {"name": "diloco", "interval": interval, "fragments": fragments, "overlap": rng.choice([0, interval // fragments, rng.randint(0, interval // fragments)]),
              "pattern": rng.choice(["strided", "sequential"]), "bits": rng.choice([4, 8, 11, 16, 32]), "quantize_s_per_B": rng.choice([0, 10 ** rng.uniform(-11, -9)]), **changes}
    more = [{}, {}, {"matchmaking_s": 10 ** rng.uniform(-4, -1.7)}, {"mix": rng.random()}]
    return result | rng.choice(more)


def gpus(rng, one):
    return parameters(rng, one, posts=rng.choice(["fragment", "layer"]))


def quorums(rng, one, **changes):
    overlap = rng.choice([0, 1, 3])
    return parameters(rng, one, interval=max(overlap, rng.choice([1, 2, 5])), fragments=1, overlap=overlap, quorum=rng.uniform(0.2, 0.99), **changes) | {
        "matchmaking_s": 0, "deadline_s": rng.choice([0, 10 ** rng.uniform(-3, -0.5)])}


def nodes(rng, one):
    return parameters(rng, one, worker="node", inner=rng.choice(INNER))


def regions(rng, one):
    return parameters(rng, one, worker="region", inner=rng.choice(INNER))


class Diloco(ByLayers):
    """Beside simctl."""

    def check(self, rng, clusters, kinds, *options, count=2, one=lambda rng: trace(rng, 4), **changes):
        drawn = one(rng)
        schedules = [kind(rng, drawn) for kind in kinds for _ in range(count)]
        self.draw(rng, clusters, schedules, *options, one=lambda rng: drawn, **changes)


class Table(Diloco):
    def test_table_4(self):
        """24 of its 25 cells."""
        self.write("trace0.json", billion(0.1, 24))
        content = steady("trace0.json", line(1), TABLE_4[0][0], format="scenario/1", name="streaming", iterations={"warmup": 0, "measured": 100}, sweep={
            "/schedule": [schedule for schedule, _ in TABLE_4], "/cluster/fit/b_s_per_B": [line(gigabits)["fit"]["b_s_per_B"] for gigabits in GRID]})
        self.run_well(content)
        rows, wrong = self.rows(), []
        for number, (schedule, published) in enumerate(TABLE_4):
            reached = [utilisation(row) for row in rows[50 * number:50 * (number + 1)]]
            for share, gigabits in zip(UTILISATIONS, published):
                found = next(k for k, value in enumerate(reached) if value >= share)
                if found != nearest(gigabits):
                    wrong.append((schedule.get("bits"), share, round(GRID[found], 2)))
        self.assertEqual(wrong, [(4, 0.5, 0.31)])

    def test_utilisation(self):
        one = billion()
        known = [({"interval": 500}, 500 / 528), ({}, 0.78125), ({"fragments": 8, "overlap": 1}, 100 / 120), ({"fragments": 8, "overlap": 5}, 1.0), ({"overlap": 100}, 1.0)]
        self.hold([1 / share for _, share in known], one, GIGABIT, [{"name": "diloco", **schedule} for schedule, _ in known], iterations={"warmup": 0, "measured": 1})

    def test_defaults(self):
        """One fragment in rounds of 100 steps, in 16 bits."""
        known = {"interval": 100, "fragments": 1, "pattern": "strided", "overlap": 0, "mix": 0, "bits": 16, "quantize_s_per_B": 0, "worker": "gpu", "inner": "wfbp",
                 "outer": {"optimizer": "nesterov", "lr": 0.7, "momentum": 0.9}, "matchmaking_s": 0, "posts": "fragment", "quorum": 1}
        rng = random.Random(0)
        self.draw(rng, [slow_links(rng, 3)], [{"name": "diloco"}, {"name": "diloco", **known}], fidelities=["alpha-beta", "per-message"], name="defaults")
        first, second = (self.rows()[index:index + 2] for index in (0, 2))
        self.assertEqual([row["iteration_s"] for row in first], [row["iteration_s"] for row in second])


class Gpus(Diloco):
    def test_equal_workers(self):
        for seed, count in draws(enumerate([1, 2, 3, 4, 6] * DRAWS)):
            rng = random.Random(seed)
            self.check(rng, [slow_links(rng, count)], [gpus], count=5, sweep={"/all_reduce": ["ring", rng.choice(ALGORITHMS[1:])]})

    def test_unequal_workers(self):
        for seed, count in draws(enumerate([2, 3, 4] * DRAWS, 100)):
            rng = random.Random(seed)
            self.check(rng, [slow_links(rng, count)], [gpus], count=4, sweep={"/workers": disturbances(rng, count, slowdown=False)[1:]})

    def test_layers_that_meet_a_busy_channel(self):
        for seed, count in draws(enumerate([2, 4] * DRAWS, 200)):
            rng = random.Random(seed)
            drawn = disturbances(rng, count)[6:]
            by_traffic = [one | {"overlap_slowdown": {"factor": one["overlap_slowdown"], "by": "traffic"}} for one in drawn]
            self.check(rng, [slow_links(rng, count)], [gpus], count=4, sweep={"/workers": drawn + by_traffic})

    def test_several_in_a_node(self):
        for seed, (count, each) in draws(enumerate([(1, 3), (2, 2), (3, 2)] * DRAWS, 300)):
            rng = random.Random(seed)
            self.check(rng, [slow_links(rng, count, each)], [gpus], count=3, sweep={"/all_reduce": ["ring", rng.choice(ALGORITHMS[1:]), FLAT], "/workers": [{}, {"slow": slow(rng, count * each)}]})

    def test_channels(self):
        for seed, count in draws(enumerate([2, 4] * DRAWS, 400)):
            rng = random.Random(seed)
            self.check(rng, [slow_links(rng, count)], [gpus], count=4, sweep={"/channels": [1, 2, 3], "/workers": [{}, {"slow": slow(rng, count)}]})

    def test_hosts(self):
        for seed, count in draws(enumerate([2, 4] * DRAWS, 500)):
            rng = random.Random(seed)
            self.check(rng, [hosts(rng, slow_links(rng, count)) for _ in range(2)], [gpus], count=4, sweep={"/workers": disturbances(rng, count, slowdown=False)[:3]})

    def test_latencies(self):
        rng = random.Random(600)
        self.check(rng, [slow_links(rng, 4, latency_cv=0.5)], [gpus], count=6, fidelities=["alpha-beta"], sweep={"/workers": [{}, {"slow": slow(rng, 4)}]})

    def test_gradients_that_are_ready_late(self):
        for seed, count in draws(enumerate([2, 3] * DRAWS, 650)):
            rng = random.Random(seed)
            self.check(rng, [slow_links(rng, count)], [gpus], count=4, one=late, sweep={"/workers": [{}, *disturbances(rng, count)[1::3]]})

    def test_other_clusters(self):
        for seed in draws(range(700, 700 + DRAWS)):
            rng = random.Random(seed)
            self.check(rng, [cluster(rng, 4, fit=fit(rng)), cluster(rng, 2, 2, fit=fit(rng))], [gpus], count=4, fidelities=["alpha-beta"])
            self.check(rng, [node_windows(rng, slow_links(rng, 3)), node_windows(rng, slow_links(rng, 2, 2, nics=2))], [gpus], count=3)
            self.check(rng, follow(rng, slow_links(rng, 4)), [gpus], count=4, fidelities=MOVING)

    def test_regions(self):
        for seed, (count, most, each) in draws(enumerate([(2, 3, 1), (3, 2, 1), (2, 2, 2)] * DRAWS, 800)):
            rng = random.Random(seed)
            drawn = uneven(rng, windows(rng, world(rng, count, most, each)))
            workers = [{}, {"slow": slow(rng, drawn["nodes"] * each)}]
            self.check(rng, [drawn], [gpus], count=3, fidelities=["alpha-beta", "flow"], sweep={"/workers": workers})
            self.check(rng, [drawn | {"placement": "linear"}], [gpus], count=3, fidelities=MOVING, sweep={"/workers": workers, "/all_reduce": ["ring", "by-region"]})
            self.check(rng, [profiles(rng, drawn)], [gpus], count=2, fidelities=["flow"])

    def test_long_runs(self):
        rng = random.Random(900)
        self.check(rng, [slow_links(rng, 4)], [gpus], count=4, iterations={"warmup": 2, "measured": 40}, sweep={
            "/workers": [{"jitter": {"distribution": "lognormal", "cv": cv}} for cv in (0.3, 1.0)]})

    def test_one_by_one(self):
        rng = random.Random(950)
        self.check(rng, [slow_links(rng, 4), slow_links(rng, 2, 2)], [gpus], "--no-symmetry", count=4)


class Late(Diloco):
    """Averagings that do not wait for all."""

    KNOWN = layers([(0.4, 0.6)], [4])
    FOUR = {"format": "cluster/1", "name": "known", "nodes": 4, "link": {"bandwidth": "16Mbps", "latency": 0}}  # an all-reduce of 2 MB takes 1.5 s

    def share(self, slow, seconds, rank=0, **schedule):
        """Of a rank's rounds of two steps, of a second each; `slow`: by how much ranks are slower."""
        workers = {"slow": [{"ranks": ranks, "factor": factor} for ranks, factor in slow.items()]}
        content = {"format": "scenario/1", "name": "known", "trace": self.KNOWN, "cluster": self.FOUR, "schedule": {"name": "diloco", "interval": 2, **schedule},
                   "workers": workers, "iterations": {"warmup": 2, "measured": 8}}
        for fidelity in ("alpha-beta", "per-message"):
            dates = [step.start for step in diloco.run(content | {"fidelity": fidelity}).steps[rank]][::2]
            for before, after in zip(dates[1:], dates[2:]):
                self.assertAlmostEqual(after - before, seconds)
        self.compare(content | {"sweep": {"/fidelity": ["alpha-beta", "per-message"]}}, [self.KNOWN])

    def test_known(self):
        """Two steps, what the deadline is waited for, and 1.5 s; who is late in one round is in the next, too."""
        self.share({"3": 1.5}, 2 + 0.3 + 1.5, quorum=0.5, deadline_s=0.3)
        self.share({"3": 1.1}, 2.2 + 1.5, quorum=0.5, deadline_s=0.3)  # it is in time, and waited for no longer
        self.share({"3": 1.15}, 2.3 + 1.5, quorum=0.5, deadline_s=0.3)  # just so
        self.share({"3": 1.5}, 2 + 1.5, quorum=0.75)
        self.share({"2-3": 1.5}, 3 + 1.5, quorum=0.75, deadline_s=0.3)  # both come at the same time
        self.share({"2": 1.25, "3": 1.5}, 2.5 + 1.5, quorum=0.75, deadline_s=0.3)

    def test_a_late_worker_takes_the_model_over(self):
        """Rank 0 has its 3 s of a round, and a second for 2 MB."""
        self.share({"0": 1.5}, 3 + 1, quorum=0.5, deadline_s=0.1)
        self.share({"3": 1.5}, 3 + 1, rank=3, quorum=0.5, deadline_s=0.1)

    def test_what_it_misses_does_not_slow_it_down(self):
        """The others wait while it moves."""
        content = {"format": "scenario/1", "name": "known", "cluster": self.FOUR, "workers": {"slow": [{"ranks": "3", "factor": 1.5}], "overlap_slowdown": 0.5},
                   "schedule": {"name": "diloco", "interval": 2, "quorum": 0.5}, "iterations": {"warmup": 2, "measured": 8}}
        self.compare(content | {"sweep": {"/fidelity": ["alpha-beta", "per-message"]}}, [self.KNOWN])

    def test_two_models_under_way(self):
        """Rank 3 misses every round, and each time waits for the model that it took over a round before."""
        for factor in (2.5, 4, 7):
            content = {"format": "scenario/1", "name": "known", "cluster": self.FOUR, "workers": {"slow": [{"ranks": "3", "factor": factor}]},
                       "schedule": {"name": "diloco", "interval": 1, "overlap": 1, "quorum": 0.5}, "iterations": {"warmup": 2, "measured": 20}}
            self.compare(content | {"sweep": {"/fidelity": ["alpha-beta", "per-message"]}}, [layers([(0.04, 0.06)], [4])])

    def test_gpus(self):
        for seed, count in draws(enumerate([2, 3, 5] * DRAWS)):
            rng = random.Random(seed)
            self.check(rng, [slow_links(rng, count)], [quorums], count=4, sweep={"/workers": disturbances(rng, count, slowdown=False)[1:]}, fidelities=["alpha-beta", "per-message"],
                       iterations={"warmup": 2, "measured": rng.choice([3, 20])})

    def test_islands(self):
        for seed, (count, each) in draws(enumerate([(2, 2), (4, 2)] * DRAWS, 100)):
            rng = random.Random(seed)
            kind = lambda rng, one: quorums(rng, one, worker="node", inner=rng.choice(INNER))
            self.check(rng, [slow_links(rng, count, each)], [kind], count=3, one=lambda rng: trace(rng, 3), sweep={"/workers": disturbances(rng, count * each, slowdown=False)[1:]},
                       fidelities=["alpha-beta", "per-message"])

    def test_regions(self):
        for seed in draws(range(200, 200 + DRAWS)):
            rng = random.Random(seed)
            drawn = uneven(rng, windows(rng, world(rng, 3, 2, 1)))
            self.check(rng, [drawn | {"placement": "linear"}], [quorums, lambda rng, one: quorums(rng, one, worker="region")], count=2, fidelities=["per-message"],
                       sweep={"/workers": [{"slow": slow(rng, drawn["nodes"])}, {"jitter": {"distribution": "lognormal", "cv": 0.5}}]})


class Islands(Diloco):
    def test_equal_workers(self):
        for seed, (count, each) in draws(enumerate([(1, 2), (2, 2), (3, 2), (2, 3), (3, 1)] * DRAWS)):
            rng = random.Random(seed)
            self.check(rng, [slow_links(rng, count, each)], [nodes], count=4, one=lambda rng: trace(rng, 3), sweep={"/all_reduce": ["ring", rng.choice(ALGORITHMS[1:]), FLAT]})

    def test_unequal_workers(self):
        for seed, (count, each) in draws(enumerate([(2, 2), (3, 2), (2, 3)] * DRAWS, 100)):
            rng = random.Random(seed)
            self.check(rng, [slow_links(rng, count, each)], [nodes], one=lambda rng: trace(rng, 3), sweep={"/workers": disturbances(rng, count * each, slowdown=False)[1:]})

    def test_layers_that_meet_a_busy_channel(self):
        rng = random.Random(200)
        drawn = disturbances(rng, 4)[6:]
        by_traffic = [one | {"overlap_slowdown": {"factor": one["overlap_slowdown"], "by": "traffic"}} for one in drawn]
        self.check(rng, [slow_links(rng, 2, 2)], [nodes], one=lambda rng: trace(rng, 3), sweep={"/workers": drawn + by_traffic})

    def test_hosts(self):
        for seed, (count, each) in draws(enumerate([(2, 2), (2, 3)] * DRAWS, 300)):
            rng = random.Random(seed)
            self.check(rng, [hosts(rng, slow_links(rng, count, each)) for _ in range(2)], [nodes], one=lambda rng: trace(rng, 3), sweep={"/workers": [{}, {"slow": slow(rng, count * each)}]})

    def test_other_clusters(self):
        for seed in draws(range(400, 400 + DRAWS)):
            rng = random.Random(seed)
            self.check(rng, [cluster(rng, 3, 2, fit=fit(rng)), slow_links(rng, 2, 2, latency_cv=0.5)], [nodes], count=4, fidelities=["alpha-beta"])
            self.check(rng, follow(rng, slow_links(rng, 2, 2)), [nodes], fidelities=MOVING)

    def test_regions(self):
        for seed, (count, most, each) in draws(enumerate([(2, 3, 1), (3, 2, 1), (2, 2, 2), (3, 2, 2)] * DRAWS, 500)):
            rng = random.Random(seed)
            drawn = uneven(rng, windows(rng, world(rng, count, most, each)))
            self.check(rng, [drawn], [nodes, regions], count=2, one=lambda rng: trace(rng, 3), fidelities=["alpha-beta", "flow"], sweep={
                "/workers": [{}, {"slow": slow(rng, drawn["nodes"] * each)}]})
            self.check(rng, [drawn | {"placement": "linear"}], [nodes, regions], count=2, one=lambda rng: trace(rng, 3), fidelities=MOVING, sweep={"/all_reduce": ["by-region", FLAT]})

    def test_one_by_one(self):
        rng = random.Random(600)
        self.check(rng, [slow_links(rng, 2, 2)], [nodes], "--no-symmetry", count=4)


if __name__ == "__main__":
    unittest.main()
