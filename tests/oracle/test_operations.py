"""All four operations, over everybody and over the odd ranks, in every fidelity: do they take what their definitions say?"""

import collections
import functools
import itertools
import os
import random
import unittest

import collectives
import oracle
import plans
import test_messages
import trials
from comparing import Comparison, cluster, disturbances, fit, scenario, slow, trace
from network import Network, alone
from running import draws
from support import ROOT
from test_messages import ALGORITHMS, MOVING, SIZE, star
from test_multi_gpu import gpus, two_level
from test_regions import world

TRIALS = os.environ.get("SIMCTL_TRIALS", str(ROOT / "build" / "simctl_trials"))
FIDELITIES = ["alpha-beta", *MOVING]
OPERATIONS = ["all-reduce", "reduce-scatter", "all-gather", "broadcast"]
EVERYBODY = [{"name": "collective", "operation": name} for name in OPERATIONS]
ODD = [{"name": "collective-of-odd", "operation": name} for name in OPERATIONS]


def without_update(one):
    """Trial schedules never update."""
    return one | {"update_s": 0.0}


class Trials(Comparison):
    tolerance = 1e-9
    shared = False  # do flows meet?

    def simctl(self, *arguments, **options):
        return super().simctl(*arguments, **{"binary": TRIALS, **options})

    def expected(self, index, point):
        point["region_order"] = self.points[index].get("region_order")
        return trials.expected(point, self.shared and point["fidelity"] == "flow")

    def draw(self, rng, clusters, schedules, *options, layers=2, fidelities=FIDELITIES, **changes):
        sweep = {"/cluster": clusters, "/schedule": schedules, **changes.pop("sweep", {}), "/fidelity": fidelities}
        content = scenario(rng, sweep=sweep, **{"iterations": {"warmup": rng.randint(0, 2), "measured": rng.randint(1, 3)}, **changes})
        return self.compare(content, [without_update(trace(rng, layers))], *options)


class KnownValues(unittest.TestCase):
    """Does the oracle itself do what an operation should, in the time that can be worked out by hand?"""

    def held(self, plan, held):
        test_messages.Plans.carry_out(self, plan, held)
        return held

    def test_reduce_scatter(self):
        """Every part is whole at one rank, another one at each."""
        for n, algorithm in itertools.product(range(2, 20), ALGORITHMS):
            plan = plans.reduce_scatter(algorithm, n)
            held = self.held(plan, [{part: collections.Counter([rank]) for part in range(n)} for rank in range(n)])
            whole = [part for mine in held for part, added in mine.items() if added == collections.Counter(range(n))]
            self.assertEqual(sorted(whole), list(range(n)))
            self.assertTrue(all(collections.Counter(range(n)) in mine.values() for mine in held))

    def test_broadcast(self):
        for n, algorithm in itertools.product(range(2, 20), ALGORITHMS):
            plan = plans.broadcast(algorithm, n)
            root = {part: collections.Counter("root") for part in range(plan.parts)}
            self.assertEqual(self.held(plan, [dict(root)] + [{} for _ in range(n - 1)]), [root] * n)

    def test_messages_take_what_closed_forms_say(self):
        for n, algorithm, operation in itertools.product((2, 4, 8), ALGORITHMS, OPERATIONS):
            for point in (star(algorithm, n), gpus(two_level(algorithm), n, 3)):
                make = functools.partial(Network.operation, name=operation)
                for shared in (False, True):
                    found = max(alone(point, SIZE, shared, make=make))
                    self.assertAlmostEqual(found / collectives.over_ranks(point, operation)(SIZE), 1, places=12)


