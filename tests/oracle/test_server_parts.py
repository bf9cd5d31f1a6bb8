"""Groups that are pushed and pulled in parts: which parts are there, what overlaps, and what does each cost?"""

import itertools
import random
import unittest

import support
from comparing import ByHand, Comparison, cluster, disturbances, expected, node_windows, over_servers, scenario, trace
from running import Running, draws
from test_host import hosts
from test_known_values import TRACE, TWO, point
from test_members import members
from test_server import SCHEDULES, long_updates
from test_server_fifo import fifo
from test_server_in_flight import either
from test_server_queued import queued
from test_server_regions import FIDELITIES, OverRegions, placed
from test_regions import world

IN_GROUPS = ["ps-sgd", "asgd", "dc-asgd", "ssd-sgd"]
MB = 1000000


def formula(schedule, n, nodes, bandwidth, latency, host=0.0):
    """The page's: from the post of n equal parts to the end of the last pull."""
    servers, size = schedule.get("servers", 1), schedule["partition"]
    push = latency + nodes * size / (servers * bandwidth)
    work = nodes * (size / servers * schedule.get("server_s_per_B", 0.0) + 2 * host)
    if schedule.get("duplex", True):
        return 2 * push + work + (n - 1) * max(push, work)
    return n * (2 * push + work)


def partition(rng):
    """From some parts of a group to less than one."""
    return rng.choice([rng.randint(150000, 600000), "1MB", "400kB", rng.randint(MB, 20 * MB)])


def in_parts(rng, schedule):
    return schedule | {"partition": partition(rng)}


