"""fsdp, zero: is everything gathered, scattered and kept when and where it should be?"""

import math
import random
import unittest

import sharded
from comparing import cluster, disturbances, fit, slow, trace
from running import draws
from test_by_layers import DRAWS, MB, ByLayers, Refusing, expected, late, layers, pair, steady
from test_flat_ring import FLAT
from test_gated import slow_links
from test_host import hosts
from test_messages import ALGORITHMS
from test_protocol import follow
from test_regions import world

# Four units of 1 s forward and 2 s backward, to gather or scatter each of which takes x s: seconds of an iteration. Where AG and RS meet, two
# streams gain nothing as flows.
FSDP = {"name": "fsdp", "units": "layer"}
COLUMNS = [FSDP, FSDP | {"streams": 2}, FSDP | {"prefetch": "post"}, FSDP | {"prefetch": "none"}, FSDP | {"limit_all_gathers": 1},
           FSDP | {"reshard_last": True}, FSDP | {"stage": 2}, {"name": "wfbp"}]
TABLE = {1: (14, 14, 17, 20, 17, 15, 14, 14), 2: (23, 19, 25, 31, 26, 25, 19, 22)}
# Of 7.5e9 parameters in float16 over 64 ranks, GB.
STATES = [({"name": "wfbp"}, 120), ({"name": "zero", "stage": 1}, 31.4), ({"name": "zero", "stage": 2}, 16.6), ({"name": "zero", "stage": 3}, 1.9),
          ({"name": "fsdp"}, 1.9)]


def four(x):
    return layers([(1, 2)] * 4, [2 * x] * 4)


