"""Parameter-server schedules: do channels, fair sharing and the server's queue do what a plain fluid simulation does?"""

import random
import unittest

from comparing import Comparison, cluster, disturbances, scenario, trace

FUSION = {"name": "fusion", "first_bucket": "50kB", "bucket": "1MB"}
GROUPINGS = ["wfbp", "wfbp", "s-sgd", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", FUSION]


def servers(rng, nodes):
    options = {"servers": rng.randint(1, nodes)}
    if rng.random() < 0.5:
        options["colocated"] = True
    if rng.random() < 0.6:
        options["server_s_per_B"] = 10 ** rng.uniform(-11, -9.3)
    if rng.random() < 0.4:
        options["duplex"] = False
    return options


def grouped(rng, nodes):
    return servers(rng, nodes) | {"grouping": rng.choice(GROUPINGS)}


def ssd(rng, nodes, delay):
    schedule = {"name": "ssd-sgd", "delay": delay, **grouped(rng, nodes)}
    if rng.random() < 0.5:
        schedule["local_update_s"] = rng.uniform(1e-4, 2e-3)
    if rng.random() < 0.4:
        schedule["warmup_iterations"] = rng.randint(1, 4)
    return schedule


SCHEDULES = {
    "ps-sgd": lambda rng, nodes: {"name": "ps-sgd", **grouped(rng, nodes)},
    "asgd": lambda rng, nodes: {"name": "asgd", **grouped(rng, nodes)},
    "ssd-sgd": lambda rng, nodes: ssd(rng, nodes, rng.randint(1, 4)),
    "downpour": lambda rng, nodes: {"name": "downpour", "interval": rng.randint(1, 3), **servers(rng, nodes)},
    "eamsgd": lambda rng, nodes: {"name": "eamsgd", "interval": rng.randint(1, 3), **servers(rng, nodes)},
}


class Server(Comparison):
    def draw(self, name, seed, nodes, gpus=1, count=5, *options):
        rng = random.Random(f"{name} {seed}")
        sweep = {"/cluster": [cluster(rng, nodes, gpus)], "/schedule": [SCHEDULES[name](rng, nodes) for _ in range(count)],
                 "/workers": disturbances(rng, nodes * gpus, slowdown=False)}
        self.compare(scenario(rng, sweep=sweep, iterations={"warmup": rng.randint(0, 2), "measured": rng.randint(1, 5)}),
                     [trace(rng, 3)], *options)

    def draw_all(self, name):
        for seed, (nodes, gpus) in enumerate([(1, 1), (2, 1), (3, 1), (4, 1), (6, 1), (1, 2), (3, 2)]):
            self.draw(name, seed, nodes, gpus, 2 if nodes == 1 else 5)

    def test_synchronous(self):
        self.draw_all("ps-sgd")

    def test_asynchronous(self):
        self.draw_all("asgd")

    def test_ssd_sgd(self):
        self.draw_all("ssd-sgd")

    def test_downpour(self):
        self.draw_all("downpour")

    def test_eamsgd(self):
        self.draw_all("eamsgd")

    def test_many_clients(self):
        for name in SCHEDULES:
            self.draw(name, "many", 16, 1, 1)

    def test_layers_that_meet_a_busy_channel(self):
        for seed, name in enumerate(("ps-sgd", "asgd", "ssd-sgd")):
            rng = random.Random(seed)
            sweep = {"/cluster": [cluster(rng, 3), cluster(rng, 2, 2)], "/workers": disturbances(rng, 3)[-3:],
                     "/schedule": [SCHEDULES[name](rng, 2) | {"duplex": True} for _ in range(4)]}
            self.compare(scenario(rng, sweep=sweep), [trace(rng)])

    def test_one_by_one(self):
        for name in SCHEDULES:
            self.draw(name, "one by one", 4, 1, 2, "--no-symmetry")


if __name__ == "__main__":
    unittest.main()
