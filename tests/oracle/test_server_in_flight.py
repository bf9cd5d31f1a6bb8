"""Messages to and from parameter servers that do not wait for each other's latencies: do only their bytes wait, in their order?"""

import itertools
import random
import statistics
import unittest

from comparing import cluster, disturbances, expected, node_windows, over_servers, scenario, trace
from running import draws
from test_flows import profiles
from test_known_values import TRACE, TWO, point
from test_latencies import HALVES, KNOWN, jittered
from test_regions import uneven, windows, world
from test_server import SCHEDULES, long_updates
from test_server_regions import FIDELITIES, OverRegions, placed, two_regions

FLOWS = {"latency_jitter": {"distribution": "uniform", "cv": 1e-15}}  # draws that do not matter
BOTH = [{"name": "ps-sgd"}, {"name": "asgd"}]  # alike for a client alone


def pipelined(schedule):
    """The same, where it is allowed."""
    return {key: value for key, value in schedule.items() if key not in ("duplex", "within_node")} | {"in_flight": "pipelined"}


def either(rng, schedule, share):
    return pipelined(schedule) if rng.random() < share else schedule


def gradients(count, size):
    """Ready at once, after 3 ms."""
    return TRACE | {"gradients": [{"name": str(index), "layer": "l", "bytes": size} for index in range(count)]}


def rtts(rng, description):
    """They become shorter and longer."""
    for entry in description["wan"]:
        dates = sorted(rng.uniform(0, 0.15) for _ in range(30))
        entry["rtt_profile"] = [{"at_s": date, "rtt": f"{rng.uniform(0, 20):.4f}ms"} for date in dates]
    return description


def few_or_many_bytes(rng, layers):
    return rng.choice([trace, long_updates])(rng, layers)


def linked(description, more):
    return description | {"link": description["link"] | more}


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def check(self, milliseconds, drawn, **others):
        for fidelity, more in itertools.product(("alpha-beta", "flow"), ({}, FLOWS)):
            row = expected(drawn | {"fidelity": fidelity, "cluster": linked(drawn["cluster"], more)})
            self.assertAlmostEqual(row["iteration_s"], milliseconds / 1000, places=12)
            for column, value in others.items():
                self.assertAlmostEqual(row[column], value, places=12, msg=column)

    def one(self, schedule, count, latency=5e-3, **changes):
        """1 MB, in 1 ms, and a latency of 5 ms."""
        drawn = point(schedule, **{"trace": gradients(count, 1000000), **changes})
        drawn["cluster"]["link"]["latency"] = latency
        return drawn

    def test_messages_at_once(self):
        """k pushes last for one latency and k transfers; pulls follow a transfer apart, the last of them a latency and a transfer later."""
        for schedule, count in itertools.product(BOTH, (1, 2, 5)):
            busy = 2 * 5 + (count + 1) * 1
            self.check(3 + busy, self.one(schedule | {"in_flight": "pipelined"}, count, nodes=1), communication_s=busy / 1000)
            self.check(3 + (count + 1) * (5 + 1), self.one(schedule, count, nodes=1), communication_s=(count + 1) * 6 / 1000)

    def test_clients_share(self):
        """Two of them, whose k messages take twice as long; two servers make up for that."""
        schedule = {"name": "ps-sgd", "in_flight": "pipelined"}
        self.check(3 + 2 * 5 + 4 * 2, self.one(schedule, 3))
        self.check(3 + 2 * 5 + 4 * 1, self.one(schedule | {"servers": 2}, 3))
        self.check(3 + 2 * 5 + 3 * 0.5 + 0.5, self.one(schedule | {"servers": 2, "colocated": True}, 3))

    def test_the_server_s_work(self):
        """Longer than a transfer: 2 ms for each of three messages, from the first one's arrival on."""
        self.check(3 + 5 + 1 + 3 * 2 + 5 + 1, self.one(BOTH[1] | {"in_flight": "pipelined", "server_s_per_B": 2e-9}, 3, nodes=1))

    def test_bytes_that_follow_later(self):
        """Posted 1 ms apart: bytes that take 0.5 ms leave a gap, those that take 2 ms do not."""
        for rate, milliseconds in ((4e9, 4 + 5 + 0.5 + 5 + 0.5), (1e9, 3 + 5 + 2 * 2 + 5 + 2)):
            drawn = self.one(BOTH[0] | {"in_flight": "pipelined"}, 2, trace=TWO, nodes=1)
            drawn["cluster"]["link"]["bandwidth"] = rate
            self.check(milliseconds, drawn)

    def test_a_model_at_once(self):
        """Alone in its direction, it waits for nothing."""
        for name, place in itertools.product(["ps-sgd", "asgd", "dc-asgd", "downpour", "eamsgd"], ("star", "regions")):
            schedule = SCHEDULES[name](random.Random(name), 2) | {"grouping": "sync-easgd"}
            schedule = {key: value for key, value in schedule.items() if key not in ("duplex", "within_node")}
            drawn = point(schedule) if place == "star" else two_regions(schedule) | {"trace": TRACE}
            self.assertEqual(expected(drawn), expected(drawn | {"schedule": pipelined(schedule)}))

    def test_stages_within_nodes(self):
        """Two messages, each reduced and spread for 1 ms, one after the other; only then does a latency begin."""
        inside = {"gpus_per_node": 2, "intra_node": {"bandwidth": 1e21, "latency": 1e-3}}
        drawn = self.one(BOTH[0] | {"in_flight": "pipelined", "grouping": "s-sgd"}, 2, trace=TWO, nodes=1)
        drawn["cluster"] |= inside | {"link": {"bandwidth": 1e21, "latency": 5e-3}}
        self.check(4 + 2 * 1 + 5 + 5 + 1, drawn, communication_s=13 / 1000)

    def test_two_distances(self):
        """Halves to a server near by and to one 10 ms away, over 0.25 GB/s: one client's pushes share that with the other one's pulls."""
        drawn = two_regions(BOTH[0] | {"servers": 2, "in_flight": "pipelined"}, bandwidth=2.5e8) | {"trace": gradients(3, 1000000)}
        drawn["cluster"] |= {"nodes": 2, "regions": [{"name": name, "nodes": 1} for name in "ab"]}
        drawn |= {"iterations": {"warmup": 0, "measured": 1}}
        self.check(3 + 2 * 10 + 4 * 2, drawn)
        del drawn["schedule"]["in_flight"]
        self.check(3 + (10 + 2) + 2 * (10 + 4) + (10 + 2), drawn)

    def test_merging_saves_no_latencies(self):
        """Each gradient's bytes have moved when the next one is ready, but its latency has not passed."""
        drawn = self.one(BOTH[0] | {"grouping": "mg-wfbp"}, 2, trace=TWO, nodes=1)
        drawn["cluster"]["link"]["bandwidth"] = 1e10
        for name in ("mg-wfbp", "mg-wfbp-optimal"):
            drawn["schedule"]["grouping"] = name
            self.check(4 + 2 * (5 + 0.4), drawn, communications_per_iteration=2)
            self.check(4 + 2 * (5 + 0.2), drawn | {"schedule": pipelined(drawn["schedule"])}, communications_per_iteration=4)


