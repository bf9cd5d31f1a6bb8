"""bytescheduler, p3, dear: do parts move by priority and credit, and does each layer's forward wait for its own?"""

import itertools
import math
import os
import random
import unittest

import comparing
import moving
from comparing import Comparison, cluster, compression, disturbances, fit, node_windows, scenario, slow, trace
from running import Running, draws, thinned
from test_flat_ring import FLAT
from test_flows import profiles
from test_gated import slow_links
from test_host import hosts
from test_messages import ALGORITHMS, MOVING
from test_protocol import follow
from test_regions import uneven, world
from test_server import long_updates

FIDELITIES = ["alpha-beta", *MOVING]
DRAWS = 2 if os.environ.get("SYNCOPATE_SLOW") else 1
MB = 1000000
ENDLESS = "1000GB"

# Of layers whose forward and backward last 1 s each; MB of each, the seconds of an all-reduce of nothing, and those of an iteration.
WHOLE = {"name": "bytescheduler", "credit": 1, "partition": "1GB"}
COLUMNS = [{"name": "wfbp"}, WHOLE | {"priority": "fifo"}, WHOLE, WHOLE | {"partition": "2MB"}, WHOLE | {"partition": "1MB"}, {"name": "dear", "bucket": 1}]
NOTHING_NEW = {"name": "wfbp"}, WHOLE | {"priority": "fifo", "forward": "barrier"}
TABLE = [((1, 4, 4), 0, (13, 13, 12, 11, 11, 11)), ((1, 4, 4), 0.25, (13.75, 13.75, 12.75, 12.25, 13.25, 11.75)), ((1, 1, 1), 0, (7, 7, 7))]


def expected(point):
    """In any fidelity."""
    if point["schedule"]["name"] in moving.SCHEDULES and point.get("fidelity", "alpha-beta") != "alpha-beta":
        return moving.expected(point, point["fidelity"] == "flow")
    return comparing.expected(point)


def layers(seconds, megabytes, dtype="fp32", **changes):
    """A trace: (forward, backward) of each, and a gradient."""
    names = [f"l{index}" for index in range(len(seconds))]
    return {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "known"}, "model": {"name": "known", "batch": 1, "dtype": dtype},
            "layers": [{"name": name, "type": "x", "forward_s": forward, "backward_s": backward} for name, (forward, backward) in zip(names, seconds)],
            "gradients": [{"name": name, "layer": name, "bytes": round(size * MB)} for name, size in reversed(list(zip(names, megabytes)))], **changes}


def pair(latency=0.0, nodes=2, **changes):
    """All-reduces of two take 1 s for each MB, and as many times `latency` as they have messages, two."""
    return {"format": "cluster/1", "name": "known", "nodes": nodes, "link": {"bandwidth": 1e6, "latency": latency}, **changes}


