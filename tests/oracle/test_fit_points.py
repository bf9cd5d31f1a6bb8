"""Measured points in place of a line, and fits of all-gathers beside those of all-reduces: what do collectives take by them?"""

import itertools
import random
import unittest

import collectives
import oracle
from comparing import Comparison, accumulating, cluster, compressing, disturbances, expected, fit, scenario, trace
from running import draws
from test_delayed import by_gradient, compressed, schedules
from test_host import LASGD
from test_known_values import TWO, point
from test_operations import EVERYBODY, ODD, Trials

SCHEDULES = [{"name": name} for name in oracle.SCHEDULES]
MERGING = [{"name": "mg-wfbp"}, {"name": "mg-wfbp-optimal"}]
POINTS = [[1000000, 0.002], [2000000, 0.003], [4000000, 0.007]]  # tangents: 2 ms; 1 ms and 1 ns/B; none and 2 ns/B


def measured(points, nodes, algorithm="ring", **changes):
    return {"points": points, "nodes": nodes, "algorithm": algorithm, **changes}


def points(rng):
    """About a line, or with a rate of each span's own."""
    sizes = sorted(rng.sample(range(1000, 6000000), rng.randint(2, 7)))
    start, rate = 10 ** rng.uniform(-4, -2.5), 10 ** rng.uniform(-9, -8.3)
    seconds, noise = [], rng.choice([0.0, 0.1, 1.0])
    for size in sizes:
        seconds.append(max([start * rng.uniform(1, 1 + noise) + rate * size * rng.uniform(1, 1 + noise), *seconds[-1:]]))
    return [list(pair) for pair in zip(sizes, seconds)]


def curve(rng, names, **changes):
    more = {key: points(rng) for key in ("queued", "two_at_once") if rng.random() < 0.5}
    return measured(points(rng), rng.randint(2, 9), rng.choice(names), **more, **changes)


def sizes(rng, names):
    """Of several numbers of ranks, not in their order."""
    ranks = rng.sample(range(2, 10), rng.randint(2, 3))
    return [rng.choice([curve, line])(rng, names) | {"nodes": nodes} for nodes in ranks]


def line(rng, names, **changes):
    return fit(rng) | {"algorithm": rng.choice(names), **changes}