class Random(OverRegions):
    share = 0.8  # of schedules that are pipelined

    def draw(self, names, seed, description, *options, count=2, one=few_or_many_bytes, workers=slice(-3), compressed=0.3, **changes):
        """`description`: of an rng; `workers`: which disturbances, the first of them and two more."""
        rng = random.Random(f"in flight {[*names]} {seed}")
        drawn = description(rng)
        nodes, regions = drawn["nodes"], "regions" in drawn
        schedules = [SCHEDULES[name](rng, nodes) for name in names for _ in range(count)]
        schedules = [over_servers(rng, schedule) if rng.random() < compressed else schedule for schedule in schedules]
        schedules = [either(rng, placed(rng, drawn, schedule) if regions else schedule, self.share) for schedule in schedules]
        disturbed = disturbances(rng, nodes * drawn["gpus_per_node"])[workers]
        sweep = {"/cluster": [drawn], "/schedule": schedules, "/workers": [disturbed[0], *rng.sample(disturbed[1:], 2)]}
        self.compare(scenario(rng, sweep=sweep, **{"fidelity": rng.choice(FIDELITIES), "iterations": {
            "warmup": rng.randint(0, 2), "measured": rng.randint(1, 4)}, **changes}), [one(rng, 4)], *options)


class Star(Random):
    def far(self, nodes, gpus=1, change=lambda rng, description: description):
        """Latencies up to several times the rest."""
        def description(rng):
            drawn = cluster(rng, nodes, gpus, **rng.choice([{}, {"nics": 2}]))
            drawn["link"]["latency"] = 10 ** rng.uniform(-5, -2)
            return change(rng, drawn)
        return description

    def test_stars(self):
        for name in SCHEDULES:
            for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (3, 1), (5, 1), (1, 3), (3, 2), (2, 4)]), name):
                self.draw([name], seed, self.far(nodes, gpus), fidelity="alpha-beta")

    def test_flows(self):
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (3, 1), (4, 1), (3, 2)], 10)):
            self.draw(SCHEDULES, seed, self.far(nodes, gpus), count=1, fidelity="flow")

    def test_windows(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (4, 1), (2, 2)], 20)):
            self.draw(SCHEDULES, seed, self.far(nodes, gpus, node_windows), count=1)

    def test_local_updates(self):
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (3, 1), (2, 2), (3, 3)], 30)):
            self.draw(["ssd-sgd"], seed, self.far(nodes, gpus), count=4, one=long_updates)

    def test_layers_that_meet_a_busy_channel(self):
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (3, 1), (2, 2)], 40)):
            self.draw(["ps-sgd", "asgd", "ssd-sgd"], seed, self.far(nodes, gpus), workers=slice(-3, None), one=long_updates)

    def test_many_clients(self):
        self.draw(SCHEDULES, "many", self.far(16), count=1)

    def test_one_by_one(self):
        for seed, (nodes, gpus) in draws(enumerate([(4, 1), (2, 2)], 50)):
            self.draw(SCHEDULES, seed, self.far(nodes, gpus), "--no-symmetry", count=1)


