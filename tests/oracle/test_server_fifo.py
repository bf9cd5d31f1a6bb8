"""Parameter servers that serve one message after the other: who is first, and do the others wait for their turn?"""

import itertools
import random
import unittest

import support
from comparing import Comparison, cluster, disturbances, expected, over_servers, scenario
from running import Running, draws
from test_host import hosts
from test_known_values import TRACE, TWO, at_once, point
from test_latencies import DRAWN
from test_regions import aws
from test_server import SCHEDULES, long_updates
from test_server_in_flight import either, few_or_many_bytes, gradients

BOTH = [{"name": "ps-sgd"}, {"name": "asgd"}]


def fifo(schedule):
    """The same, where it is allowed."""
    return {key: value for key, value in schedule.items() if key != "colocated"} | {"service": "fifo"}


def check_where_nobody_waits(case, served):
    """One client, or as many servers as clients: as if they shared."""
    for name, (nodes, servers) in itertools.product(SCHEDULES, ((1, 1), (3, 3))):
        schedule = served(SCHEDULES[name](random.Random(name), nodes)) | {"servers": servers}
        drawn = point(schedule, nodes, trace=TRACE | {"update_s": 0.001}, iterations={"warmup": 1, "measured": 5},
                      workers={"jitter": {"distribution": "lognormal", "cv": 0.3}})
        for column, value in expected(drawn | {"schedule": schedule | {"service": "shared"}}).items():
            case.assertAlmostEqual(expected(drawn)[column], value, places=12, msg=column)


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand? Messages of 1 MB, of 0.1 or 5 ms of latency and 1 ms alone on a link."""

    def ends(self, drawn, *milliseconds, **others):
        """When each client's first step ends, up to the first of which everything is measured."""
        row, first = expected(drawn), min(milliseconds)
        self.assertAlmostEqual(row["iteration_s"], first * len(milliseconds) / sum(first / end for end in milliseconds) / 1000, places=12)
        for column, value in others.items():
            self.assertAlmostEqual(row[column], value, places=12, msg=column)

    def one(self, schedule, count=1, latency=5e-3, nodes=2, **changes):
        drawn = point(fifo(schedule), nodes, **{"trace": gradients(count, 1000000), **changes})
        drawn["cluster"]["link"]["latency"] = latency
        return drawn

    def test_one_after_the_other(self):
        """Pushes arrive after 1.1 and 2.1 ms. Pulls begin together, or 1 ms apart."""
        self.ends(self.one(BOTH[0], latency=1e-4), 3 + 2.1 + 1.1, 3 + 2.1 + 2.1)
        self.ends(self.one(BOTH[1], latency=1e-4), 3 + 1.1 + 1.1, 3 + 2.1 + 1.1)
        self.ends(self.one(BOTH[0], latency=1e-4, nodes=4), *(3 + 4.1 + 0.1 + place for place in (1, 2, 3, 4)))

    def test_then_they_come_apart(self):
        """Nobody waits any more."""
        later = {"warmup": 3, "measured": 8}
        self.ends(self.one(BOTH[0], latency=1e-4, iterations=later), 3 + 2.1 + 1.1, 3 + 2.1 + 1.1)
        self.ends(self.one(BOTH[1], latency=1e-4, iterations=later), 3 + 2.2, 3 + 2.2, staleness_max=0.5, communication_s=0.0022)

    def test_several_servers(self):
        """Two messages at a time, each as fast as over one link, then the third one."""
        self.ends(self.one(BOTH[0] | {"servers": 2}, latency=1e-4, nodes=3), 3 + 2.1 + 1.1, 3 + 2.1 + 1.1, 3 + 2.1 + 2.1)
        self.ends(self.one(BOTH[1] | {"servers": 2}, latency=1e-4, nodes=3), 3 + 2.2, 3 + 2.2, 3 + 3.2)

    def test_a_server_s_work(self):
        """2 ms for each push, from when the first has come; pulls do not wait for each other then."""
        drawn = self.one(BOTH[1] | {"server_s_per_B": 2e-9}, latency=1e-4, nodes=3)
        self.ends(drawn, *(3 + 1.1 + 2 * place + 1.1 for place in (1, 2, 3)))

    def test_one_direction_at_a_time(self):
        """A client's second push begins with the end of its first pull, after 2.2 or 3.2 ms: nobody waits for the other one then."""
        self.ends(self.one(BOTH[1] | {"duplex": False}, 2, latency=1e-4), 3 + 4 * 1.1, 3 + 4 * 1.1 + 1)

    def test_who_comes_first(self):
        """The second client is a little faster, or as fast."""
        for factor, ends in ((0.99, (2.97 + 2 * 5 + 1 + 1, 3 + 2 * 5 + 2 + 1 - 0.03)), (1, (3 + 2 * 5 + 1 + 1, 3 + 2 * 5 + 2 + 1))):
            self.ends(self.one(BOTH[1], workers={"slow": [{"ranks": "1", "factor": factor}]}), *ends)

    def test_messages_that_wait_for_each_other(self):
        """Pushes arrive after 6, 7, 12 and 13 ms, pulls after 13, 14, 19 and 20."""
        self.ends(self.one(BOTH[0], 2), 3 + 19, 3 + 20)

    def test_messages_whose_bytes_do(self):
        """Clients take turns: pushes arrive after 6, 7, 8 and 9 ms, pulls after 13, 14, 15 and 16."""
        self.ends(self.one(BOTH[0] | {"in_flight": "pipelined"}, 2), 3 + 15, 3 + 16)

    def test_stages_within_nodes(self):
        """Two messages, each reduced and spread for 1 ms; the bytes take no time."""
        for within_node in ("pipelined", "serial"):
            schedule = {"name": "ps-sgd", "grouping": "s-sgd", "within_node": within_node}
            self.ends(point(fifo(schedule), trace=TWO, cluster=at_once(gpus=2)), 7, 7)

    def test_where_all_are_served_at_once(self):
        check_where_nobody_waits(self, fifo)


