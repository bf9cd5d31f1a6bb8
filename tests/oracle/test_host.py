"""What processors do for what moves: does a server take its time for each message, and a rank for each collective?"""

import random
import unittest

import moving
import oracle
from comparing import Comparison, accumulating, cluster, compressing, disturbances, expected, fit, node_windows, scenario, slow, trace
from running import draws
from test_delayed import by_gradient, schedules
from test_fidelities import Fidelities
from test_gated import gated, slow_links
from test_known_values import TWO, point
from test_messages import ALGORITHMS, Moving
from test_operations import EVERYBODY, ODD, Trials
from test_regions import world
from test_server import FUSION, SCHEDULES
from test_server_compression import BOTH
from test_server_in_flight import Random

LASGD = [{"name": "lasgd", "tau_max": tau, **form} for tau in (1, 4) for form in ({}, {"worker": "gpu"}, {"within_node": "blocking"})]
PARTIAL = [{"name": "lasgd", "tau_max": 3, "participants": 0.6, **form} for form in ({}, {"worker": "gpu"})]


def hosted(drawn, **seconds):
    """The same, with these processors."""
    return drawn | {"cluster": drawn["cluster"] | {"host": seconds}}


def hosts(rng, description, least=1e-5, most=2e-2):
    """Processors that take next to nothing, or as long as a step."""
    return description | {"host": {key: least * (most / least) ** rng.random() for key in ("per_message_s", "per_collective_s", "per_rank_s")}}


def by_tensor(rng, description):
    """Where the oracle knows how many tensors are merged."""
    return description | {"host": description["host"] | {"per_tensor_s": 10 ** rng.uniform(-5, -3)}}


def fast_and_slow(rng, description):
    return [by_tensor(rng, hosts(rng, description)), hosts(rng, description, 1e-2, 1e-1)]


def synchronous(rng):
    plain = [{"name": name} for name in oracle.SCHEDULES] + [FUSION]
    return plain + accumulating(rng, plain[:3]) + compressing(rng, plain[:4])