class Regions(Random):
    def world(self, regions, nodes, gpus=1, change=lambda rng, description: description):
        return lambda rng: change(rng, world(rng, regions, nodes, gpus)) | rng.choice([{}, {"nics": 2}, {"placement": "linear"}])

    def test_worlds(self):
        for name in SCHEDULES:
            for seed, (regions, nodes, gpus) in draws(enumerate([(2, 1, 1), (2, 3, 1), (3, 2, 1), (4, 1, 1), (2, 2, 2)]), name):
                self.draw([name], seed, self.world(regions, nodes, gpus))

    def test_windows_and_uneven_links(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2)], 10)):
            self.draw(SCHEDULES, seed, self.world(regions, nodes, 1, lambda rng, drawn: uneven(rng, windows(rng, drawn))), count=1)
            self.draw(SCHEDULES, seed + 5, self.world(regions, nodes, 1, node_windows), count=1)

    def test_changing_links(self):
        """A message that is posted when its way has become shorter does not overtake others."""
        for seed, (regions, gpus) in draws(enumerate([(2, 1), (3, 1), (2, 2)], 20)):
            self.draw(SCHEDULES, seed, self.world(regions, 2, gpus, lambda rng, drawn: rtts(rng, profiles(rng, drawn))), fidelity="flow")

    def test_node_links_are_unlimited(self):
        self.draw(SCHEDULES, 30, lambda rng: {key: value for key, value in world(rng, 3, 1).items() if key != "link"}, count=1)

    def test_one_by_one(self):
        self.draw(SCHEDULES, 40, self.world(2, 2, 2), "--no-symmetry", count=1)


class Drawn(OverRegions):
    """Latencies that are drawn: those of simctl are its own, but it should have the oracle's mean, or one that can be worked out."""

    def seconds(self, drawn, steps, seeds):
        self.write("trace0.json", drawn["trace"])
        content = scenario(random.Random(0), **drawn, sweep={"/seed": [*seeds]}) | {"trace": "trace0.json"}
        self.run_well(content | {"granularity": "tensor", "iterations": {"warmup": 2, "measured": steps}})
        return [point["iteration_s"] for point in self.points]

    def own_seconds(self, drawn, steps, seed):
        order = [region["name"] for region in drawn["cluster"].get("regions", [])]
        return expected(drawn | {"region_order": order, "seed": seed, "iterations": {"warmup": 2, "measured": steps}})["iteration_s"]

    def near(self, found, mean, deviation):
        self.assertAlmostEqual(found, mean, delta=4 * deviation)

    def test_what_overtakes_waits(self):
        """Two messages, no bytes: the second push arrives with the first or later, and so does its pull."""
        ends = [max(one + back, max(one, two) + other) for one, two, back, other in itertools.product((5, 15), repeat=4)]
        mean, deviation, steps = (3 + statistics.mean(ends)) / 1000, statistics.pstdev(ends) / 1000, 1500
        for schedule in BOTH:
            link = {"bandwidth": 1e18, "latency": 1e-2, "latency_jitter": HALVES}
            drawn = {"trace": KNOWN | {"gradients": gradients(2, 1000)["gradients"]}, "schedule": schedule | {"in_flight": "pipelined"},
                     "cluster": cluster(random.Random(0), 1, link=link), "fidelity": "per-message"}
            for found in (*self.seconds(drawn, steps, [1]), self.own_seconds(drawn, steps, 1)):
                self.near(found, mean, deviation / steps ** 0.5)

    def test_on_average(self):
        for seed, schedule in draws(enumerate([{"name": "ps-sgd", "servers": 2}, {"name": "asgd"}, {"name": "ssd-sgd", "delay": 2}])):
            rng = random.Random(seed)
            near, far = jittered(cluster(rng, 3, link={"bandwidth": "3Gbps", "latency": "2ms"}), HALVES, "link"), world(rng, 2, 2)
            far |= {"placement": "linear", "wan": [entry | {"latency_jitter": HALVES} for entry in far["wan"]]}
            for place in (near, far):
                drawn = {"trace": KNOWN | {"gradients": gradients(3, 300000)["gradients"]}, "schedule": pipelined(schedule),
                         "cluster": place, "fidelity": "flow"}
                found, right = self.seconds(drawn, 60, range(5)), [self.own_seconds(drawn, 60, one) for one in range(5)]
                error = ((statistics.variance(found) + statistics.variance(right)) / 5) ** 0.5
                self.near(statistics.mean(found), statistics.mean(right), error)


if __name__ == "__main__":
    unittest.main()