def large():
    return layers([(0.1, 0.2)] * 10, [1500] * 10, "fp16")


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def check(self, seconds, point, fidelities=("alpha-beta", "per-message", "flow"), **others):
        for fidelity in fidelities:
            row = expected(point | {"fidelity": fidelity})
            self.assertAlmostEqual(row["iteration_s"] / seconds, 1, places=11, msg=f"{fidelity} {point['schedule']}")
            for column, value in others.items():
                self.assertAlmostEqual(row[column] / value, 1, places=11, msg=column)

    def test_table(self):
        for x, row in TABLE.items():
            for schedule, seconds in zip(COLUMNS, row):
                self.check(seconds, steady(four(x), pair(), schedule), ["alpha-beta", "per-message"])
                self.check(23 if x == 2 and schedule.get("streams") == 2 else seconds, steady(four(x), pair(), schedule), ["flow"])

    def test_hidden(self):
        """Where gathering lasts no longer than a forward, only the first and the last of it is exposed."""
        for seed in draws(range(20 * DRAWS)):
            rng = random.Random(seed)
            seconds = [(rng.uniform(1, 3), rng.uniform(1, 3)) for _ in range(rng.randint(1, 6))]
            half = [round(rng.uniform(0.1, 0.5), 6) for _ in seconds]
            total = sum(map(sum, seconds)) + 2 * half[0]
            self.check(total, steady(layers(seconds, [2 * x for x in half]), pair(), FSDP | {"streams": rng.choice([1, 2])}), ["alpha-beta"])

    def test_bytes(self):
        """What a rank of a ring sends: wfbp and stages 1 and 2, stage 3, without resharding, and with replicas."""
        sizes, n = [3, 8, 2, 7], 4
        m, last = sum(sizes) * MB, sizes[-1] * MB
        for schedule, sent in ((({"name": "zero", "stage": 1}), 2 * m), ({"name": "zero", "stage": 2, "gather": "next-forward"}, 2 * m), (FSDP, 3 * m - last),
                               ({"name": "zero", "stage": 3}, 3 * m - last), (FSDP | {"reshard_last": True}, 3 * m),
                               (FSDP | {"reshard_after_forward": False}, 2 * m), (FSDP | {"stage": 2}, 2 * m)):
            one = steady(layers([(1, 2)] * 4, sizes), pair(nodes=n), schedule | {"units": "layer"})
            self.assertAlmostEqual(expected(one)["sent_bytes_per_worker"], (n - 1) / n * sent)
            one["schedule"] |= {"shard_group": 2}
            self.assertAlmostEqual(expected(one)["sent_bytes_per_worker"], sent / 2 + 2 * (2 - 1) / 2 * m / 2)
        wfbp = expected(steady(layers([(1, 2)] * 4, sizes), pair(nodes=n), {"name": "bytescheduler"}))
        self.assertAlmostEqual(wfbp["sent_bytes_per_worker"], 2 * (n - 1) / n * m)

    def test_states(self):
        for schedule, gigabytes in STATES[1:]:
            row = expected(steady(large(), pair(nodes=64, link={"bandwidth": 1e12, "latency": 0}), schedule))
            self.assertEqual(round(row["memory_states_bytes"] / 1e9, 1), gigabytes)
        for schedule in ({"name": "bytescheduler", "partition": "1GB"}, {"name": "dear"}):
            self.assertEqual(expected(steady(large(), pair(), schedule))["memory_states_bytes"], 120e9)
        self.assertEqual(expected(steady(large(), pair(), {"name": "p3", "partition": "1GB"}))["memory_states_bytes"], 30e9)

    def test_peaks(self):
        """Two gathered in forward; in backward a unit and the next one, or by itself where that comes later; everything that stays."""
        for sizes, changes, peak in (([5, 1, 2, 3], {}, 6), ([1, 1, 4, 3], {}, 7), ([1, 1, 4, 3], {"prefetch": "post", "limit_all_gathers": 1}, 4),
                                     ([1, 1, 4, 3], {"prefetch": "none", "limit_all_gathers": 1, "reshard_last": True}, 4), ([1, 1, 4, 3], {"stage": 2}, 9),
                                     ([1, 1, 4, 3], {"limit_all_gathers": 3}, 8), ([1, 1, 4, 3], {"reshard_after_forward": False}, 9),
                                     ([1, 1, 4, 3], {"limit_all_gathers": 1, "parameter_bytes": 0.5}, 3.5)):
            row = expected(steady(layers([(1, 2)] * 4, sizes), pair(), FSDP | changes))
            self.assertAlmostEqual(row["memory_gathered_peak_bytes"], peak * MB, msg=changes)

    def test_units(self):
        for units, counts in (("layer", [1] * 5), (2, [2, 2, 1]), (7, [5]), ("4B", [2, 1, 1, 1]), ("5B", [2, 1, 2]), ("100B", [5]), ("1B", [1] * 5)):
            self.assertEqual(sharded.cut(units, [1, 3, 6, 2, 3]), counts)

    def test_layers_without_gradients(self):
        """Those before the first one with gradients are its unit's, the others that of the one before."""
        one = layers([(1, 2)] * 6, [0, 4, 0, 0, 2, 0])
        one["gradients"] = [gradient for gradient in one["gradients"] if gradient["bytes"]]
        units = sharded.in_units({"trace": one}, sharded.DEFAULTS | FSDP)
        self.assertEqual([(unit.parameters, len(unit.forward), sum(seconds for seconds, _ in unit.backward)) for unit in units],
                         [(4 * MB, 4, 8.0), (2 * MB, 2, 4.0)])

    def test_gradients_that_are_ready_late(self):
        """The last of three units ends when its gradient is ready, in the second one's layer, the second one with it; the rest is the first
        one's."""
        one = layers([(1, 2)] * 3, [1, 1, 1])
        for gradient, ready in zip(one["gradients"], (4.5, 4.5, 6)):
            gradient["ready_s"] = float(ready)
        units = sharded.in_units({"trace": one}, sharded.DEFAULTS | FSDP)
        self.assertEqual([unit.backward for unit in units], [[(1.5, False)], [], [(2.0, True), (2.0, True), (0.5, True)]])

    def test_one_unit(self):
        for changes, halves in (({}, 2), ({"reshard_last": True}, 3), ({"stage": 2}, 2), ({"name": "zero", "stage": 1}, 2),
                                ({"name": "zero", "stage": 2, "gather": "next-forward"}, 2), ({"name": "zero", "stage": 3}, 2)):
            one = steady(layers([(1, 2)] * 3, [1, 4, 3], update_s=6.0), pair(), FSDP | {"units": "1GB", **changes})
            self.check(9 + halves * 4 + 3, one, compute_s=12)

    def test_replicas(self):
        """Of four ranks, two of which shard: a half takes 1 s, and the all-reduce of a half of a half as long. The first unit's ends last."""
        one = steady(layers([(1, 2)] * 4, [2] * 4, update_s=2.0), pair(nodes=4), FSDP | {"shard_group": 2})
        self.check(12 + 1 + 1 + 1 + 1, one, ["alpha-beta", "per-message"])
        one["schedule"] |= {"shard_group": 1}
        self.check(4 + 2 + 4 * 3 + 2, one, ["alpha-beta", "per-message"], sent_bytes_per_worker=2 * 3 / 4 * 8 * MB)

    def test_steps_that_only_add_up(self):
        for name, changes, first in (("fsdp", {}, 13), ("zero", {"stage": 2}, 12)):
            one = steady(four(1), pair(), {"name": name, "units": "layer", "accumulate": 3, **changes})
            last = 14 if name == "fsdp" else 12 + 1 + 4
            self.check((2 * first + last) / 3, one)