class Known(ByHand):
    """1 MB takes 0.1 ms + 1 ms alone on a link, after 3 ms of compute."""

    def test_one_client(self):
        """Pulls follow pushes by one part; four parts with a latency each."""
        for name in ("ps-sgd", "asgd"):
            self.check(3 + 1.1 + 1.1, point({"name": name}, 1))
            self.check(3 + 4 * 0.35 + 0.35, point({"name": name, "partition": MB // 4}, 1), communication_s=5 * 0.35e-3, communications_per_iteration=8)
            self.check(3 + 4 * (0.35 + 0.35), point({"name": name, "partition": MB // 4, "duplex": False}, 1))

    def test_a_last_part_of_what_remains(self):
        """Of 400, 400 and 200 kB."""
        self.check(3 + 0.5 + 2 * 0.5 + 0.3, point({"name": "ps-sgd", "partition": 400000}, 1))

    def test_a_server_s_work(self):
        """Of each part 0.5 ms, which is the longest of the three, and 0.1 for each message."""
        drawn = point({"name": "ps-sgd", "partition": MB // 4, "server_s_per_B": 2e-9}, 1)
        self.check(3 + 0.35 + 4 * 0.5 + 0.35, drawn)
        drawn["cluster"]["host"] = {"per_message_s": 1e-4}
        self.check(3 + 0.35 + 4 * 0.7 + 0.35, drawn)

    def test_parts_of_several_gradients(self):
        """4 MB of two gradients, of 3 MB and 1 MB."""
        drawn = point({"name": "ps-sgd", "grouping": "sync-easgd", "partition": 3 * MB}, 1, trace=TWO)
        self.check(4 + 3.1 + 3.1 + 1.1, drawn)

    def test_compressed_parts(self):
        """A tenth is sent. Each half is encoded for 0.5 ms; the first one is pushed and pulled while the second one is encoded."""
        way = {"name": "random-k", "ratio": 0.1, "encode_s_per_B": 1e-9}
        self.check(3 + 0.5 + 0.15 + 2 * 0.6, point({"name": "ps-sgd", "compression": way, "partition": MB // 2}, 1))

    def test_a_partition_that_cuts_nothing(self):
        for name in IN_GROUPS:
            schedule = SCHEDULES[name](random.Random(name), 2)
            self.assertEqual(expected(point(schedule)), expected(point(schedule | {"partition": MB})))


class Formula(Comparison):
    def test_equal_clients(self):
        """simctl itself, in every fidelity."""
        one = TRACE | {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "x"}, "layers": [TRACE["layers"][0] | {"type": "x"}]}
        for index, (n, nodes, servers, duplex) in enumerate(itertools.product((1, 2, 8), (1, 2, 5), (1, 2), (True, False))):
            if servers > nodes:
                continue
            rng = random.Random(index)
            schedule = {"name": rng.choice(["ps-sgd", "asgd"]) if nodes == 1 else "ps-sgd", "servers": servers, "duplex": duplex, "partition": MB // n,
                        "server_s_per_B": rng.choice([0, 10 ** rng.uniform(-10, -8)])}
            host = rng.choice([0, 10 ** rng.uniform(-5, -3)])
            content = {"format": "scenario/1", "name": "formula", "trace": one, "schedule": schedule, "iterations": {"warmup": 1, "measured": 2},
                       "cluster": {"format": "cluster/1", "name": "star", "nodes": nodes, "link": {"bandwidth": 1e9, "latency": 1e-4},
                                   **({"host": {"per_message_s": host}} if host else {})},
                       "sweep": {"/fidelity": FIDELITIES}}
            self.run_well(content)
            right = 0.003 + formula(schedule, n, nodes, 1e9, 1e-4, host)
            for row in self.rows():
                self.assertAlmostEqual(row["iteration_s"] / right, 1, delta=1e-9, msg=f"{schedule} {nodes} nodes {host} {row['/fidelity']}")

    def test_a_partition_that_cuts_nothing(self):
        """All groups fit: the same to the bit."""
        for seed, name in draws(enumerate(IN_GROUPS)):
            rng = random.Random(f"whole {seed}")
            schedules = {str(one): one for one in (SCHEDULES[name](rng, 3) for _ in range(3))}.values()
            both = [one | more for one in schedules for more in ({}, {"partition": 100 * MB})]
            content = scenario(rng, name="whole", sweep={"/cluster": [cluster(rng, 3, 2)], "/schedule": both, "/fidelity": FIDELITIES},
                               workers=rng.choice(disturbances(rng, 6)))
            self.write("trace0.json", trace(rng))
            self.run_well({"trace": "trace0.json", **content})
            found = list(zip(*[iter(self.rows())] * len(FIDELITIES)))
            self.assertEqual(len(found), len(both))
            for whole, cut in zip(found[::2], found[1::2]):
                for one, other in zip(whole, cut):
                    for key in ("iteration_s", "iteration_p95_s", "communication_s", "wait_s", "exposed_communication_s", "bytes_per_worker_per_iteration"):
                        self.assertEqual(one[key], other[key], key)


class Parts(Comparison):
    def draw(self, names, seed, nodes, gpus=1, *options, count=2, change=lambda rng, schedule: schedule, on=lambda rng, description: description,
             one=lambda rng: trace(rng, 3), disturbed=lambda rng, workers: disturbances(rng, workers)[:6], **changes):
        rng = random.Random(f"parts {names} {seed}")
        drawn = on(rng, cluster(rng, nodes, gpus, **rng.choice([{}, {}, {"nics": 2}])))
        schedules = [in_parts(rng, change(rng, SCHEDULES[name](rng, nodes))) for name in names for _ in range(count)]
        sweep = {"/cluster": [drawn], "/schedule": schedules, "/workers": disturbed(rng, nodes * gpus)}
        self.compare(scenario(rng, sweep=sweep, **{"iterations": {"warmup": rng.randint(0, 2), "measured": rng.randint(1, 4)}, **changes}),
                     [one(rng)], *options)

    def test_stars(self):
        for name in IN_GROUPS:
            for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (3, 1), (6, 1), (1, 2), (3, 2), (2, 4)]), name):
                self.draw([name], seed, nodes, gpus)

    def test_one_direction_at_a_time(self):
        self.draw(["ps-sgd", "asgd", "ssd-sgd"], "one", 3, change=lambda rng, schedule: schedule | {"duplex": False}, count=1)

    def test_servers_that_take_their_time_for_each_message(self):
        self.draw(["ps-sgd", "asgd", "ssd-sgd"], "hosts", 3, on=lambda rng, description: hosts(rng, description, 1e-6, 1e-3), count=1)

    def test_compressed(self):
        for seed, name in draws(enumerate(IN_GROUPS)):
            self.draw([name], f"compressed {seed}", 3, change=over_servers)

    def test_ways_to_serve(self):
        """And messages that overlap."""
        for seed, way in enumerate((fifo, queued)):
            self.draw(["ps-sgd", "asgd", "ssd-sgd"], seed, 4, count=1, change=lambda rng, schedule: way(either(rng, schedule, 0.5)))
        self.draw(["ps-sgd", "asgd", "ssd-sgd"], "shared", 4, count=1, change=lambda rng, schedule: either(rng, schedule, 1))

    def test_flows(self):
        for seed, name in draws(enumerate(IN_GROUPS)):
            self.draw([name], f"flows {seed}", 3, 1 + seed % 2, fidelity="flow")
            self.draw([name], f"windows {seed}", 3, 1 + seed % 2, fidelity=FIDELITIES[seed % 3], on=node_windows, count=1)

    def test_local_updates(self):
        """That wait for the parts of their own layer."""
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (4, 1), (2, 2)], 10)):
            self.draw(["ssd-sgd"], seed, nodes, gpus, count=4, one=long_updates)

    def test_backup(self):
        def change(rng, schedule):
            kept = {key: value for key, value in schedule.items() if key not in ("duplex", "pulls")}
            return kept | {"backup": rng.randint(1, 2)}

        for seed, (nodes, gpus) in draws(enumerate([(3, 1), (5, 1), (3, 2)], 20)):
            self.draw(["ps-sgd"], seed, nodes, gpus, count=3, change=change,
                      disturbed=lambda rng, workers: disturbances(rng, workers, slowdown=False)[1:4])

    def test_members(self):
        """Who joins pulls the model in one message."""
        def disturbed(rng, workers):
            return [one | {"events": one.get("events", []) + members(rng, workers, 1)} for one in disturbances(rng, workers, slowdown=False)[:3]]

        self.draw(["asgd"], "members", 4, disturbed=disturbed, iterations={"warmup": 1, "measured": 5})

    def test_one_by_one(self):
        self.draw(IN_GROUPS, "one by one", 3, 1, "--no-symmetry", count=1)
        self.draw(IN_GROUPS, "one by one", 2, 2, "--no-symmetry", count=1)


class Regions(OverRegions):
    def test_worlds(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 2, 1), (3, 1, 1), (2, 1, 2)])):
            rng = random.Random(f"parts over regions {seed}")
            description = world(rng, regions, nodes, gpus)
            schedules = [placed(rng, description, in_parts(rng, SCHEDULES[name](rng, description["nodes"]))) for name in IN_GROUPS]
            workers = disturbances(rng, description["nodes"] * gpus, slowdown=False)
            self.compare(scenario(rng, sweep={"/cluster": [description], "/schedule": schedules, "/workers": [workers[0], rng.choice(workers[1:])]},
                                  fidelity=rng.choice(FIDELITIES)), [trace(rng, 3)])


class Refused(Running):
    def test_too_many_parts(self):
        """6 MB in parts of 5 bytes."""
        for name in IN_GROUPS:
            schedule = {"name": name, "partition": 5} | ({"delay": 2} if name == "ssd-sgd" else {})
            done = self.run_scenario(support.scenario(schedule=schedule))
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertRegex(done.stderr, r"a partition of 5 B cuts the gradients into 1.2e\+06 parts, but at most 1e\+06 can be simulated; make it larger|over the limit")


if __name__ == "__main__":
    unittest.main()