def fits(rng, names):
    """All-reduces alone, and beside all-gathers in either order."""
    of_gathers = {"operation": "all-gather"}
    return [curve(rng, names), sizes(rng, names), [line(rng, names, **of_gathers), curve(rng, names, operation="all-reduce")],
            [rng.choice([curve, line])(rng, names), curve(rng, names, **of_gathers)]]


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand? 4 ranks."""

    def cost(self, size, algorithm="ring", operation="all-reduce", nodes=4, **changes):
        return collectives.carried({"fit": measured(POINTS, 4), **changes}, algorithm, nodes, operation)(size)

    def check(self, milliseconds, seconds):
        self.assertAlmostEqual(seconds, milliseconds / 1000, places=12)

    def iteration(self, milliseconds, schedule, nodes=4, points=POINTS, **changes):
        drawn = point(schedule, nodes, **changes)
        drawn["cluster"]["fit"] = measured(points, 4)
        self.check(milliseconds, expected(drawn)["iteration_s"])

    def test_lines_between_points(self):
        for size, milliseconds in ((1, 2), (1000000, 2), (1500000, 2.5), (2000000, 3), (3000000, 5), (4000000, 7), (5000000, 9)):
            self.check(milliseconds, self.cost(size))

    def test_other_sizes(self):
        """Of 8 ranks: 7/3 of the time for twice the bytes, as many in each message. Trees of 8 have half as many rounds again."""
        for size, milliseconds in ((1, 2), (2000000, 2), (3000000, 2.5), (8000000, 7), (10000000, 9)):
            self.check(milliseconds * 7 / 3, self.cost(size, nodes=8))
        for name in ("binary-tree", "recursive-doubling"):
            self.check(1.5 * 2.5, self.cost(1500000, name, nodes=8, fit=measured(POINTS, 4, name)))
        self.check(0, self.cost(1500000, nodes=1))

    def test_other_algorithms_and_operations(self):
        """A line of 1/3 ms and 5/3 ns/B, of 6 messages and 3/2 of the bytes each; all-gathers have half of both."""
        for size in (1, 3000000):
            self.check(4 * 1 / 18 + 4 * 10 / 9 * size / 1e6, self.cost(size, "binary-tree"))
            self.check(1 / 6 + 5 / 6 * size / 1e6, self.cost(size, operation="all-gather"))
        steep = measured([[1000000, 0.001], [2000000, 0.004]], 4)
        self.check(6, self.cost(2000000, "halving-doubling", fit=steep))  # 3 ns/B without latency

    def test_fits_of_two_operations(self):
        fits = [measured([[1, 1.0], [2, 2.0]], 4), measured(POINTS, 4, operation="all-gather")]
        self.check(2.5, self.cost(1500000, operation="all-gather", fit=fits))
        self.check(2.5 * 7 / 3, self.cost(3000000, operation="all-gather", nodes=8, fit=fits[::-1]))
        self.check(2 / 9 + 5 / 3, self.cost(1000000, "halving-doubling", "all-gather", fit=fits))  # 2 messages in place of 3

    def test_what_is_no_transfer_by_the_tangent(self):
        """Two all-reduces of 2 MB at a time: latencies pass together, transfers follow each other."""
        one = TWO | {"update_s": 0.0}
        for points, latency, transfer in ((POINTS, 0, 3), ([[1000000, 0.002], [3000000, 0.004]], 1, 2),
                                          ([[2000001, 0.002], [3000000, 0.004]], 2, 0), ([[1000000, 0.001], [3000000, 0.006]], 0, 3.5)):
            self.iteration(4 + latency + 2 * transfer, {"name": "s-sgd"}, points=points, trace=one, channels=2)
            self.iteration(4 + 2 * (latency + transfer), {"name": "s-sgd"}, points=points, trace=one)

    def test_back_to_back(self):
        """The second all-reduce of 2 MB starts when the first ends, 3 ms, and then takes half as long. With a pause it does not."""
        one, queued = TWO | {"update_s": 0.0}, [[1000000, 0.001], [2000000, 0.0015], [4000000, 0.0035]]
        for schedule, milliseconds in (({"name": "s-sgd"}, 4 + 3 + 1.5), ({"name": "wfbp"}, 3 + 3 + 1.5)):
            drawn = point(schedule, 4, trace=one)
            drawn["cluster"]["fit"] = measured(POINTS, 4, queued=queued)
            self.check(milliseconds, expected(drawn)["iteration_s"])
        drawn = point({"name": "wfbp"}, 4, trace=one)
        drawn["cluster"]["fit"] = measured([[1000000, 0.0001], [4000000, 0.0004]], 4, queued=queued)  # 0.2 ms, over before the next is ready
        self.check(4 + 0.2, expected(drawn)["iteration_s"])

    def test_two_at_once(self):
        """Two all-reduces of 2 MB, of which one takes 3 ms: on two channels as long as was measured, at least one's time and at most twice."""
        one = TWO | {"update_s": 0.0}
        for measured_s, seconds in ((0.0045, 0.0045), (0.002, 0.003), (0.009, 0.006)):
            drawn = point({"name": "s-sgd"}, 4, trace=one, channels=2)
            drawn["cluster"]["fit"] = measured(POINTS, 4, two_at_once=[[2000000, measured_s], [4000000, 0.1]])
            self.check(4 + 1000 * seconds, expected(drawn)["iteration_s"])
            self.check(4 + 6, expected(drawn | {"channels": 1})["iteration_s"])

    def test_between_numbers_of_ranks(self):
        """Half-way from 2 to 8 is 4, by logarithms: the mean of both, 3 times 2 ms and 3/7 of 7 ms."""
        fits = [measured([[1, 0.002], [4000000, 0.004]], 2), measured([[1, 0.007], [8000000, 0.021]], 8)]
        self.check((3 * 2 + 3) / 2, self.cost(0.5, fit=fits))
        self.check(2, self.cost(1, nodes=2, fit=fits))
        self.check(7, self.cost(1, nodes=8, fit=fits))
        self.check(7 * 15 / 7, self.cost(1, nodes=16, fit=fits))

    def test_merging(self):
        """The next gradient is ready 1 ms later. One message takes 5 ms more than two, where 2 MB take 2.5 and 4 MB 10, and 1.1 less, where
        they take 1.6 and 2.1. The start-up times of the tangents at 2 MB, 1.5 and 0.6 ms, say the opposite."""
        one = TWO | {"update_s": 0.0}
        steeper = [[1000000, 0.0001], [1500000, 0.00225], [3000000, 0.003], [4000000, 0.01]]
        flatter = [[1000000, 0.00135], [1500000, 0.00135], [3000000, 0.0021], [4000000, 0.0021]]
        for points, greedy, optimal in ((steeper, 3 + 2.5 + 2.5, 3 + 2.5 + 2.5), (flatter, 4 + 2.1, 4 + 2.1)):
            self.iteration(greedy, MERGING[0], points=points, trace=one)
            self.iteration(optimal, MERGING[1], points=points, trace=one)

    def test_a_line_is_a_curve(self):
        for name, nodes in itertools.product(("ring", "halving-doubling"), (2, 4, 9)):
            line = {"a_s": 0.003, "b_s_per_B": 2e-9, "nodes": 4, "algorithm": "ring"}
            points = measured([[size, 0.003 + 2e-9 * size] for size in (1, 1000000, 3000000)], 4)
            for schedule in (*MERGING, {"name": "wfbp", "compression": "sign"}):
                drawn = [point(schedule, nodes, trace=TWO, all_reduce=name, channels=2) for _ in range(2)]
                for one, given in zip(drawn, (line, points)):
                    one["cluster"]["fit"] = given
                for column, value in expected(drawn[0]).items():
                    self.assertAlmostEqual(expected(drawn[1])[column], value, places=12, msg=column)