def steady(one, description, schedule, **changes):
    return {"trace": one, "cluster": description, "schedule": schedule, "iterations": {"warmup": 2, "measured": 4}, **changes}


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def check(self, seconds, point, fidelities=FIDELITIES, **others):
        for fidelity in fidelities:
            row = expected(point | {"fidelity": fidelity})
            self.assertAlmostEqual(row["iteration_s"] / seconds, 1, places=11, msg=fidelity)
            for column, value in others.items():
                self.assertAlmostEqual(row[column], value, places=9, msg=column)

    def test_table(self):
        for sizes, latency, row in TABLE:
            for schedule, seconds in zip(COLUMNS, row):
                self.check(seconds, steady(layers([(1, 1)] * 3, sizes), pair(latency / 2), schedule))

    def test_a_period(self):
        """With k parts in flight one of them ends every max(b P, (a + b P)/k)."""
        for latency, k, rounds in ((0.5, 1, 12), (0.5, 2, 6), (3, 3, 4), (0.1, 4, 3)):
            a, end = 2 * latency, rounds * (2 * latency + 1) + k - 1 if k < 2 * latency + 1 else 2 * latency + 12
            for rule, credit in (("positive", k * MB), ("positive", (k - 1) * MB + 1), ("fits", k * MB), ("fits", (k + 1) * MB - 1)):
                schedule = {"name": "bytescheduler", "partition": "1MB", "credit": credit, "rule": rule}
                self.check(3 + end, steady(layers([(1, 2)], [12]), pair(latency), schedule, iterations={"warmup": 1, "measured": 2}),
                           ["alpha-beta"], communications_per_iteration=12, communication_s=end, exposed_communication_s=end)
            self.assertEqual(end, a + 12 if k >= a + 1 else rounds * (a + 1) + k - 1)

    def test_over_servers(self):
        """A push in k parts, and the last part's pull."""
        for k, schedule in itertools.product((1, 2, 5), ({"name": "p3"}, {"name": "bytescheduler", "over": "servers"})):
            drawn = steady(layers([(1, 2)], [10]), pair(), schedule | {"partition": 10 * MB // k, "servers": 2})
            for nodes in (1, 2):
                drawn["cluster"] |= {"nodes": nodes}
                drawn["schedule"] |= {"servers": nodes}
                self.check(3 + (1 + 1 / k) * 10, drawn, communications_per_iteration=2 * k, sent_bytes_per_worker=10 * MB,
                           bytes_per_worker_per_iteration=20 * MB, compute_s=3)

    def test_one_message_at_a_time(self):
        """p3's parts each take a latency; as many as the credit allows pass theirs together."""
        drawn = steady(layers([(1, 2)], [4]), pair(0.5), {"name": "p3", "partition": "1MB"}, cluster=pair(0.5, nodes=1))
        self.check(3 + 4 * 1.5 + 1.5, drawn)
        drawn["schedule"] = {"name": "bytescheduler", "partition": "1MB", "credit": "4MB", "over": "servers"}
        self.check(3 + 0.5 + 4 + 0.5 + 1, drawn)

    def test_updates(self):
        """Of 8 s, by bytes. Both layers are there when backward ends; forward of the first waits for its own update."""
        one = layers([(1, 1), (1, 1)], [1, 3], update_s=8.0)
        for name in ("dear", "bytescheduler"):
            self.check(4 + 8, steady(one, pair(link={"bandwidth": 1e21, "latency": 0}), {"name": name}), compute_s=12, wait_s=0)
        # The last layer's are there after 5 s, when the first one's parts have moved for 1 and its update has lasted for 2.
        self.check(12 + 1, steady(one, pair(), WHOLE | {"partition": "1MB"}), exposed_communication_s=1)

    def test_the_first_step_is_not_measured(self):
        """It waits for nothing."""
        for schedule in ({"name": "bytescheduler"}, {"name": "p3"}, {"name": "bytescheduler", "over": "servers"}, {"name": "dear"},
                         {"name": "bytescheduler", "forward": "barrier"}):
            drawn = steady(layers([(1, 2)], [1]), pair(), schedule)
            self.check(expected(drawn)["iteration_s"], drawn | {"iterations": {"warmup": 0, "measured": 1}})

    def test_buckets(self):
        """The last two layers' 4 MB are one, which is copied for half a second, halves of 2 s; the first layer's 5 MB follow them, and
        are gathered before them."""
        drawn = steady(layers([(1, 1)] * 3, [5, 2, 2]), pair(copy_s_per_B=1e-6 / 8), {"name": "dear", "bucket": "4MB"})
        scattered, gathered = 2 + 0.5 + 2 + 2.5, 2.5 + 2
        self.check(scattered + gathered + 0.5 + 2, drawn, communications_per_iteration=4, sent_bytes_per_worker=9 * MB,
                   bytes_per_worker_per_iteration=9 * MB * 1.5)

    def test_decoding(self):
        """Halved, encoded for 1 s each and decoded for 2: two parts of a layer are encoded one after the other."""
        coded = {"compression": {"name": "fp16", "encode_s_per_B": 1e-6, "decode_s_per_B": 2e-6}}
        one = layers([(1, 1)], [2])
        self.check(2 + 2 + 0.5 + 4, steady(one, pair(), {"name": "bytescheduler", "partition": "1MB", **coded}), exposed_communication_s=6.5,
                   bytes_per_worker_per_iteration=MB, sent_bytes_per_worker=MB)
        self.check(2 + 2 + 1 + 4, steady(one, pair(), {"name": "dear", **coded}), exposed_communication_s=7)


class Properties(unittest.TestCase):
    """Of the oracle, on scenarios drawn at random."""

    def points(self, seeds, schedules, disturbed=True):
        for seed in range(seeds * DRAWS):
            rng = random.Random(seed)
            nodes, gpus = rng.choice([(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (3, 2)])
            workers = rng.choice(disturbances(rng, nodes * gpus)) if disturbed else {}
            point = steady(trace(rng), slow_links(rng, nodes, gpus), {}, workers=workers)
            yield rng, [expected(point | {"schedule": schedule}) for schedule in schedules]

    def same(self, rows, tolerance=1e-9):
        for column in rows[0].keys() & rows[1].keys():
            found, right = (row[column] for row in rows)
            self.assertTrue(math.isclose(found, right, rel_tol=tolerance, abs_tol=tolerance * rows[1]["iteration_s"]), f"{column}: {found} {right}")

    def test_nothing_new_is_wfbp(self):
        for some in ({}, {"compression": {"name": "fp16", "encode_s_per_B": 1e-9, "decode_s_per_B": 2e-9}}):
            for _, rows in self.points(20, [schedule | some for schedule in NOTHING_NEW]):
                self.same(rows)

    def test_nothing_new_over_servers_is_ps_sgd(self):
        new = {"name": "bytescheduler", "over": "servers", "priority": "fifo", "forward": "barrier", "credit": ENDLESS, "partition": ENDLESS}
        for colocated in ({}, {"colocated": True}):
            for _, rows in self.points(20, [{"name": "ps-sgd", "in_flight": "pipelined", **colocated}, new | colocated]):
                self.same(rows)

    def test_endless_credit_leaves_nothing_to_choose(self):
        for partition in ("1GB", "200kB"):
            some = {"name": "bytescheduler", "partition": partition, "credit": ENDLESS}
            for _, rows in self.points(15, [some, some | {"priority": "fifo"}], disturbed=False):
                self.same(rows)

    def test_priority_never_delays_equal_workers(self):
        """Whole tensors, one at a time, or one byte of credit: the first layer's forward begins no later."""
        for _, (fifo, by_layer) in self.points(30, [WHOLE | {"priority": "fifo"}, WHOLE], disturbed=False):
            self.assertLessEqual(by_layer["iteration_s"], fifo["iteration_s"] * (1 + 1e-9))


class ByLayers(Comparison):
    """simctl beside the oracle."""

    def expected(self, index, point):
        point["region_order"] = self.points[index].get("region_order")
        return expected(point)

    def draw(self, rng, clusters, schedules, *options, one=lambda rng: trace(rng, 4), fidelities=FIDELITIES, sweep=None, **changes):
        sweep = {"/cluster": clusters, "/schedule": schedules, **(sweep or {}), "/fidelity": fidelities}
        content = scenario(rng, sweep=sweep, **{"iterations": {"warmup": rng.randint(0, 2), "measured": rng.randint(1, 4)}, **changes})
        return self.compare(content, [one(rng)], *options)

    def hold(self, seconds, one, description, schedules, fidelities=FIDELITIES, iterations=None, **others):
        """Of each schedule, in each fidelity, and other columns, of all alike or one by one; the oracle is asked as well."""
        content = {"format": "scenario/1", "name": "known", "cluster": description, "schedule": schedules[0],
                   "sweep": {"/fidelity": fidelities, "/schedule": schedules}, "iterations": iterations or {"warmup": 2, "measured": 4}}
        self.compare(content, [one])
        for row, (_, index) in zip(self.rows(), itertools.product(fidelities, range(len(schedules)))):
            for column, values in {"iteration_s": seconds, **others}.items():
                self.assertAlmostEqual(row[column], values[index], delta=1e-9 * values[index], msg=f"{column} {row}")


def parts(rng):
    """Of some hundred kB, with credit for one, some or all."""
    size, rule = round(10 ** rng.uniform(5, 6.5)), rng.choice(["positive", "positive", "fits"])
    credit = size * rng.choice([1, 1.5, 2, 3.2, 1000]) if rule == "fits" or rng.random() < 0.7 else 1
    return {"name": "bytescheduler", "partition": size, "credit": round(credit), **({"rule": rule} if rule == "fits" else {}),
            **rng.choice([{}, {}, {"priority": "fifo"}]), **rng.choice([{}, {}, {"forward": "barrier"}])}


def dear(rng):
    return {"name": "dear", "bucket": rng.choice([1, "300kB", "1MB", "1GB"])}


def collectives(rng, count=3):
    return [parts(rng) for _ in range(count)] + [dear(rng)]


def over_servers(rng, nodes):
    """p3, or parts of any kind."""
    options = {"servers": rng.randint(1, nodes), "colocated": rng.random() < 0.4, "server_s_per_B": rng.choice([0, 10 ** rng.uniform(-11, -9.3)])}
    some = parts(rng) | {"over": "servers"} if rng.random() < 0.6 else {"name": "p3", "partition": rng.choice(["160kB", "500kB", "3MB"])}
    return some | options


def coded(rng, schedule, ways=None):
    way = compression(rng)
    while ways and (way if isinstance(way, str) else way["name"]) not in ways:
        way = compression(rng)
    return schedule | {"compression": way}


def late(rng):
    """Gradients that are ready in any order of the layers, some together."""
    one = trace(rng, 5)
    rng.shuffle(one["gradients"])
    backward = sum(layer["backward_s"] for layer in one["layers"])
    shares = sorted(rng.choice([0.3, 0.5, 0.9, 1, rng.uniform(0.1, 1)]) for _ in one["gradients"])
    for gradient, share in zip(one["gradients"], shares):
        gradient["ready_s"] = share * backward
    one.pop("iteration", None)
    return one


class Table(ByLayers):
    def test_table(self):
        for sizes, latency, row in TABLE:
            self.hold(row, layers([(1, 1)] * 3, sizes), pair(latency / 2), COLUMNS[:len(row)])

    def test_over_servers(self):
        for k in (1, 2, 5):
            schedules = [{"name": "p3"}, {"name": "bytescheduler", "over": "servers"}]
            self.hold([3 + (1 + 1 / k) * 10] * 2, layers([(1, 2)], [10]), pair(), [one | {"partition": 10 * MB // k, "servers": 2} for one in schedules],
                      communications_per_iteration=[2 * k] * 2, sent_bytes_per_worker=[10 * MB] * 2, compute_s=[3] * 2)

    def test_nothing_new_is_wfbp(self):
        """A barrier, and one part at a time in the order of posting; what it decodes, it does when all are there."""
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (2, 2)] * DRAWS)):
            rng = random.Random(seed)
            coded = {"compression": {"name": "fp16", "encode_s_per_B": 1e-9, "decode_s_per_B": 2e-9}}
            content = scenario(rng, iterations={"warmup": 1, "measured": 3}, sweep={
                "/cluster": [slow_links(rng, nodes, gpus)], "/fidelity": FIDELITIES, "/workers": disturbances(rng, nodes * gpus)[::2],
                "/schedule": [schedule | some for some in ({}, coded) for schedule in NOTHING_NEW]})
            self.write("trace0.json", late(rng))
            self.run_well({"trace": "trace0.json", **thinned(content, "/schedule")})
            rows = self.rows()
            for old, new in zip(rows[::2], rows[1::2]):
                for column in ("iteration_s", "iteration_p95_s", "communication_s", "bytes_per_worker_per_iteration", "sent_bytes_per_worker"):
                    self.assertAlmostEqual(new[column] / old[column], 1, places=9, msg=f"{column} {old} {new}")

    def test_defaults(self):
        """4 MB of 16, and 160 kB by themselves; buckets of 25 MB."""
        parts = {"partition": "4MB", "credit": "16MB", "priority": "layer", "forward": "layer", "rule": "positive", "over": "all-reduce"}
        for name, known in (("bytescheduler", parts), ("dear", {"bucket": "25MB"}), ("p3", {"partition": "160kB"})):
            self.draw(random.Random(1), [pair(link={"bandwidth": 1e8, "latency": 1e-4})], [{"name": name}, {"name": name, **known}],
                      one=lambda rng: layers([(0.1, 0.2), (0.1, 0.3), (0.2, 0.2)], [9, 23, 31]), name="defaults")
            rows = self.rows()
            for first, second in zip(rows[:3], rows[3:]):
                self.assertEqual(first["iteration_s"], second["iteration_s"])

    def test_bytes_sent(self):
        """What a rank of a ring sends of an all-reduce and of an all-gather; pushes, and messages to peers."""
        ways = [({"name": "wfbp"}, 1.5), ({"name": "s-sgd", "compression": "top-k"}, 3), ({"name": "wfbp", "compression": "fp16"}, 1.5),
                ({"name": "wfbp", "accumulate": 3}, 1.5), ({"name": "bytescheduler"}, 1.5), ({"name": "bytescheduler", "compression": "sign"}, 3),
                ({"name": "dear"}, 1.5 / 1.25), ({"name": "ps-sgd"}, 0.5), ({"name": "p3"}, 0.5), ({"name": "asgd"}, 0.5), ({"name": "sgp"}, 1),
                ({"name": "d-psgd"}, 1), ({"name": "sasgd", "interval": 2}, 1.5), ({"name": "dts", "delay": 1}, 1.5),
                ({"name": "dts", "delay": 1, "compression": 0.1}, 3), ({"name": "lasgd", "tau_max": 2}, 1.5)]
        content = scenario(random.Random(1), sweep={"/cluster": [pair(1e-4, 4)], "/schedule": [schedule for schedule, _ in ways]})
        self.write("trace0.json", layers([(1, 1)] * 2, [1, 3]))
        self.run_well({"trace": "trace0.json", **content})
        for row, (schedule, share) in zip(self.rows(), ways):
            self.assertAlmostEqual(row["sent_bytes_per_worker"] / row["bytes_per_worker_per_iteration"], share, places=9, msg=schedule)


class OverAllReduces(ByLayers):
    def test_equal_workers(self):
        for seed, nodes in draws(enumerate([1, 2, 3, 4, 6] * DRAWS)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], collectives(rng), sweep={"/all_reduce": ["ring", rng.choice(ALGORITHMS[1:])]})

    def test_unequal_workers(self):
        for seed, nodes in draws(enumerate([2, 3, 5] * DRAWS, 100)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], collectives(rng), sweep={"/workers": disturbances(rng, nodes, slowdown=False)[1:]})

    def test_layers_that_meet_a_busy_channel(self):
        for seed, nodes in draws(enumerate([2, 4] * DRAWS, 200)):
            rng = random.Random(seed)
            drawn = disturbances(rng, nodes)[6:]
            by_traffic = [one | {"overlap_slowdown": {"factor": one["overlap_slowdown"], "by": "traffic"}} for one in drawn]
            self.draw(rng, [slow_links(rng, nodes)], collectives(rng), sweep={"/workers": drawn + by_traffic})

    def test_updates(self):
        for seed, nodes in draws(enumerate([1, 2, 4] * DRAWS, 300)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], collectives(rng), one=long_updates, sweep={"/workers": disturbances(rng, nodes, slowdown=False)[:4]})

    def test_gradients_in_any_order(self):
        for seed, nodes in draws(enumerate([2, 3] * DRAWS, 350)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], collectives(rng), one=late, sweep={"/workers": [{}, *disturbances(rng, nodes)[1::3]]})

    def test_latencies(self):
        for seed, nodes in draws(enumerate([2, 4] * DRAWS, 380)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes, latency_cv=0.5)], collectives(rng), fidelities=["alpha-beta"],
                      sweep={"/workers": [{}, {"slow": slow(rng, nodes)}]})

    def test_channels(self):
        for seed, nodes in draws(enumerate([2, 4] * DRAWS, 400)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], collectives(rng), sweep={"/channels": [1, 2, 4], "/workers": [{}, {"slow": slow(rng, nodes)}]})

    def test_several_gpus(self):
        for seed, (nodes, gpus) in draws(enumerate([(1, 3), (2, 2), (3, 2)] * DRAWS, 500)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes, gpus)], collectives(rng), sweep={
                "/all_reduce": ["ring", rng.choice(ALGORITHMS[1:]), FLAT], "/workers": [{}] + [{"slow": slow(rng, nodes * gpus)}] * (nodes > 1)})

    def test_unequal_workers_of_a_node(self):
        """Whose ring waits for each of its ranks only where it comes to it."""
        for seed, gpus in draws(enumerate([3, 4] * DRAWS, 550)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, 1, gpus)], collectives(rng), sweep={
                "/all_reduce": [{"name": "ring", "across": "gpus"}], "/workers": disturbances(rng, gpus, slowdown=False)[1:4]})

    def test_compression(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (4, 1), (2, 2)] * DRAWS, 600)):
            rng = random.Random(seed)
            drawn = [coded(rng, parts(rng)) for _ in range(4)] + [coded(rng, dear(rng), ["none", "fp16", "random-k"]) for _ in range(3)]
            copies = slow_links(rng, nodes, gpus, copy_s_per_B=10 ** rng.uniform(-10, -9))
            self.draw(rng, [copies], drawn, sweep={"/workers": [{}, *disturbances(rng, nodes * gpus, slowdown=False)[3:4]]})

    def test_hosts(self):
        for seed, nodes in draws(enumerate([2, 3] * DRAWS, 700)):
            rng = random.Random(seed)
            self.draw(rng, [hosts(rng, slow_links(rng, nodes)) for _ in range(2)], collectives(rng),
                      sweep={"/workers": disturbances(rng, nodes, slowdown=False)[:3]})

    def test_other_clusters(self):
        for seed in draws(range(800, 800 + DRAWS)):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, 4, fit=fit(rng)), cluster(rng, 2, 2, fit=fit(rng))], collectives(rng, 2), fidelities=["alpha-beta"])
            self.draw(rng, follow(rng, slow_links(rng, 3)), collectives(rng, 2), fidelities=["per-message", "flow"])

    def test_regions(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 2), (3, 2)] * DRAWS, 900)):
            rng = random.Random(seed)
            drawn = world(rng, regions, nodes)
            self.draw(rng, [drawn], collectives(rng), fidelities=["alpha-beta", "flow"], sweep={"/workers": [{}, {"slow": slow(rng, drawn["nodes"])}]})

    def test_long_runs(self):
        """Ranks far apart, many parts."""
        for seed, nodes in draws(enumerate([2, 4] * DRAWS, 1000)):
            rng = random.Random(seed)
            workers = [{"jitter": {"distribution": "lognormal", "cv": cv}} for cv in (0.3, 1.0)]
            self.draw(rng, [slow_links(rng, nodes) for _ in range(2)], collectives(rng), iterations={"warmup": 2, "measured": 12},
                      sweep={"/workers": workers})

    def test_one_by_one(self):
        rng = random.Random(1100)
        self.draw(rng, [slow_links(rng, 3), slow_links(rng, 2, 2)], collectives(rng), "--no-symmetry")