def delayed(rng):
    return schedules(rng) + by_gradient(rng)[::3]


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def check(self, milliseconds, rows, **others):
        for row in rows:
            self.assertAlmostEqual(row["iteration_s"], milliseconds / 1000, places=12)
            for column, value in others.items():
                self.assertAlmostEqual(row[column], value, places=12, msg=column)

    def over_servers(self, milliseconds, schedule, nodes=2, seconds=5e-4, **changes):
        self.check(milliseconds, [expected(hosted(point(schedule, nodes), per_message_s=seconds))], **changes)

    def over_collectives(self, milliseconds, drawn, seconds, **others):
        """In every fidelity."""
        drawn = hosted(drawn, per_collective_s=seconds)
        self.check(milliseconds, [expected(drawn)], **others)
        self.check(milliseconds, [moving.expected(drawn, shared) for shared in (False, True)])

    def test_a_push_and_a_pull(self):
        """1.1 ms and 0.5 at the server each."""
        for name in ("ps-sgd", "asgd", "dc-asgd", "downpour", "eamsgd"):
            self.over_servers(3 + 2 * (1.1 + 0.5), {"name": name, "interval": 1}, nodes=1, communication_s=0.0022)

    def test_every_client_s(self):
        """Two pushes, the last of them with two pulls. More servers have as many."""
        self.over_servers(3 + 2.1 + 4 * 0.5 + 2.1, {"name": "ps-sgd"}, exposed_communication_s=0.0062, wait_s=0)
        self.over_servers(3 + 1.1 + 4 * 0.5 + 1.1, {"name": "ps-sgd", "servers": 2})
        self.over_servers(3 + 0.6 + 4 * 0.5 + 0.6, {"name": "ps-sgd", "servers": 2, "colocated": True})

    def test_beside_work_on_bytes(self):
        """Two servers divide that: of 100 kB that were pushed, and of 1 MB decoded and encoded."""
        self.over_servers(3 + 1 + 0.2 + 2 * 0.2 + 2 * 1 + 0.5 + 4 * 0.5 + 0.2 + 2, {
            "name": "ps-sgd", "servers": 2, "compression": BOTH, "server_s_per_B": 4e-9})

    def test_steps_that_pull_nothing(self):
        """A server that takes 2.5 ms for a push, in time for the next one, and 5 where one step of three pulls, for which the next one
        waits."""
        drawn = point({"name": "ssd-sgd", "delay": 3}, 1, iterations={"warmup": 9, "measured": 9})
        self.check((3 + 3 + 2 * 1.1 + 2 * 2.5) / 3, [expected(hosted(drawn, per_message_s=2.5e-3))])

    def test_merging_reckons_with_messages(self):
        """Gradients a millisecond apart; a start-up costs a push and a pull of each client."""
        for (nodes, seconds, count), name in [(case, name) for case in ((1, 0.4e-3, 4), (1, 0.6e-3, 2), (2, 0.2e-3, 4), (2, 0.3e-3, 2))
                                              for name in ("mg-wfbp", "mg-wfbp-optimal")]:
            drawn = point({"name": "ps-sgd", "grouping": name, "in_flight": "pipelined"}, nodes, trace=TWO)
            drawn["cluster"]["link"]["bandwidth"] = 1e15
            self.assertEqual(expected(hosted(drawn, per_message_s=seconds))["communications_per_iteration"], count)

    def test_posts(self):
        """Two all-reduces of 2.2 ms, posted after 3 and 4 ms, or both after 4, and 4 ms of update. The host's time comes before each; one
        of both takes 4.2, so that merging pays."""
        for name, first, seconds in (("wfbp", 3, 0.4), ("wfbp", 3, 3), ("s-sgd", 4, 0.4), ("s-sgd", 4, 3)):
            both = 2 * (seconds + 2.2)
            self.over_collectives(first + both + 4, point({"name": name}, trace=TWO), seconds / 1000, communication_s=both / 1000)
        for name, seconds in (("sync-easgd", 3), ("mg-wfbp", 4), ("mg-wfbp-optimal", 4)):
            one = seconds + 4.2
            self.over_collectives(4 + one + 4, point({"name": name}, trace=TWO), seconds / 1000, communication_s=one / 1000)

    def test_ranks_and_tensors(self):
        """Two ranks of 0.1 ms each; a tensor of 0.5, or two."""
        each = {"per_rank_s": 1e-4, "per_tensor_s": 5e-4}
        for name, milliseconds in (("wfbp", 3 + 2 * (0.2 + 0.5 + 2.2)), ("sync-easgd", 4 + 0.2 + 2 * 0.5 + 4.2)):
            drawn = hosted(point({"name": name}, trace=TWO), **each)
            self.check(milliseconds + 4, [expected(drawn)])
            self.check(milliseconds + 4, [moving.expected(drawn, shared) for shared in (False, True)])

    def test_unequal_ranks(self):
        """Rank 1 posts after 6 and 8 ms; the first all-reduce ends after 6 + 3 + 2.2."""
        late, one = {"slow": [{"ranks": "1", "factor": 2}]}, TWO | {"update_s": 0.0}
        self.over_collectives(6 + 2 * (3 + 2.2), point({"name": "wfbp"}, trace=one, workers=late), 3e-3)

    def test_several_in_flight(self):
        """A collective of 1.2 ms at each step of 3 ms, which is waited for three steps later. Hosts prepare several at a time, but one
        after the other where only one is in flight."""
        for seconds, in_flight, milliseconds in ((5e-3, "pipelined", 3), (9e-3, "pipelined", 3.4), (1.7e-3, "serial", 3), (2.9e-3, "serial", 4.1)):
            drawn = point({"name": "dts", "delay": 3, "in_flight": in_flight}, iterations={"warmup": 9, "measured": 9})
            self.over_collectives(milliseconds, drawn, seconds)

    def test_rounds(self):
        """All-reduces of 1.2 ms, beside steps of 3 ms."""
        for seconds, tau, milliseconds, stale in ((1.7e-3, 1, 3, 1), (2.8e-3, 1, 4, 1), (2.8e-3, 5, 3, 2)):
            drawn = point({"name": "lasgd", "tau_max": tau}, iterations={"warmup": 2, "measured": 4})
            self.check(milliseconds, [expected(hosted(drawn, per_collective_s=seconds))], staleness_mean=stale)

    def test_what_is_no_collective_of_ranks(self):
        link = {"bandwidth": 1e9, "latency": 1e-4}
        inside = {"nodes": 2, "gpus_per_node": 2, "link": link, "intra_node": link}
        for name, key in (("sgp", "per_collective_s"), ("d-psgd", "per_collective_s"), ("ps-sgd", "per_collective_s"),
                          ("wfbp", "per_message_s"), ("sgp", "per_message_s")):
            drawn = point({"name": name}, cluster=inside)
            self.assertEqual(expected(drawn), expected(hosted(drawn, **{key: 1.0})))


class Servers(Random):
    share = 0.3

    def test_stars(self):
        for name in SCHEDULES:
            for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (5, 1), (2, 2), (3, 3)]), name):
                self.draw([name], f"host {seed}", lambda rng: hosts(rng, cluster(rng, nodes, gpus)))

    def test_flows_and_windows(self):
        for seed, (nodes, gpus) in draws(enumerate([(3, 1), (2, 2)], 10)):
            self.draw(SCHEDULES, f"host {seed}", lambda rng: hosts(rng, cluster(rng, nodes, gpus)), count=1, fidelity="flow")
            self.draw(SCHEDULES, f"host {seed}", lambda rng: hosts(rng, node_windows(rng, cluster(rng, nodes, gpus))), count=1)

    def test_regions(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 2, 1), (3, 2, 1), (2, 2, 2)], 20)):
            self.draw(SCHEDULES, f"host {seed}", lambda rng: hosts(rng, world(rng, regions, nodes, gpus)), count=1)

    def test_layers_that_meet_a_busy_channel(self):
        self.draw(["ps-sgd", "asgd", "ssd-sgd"], "host 30", lambda rng: hosts(rng, cluster(rng, 3)), workers=slice(-3, None))

    def test_one_by_one(self):
        self.draw(SCHEDULES, "host 40", lambda rng: hosts(rng, cluster(rng, 3, 2)), "--no-symmetry", count=1)


