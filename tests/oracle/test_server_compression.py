"""Compressed messages over parameter servers: do clients and servers encode, decode and send what they should?"""

import itertools
import random
import unittest

from comparing import ByHand, Comparison, cluster, disturbances, expected, node_windows, over_servers, scenario, trace
from running import draws
from test_flows import profiles
from test_known_values import TRACE, TWO, at_once, point
from test_regions import windows, world
from test_server import SCHEDULES, long_updates
from test_server_regions import FIDELITIES, OverRegions, placed

WAY = {"name": "random-k", "ratio": 0.1, "encode_s_per_B": 1e-9, "decode_s_per_B": 2e-9}
BOTH = WAY | {"pull": "compressed"}


class Known(ByHand):
    """1 MB, of which 100 kB are sent; latencies of 0.1 ms."""

    def test_pushes(self):
        """1 ms of encoding, 0.2 of pushing, 2 of decoding and 0.4 of work at the server, 1.1 of pulling everything."""
        for name in ("ps-sgd", "asgd"):
            self.check(3 + 1 + 0.2 + 2.4 + 1.1, point({"name": name, "compression": WAY, "server_s_per_B": 4e-9}, 1),
                       exposed_communication_s=0.0047, bytes_per_worker_per_iteration=1.1e6, compute_s=0.003, wait_s=0)

    def test_pulls(self):
        """The server encodes, too, for 1 ms, and the client decodes for 2."""
        for name in ("ps-sgd", "asgd"):
            self.check(3 + 1 + 0.2 + 2 + 1 + 0.2 + 2, point({"name": name, "compression": BOTH}, 1), communication_s=0.0004,
                       bytes_per_worker_per_iteration=2e5)

    def test_a_server_encodes_once_for_all(self):
        """Two pushes share its link."""
        self.check(3 + 1 + 0.3 + 2 * 2 + 1 + 0.3 + 2, point({"name": "ps-sgd", "compression": BOTH}))
        self.check(3 + 1 + 0.2 + 2 * 1 + 0.5 + 0.2 + 2, point({"name": "ps-sgd", "compression": BOTH, "servers": 2}))

    def test_rounds(self):
        for name, milliseconds in (("downpour", 1 + 0.2 + 2 + 1 + 0.2 + 2), ("eamsgd", 1 + 0.2 + 2 + 1 + 0.2 + 2)):
            self.check(3 + milliseconds / 2, point({"name": name, "interval": 2, "compression": BOTH}, 1, iterations={
                "warmup": 2, "measured": 2}), exposed_communication_s=milliseconds / 2000)

    def test_nodes_reduce_and_spread_everything(self):
        """1 ms each inside, and 1e-21 s/B."""
        for within_node in ("pipelined", "serial"):
            schedule = {"name": "ps-sgd", "compression": BOTH, "within_node": within_node}
            self.check(3 + 1 + 1 + 2 * 2 + 1 + 1 + 2, point(schedule, cluster=at_once(gpus=2)))

    def test_local_updates_wait_for_decoding(self):
        """What was pulled in the step before, 4 MB, has come before backward ends and is then decoded for 8 ms, before a is updated for 2
        and b for 2, for 1 of which forward waits."""
        way = {"name": "none", "decode_s_per_B": 2e-9, "pull": "compressed"}
        drawn = point({"name": "ssd-sgd", "delay": 1, "compression": way, "grouping": "sync-easgd"}, trace=TWO,
                      cluster=at_once() | {"nodes": 1}, iterations={"warmup": 3, "measured": 4})
        self.check(4 + 8 + 2 + 1, drawn, compute_s=0.006, exposed_communication_s=0.008)

    def test_less_than_nothing(self):
        """What changes no byte and takes no time changes nothing."""
        for name, way in itertools.product(SCHEDULES, ("none", {"name": "none", "pull": "compressed"}, "fp16")):
            schedule = SCHEDULES[name](random.Random(name), 2) | {"grouping": "wfbp"}
            one = TRACE | {"model": TRACE["model"] | {"dtype": "fp16"}}
            self.assertEqual(expected(point(schedule, trace=one)), expected(point(schedule | {"compression": way}, trace=one)))