class Random(Comparison):
    def draw(self, seed, nodes, gpus, schedules, *options, workers=3, **changes):
        rng = random.Random(f"points {seed}")
        names = rng.sample(list(oracle.TERMS), 2)
        disturbed = disturbances(rng, nodes * gpus)
        sweep = {"/cluster": [cluster(rng, nodes, gpus, fit=one, **rng.choice([{}, {"latency_cv": 0.4}])) for one in fits(rng, names)],
                 "/all_reduce": names, "/schedule": schedules(rng), "/workers": [{}, *rng.sample(disturbed[1:], workers - 1)]}
        self.compare(scenario(rng, sweep=sweep, **changes), [trace(rng)], *options)

    def test_synchronous(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (4, 1), (7, 1), (3, 2), (1, 4), (1, 1)])):
            self.draw(seed, nodes, gpus, lambda rng: SCHEDULES + accumulating(rng, MERGING) + compressing(rng, MERGING * 2 + SCHEDULES[:2]))

    def test_channels(self):
        for seed, nodes in draws(enumerate([3, 6], 10)):
            self.draw(seed, nodes, 1, lambda rng: SCHEDULES[:2] + compressing(rng, SCHEDULES[:2]), channels=2 + seed % 2)

    def test_delayed(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (5, 1), (2, 3)], 20)):
            self.draw(seed, nodes, gpus, lambda rng: schedules(rng) + by_gradient(rng) + compressed(rng)[-6:])

    def test_rounds(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (5, 1), (3, 2)], 30)):
            self.draw(seed, nodes, gpus, lambda rng: LASGD + compressing(rng, LASGD))

    def test_one_by_one(self):
        self.draw(40, 2, 2, lambda rng: MERGING + LASGD[:2] + schedules(rng)[:3], "--no-symmetry")


class Operations(Trials):
    def test_operations(self):
        for seed, (nodes, gpus) in draws(enumerate([(4, 1), (9, 1), (2, 2)])):
            rng = random.Random(f"points {seed}")
            names = rng.sample(list(oracle.TERMS), 2)
            drawn = [cluster(rng, nodes, gpus, fit=one) for one in fits(rng, names)]
            self.draw(rng, drawn, EVERYBODY + (ODD if gpus == 1 else []), fidelities=["alpha-beta"], sweep={"/all_reduce": names})


if __name__ == "__main__":
    unittest.main()