class ClosedForms(Comparison):
    def draw(self, seed, description, drawn, *options, **changes):
        rng = random.Random(f"host {seed}")
        one = description(rng)
        workers = disturbances(rng, one["nodes"] * one["gpus_per_node"])
        sweep = {"/cluster": fast_and_slow(rng, one), "/schedule": drawn(rng), "/workers": [workers[0], *rng.sample(workers[1:], 3)]}
        self.compare(scenario(rng, sweep=sweep, **changes), [trace(rng, 5)], *options)

    def test_families(self):
        for seed, (family, (nodes, gpus)) in draws(enumerate((family, size) for family in (synchronous, delayed, lambda rng: compressing(
                rng, LASGD) + LASGD + PARTIAL) for size in ((2, 1), (5, 1), (3, 2)))):
            self.draw(seed, lambda rng: cluster(rng, nodes, gpus), family, all_reduce=ALGORITHMS[seed % 4])

    def test_channels(self):
        for seed in draws(range(20, 23)):
            self.draw(seed, lambda rng: cluster(rng, 4), synchronous, channels=seed - 18)

    def test_other_clusters(self):
        self.draw(30, lambda rng: cluster(rng, 4, fit=fit(rng)), synchronous)
        self.draw(31, lambda rng: cluster(rng, 4, latency_cv=0.4), delayed)
        self.draw(32, lambda rng: world(rng, 3, 2), lambda rng: LASGD + delayed(rng)[::2])

    def test_one_by_one(self):
        for seed, family in draws(enumerate((synchronous, delayed, lambda rng: LASGD), 40)):
            self.draw(seed, lambda rng: cluster(rng, 2, 2), family, "--no-symmetry")


class Messages(Moving):
    def messages(self, seed, description, family, *options, **changes):
        rng = random.Random(f"host {seed}")
        one = description(rng)
        workers = disturbances(rng, one["nodes"] * one["gpus_per_node"], slowdown=False)
        sweep = {"/schedule": family(rng), "/workers": [*workers[:2], rng.choice(workers[2:])]}
        self.draw(rng, fast_and_slow(rng, one), *options, sweep=sweep, all_reduce=rng.choice(ALGORITHMS), **changes)

    def in_flight(self, rng):
        return [schedule for schedule in delayed(rng) if schedule["name"] == "dts"]

    def test_one_at_a_time(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (6, 1), (2, 2)])):
            self.messages(seed, lambda rng: cluster(rng, nodes, gpus), synchronous)

    def test_several_at_a_time(self):
        for seed, nodes in draws(enumerate([2, 3], 10)):
            self.messages(seed, lambda rng: cluster(rng, nodes), self.in_flight, shared=True)
            self.messages(seed, lambda rng: cluster(rng, nodes), synchronous, shared=True, channels=2)

    def test_regions(self):
        self.messages(20, lambda rng: world(rng, 2, 2) | {"placement": "linear"}, synchronous, shared=True, fidelities=["flow"])

    def test_one_by_one(self):
        self.messages(30, lambda rng: cluster(rng, 3), synchronous, "--no-symmetry")


class InEveryFidelity(Fidelities):
    def test_equal_ranks(self):
        for nodes in (2, 4):
            rng = random.Random(f"host {nodes}")
            self.agree(rng, fast_and_slow(rng, slow_links(rng, nodes)), {"/schedule": LASGD + schedules(rng)[-2:]})


class Posting(Trials):
    def test_operations(self):
        for seed, (nodes, gpus) in draws(enumerate([(3, 1), (4, 1), (2, 2)])):
            rng = random.Random(f"host {seed}")
            self.draw(rng, [hosts(rng, cluster(rng, nodes, gpus))], EVERYBODY + (ODD if gpus == 1 else []), sweep={
                "/workers": [{}, {"slow": slow(rng, nodes * gpus)}]})

    def test_layer_by_layer(self):
        for seed, nodes in draws(enumerate([2, 3, 5], 10)):
            rng = random.Random(f"host {seed}")
            self.draw(rng, fast_and_slow(rng, slow_links(rng, nodes)), gated(1, 3), layers=4, sweep={
                "/workers": disturbances(rng, nodes, slowdown=False)[:3]})


if __name__ == "__main__":
    unittest.main()
