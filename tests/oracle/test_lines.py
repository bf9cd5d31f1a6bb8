"""Uplinks, parallel connections, object storage and other algorithms among regions: do messages cross and share them as the oracle says?"""

import random
import unittest

import collectives
import plans
from comparing import node_windows, scenario, slow, trace
from movement import Path, fair_rates
from oracle import quantity
from running import draws
from test_messages import MOVING, Moving
from test_regions import uneven, windows, world
from test_server import SCHEDULES
from test_server_regions import FIDELITIES, OverRegions, placed


def bandwidths(rng, usual):
    """Half of them asymmetric."""
    up, down = (round(usual * rng.uniform(0.3, 1.5)) for _ in range(2))
    return {"bandwidth": rng.choice([up, {"up": up, "down": down}]), **rng.choice([{}, {"efficiency": 0.5}])}


def lines(rng, description, all_links=False):
    """Uplinks as fast as the links between regions, and no bandwidths of some of these, where there are enough uplinks."""
    usual = min(min(collectives.directed(entry["bandwidth"])) for entry in description["wan"])
    for region in description["regions"]:
        for key in rng.choice([(), ("uplink",), ("node_uplink",), ("uplink", "node_uplink")]):
            region[key] = bandwidths(rng, usual * (region["nodes"] if key == "uplink" else 1))
    has_line = {region["name"]: {"uplink", "node_uplink"} & region.keys() for region in description["regions"]}
    for entry in description["wan"]:
        if not all_links and all(has_line[name] for name in entry["between"]) and rng.random() < 0.5:
            del entry["bandwidth"]
    return description


def connections(rng, description):
    for link in (*description["wan"], description["link"]):
        link["connections"] = rng.randint(1, 4)
    return description


def stored(rng, description):
    """Some ways, by object storage."""
    for entry in description["wan"][:rng.randint(1, len(description["wan"]))]:
        entry["via"] = rng.choice(["object-storage", {"name": "object-storage", "download": bandwidths(rng, quantity(entry["bandwidth"]))["bandwidth"]}])
    return description


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def test_shares_by_weight(self):
        """A flow of four connections beside one of a single one; a third cannot have its share, which goes to both."""
        paths = {0: Path(("a",), 0.0, weight=4), 1: Path(("a",), 0.0)}
        self.assertEqual(fair_rates(paths, {"a": 10.0}), {0: 8.0, 1: 2.0})
        self.assertEqual(fair_rates({**paths, 2: Path(("a",), 0.0, 5.0, 5)}, {"a": 15.0}), {0: 8.0, 1: 2.0, 2: 5.0})

    def test_among_regions(self):
        for between in ("ring", "binary-tree", "recursive-doubling", "halving-doubling"):
            plan = plans.by_region((2, 1, 3, 1, 1), 2, between)
            held = [{part: {rank: 1} for part in range(plan.parts)} for rank in range(plan.ranks)]
            for stage in plan.stages:
                sent = [(message, {part: dict(held[message.sender][part]) for part in message.parts}) for message in stage]
                for message, parts in sent:
                    for part, ranks in parts.items():
                        before = held[message.receiver][part] if message.reduces else {}
                        held[message.receiver][part] = {rank: before.get(rank, 0) + ranks.get(rank, 0) for rank in {*before, *ranks}}
            self.assertEqual(held, [{part: dict.fromkeys(range(plan.ranks), 1) for part in range(plan.parts)}] * plan.ranks)


class Messages(Moving):
    def far(self, seed, change, regions, nodes, gpus=1, fidelities=("flow",), **changes):
        rng = random.Random(f"uplinks {seed}")
        description = change(rng, world(rng, regions, nodes, gpus)) | rng.choice([{}, {"placement": "linear"}])
        sweep = {"/all_reduce": ["ring", "halving-doubling", "by-region"], "/workers": [{}, {"slow": slow(rng, regions)}]}
        self.draw(rng, [description], shared=True, fidelities=list(fidelities), layers=2, sweep=sweep,
                  **{"iterations": {"warmup": 1, "measured": 2}, "schedule": {"name": "wfbp"}, **changes})

    def test_uplinks(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 3, 1), (3, 2, 1), (4, 2, 1), (2, 2, 2)])):
            self.far(seed, lines, regions, nodes, gpus)
        self.far(5, lambda rng, description: lines(rng, uneven(rng, windows(rng, description))), 3, 2)

    def test_messages_that_meet_none(self):
        for seed in draws((10, 11)):
            self.far(seed, lines, 3, 1, fidelities=MOVING)

    def test_connections(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2)], 20)):
            self.far(seed, lambda rng, description: connections(rng, lines(rng, node_windows(rng, windows(rng, description)))), regions, nodes)

    def test_object_storage(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2), (4, 1)], 30)):
            self.far(seed, stored, regions, nodes)
        self.far(35, stored, 3, 1, fidelities=MOVING)
        self.far(36, lambda rng, description: stored(rng, lines(rng, description, all_links=True)), 3, 2)

    def test_among_regions(self):
        for seed, (regions, nodes) in draws(enumerate([(3, 2), (4, 2), (5, 1)], 40)):
            algorithms = [{"name": "by-region", "between": between} for between in ("binary-tree", "recursive-doubling", "halving-doubling")]
            rng = random.Random(seed)
            self.draw(rng, [world(rng, regions, nodes)], shared=True, layers=2, fidelities=["flow"], schedule={"name": "wfbp"},
                      iterations={"warmup": 1, "measured": 2}, sweep={"/all_reduce": [*algorithms, algorithms[0] | {"chunk": "200kB"}]})


class FarServers(OverRegions):
    def draw(self, seed, regions, nodes, change):
        rng = random.Random(f"servers beyond uplinks {seed}")
        description = change(rng, world(rng, regions, nodes))
        schedules = [placed(rng, description, SCHEDULES[name](rng, description["nodes"])) for name in ("ps-sgd", "asgd")]
        sweep = {"/schedule": schedules, "/workers": [{}, {"slow": slow(rng, regions)}]}
        self.compare(scenario(rng, sweep=sweep, cluster=description, fidelity=rng.choice(FIDELITIES), iterations={"warmup": 1, "measured": 3}), [trace(rng, 3)])

    def test_uplinks(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2), (3, 3)])):
            self.draw(seed, regions, nodes, lines)

    def test_connections(self):
        for seed in draws((10, 11)):
            self.draw(seed, 3, 2, lambda rng, description: connections(rng, lines(rng, windows(rng, description))))


if __name__ == "__main__":
    unittest.main()