class Servers(ByLayers):
    def many(self, rng, nodes, count=4):
        return [over_servers(rng, nodes) for _ in range(count)]

    def test_stars(self):
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (3, 1), (5, 1), (1, 2), (2, 2)] * DRAWS)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes, gpus)], self.many(rng, nodes), fidelities=["alpha-beta"],
                      sweep={"/workers": disturbances(rng, nodes * gpus, slowdown=False)})

    def test_gradients_in_any_order(self):
        for seed, nodes in draws(enumerate([2, 3] * DRAWS, 50)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], self.many(rng, nodes), one=late, fidelities=["alpha-beta"],
                      sweep={"/workers": [{}, *disturbances(rng, nodes)[1::3]]})

    def test_flows(self):
        """Also to colocated servers, whose links hand on what one part cannot use, and where windows limit them."""
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (4, 1), (2, 2)] * DRAWS, 100)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes, gpus), node_windows(rng, slow_links(rng, nodes, gpus))], self.many(rng, nodes, 3),
                      sweep={"/workers": disturbances(rng, nodes * gpus, slowdown=False)[::2]})

    def test_layers_that_meet_a_busy_channel(self):
        for seed, nodes in draws(enumerate([3] * DRAWS, 200)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], self.many(rng, nodes), fidelities=["alpha-beta", "flow"],
                      sweep={"/workers": disturbances(rng, nodes)[-3:]})

    def test_compression(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (2, 2)] * DRAWS, 300)):
            rng = random.Random(seed)
            drawn = [comparing.over_servers(rng, over_servers(rng, nodes)) for _ in range(5)]
            self.draw(rng, [slow_links(rng, nodes, gpus)], drawn, fidelities=["alpha-beta"],
                      sweep={"/workers": disturbances(rng, nodes * gpus, slowdown=False)[:4]})

    def test_hosts(self):
        for seed, nodes in draws(enumerate([1, 3] * DRAWS, 400)):
            rng = random.Random(seed)
            self.draw(rng, [hosts(rng, slow_links(rng, nodes))], self.many(rng, nodes), fidelities=["alpha-beta"],
                      sweep={"/workers": [{}, {"slow": slow(rng, nodes)}]})

    def test_regions(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 2), (3, 2)] * DRAWS, 500)):
            rng = random.Random(seed)
            drawn = uneven(rng, profiles(rng, world(rng, regions, nodes)))
            self.draw(rng, [world(rng, regions, nodes)], self.many(rng, 2), fidelities=["alpha-beta", "flow"])
            self.draw(rng, [drawn], self.many(rng, 2), fidelities=["flow"], sweep={"/workers": [{}, {"slow": slow(rng, drawn["nodes"])}]})

    def test_one_by_one(self):
        rng = random.Random(600)
        self.draw(rng, [slow_links(rng, 3), slow_links(rng, 2, 2)], self.many(rng, 2), "--no-symmetry", fidelities=["alpha-beta"])