class Properties(unittest.TestCase):
    """Of the oracle, on scenarios drawn at random."""

    def same(self, rows):
        for column in rows[0].keys() & rows[1].keys() - {"memory_states_bytes"}:
            found, right = (row[column] for row in rows)
            self.assertTrue(math.isclose(found, right, rel_tol=1e-9, abs_tol=1e-9 * rows[1]["iteration_s"]), f"{column}: {found} {right}")

    def points(self, seeds, disturbed=True):
        """No layer is without gradients; these are ready with it."""
        for seed in range(seeds * DRAWS):
            rng = random.Random(seed)
            nodes, gpus = rng.choice([(2, 1), (3, 1), (4, 1), (2, 2), (3, 2)])
            count = rng.randint(1, 5)
            one = layers([(rng.uniform(1, 3) / 1000, rng.uniform(1, 5) / 1000) for _ in range(count)], [rng.uniform(0.1, 2) for _ in range(count)])
            yield rng, steady(one, slow_links(rng, nodes, gpus), {}, workers=rng.choice(disturbances(rng, nodes * gpus)) if disturbed else {})

    def test_a_second_stream_is_never_slower(self):
        for rng, point in self.points(60, disturbed=False):
            schedule = fsdp(rng) | {"shard_group": "all"}
            rows = [expected(point | {"schedule": schedule | {"streams": streams}})["iteration_s"] for streams in (1, 2)]
            self.assertLessEqual(rows[1], rows[0] * (1 + 1e-9))

    def test_who_is_alone_all_reduces(self):
        for rng, point in self.points(30):
            schedules = {"name": "wfbp"}, {"name": rng.choice(["fsdp", "zero"]), "stage": rng.choice([2, 3]), "units": "layer", "shard_group": 1}
            self.same([expected(point | {"schedule": schedule}) for schedule in schedules])

    def test_gathered_layer_by_layer_is_dear(self):
        for rng, point in self.points(10):
            for fidelity in ("alpha-beta", "per-message", "flow"):
                dear = point | {"fidelity": fidelity, "schedule": {"name": "dear", "bucket": 1}}
                zero = dear | {"schedule": {"name": "zero", "stage": rng.choice([1, 2]), "units": "layer", "gather": "next-forward"},
                               "iterations": {"warmup": 3, "measured": 4}}  # dear leaves out its first step
                self.same([expected(dear), expected(zero)])

    def test_later_prefetching_is_never_faster(self):
        for rng, point in self.points(40, disturbed=False):
            schedule = fsdp(rng) | {"streams": 2, "shard_group": "all"}
            rows = [expected(point | {"schedule": schedule | {"prefetch": prefetch}})["iteration_s"] for prefetch in ("pre", "post", "none")]
            self.assertLessEqual(rows[0], rows[1] * (1 + 1e-9))
            self.assertLessEqual(rows[1], rows[2] * (1 + 1e-9))


def units(rng):
    return {"units": rng.choice(["layer", 1, 2, 3, "500kB", "2MB", "100MB"])}


def fsdp(rng):
    """Stage 3, or what stays."""
    schedule = {"name": "fsdp", **units(rng), "streams": rng.choice([1, 1, 2]), "prefetch": rng.choice(["pre", "pre", "post", "none"]),
                "limit_all_gathers": rng.choice([1, 2, 2, 3])}
    more = [{}, {}, {"reshard_last": True}, {"reshard_after_forward": False}, {"stage": 2}, {"name": "zero", "stage": 3}]
    some = [{}, {"parameter_bytes": rng.choice([0.5, 2]), "reduce_bytes": rng.choice([0.5, 1, 2])}, {"accumulate": rng.randint(2, 3)}]
    return schedule | rng.choice(more) | rng.choice(some)


def zero(rng):
    some = [{}, {"parameter_bytes": rng.choice([0.5, 2])}, {"accumulate": rng.randint(2, 3)}, {"optimizer_bytes_per_parameter": 8}]
    return {"name": "zero", "stage": rng.choice([1, 2]), **units(rng), "streams": rng.choice([1, 2]), "gather": rng.choice(["after-update", "next-forward"]),
            **rng.choice(some)}


