"""Parameter-server schedules: do channels, fair sharing and the server's queue do what a plain fluid simulation does?"""

import random
import unittest

from comparing import Comparison, cluster, disturbances, node_windows, scenario, trace
from running import draws

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
    if rng.random() < 0.6:
        options["within_node"] = rng.choice(["pipelined", "serial", "serial"])
    if rng.random() < 0.3:
        options["pulls"] = "requested"
    return options


def grouped(rng, nodes):
    return servers(rng, nodes) | {"grouping": rng.choice(GROUPINGS)}


def ssd(rng, nodes, delay):
    schedule = {"name": "ssd-sgd", "delay": delay, **grouped(rng, nodes)}
    if rng.random() < 0.5:
        schedule["local_update_s"] = rng.choice([rng.uniform(1e-4, 2e-3), rng.uniform(0, 3e-2)])
    if rng.random() < 0.4:
        schedule["warmup_iterations"] = rng.randint(1, 4)
    return schedule


SCHEDULES = {
    "ps-sgd": lambda rng, nodes: {"name": "ps-sgd", **grouped(rng, nodes)},
    "asgd": lambda rng, nodes: {"name": "asgd", **grouped(rng, nodes)},
    "dc-asgd": lambda rng, nodes: {"name": "dc-asgd", **grouped(rng, nodes)},
    "ssd-sgd": lambda rng, nodes: ssd(rng, nodes, rng.randint(1, 4)),
    "downpour": lambda rng, nodes: {"name": "downpour", "interval": rng.randint(1, 3), **servers(rng, nodes)},
    "eamsgd": lambda rng, nodes: {"name": "eamsgd", "interval": rng.randint(1, 3), **servers(rng, nodes)},
}


def long_updates(rng, layers=4):
    """Of up to several times backward, and sometimes of gradients that take long inside nodes."""
    result = trace(rng, layers)
    backward = sum(layer["backward_s"] for layer in result["layers"])
    for gradient in result["gradients"] if rng.random() < 0.5 else []:
        gradient["bytes"] *= rng.randint(2, 20)
    return result | {"update_s": rng.choice([0.3, 1, 4]) * rng.random() * backward}


class Server(Comparison):
    def draw(self, name, seed, nodes, gpus=1, count=5, *options, one=lambda rng: trace(rng, 3),
             change=lambda rng, description: description, **changes):
        rng = random.Random(f"{name} {seed}")
        drawn = change(rng, cluster(rng, nodes, gpus, **rng.choice([{}, {}, {"nics": 2}])))
        sweep = {"/cluster": [drawn], "/schedule": [SCHEDULES[name](rng, nodes) for _ in range(count)],
                 "/workers": disturbances(rng, nodes * gpus, slowdown=False)}
        self.compare(scenario(rng, sweep=sweep, iterations={"warmup": rng.randint(0, 2), "measured": rng.randint(1, 5)}, **changes),
                     [one(rng)], *options)

    def draw_all(self, name):
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (3, 1), (4, 1), (6, 1), (1, 2), (3, 2), (2, 3), (2, 4)])):
            self.draw(name, seed, nodes, gpus, 2 if nodes == 1 else 3)

    def test_synchronous(self):
        self.draw_all("ps-sgd")

    def test_asynchronous(self):
        self.draw_all("asgd")

    def test_delay_compensation(self):
        """Takes as long as it says, whatever the server does in that time."""
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (3, 1), (2, 2)])):
            self.draw("dc-asgd", seed, nodes, gpus, 2, fidelity=["alpha-beta", "flow"][seed % 2])

    def test_ssd_sgd(self):
        self.draw_all("ssd-sgd")

    def test_local_updates(self):
        """Lanes with a backlog, beside forward that waits for them."""
        for seed, (nodes, gpus) in draws(enumerate([(1, 1), (2, 1), (4, 1), (1, 4), (2, 2), (2, 3), (3, 2)], 10)):
            self.draw("ssd-sgd", seed, nodes, gpus, 2 if nodes == 1 else 4, one=long_updates)

    def test_downpour(self):
        self.draw_all("downpour")

    def test_eamsgd(self):
        self.draw_all("eamsgd")

    def test_many_clients(self):
        for name in SCHEDULES:
            self.draw(name, "many", 16, 1, 1)

    def test_layers_that_meet_a_busy_channel(self):
        for seed, name in draws(enumerate(("ps-sgd", "asgd", "ssd-sgd"))):
            rng = random.Random(seed)
            sweep = {"/cluster": [cluster(rng, 3), cluster(rng, 2, 2), cluster(rng, 2, 3)], "/workers": disturbances(rng, 3)[-3:],
                     "/schedule": [SCHEDULES[name](rng, 2) | {"duplex": True} for _ in range(4)]}
            self.compare(scenario(rng, sweep=sweep), [long_updates(rng)])

    def test_flows(self):
        """Also to colocated servers, whose links hand on what one part cannot use."""
        for seed, name in draws(enumerate(SCHEDULES)):
            self.draw(name, f"flows {seed}", 3 + seed % 2, 1 + seed % 2, 2, fidelity="flow")

    def test_windows(self):
        """Parts are flows in every fidelity."""
        for seed, name in draws(enumerate(SCHEDULES)):
            for fidelity in ("alpha-beta", "per-message", "flow"):
                self.draw(name, f"windows {seed}", 3 + seed % 2, 1 + seed % 2, 1, fidelity=fidelity, change=node_windows)

    def test_one_by_one(self):
        for name in SCHEDULES:
            self.draw(name, "one by one", 4, 1, 1, "--no-symmetry")
            self.draw(name, "one by one", 2, 2, 1, "--no-symmetry")


if __name__ == "__main__":
    unittest.main()
