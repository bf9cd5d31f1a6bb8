"""Parameter servers before whose links bytes wait in a queue: how long is it, who waits in it, and what follows meanwhile?"""

import itertools
import unittest

import server_schedules
import test_server_fifo
from comparing import cluster, expected
from running import draws
from test_host import hosted, hosts
from test_known_values import point
from test_server import SCHEDULES, long_updates
from test_server_in_flight import BOTH, Random, gradients

ASYNCHRONOUS = [{"name": name, "interval": 1} for name in ("asgd", "dc-asgd", "downpour")]  # alike with one message in a step


def queued(schedule):
    """The same, where it is allowed."""
    return {key: value for key, value in schedule.items() if key != "colocated"} | {"service": "queued"}


def late(client, milliseconds):
    """It takes so much longer to compute than the 3 ms of the others."""
    return {"workers": {"slow": [{"ranks": str(client), "factor": 1 + milliseconds / 3}]}}


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand? Messages of 1 MB, of 0.1 or 5 ms of latency and 1 ms alone on a link."""

    def check(self, drawn, *milliseconds, step=0):
        """When that step of each client ends."""
        ends = [steps[step].end * 1000 for steps in server_schedules.run(drawn).steps]
        self.assertEqual(len(ends), len(milliseconds))
        for client, (found, right) in enumerate(zip(ends, milliseconds)):
            self.assertAlmostEqual(found, right, places=9, msg=f"client {client} of {drawn['schedule']}")

    def one(self, schedule, nodes, count=1, latency=1e-4, **changes):
        drawn = point(queued(schedule), nodes, **{"trace": gradients(count, 1000000), **changes})
        drawn["cluster"]["link"]["latency"] = latency
        return drawn

    def test_at_the_same_time(self):
        """They end as if they shared; also where there is room for all."""
        for schedule, (nodes, servers, seconds) in itertools.product(BOTH + ASYNCHRONOUS, ((4, 1, 4), (4, 2, 2), (3, 2, 1.5), (3, 3, 1))):
            self.check(self.one(schedule | {"servers": servers}, nodes), *[3 + 2 * (0.1 + seconds)] * nodes)

    def test_one_that_comes_later(self):
        """The first two push from 3.1 to 4.1 ms and arrive at 5.1, as do their pulls at 7.2 if nobody disturbs them. The third one's
        bytes follow theirs and leave the queue at 6.1, or alone at 7.1. Those that come before theirs have left do delay them: the first
        two arrive at 5.6 then."""
        for schedule in ASYNCHRONOUS:
            for delay, *ends in ((1, 7.7, 7.7, 8.2), (1.5, 7.7, 7.7, 8.2), (3, 7.2, 7.2, 8.2), (0.5, 8.45, 8.45, 8.7)):
                self.check(self.one(schedule, 3, **late(2, delay)), *ends)
        self.check(self.one(BOTH[0], 3, **late(2, 1)), *[6.1 + 3.1] * 3)

    def test_several_servers(self):
        """The queue is of half a millisecond at 4.1 ms, and as long as one pushes to two servers it becomes shorter."""
        self.check(self.one(BOTH[1] | {"servers": 2}, 4, **late(3, 1)), *[5.2 + 4 / 3] * 3, 5.2 + 5 / 3)

    def test_pushes_after_pulls(self):
        """Pulls arrive after 5.6 and 6.1 ms, so that bytes leave from 5.7 and 6.2 on: at 6.7 and 7.2 the queue is of 1.5 ms."""
        self.check(self.one({"name": "eamsgd", "interval": 1}, 3, **late(2, 1)), 6.7 + 1.5, 6.7 + 1.5, 7.2 + 1.5)

    def test_messages_that_wait_for_each_other(self):
        """Pushes arrive after 7 and 14 ms, when the queue is empty for long; pulls after 14 and 21."""
        for schedule in BOTH:
            self.check(self.one(schedule, 2, 2, 5e-3), 3 + 21, 3 + 21)

    def test_messages_that_follow_each_other(self):
        """The last bytes leave after 6 and 7 ms. The queue is of 1 ms then, and of 2; pulls arrive after 14 and 16."""
        for schedule in BOTH:
            drawn = self.one(schedule | {"in_flight": "pipelined"}, 2, 2, 5e-3)
            self.check(drawn, 3 + 16, 3 + 16)
            self.assertAlmostEqual(expected(drawn)["communication_s"], 0.016, places=12)

    def test_one_direction_at_a_time(self):
        """The second push waits for a pull, or only for a push."""
        for duplex, first in ((False, 9.4), (True, 8.2)):
            self.check(self.one(BOTH[1] | {"duplex": duplex}, 2, 2, **late(1, 0.5)), first, first + 0.5)

    def test_what_servers_do(self):
        """2 ms for the bytes of each push; or half a millisecond for each push and pull."""
        self.check(self.one(BOTH[1] | {"server_s_per_B": 2e-9}, 3), *(6.1 + 2 * place + 1.1 for place in (1, 2, 3)))
        self.check(hosted(self.one(BOTH[1], 3), per_message_s=5e-4), *(6.1 + place + 1.1 for place in (1, 2, 3)))

    def test_steps_that_pull_nothing(self):
        """Four clients' second pushes begin at 6.0 ms or when the first ones have arrived, at 7.1; the third step ends with their pulls."""
        for in_flight, arrived in (("serial", 7.1 + 0.1 + 4), ("pipelined", 6.1 + 1 + 4)):
            drawn = self.one({"name": "ssd-sgd", "delay": 2, "in_flight": in_flight}, 4, iterations={"warmup": 2, "measured": 1})
            self.check(drawn, *[arrived + 0.1 + 4] * 4, step=2)

    def test_stages_within_nodes(self):
        """Two messages, each reduced and spread for 1 ms. One waits in the queue while the next one is reduced, or before."""
        for within_node, milliseconds in (("pipelined", 11.3), ("serial", 12.3)):
            drawn = self.one(BOTH[0] | {"within_node": within_node}, 2, 2)
            drawn["cluster"] |= {"gpus_per_node": 2, "intra_node": {"bandwidth": 1e21, "latency": 1e-3}}
            self.check(drawn, milliseconds, milliseconds)

    def test_where_nobody_waits(self):
        test_server_fifo.check_where_nobody_waits(self, queued)


