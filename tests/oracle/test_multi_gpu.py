"""Per-message and flow fidelity with several GPUs per node: do the levels wait for each other as they should, and no longer?"""

import random
import unittest

from comparing import cluster, disturbances, slow, trace
from network import alone
from running import draws
from test_flows import profiles
from test_messages import ALGORITHMS, ALPHA, BETA, GAMMA, SIZE, Moving, star
from test_regions import windows, world

INNER_ALPHA, INNER_BETA = 2e-5, 1e-10


def two_level(between, **changes):
    return {"name": "two-level", "between": between, **changes}


def gpus(algorithm, nodes, count, **changes):
    return star(algorithm, nodes, gpus_per_node=count, intra_node={"bandwidth": 1 / INNER_BETA, "latency": INNER_ALPHA}, **changes)


def one_slow(rng, workers):
    """Any rank alone."""
    return {"slow": [{"ranks": str(rng.randrange(workers)), "factor": rng.uniform(1.2, 3)}]}


class ClosedForms(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def check(self, seconds, ends):
        for shared in (False, True):
            self.assertAlmostEqual(max(ends(shared)) / seconds, 1, places=12)

    def test_one_level_after_another(self):
        for n in (2, 3, 5):
            outer = 2 * (n - 1) * (ALPHA + SIZE / n * BETA / 2) + (n - 1) / n * GAMMA * SIZE
            inside = 4 * (INNER_ALPHA + SIZE / 3 * INNER_BETA) + 2 / 3 * GAMMA * SIZE
            self.check(outer + inside, lambda shared: alone(gpus(two_level("ring"), n, 3, nics=2), SIZE, shared))

    def test_two_chunks(self):
        """Two nodes: chunk 0 goes inside, then chunk 1; between the nodes 1's follows 0's there, and 0's is on its way back meanwhile."""
        chunk = SIZE / 2
        inside, there = INNER_ALPHA + chunk / 2 * INNER_BETA, ALPHA + chunk * BETA
        self.check(inside + GAMMA * chunk / 2 + (there + chunk * BETA + GAMMA * chunk) + there + inside,
                   lambda shared: alone(gpus(two_level("binary-tree", chunk=chunk), 2, 2), SIZE, shared))

    def test_late_rank(self):
        """Nothing goes to or from a node before all its GPUs have started and its sums are there."""
        late, inside, there = 1.0, INNER_ALPHA + SIZE / 2 * INNER_BETA, ALPHA + SIZE * BETA
        for rank in range(4):
            starts = [late * (rank == other) for other in range(4)]
            self.check(late + 2 * inside + 2 * there + 1.5 * GAMMA * SIZE,
                       lambda shared: alone(gpus(two_level("binary-tree"), 2, 2), SIZE, shared, starts))


class Star(Moving):
    """Flows meet no other."""

    def test_levels(self):
        for seed, (nodes, count) in draws(enumerate([(2, 2), (3, 2), (4, 3), (5, 4), (1, 4)], 30)):
            rng = random.Random(seed)
            workers = [{}, {"slow": slow(rng, nodes * count)}, one_slow(rng, nodes * count)]
            self.draw(rng, [cluster(rng, nodes, count)], schedule={"name": "wfbp"},
                      sweep={"/all_reduce": [two_level(name) for name in ALGORITHMS], "/workers": workers})

    def test_chunks(self):
        for seed, (nodes, count) in draws(enumerate([(2, 2), (3, 3), (4, 2), (1, 3)], 40)):
            rng = random.Random(seed)
            algorithms = [two_level(name, chunk=f"{rng.randint(150, 900)}kB") for name in ALGORITHMS]
            workers = [{}, {"slow": slow(rng, nodes * count)}, one_slow(rng, nodes * count)]
            self.draw(rng, [cluster(rng, nodes, count)], schedule={"name": "wfbp"}, iterations={"warmup": 1, "measured": 2},
                      sweep={"/all_reduce": algorithms, "/workers": workers})

    def test_every_rank_slow(self):
        """Whichever GPU of whichever node it is."""
        rng = random.Random(50)
        workers = [{"slow": [{"ranks": str(rank), "factor": 2.5}]} for rank in range(6)]
        self.draw(rng, [cluster(rng, 3, 2)], schedule={"name": "wfbp"}, iterations={"warmup": 0, "measured": 2},
                  sweep={"/all_reduce": [two_level("binary-tree", chunk="300kB"), two_level("halving-doubling", chunk="300kB"), "ring"],
                         "/workers": workers})

    def test_unequal_workers(self):
        rng = random.Random(55)
        self.draw(rng, [cluster(rng, 2, 3)], schedule={"name": "wfbp"}, iterations={"warmup": 1, "measured": 2},
                  sweep={"/all_reduce": [two_level("binary-tree", chunk="300kB"), two_level("ring", chunk="500kB"), "halving-doubling"],
                         "/workers": disturbances(rng, 6, slowdown=False)})

    def test_several_network_cards(self):
        rng = random.Random(60)
        self.draw(rng, [cluster(rng, 3, 2, nics=nics) for nics in (1, 2, 4)], schedule={"name": "wfbp"},
                  sweep={"/all_reduce": ["ring", "halving-doubling", two_level("binary-tree", chunk="400kB")],
                         "/workers": [{}, {"slow": slow(rng, 6)}]})


class Regions(Moving):
    """Flows meet."""

    def regions(self, seed, regions, nodes, count, algorithms, change=lambda rng, description: description):
        rng = random.Random(seed)
        description = change(rng, world(rng, regions, nodes, count)) | {"placement": "linear"}
        ranks = description["nodes"] * count
        self.draw(rng, [description], shared=True, fidelities=["flow"], schedule={"name": "wfbp"}, iterations={"warmup": 1, "measured": 2},
                  sweep={"/all_reduce": algorithms, "/workers": [{}, {"slow": slow(rng, ranks)}, one_slow(rng, ranks)]})

    def test_levels(self):
        for seed, (regions, nodes, count) in draws(enumerate([(2, 2, 2), (3, 2, 3)], 70)):
            self.regions(seed, regions, nodes, count, [two_level(name) for name in ALGORITHMS])

    def test_chunks(self):
        for seed, (regions, nodes, count) in draws(enumerate([(2, 2, 2), (3, 2, 2), (2, 3, 3)], 80)):
            self.regions(seed, regions, nodes, count, [two_level(name, chunk="500kB") for name in ALGORITHMS], windows)

    def test_changing_bandwidth(self):
        self.regions(90, 2, 3, 2, [two_level("binary-tree", chunk="500kB"), "halving-doubling"], profiles)


if __name__ == "__main__":
    unittest.main()
