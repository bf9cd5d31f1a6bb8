"""Workers that do not wait for each other: are models what follows from the order in which, by the oracle of times, servers handle pushes,
all-reduces gather ranks and models meet?"""

import random
import sys
import unittest

from support import ROOT

sys.path.append(str(ROOT / "tests/oracle"))  # behind what has the same names here

import comparing
import definitions
import draws
import in_order
import toy
from draws import OPTIMIZERS
from recording import AS_SIGN, QUICK, SLOW, Recorded
from test_server import servers

ROUNDS = 4 if SLOW else 1
NODES = [(2, 1), (3, 1), (4, 1), (6, 1), (2, 2), (3, 2)]
WAYS = ["fp16", "sign", {"name": "top-k", "ratio": 0.2}, {"name": "random-k", "ratio": 0.3}]


class InOrder(Recorded):
    def draw(self, name, seed, nodes, gpus, parameters, optimizer="sgd"):
        rng = random.Random(f"{name} {seed}")
        drawn = comparing.disturbances(rng, nodes * gpus, slowdown=False)[1:]
        clusters = [comparing.cluster(rng, nodes, gpus, link={"bandwidth": f"{rng.uniform(0.3, 10):.3f}Gbps", "latency": rng.uniform(1e-5, 2e-3)})]
        schedules = [{"name": name} | parameters(rng) for _ in range(2)]
        schedules = schedules[:1 + (schedules[0] != schedules[1])]
        sweep = {"/cluster": clusters, "/schedule": schedules, "/workers": rng.sample(drawn, 3)}
        content = comparing.scenario(rng, sweep=sweep, trace="trace0.json", iterations={"warmup": rng.randint(0, 2), "measured": rng.randint(4, 9)})
        one = draws.trace(rng)
        self.write("trace0.json", one)
        for point, record in self.run_recorded(content, "--optimizer", optimizer).items():
            labels = record.header["labels"]
            plain = {key: value for key, value in content.items() if key != "sweep"} | {"trace": one}
            plain |= {key.removeprefix("/"): value for key, value in labels.items()}
            cuts = toy.cuts(record.header["parts"], self.problem.size)
            training = in_order.define(self.problem, plain, record.header["workers"], optimizer, toy.HYPER, cuts)
            with self.subTest(seed=seed, point=point, schedule=labels["/schedule"], workers=labels["/workers"]):
                self.assert_agrees(record, training, replay=self.replay(record, AS_SIGN))

    def draw_all(self, name, parameters, optimizers=tuple(OPTIMIZERS), sizes=tuple(NODES)):
        for seed, (nodes, gpus) in enumerate([*sizes] * ROUNDS if not QUICK else sizes[-1:]):
            self.draw(name, seed, nodes, gpus, lambda rng: parameters(rng, nodes), optimizers[seed % len(optimizers)])

    def pushes(self, rng, nodes, way):
        """The oracle of times does not know what merging schedules make of compression."""
        groups = [grouping for grouping in draws.GROUPINGS if not way or "mg-wfbp" not in str(grouping)]
        return servers(rng, nodes) | {"grouping": rng.choice(groups)} | ({"compression": rng.choice(WAYS)} if way else {})

    def learners(self, rng, nodes, way=False):
        return servers(rng, nodes) | {"interval": rng.randint(1, 4)} | ({"compression": rng.choice(WAYS)} if way else {})

    def test_asgd(self):
        self.draw_all("asgd", lambda rng, nodes: self.pushes(rng, nodes, False))

    def test_delay_compensation(self):
        self.draw_all("dc-asgd", lambda rng, nodes: self.pushes(rng, nodes, False), ["sgd"])

    def test_compressed_pushes(self):
        for name in ("asgd", "dc-asgd"):
            self.draw_all(name, lambda rng, nodes: self.pushes(rng, nodes, True), ["sgd"], NODES[1:4])
        for name in ("downpour", "eamsgd"):
            self.draw_all(name, lambda rng, nodes: self.learners(rng, nodes, True), ["sgd"], NODES[1:4])

    def test_downpour(self):
        self.draw_all("downpour", self.learners)

    def test_eamsgd(self):
        self.draw_all("eamsgd", self.learners)

    def test_rounds(self):
        self.draw_all("lasgd", lambda rng, nodes: {"tau_max": rng.randint(1, 4), "worker": rng.choice(["node", "gpu"]),
                                                   "participants": rng.choice([1, 1, rng.uniform(0.3, 1)])})

    def test_meetings(self):
        self.draw_all("ad-psgd", lambda rng, nodes: {"within_node": rng.choice(["overlapped", "blocking"])}, sizes=[(2, 1), (3, 1), (3, 2)])

    def test_an_oracle_whose_definitions_agree(self):
        """Where one worker is alone, order does not matter: both definitions say the same."""
        for name, parameters in (("asgd", {}), ("dc-asgd", {}), ("downpour", {"interval": 2}), ("eamsgd", {"interval": 2})):
            rng = random.Random(name)
            point = comparing.scenario(rng, sweep={}, trace=draws.trace(rng), cluster=comparing.cluster(rng, 1), schedule={"name": name} | parameters)
            cuts = [slice(0, self.problem.size)]
            if name in ("asgd", "dc-asgd"):
                point["schedule"]["grouping"] = "sync-easgd"
            first = in_order.define(self.problem, point, 1, "momentum" if name != "dc-asgd" else "sgd", toy.HYPER, cuts)
            second = definitions.define(self.problem, point["schedule"], 1, 30, "momentum" if name != "dc-asgd" else "sgd", toy.HYPER, cuts)
            self.assertGreater(len(first.after), 3)
            for key, model in first.after.items():
                self.assert_same(model, second.after[key], 1e-12, (name, key))


if __name__ == "__main__":
    unittest.main()