class Star(Trials):
    def test_everybody(self):
        for seed, nodes in draws(enumerate([2, 3, 4, 7, 8])):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, nodes)], EVERYBODY, sweep={"/all_reduce": ALGORITHMS})

    def test_odd_ranks(self):
        for seed, nodes in draws(enumerate([4, 6, 9, 16], 10)):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, nodes)], ODD, sweep={"/all_reduce": ALGORITHMS})

    def test_double_tree(self):
        for seed, nodes in draws(enumerate([2, 5, 8], 20)):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, nodes)], EVERYBODY + (ODD if nodes > 3 else []), all_reduce="double-binary-tree",
                      fidelities=["alpha-beta"])

    def test_several_gpus(self):
        for seed, (nodes, count) in draws(enumerate([(1, 3), (2, 2), (3, 2), (4, 3), (2, 4)], 30)):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, nodes, count)], EVERYBODY, sweep={"/all_reduce": ["ring", rng.choice(ALGORITHMS[1:])]})

    def test_fit(self):
        for seed in draws(range(40, 44)):
            rng = random.Random(seed)
            algorithms = rng.sample(list(oracle.TERMS), 2)
            self.draw(rng, [cluster(rng, rng.randint(4, 6), fit=fit(rng))], EVERYBODY + ODD, fidelities=["alpha-beta"],
                      sweep={"/all_reduce": algorithms})
            self.draw(rng, [cluster(rng, 3, 2, fit=fit(rng))], EVERYBODY, fidelities=["alpha-beta"], sweep={"/all_reduce": algorithms})

    def test_unequal_workers(self):
        for seed, nodes in draws(enumerate([3, 4, 5], 50)):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, nodes)], EVERYBODY, sweep={
                "/all_reduce": ["ring", rng.choice(ALGORITHMS[1:])], "/workers": disturbances(rng, nodes, slowdown=False)[1:5]})

    def test_unequal_odd_ranks(self):
        for seed, nodes in draws(enumerate([6, 9], 60)):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, nodes)], ODD, sweep={
                "/all_reduce": ["ring", rng.choice(ALGORITHMS[1:])], "/workers": disturbances(rng, nodes, slowdown=False)[1:5]})

    def test_unequal_workers_of_several_gpus(self):
        for seed, (nodes, count) in draws(enumerate([(2, 2), (3, 2), (2, 3)], 70)):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, nodes, count)], EVERYBODY, sweep={
                "/all_reduce": ["ring", rng.choice(ALGORITHMS[1:])], "/workers": [{"slow": slow(rng, nodes * count)}]})


    def test_unequal_workers_of_one_node(self):
        rng = random.Random(75)
        schedules = [schedule for schedule in EVERYBODY if schedule["operation"] in ("all-reduce", "broadcast")]
        self.draw(rng, [cluster(rng, 1, 3), cluster(rng, 1, 4)], schedules, sweep={"/workers": disturbances(rng, 3, slowdown=False)[1:4]})

    def test_chunks(self):
        schedules = [schedule for schedule in EVERYBODY if schedule["operation"] != "all-gather"]
        for seed, (nodes, count) in draws(enumerate([(5, 1), (8, 1), (3, 1), (6, 1), (3, 2), (2, 3)], 80)):
            rng = random.Random(seed)
            algorithm = {"name": "binary-tree"} if count == 1 else two_level(rng.choice(ALGORITHMS))
            self.draw(rng, [cluster(rng, nodes, count)], schedules, all_reduce=algorithm | {"chunk": f"{rng.randint(150, 900)}kB"},
                      fidelities=MOVING, sweep={"/workers": [{}, {"slow": slow(rng, nodes * count)}]})

    def test_a_single_odd_rank(self):
        rng = random.Random(85)
        self.draw(rng, [cluster(rng, nodes) for nodes in (2, 3)], ODD)

    def test_jittered_latency(self):
        rng = random.Random(90)
        self.draw(rng, [cluster(rng, 5, latency_cv=0.4), cluster(rng, 2, 2, latency_cv=0.7)], EVERYBODY, fidelities=["alpha-beta"],
                  sweep={"/all_reduce": ["ring", "binary-tree"]})

    def test_busy_channels(self):
        rng = random.Random(95)
        self.draw(rng, [cluster(rng, 5)], EVERYBODY + ODD, fidelities=["alpha-beta"], sweep={"/workers": disturbances(rng, 5)[-3:]})

    def test_one_by_one(self):
        rng = random.Random(100)
        self.draw(rng, [cluster(rng, 4), cluster(rng, 2, 2)], EVERYBODY, "--no-symmetry",
                  sweep={"/all_reduce": ["ring", "halving-doubling"]})


class Regions(Trials):
    shared = True

    def test_rings(self):
        for seed, (regions, nodes, count) in draws(enumerate([(2, 1, 1), (3, 2, 1), (4, 2, 1), (2, 2, 2)])):
            rng = random.Random(seed)
            drawn = world(rng, regions, nodes, count)
            self.draw(rng, [drawn], EVERYBODY + (ODD if drawn["nodes"] > 3 and count == 1 else []))

    def test_flows(self):
        for seed, (regions, nodes, count) in draws(enumerate([(2, 3, 1), (3, 2, 1), (2, 2, 2)], 10)):
            rng = random.Random(seed)
            drawn = world(rng, regions, nodes, count) | {"placement": "linear"}
            self.draw(rng, [drawn], EVERYBODY + (ODD if drawn["nodes"] > 3 and count == 1 else []), fidelities=["flow"],
                      sweep={"/all_reduce": ALGORITHMS, "/workers": [{}, {"slow": slow(rng, drawn["nodes"] * count)}]})


if __name__ == "__main__":
    unittest.main()