class Star(Comparison):
    def draw(self, name, seed, nodes, gpus=1, count=2, *options, one=lambda rng: trace(rng, 3),
             change=lambda rng, description: description, **changes):
        rng = random.Random(f"{name} {seed}")
        drawn = change(rng, cluster(rng, nodes, gpus, **rng.choice([{}, {}, {"nics": 2}])))
        workers = disturbances(rng, nodes * gpus, slowdown=False)
        sweep = {"/cluster": [drawn], "/schedule": [over_servers(rng, SCHEDULES[name](rng, nodes)) for _ in range(count)],
                 "/workers": [workers[0], *rng.sample(workers[1:], 2)]}
        self.compare(scenario(rng, sweep=sweep, **{"iterations": {"warmup": rng.randint(0, 2), "measured": rng.randint(1, 5)}, **changes}),
                     [one(rng)], *options)

    def draw_all(self, name):
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (3, 1), (5, 1), (3, 2), (2, 3)])):
            self.draw(name, f"compressed {seed}", nodes, gpus)

    def test_synchronous(self):
        self.draw_all("ps-sgd")

    def test_asynchronous(self):
        self.draw_all("asgd")
        self.draw("dc-asgd", "compressed", 3)

    def test_pulling_some_iterations_only(self):
        self.draw_all("ssd-sgd")

    def test_local_updates(self):
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (3, 1), (2, 2)], 10)):
            self.draw("ssd-sgd", f"compressed {seed}", nodes, gpus, 3, one=long_updates)

    def test_downpour(self):
        self.draw_all("downpour")

    def test_eamsgd(self):
        self.draw_all("eamsgd")

    def test_layers_that_meet_a_busy_channel(self):
        for seed, name in draws(enumerate(("ps-sgd", "asgd", "ssd-sgd"))):
            rng = random.Random(seed)
            sweep = {"/cluster": [cluster(rng, 3), cluster(rng, 2, 2)], "/workers": disturbances(rng, 3)[-3:],
                     "/schedule": [over_servers(rng, SCHEDULES[name](rng, 2)) | {"duplex": True} for _ in range(2)]}
            self.compare(scenario(rng, sweep=sweep), [long_updates(rng)])

    def test_flows(self):
        for seed, name in draws(enumerate(SCHEDULES)):
            self.draw(name, f"flows {seed}", 3, 1 + seed % 2, 2, fidelity="flow")
            self.draw(name, f"windows {seed}", 3, 1 + seed % 2, 1, fidelity=FIDELITIES[seed % 3], change=node_windows)

    def test_one_by_one(self):
        for name in SCHEDULES:
            self.draw(name, "one by one", 3, 1, 1, "--no-symmetry")
            self.draw(name, "one by one", 2, 2, 1, "--no-symmetry")


class Regions(OverRegions):
    def draw(self, seed, regions, nodes, gpus=1, change=lambda rng, description: description, **changes):
        rng = random.Random(f"compressed {seed}")
        description = change(rng, world(rng, regions, nodes, gpus))
        schedules = [placed(rng, description, over_servers(rng, SCHEDULES[name](rng, description["nodes"]))) for name in SCHEDULES]
        workers = disturbances(rng, description["nodes"] * gpus, slowdown=False)
        sweep = {"/cluster": [description], "/schedule": schedules, "/workers": [workers[0], rng.choice(workers[1:])]}
        self.compare(scenario(rng, sweep=sweep, **{"fidelity": rng.choice(FIDELITIES), "iterations": {
            "warmup": rng.randint(0, 2), "measured": rng.randint(1, 4)}, **changes}), [trace(rng, 3)])

    def test_worlds(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 1, 1), (2, 3, 1), (3, 2, 1), (2, 2, 2)])):
            self.draw(seed, regions, nodes, gpus)

    def test_windows_and_changing_bandwidth(self):
        for seed, regions in draws(enumerate([2, 3], 10)):
            self.draw(seed, regions, 2, change=lambda rng, description: profiles(rng, windows(rng, description)), fidelity="flow")


if __name__ == "__main__":
    unittest.main()