def schedules(rng, count=4):
    return [fsdp(rng) for _ in range(count)] + [zero(rng) for _ in range(count // 2)]


def shared(rng, drawn, groups):
    """By some of the ranks each."""
    return [schedule | {"shard_group": rng.choice(groups)} for schedule in drawn]


class Table(ByLayers):
    def test_table(self):
        for x, row in TABLE.items():
            self.hold(row, four(x), pair(), COLUMNS, ["alpha-beta", "per-message"])
            flows = [23 if x == 2 and schedule.get("streams") == 2 else seconds for schedule, seconds in zip(COLUMNS, row)]
            self.hold(flows, four(x), pair(), COLUMNS, ["flow"])

    def test_states(self):
        self.write("trace0.json", large())
        content = steady("trace0.json", pair(nodes=64), {"name": "wfbp"}, format="scenario/1", name="states", sweep={"/schedule": [one for one, _ in STATES]})
        self.run_well(content)
        self.assertEqual([round(row["memory_states_bytes"] / 1e9, 1) for row in self.rows()], [gigabytes for _, gigabytes in STATES])

    def test_defaults(self):
        """Units of 100 MB, and what else a schedule does that says nothing."""
        rng, many = random.Random(2), layers([(0.1, 0.2)] * 6, [70, 40, 20, 50, 150, 10])
        for name, stages in (("fsdp", [3]), ("zero", [1, 2, 3])):
            short = [{"name": name, "stage": stage} for stage in stages]
            known = {"units": "100MB", "reshard_after_forward": True, "prefetch": "pre", "reshard_last": False, "limit_all_gathers": 2}
            long = [schedule | (known if schedule["stage"] == 3 else {"units": "100MB", "gather": "after-update"}) | {
                "streams": 1, "shard_group": "all", "parameter_bytes": 1, "reduce_bytes": 1, "accumulate": 1} for schedule in short]
            self.draw(rng, [pair(1e-3, 3, link={"bandwidth": 1e9, "latency": 1e-3})], short + long, one=lambda rng: many, name="defaults")
            rows = [row["iteration_s"] for row in self.rows()]
            self.assertEqual(rows[:len(rows) // 2], rows[len(rows) // 2:])


class Sharded(ByLayers):
    def test_equal_workers(self):
        for seed, nodes in draws(enumerate([1, 2, 3, 4, 6] * DRAWS)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], schedules(rng, 6), sweep={"/all_reduce": ["ring", rng.choice(ALGORITHMS[1:])]})

    def test_unequal_workers(self):
        for seed, nodes in draws(enumerate([2, 3, 4] * DRAWS, 100)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], schedules(rng), sweep={"/workers": disturbances(rng, nodes, slowdown=False)[1:]})

    def test_layers_that_meet_a_busy_channel(self):
        for seed, nodes in draws(enumerate([2, 4] * DRAWS, 200)):
            rng = random.Random(seed)
            drawn = disturbances(rng, nodes)[6:]
            by_traffic = [one | {"overlap_slowdown": {"factor": one["overlap_slowdown"], "by": "traffic"}} for one in drawn]
            self.draw(rng, [slow_links(rng, nodes)], shared(rng, schedules(rng), ["all", 2]), sweep={"/workers": drawn + by_traffic})

    def test_replicas(self):
        for seed, (nodes, groups) in draws(enumerate([(2, [1]), (4, [1, 2]), (6, [2, 3]), (8, [2, 4])] * DRAWS, 300)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], shared(rng, schedules(rng), groups), sweep={
                "/all_reduce": ["ring", rng.choice(ALGORITHMS[1:])], "/workers": [{}, {"slow": slow(rng, nodes)}]})

    def test_several_gpus(self):
        for seed, (nodes, gpus, groups) in draws(enumerate([(1, 3, ["node", 1, 3]), (2, 2, ["node", 1, "all"]), (3, 2, ["node", "all"]), (2, 4, ["node", 2, "all"]),
                                                      (4, 2, ["node", 4, 2])] * DRAWS, 400)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes, gpus)], shared(rng, schedules(rng), groups), one=lambda rng: trace(rng, 3), sweep={
                "/all_reduce": ["ring", rng.choice(ALGORITHMS[1:]), FLAT]})

    def test_unequal_workers_of_several_gpus(self):
        for seed, (nodes, gpus, groups) in draws(enumerate([(2, 2, [1, "all"]), (4, 2, [1, 4, "all"])] * DRAWS, 430)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes, gpus)], shared(rng, schedules(rng), groups), one=lambda rng: trace(rng, 3), sweep={
                "/all_reduce": ["ring", FLAT], "/workers": disturbances(rng, nodes * gpus, slowdown=False)[1:4]})

    def test_unequal_workers_of_a_node(self):
        """Whose ring waits for nobody but its own ranks, and for each of these only where it comes to it."""
        for seed, (nodes, gpus, groups) in draws(enumerate([(1, 3, ["all"]), (2, 4, ["node", 2])] * DRAWS, 460)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes, gpus)], shared(rng, schedules(rng), groups), one=lambda rng: trace(rng, 3), sweep={
                "/all_reduce": [FLAT], "/workers": disturbances(rng, nodes * gpus, slowdown=False)[1:4]})

    def test_channels(self):
        for seed, nodes in draws(enumerate([2, 4] * DRAWS, 500)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], shared(rng, schedules(rng), ["all"]),
                      sweep={"/channels": [1, 2, 3], "/workers": [{}, {"slow": slow(rng, nodes)}]})

    def hosted(self, seed, change):
        rng = random.Random(seed)
        nodes = rng.choice([2, 4])
        self.draw(rng, [hosts(rng, slow_links(rng, nodes)) for _ in range(2)], [schedule | change for schedule in schedules(rng)],
                  sweep={"/workers": disturbances(rng, nodes, slowdown=False)[:3]})

    def test_hosts(self):
        for seed in draws(range(600, 600 + 2 * DRAWS)):
            self.hosted(seed, {"streams": 1})

    def test_a_host_of_several_streams(self):
        """It posts one collective after the other, whichever stream that is for."""
        for seed in draws(range(650, 650 + 2 * DRAWS)):
            self.hosted(seed, {"streams": 2})
            self.hosted(seed + 1000, {"streams": 1, "shard_group": 2})

    def test_latencies(self):
        for seed, groups in draws(enumerate([["all"], [1, 2]] * DRAWS, 680)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, 4, latency_cv=0.5)], shared(rng, schedules(rng, 6), groups), fidelities=["alpha-beta"],
                      sweep={"/workers": [{}, {"slow": slow(rng, 4)}]})

    def test_gradients_that_are_ready_late(self):
        for seed, nodes in draws(enumerate([2, 3] * DRAWS, 690)):
            rng = random.Random(seed)
            self.draw(rng, [slow_links(rng, nodes)], schedules(rng), one=late, sweep={"/workers": [{}, *disturbances(rng, nodes)[1::3]]})

    def test_other_clusters(self):
        for seed in draws(range(700, 700 + DRAWS)):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, 4, fit=fit(rng)), cluster(rng, 2, 2, fit=fit(rng))], shared(rng, schedules(rng), ["all", 2]),
                      fidelities=["alpha-beta"])
            self.draw(rng, follow(rng, slow_links(rng, 4)), shared(rng, schedules(rng), ["all", 2]), fidelities=["per-message", "flow"])

    def test_regions(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 2), (3, 2)] * DRAWS, 800)):
            rng = random.Random(seed)
            drawn = world(rng, regions, nodes)
            self.draw(rng, [drawn], schedules(rng), fidelities=["alpha-beta", "flow"], sweep={"/workers": [{}, {"slow": slow(rng, drawn["nodes"])}]})
            drawn = world(rng, regions, nodes, 2)
            self.draw(rng, [drawn], shared(rng, schedules(rng), ["node", 1, 2]), fidelities=["alpha-beta", "flow"])
            self.draw(rng, [drawn], shared(rng, schedules(rng), ["node", 1, 2]), fidelities=["per-message", "flow"],
                      sweep={"/all_reduce": ["by-region", FLAT, {"name": "by-region", "chunk": "100kB"}]})

    def test_long_runs(self):
        for seed, nodes in draws(enumerate([2, 4] * DRAWS, 900)):
            rng = random.Random(seed)
            workers = [{"jitter": {"distribution": "lognormal", "cv": cv}} for cv in (0.3, 1.0)]
            self.draw(rng, [slow_links(rng, nodes)], shared(rng, schedules(rng), ["all", 2]), iterations={"warmup": 2, "measured": 12},
                      sweep={"/workers": workers})

    def test_one_by_one(self):
        rng = random.Random(1000)
        self.draw(rng, [slow_links(rng, 4), slow_links(rng, 2, 2)], shared(rng, schedules(rng), ["all", 2]), "--no-symmetry")


class Groups(Refusing):
    """Are groups refused that would not be alike?"""

    def test_groups(self):
        two = {"gpus_per_node": 2, "intra_node": {"bandwidth": 1e9, "latency": 0}}
        for size, nodes, inside, refused in ((2, 4, {}, False), (3, 4, {}, True), (5, 4, {}, True), (3, 6, two, True), (4, 6, two, False), (6, 6, two, False),
                                             (1, 3, two, False), ("node", 3, two, False), ("all", 3, {}, False)):
            self.check(FSDP | {"shard_group": size}, "/schedule/shard_group" if refused else None, nodes=nodes, **inside)


if __name__ == "__main__":
    unittest.main()