class Random(Comparison):
    def draw(self, names, seed, nodes, gpus=1, *options, count=2, one=few_or_many_bytes, workers=slice(None), **changes):
        """`workers`: which disturbances, the first of them and three more."""
        rng = random.Random(f"fifo {[*names]} {seed}")
        drawn = cluster(rng, nodes, gpus, **rng.choice([{}, {"nics": 2}]))
        if rng.random() < 0.4:
            drawn["link"]["latency"] = rng.choice([0.0, 10 ** rng.uniform(-4, -2)])
        drawn = hosts(rng, drawn, 1e-6, 1e-3) if rng.random() < 0.3 else drawn
        schedules = [SCHEDULES[name](rng, nodes) for name in names for _ in range(count)]
        schedules = [over_servers(rng, schedule) if rng.random() < 0.3 else schedule for schedule in schedules]
        disturbed = disturbances(rng, nodes * gpus)[workers]
        sweep = {"/cluster": [drawn], "/schedule": [fifo(either(rng, schedule, 0.4)) for schedule in schedules],
                 "/workers": [disturbed[0], *rng.sample(disturbed[1:], min(3, len(disturbed) - 1))]}
        self.compare(scenario(rng, sweep=sweep, **{"fidelity": rng.choice(["alpha-beta", "per-message"]), "iterations": {
            "warmup": rng.randint(0, 2), "measured": rng.randint(1, 5)}, **changes}), [one(rng, 3)], *options)

    def test_stars(self):
        for name in SCHEDULES:
            for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (3, 1), (6, 1), (1, 3), (3, 2), (2, 4)]), name):
                self.draw([name], seed, nodes, gpus)

    def test_local_updates(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (4, 1), (2, 3)], 10)):
            self.draw(["ssd-sgd"], seed, nodes, gpus, count=4, one=long_updates)

    def test_layers_that_meet_a_busy_channel(self):
        for seed, (nodes, gpus) in draws(enumerate([(3, 1), (2, 2)], 20)):
            self.draw(["ps-sgd", "asgd", "ssd-sgd"], seed, nodes, gpus, workers=slice(-3, None), one=long_updates)

    def test_many_clients(self):
        self.draw(SCHEDULES, "many", 16, count=1)

    def test_equal_clients(self):
        """All come at one instant, again and again."""
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (7, 1), (16, 1), (3, 2)], 30)):
            self.draw(SCHEDULES, seed, nodes, gpus, count=1, workers=slice(1), iterations={"warmup": 2, "measured": 8})

    def test_one_by_one(self):
        for seed, (nodes, gpus) in draws(enumerate([(4, 1), (2, 2)], 40)):
            self.draw(SCHEDULES, seed, nodes, gpus, "--no-symmetry", count=1)


class Refused(Running):
    def check(self, place, schedule=None, fidelity="auto", **changes):
        """`place`: the JSON pointer of an error."""
        content = support.scenario(schedule=BOTH[1] | {"service": "fifo"} | (schedule or {}), cluster=support.cluster(**changes))
        done = self.run_scenario(content | {"fidelity": fidelity})
        self.assertEqual(done.returncode, 3 if place else 0, done.stderr[-1000:])
        self.assertIn(f"{place}:" if place else "", done.stderr)

    def test_where_it_is_not_allowed(self):
        link = {"bandwidth": "10Gbps", "latency": "50us"}
        for fidelity, place in (("auto", None), ("alpha-beta", None), ("per-message", None), ("flow", "/fidelity")):
            self.check(place, fidelity=fidelity)
        self.check("/schedule/service", {"colocated": True})
        for changes in ({"link": link | {"tcp_window": 1000000}}, {"link": link | {"latency_jitter": DRAWN[0]}},
                        {"topology": "fat-tree"}, aws()):
            self.check("/schedule/service", **changes)
        self.check(None, {"in_flight": "pipelined", "servers": 4}, nics=2)


if __name__ == "__main__":
    unittest.main()