class Queued(Random):
    """Drawn as messages in flight are, half of them pipelined."""

    share = 0.5

    def compare(self, scenario, traces, *options):
        schedules = [queued(schedule) for schedule in scenario["sweep"]["/schedule"]]
        return super().compare(scenario | {"schedule": schedules[0], "sweep": scenario["sweep"] | {"/schedule": schedules}}, traces, *options)

    def star(self, names, seed, nodes, gpus, *options, **changes):
        """Latencies next to none or long; some servers that take their time for each message."""
        def description(rng):
            drawn = cluster(rng, nodes, gpus, **rng.choice([{}, {"nics": 2}]))
            drawn["link"]["latency"] = rng.choice([0.0, 10 ** rng.uniform(-5, -2)])
            return hosts(rng, drawn, 1e-6, 1e-3) if rng.random() < 0.3 else drawn

        self.draw(names, f"queued {seed}", description, *options, **{"fidelity": ["alpha-beta", "per-message"][seed % 2], **changes})

    def test_stars(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (5, 1), (3, 2), (2, 4)])):
            self.star(SCHEDULES, seed, nodes, gpus)

    def test_equal_clients(self):
        """All come at one instant, again and again; then all but a few do."""
        for seed, (nodes, gpus) in draws(enumerate([(3, 1), (9, 1), (4, 2)], 10)):
            self.star(SCHEDULES, seed, nodes, gpus, count=1, workers=slice(3), iterations={"warmup": 2, "measured": 6})

    def test_local_updates(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (4, 1), (2, 3)], 20)):
            self.star(["ssd-sgd"], seed, nodes, gpus, count=4, one=long_updates)

    def test_layers_that_meet_a_busy_channel(self):
        for seed, (nodes, gpus) in draws(enumerate([(3, 1), (2, 2)], 30)):
            self.star(["ps-sgd", "asgd", "ssd-sgd"], seed, nodes, gpus, workers=slice(-3, None), one=long_updates)

    def test_many_clients(self):
        self.star(SCHEDULES, 40, 16, 1, count=1)

    def test_one_by_one(self):
        for seed, (nodes, gpus) in draws(enumerate([(4, 1), (2, 2)], 50)):
            self.star(SCHEDULES, seed, nodes, gpus, "--no-symmetry", count=1)


class Refused(test_server_fifo.Refused):
    def check(self, place, schedule=None, fidelity="auto", **changes):
        super().check(place, {"service": "queued"} | (schedule or {}), fidelity, **changes)


if __name__ == "__main__":
    unittest.main()