class Refusing(Running):
    def check(self, schedule, place=None, **changes):
        """`place`: the JSON pointer of an error."""
        done = self.run_scenario({"format": "scenario/1", "name": "refused", **steady("trace.json", pair(**changes), schedule)})
        self.assertEqual(done.returncode, 3 if place else 0, done.stderr[-1000:])
        self.assertIn(f"{place}:" if place else "", done.stderr)


class Refused(Refusing):
    """Is what cannot be refused, and nothing more?"""

    def test_credit(self):
        for rule, credit, place in (("fits", 4 * MB - 1, "/schedule/credit"), ("fits", 4 * MB, None), ("positive", 1, None)):
            self.check({"name": "bytescheduler", "rule": rule, "credit": credit}, place)

    def test_compression(self):
        for way, place in (("fp16", None), ("random-k", None), ("gtop-k", "/schedule/compression"), ("sign", "/schedule/compression")):
            self.check({"name": "dear", "compression": way}, place)
            self.check({"name": "bytescheduler", "compression": way})
            self.check({"name": "p3", "compression": way})

    def test_servers(self):
        for key, value in (("duplex", False), ("in_flight", "serial"), ("service", "fifo"), ("within_node", "serial")):
            self.check({"name": "p3", key: value}, f"/schedule/{key}")
        self.check({"name": "bytescheduler", "servers": 2}, "/schedule/servers")
        self.check({"name": "bytescheduler", "over": "servers", "servers": 2})


if __name__ == "__main__":
    unittest.main()
