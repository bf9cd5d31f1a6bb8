"""Several collectives in flight: do their latencies pass together, and does no link carry more than it can?"""

import itertools
import random
import unittest

from comparing import Comparison, cluster, disturbances, fit, scenario, slow, trace
from running import draws
from test_messages import ALGORITHMS, MOVING, Moving
from test_regions import world

DTS = [{"name": "dts", "delay": delay, "period": period} for delay, period in ((0, 1), (2, 1), (4, 1), (3, 2))]


def without_latency(rng, nodes):
    """Sums are free, too, so that a link that has something to carry does."""
    return cluster(rng, nodes, link={"bandwidth": f"{rng.uniform(0.5, 5):.3f}Gbps", "latency": 0}) | {"reduce_s_per_B": 0}


class ClosedForms(Comparison):
    def draw(self, seed, clusters, workers, schedules, count=4):
        rng = random.Random(seed)
        sweep = {"/cluster": clusters(rng), "/schedule": schedules, "/channels": [1, 2, 3, 7],
                 "/workers": disturbances(rng, workers)[:count]}
        self.compare(scenario(rng, sweep=sweep), [trace(rng, 5)])

    def test_gradients(self):
        for seed, nodes in draws(enumerate([2, 4, 7])):
            self.draw(seed, lambda rng: [cluster(rng, nodes), cluster(rng, nodes, link={"bandwidth": "3Gbps", "latency": "4ms"})], nodes,
                      [{"name": "wfbp"}, {"name": "s-sgd"}, {"name": "fusion", "first_bucket": "20kB", "bucket": "400kB"}], 9)

    def test_delayed(self):
        for seed, nodes in draws(enumerate([2, 5], 10)):
            self.draw(seed, lambda rng: [cluster(rng, nodes, link={"bandwidth": "700Mbps", "latency": "3ms"}),
                                         cluster(rng, nodes, link={"bandwidth": "10Gbps", "latency": "9ms"})], nodes, DTS, 9)

    def test_other_clusters(self):
        self.draw(20, lambda rng: [cluster(rng, 3, 2), cluster(rng, 4, fit=fit(rng)), cluster(rng, 4, latency_cv=0.5), world(rng, 3, 2)],
                  3, [{"name": "wfbp"}, *DTS])


class Messages(Moving):
    def test_bytes_are_conserved(self):
        """A link that always has something to carry ends when it has carried all, however it divides itself."""
        for seed, nodes in draws(enumerate([2, 3, 4, 6])):
            rng = random.Random(seed)
            schedules = [{"name": "s-sgd"}, {"name": "wfbp"}]
            sweep = {"/cluster": [without_latency(rng, nodes)], "/schedule": schedules, "/fidelity": MOVING, "/channels": [1, 2, 3, 7]}
            content = scenario(rng, sweep=sweep, iterations={"warmup": 1, "measured": 2})
            rows = [row for _, row in self.run_points(content, [trace(rng)])]
            for first in range(0, len(rows), 4):
                for row, column in itertools.product(rows[first:first + 4], ("iteration_s", "iteration_p95_s")):
                    self.close(row[column], rows[first][column])

    def test_several_in_flight(self):
        for seed, nodes in draws(enumerate([2, 3, 4], 10)):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, nodes), cluster(rng, nodes, link={"bandwidth": "2Gbps", "latency": "1ms"})], shared=True,
                      schedule={"name": "wfbp"}, iterations={"warmup": 1, "measured": 2},
                      sweep={"/channels": [2, 3], "/all_reduce": ["ring", "halving-doubling"],
                             "/workers": [{}, {"slow": slow(rng, nodes)}]})

    def test_turns(self):
        """Where channels are overloaded, everything depends on whose message goes first."""
        for seed, nodes in draws(enumerate([2, 3, 4, 5, 7, 8], 20)):
            rng = random.Random(seed)
            compressed = {"name": "dts", "delay": 3, "compression": 0.3, "overhead_s": 1e-4}
            for gpus, workers in ((1, disturbances(rng, nodes, slowdown=False)[:4]), (2, [{}])):
                drawn = cluster(rng, nodes, gpus, link={"bandwidth": f"{rng.uniform(0.3, 2):.3f}Gbps", "latency": rng.uniform(0, 1e-3)})
                content = scenario(rng, iterations={"warmup": rng.randint(0, 2), "measured": rng.randint(2, 9)}, sweep={
                    "/cluster": [drawn], "/schedule": [*DTS, compressed], "/workers": workers,
                    "/all_reduce": ["ring", rng.choice(ALGORITHMS[1:])], "/fidelity": ["per-message"]})
                one = trace(rng, 3)
                for options in ((), ("--no-symmetry",)):
                    self.compare(content, [one], *options)


if __name__ == "__main__":
    unittest.main()
