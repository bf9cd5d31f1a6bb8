"""Groups that are as good as others: does the optimal merging take those that the page names?"""

import itertools
import random
import unittest

import synchronous
from comparing import Comparison, cluster, disturbances, scenario, trace
from running import draws
from test_server import SCHEDULES
from test_server_in_flight import pipelined

OPTIMAL = {"name": "mg-wfbp-optimal"}


def many_gradients(rng):
    """Ten, some of them ready at once."""
    one = trace(rng)
    names = [layer["name"] for layer in one["layers"]]
    return one | {"gradients": [{"name": str(index), "layer": names[-1 - index * len(names) // 10], "bytes": int(10 ** rng.uniform(4.5, 6))}
                                for index in range(10)]}


def without_latency(rng, nodes, gpus=1):
    drawn = cluster(rng, nodes, gpus, link={"bandwidth": f"{rng.uniform(0.5, 9):.3f}Gbps", "latency": 0})
    return drawn | ({"intra_node": drawn["intra_node"] | {"latency": 0}} if gpus > 1 else {})


class Known(unittest.TestCase):
    def sizes(self, *ready):
        """Gradients in each group, of gradients that take 2 s."""
        names = [str(index) for index in range(len(ready))]
        one = {"layers": [{"name": name, "forward_s": 1, "backward_s": 9} for name in names],
               "gradients": [{"name": name, "layer": name, "bytes": 2, "ready_s": date} for name, date in zip(names, ready)]}
        return [len(group) for group in synchronous.slices({"trace": one}, lambda size: (0.0, 1.0), OPTIMAL)]

    def test_order(self):
        """The channel is never idle: a group has what is ready when it can start, at most."""
        self.assertEqual(self.sizes(1, 1, 1), [3])
        self.assertEqual(self.sizes(0, 1, 2, 3, 4), [1, 1, 3])  # not 1, 2, 2
        self.assertEqual(self.sizes(0, 0, 1, 3, 4), [2, 3])
        self.assertEqual(self.sizes(0, 1, 2, 3, 4, 10, 10), [1, 1, 3, 2])  # not 1, 2, 2, 2
        self.assertEqual(self.sizes(1, 1, 2, 3, 9, 9, 10, 10, 11, 13), [2, 2, 2, 4])


class Servers(Comparison):
    def test_nothing_to_save(self):
        """Messages that do not wait for latencies, or that have none."""
        for seed, (name, (nodes, gpus)) in draws(enumerate(itertools.product(("ps-sgd", "asgd", "ssd-sgd"), ((1, 1), (3, 1), (2, 2))))):
            rng = random.Random(f"groups {seed}")
            drawn = SCHEDULES[name](rng, nodes) | {"grouping": OPTIMAL}
            clusters = [form(rng, nodes, gpus) for form in (without_latency, cluster) for _ in range(3)]
            sweep = {"/cluster": clusters, "/schedule": [drawn, pipelined(drawn)],
                     "/workers": disturbances(rng, nodes * gpus, slowdown=False)[:3]}
            self.compare(scenario(rng, sweep=sweep), [many_gradients(rng)])


class AllReduces(Comparison):
    def test_nothing_to_save(self):
        """Unequal ranks are ready at other times than those by which gradients are merged."""
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (5, 1), (2, 2)])):
            rng = random.Random(f"groups {seed}")
            sweep = {"/cluster": [without_latency(rng, nodes, gpus) for _ in range(6)], "/workers": disturbances(rng, nodes * gpus)}
            self.compare(scenario(rng, sweep=sweep, schedule=OPTIMAL), [many_gradients(rng)])


if __name__ == "__main__":
    unittest.main()
