"""All-reduces by region: chains inside them, a ring of their first nodes. Do messages wait for what they should, and share links?"""

import collections
import itertools
import math
import random
import unittest

import plans
import test_messages
from comparing import accumulating, compressing, disturbances, node_windows, scenario, slow, trace
from network import alone
from running import draws
from test_flows import profiles
from test_messages import MOVING, Moving
from test_operations import EVERYBODY, Trials
from test_regions import uneven, windows, world

ALPHA, BETA, GAMMA, SIZE = 1e-4, 1e-9, 3e-10, 6e6
FAR, WAN = 0.01, 4e-9


def far_regions(sizes, algorithm="by-region", **changes):
    """Links between regions that are alike."""
    names = [f"r{index}" for index in range(len(sizes))]
    wan = [{"between": list(pair), "rtt": 2 * FAR, "bandwidth": 1 / WAN} for pair in itertools.combinations(names, 2)]
    return {"all_reduce": algorithm, "cluster": {
        "nodes": sum(sizes), "link": {"bandwidth": 1 / BETA, "latency": ALPHA}, "reduce_s_per_B": GAMMA, "placement": "linear", "wan": wan,
        "regions": [{"name": name, "nodes": size} for name, size in zip(names, sizes)], **changes}}


def chain(nodes, pieces, gamma):
    """The last piece goes first all the way but for the pieces before it; sums pass while bytes move, unless they take longer."""
    piece = SIZE / pieces
    return (nodes - 1) * (ALPHA + (BETA + gamma) * piece) + (pieces - 1) * BETA * piece if nodes > 1 else 0.0


def ring(n):
    return 2 * (n - 1) * (FAR + SIZE / n * WAN) + (n - 1) / n * GAMMA * SIZE


class Known(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def test_every_rank_ends_with_every_contribution(self):
        for sizes, pieces in itertools.product(((1, 1), (1, 4), (3, 1, 2), (2, 5, 3, 1), (4,)), (1, 2, 5)):
            plan = plans.by_region(sizes, pieces)
            n = sum(sizes)
            held = [{part: collections.Counter([rank]) for part in range(plan.parts)} for rank in range(n)]
            test_messages.Plans.carry_out(self, plan, held)
            self.assertEqual(held, [dict.fromkeys(range(plan.parts), collections.Counter(range(n)))] * n)

    def test_a_chain_a_ring_and_a_chain(self):
        for sizes in ((1, 1), (1, 1, 1), (4, 4), (2, 5), (3, 3, 3)):
            for pieces, algorithm in ((max(sizes), "by-region"), (6, {"name": "by-region", "chunk": SIZE / 6}),
                                      (1, {"name": "by-region", "chunk": SIZE})):
                expected = chain(max(sizes), pieces, GAMMA) + ring(len(sizes)) + chain(max(sizes), pieces, 0.0)
                for shared in (False, True):
                    found = max(alone(far_regions(sizes, algorithm), SIZE, shared))
                    self.assertTrue(math.isclose(found, expected, rel_tol=1e-12), f"{sizes} {algorithm} {found} {expected}")

    def test_late_rank(self):
        """Nothing was sent to it. The other region's chain is long done; its own, the ring and the spreading wait for it. To the region
        that is late the ring's first message goes while the latency of the last piece passes."""
        late, piece = 1.0, SIZE / 3
        for rank, hops in enumerate((1, 2, 2, 1, 1)):
            ends = alone(far_regions((3, 2), reduce_s_per_B=0.0), SIZE, starts=[late * (rank == other) for other in range(5)])
            inside = hops * (ALPHA + BETA * piece) + 2 * BETA * piece
            expected = late + inside + 2 * (FAR + SIZE / 2 * WAN) + chain(3, 3, 0.0) - (ALPHA if rank > 2 else 0.0)
            self.assertTrue(math.isclose(max(ends), expected, rel_tol=1e-12), f"{rank}: {max(ends)} {expected}")


class Messages(Moving):
    def regions(self, seed, regions, nodes, gpus=1, change=lambda rng, description: description, fidelities=MOVING, layers=3, **changes):
        rng = random.Random(f"by region {seed}")
        description = change(rng, world(rng, regions, nodes, gpus))
        ranks = description["nodes"] * gpus
        algorithms = ["by-region", {"name": "by-region", "chunk": f"{rng.randint(100, 2000)}kB"}]
        sweep = {"/cluster": [rng.choice([description, description | {"placement": "linear"}])], "/all_reduce": algorithms,
                 "/workers": [{}, {"slow": slow(rng, ranks)}, rng.choice(disturbances(rng, ranks, slowdown=False)[2:])]}
        return self.draw(rng, sweep.pop("/cluster"), *changes.pop("options", ()), shared=True, fidelities=list(fidelities), layers=layers,
                         **{"iterations": {"warmup": 1, "measured": 2}, "schedule": {"name": "wfbp"}, **changes,
                            "sweep": sweep | changes.get("sweep", {})})

    def test_regions(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (2, 6), (3, 2), (3, 4), (4, 2)])):
            self.regions(seed, regions, nodes)

    def test_several_gpus(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 2, 2), (3, 3, 2), (2, 3, 3)], 10)):
            self.regions(seed, regions, nodes, gpus)

    def test_windows_and_uneven_links(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 2)], 20)):
            self.regions(seed, regions, nodes, change=lambda rng, description: uneven(rng, windows(rng, node_windows(rng, description))))

    def test_changing_bandwidth(self):
        for seed, (regions, nodes) in draws(enumerate([(2, 3), (3, 3)], 30)):
            self.regions(seed, regions, nodes, change=profiles, fidelities=["flow"])

    def test_schedules(self):
        """What is all-gathered goes round all nodes."""
        for seed, gpus in draws(enumerate((1, 2), 40)):
            rng = random.Random(seed)
            names = [{"name": name} for name in ("sync-easgd", "s-sgd", "fusion")]
            late = [{"name": "dts", "delay": delay, "period": period, "in_flight": "serial", **launch}
                    for delay, period, launch in ((1, 1, {}), (2, 2, {"launch": "gradient"}))]
            drawn = accumulating(rng, names[:1]) + compressing(rng, names) + late + compressing(rng, late[1:])
            self.regions(seed, 2, 3, gpus, sweep={"/schedule": drawn})

    def test_merging(self):
        """By the line through what the collective costs."""
        rng = random.Random(50)
        for fidelity in MOVING:
            self.draw(rng, [world(rng, 2, 3)], shared=True, fidelities=[fidelity], all_reduce="by-region",
                      sweep={"/schedule": [{"name": "mg-wfbp"}, {"name": "mg-wfbp-optimal"}]})

    def test_one_by_one(self):
        self.regions(60, 3, 2, options=("--no-symmetry",))
        self.regions(61, 2, 2, 2, options=("--no-symmetry",))

    def test_node_links_are_unlimited(self):
        self.regions(70, 3, 1, change=lambda rng, description: {key: value for key, value in description.items() if key != "link"})

    def test_a_region_of_its_own(self):
        """One node in each: it is the ring."""
        for seed in draws(range(3)):
            rng = random.Random(80 + seed)
            content = scenario(rng, schedule={"name": "wfbp"}, sweep={
                "/cluster": [world(rng, 2 + seed, 1)], "/all_reduce": ["ring", "by-region"], "/fidelity": MOVING})
            rows = [row for _, row in self.run_points(content, [trace(rng)])]
            for one, other in zip(rows[:2], rows[2:]):
                self.close(one["iteration_s"], other["iteration_s"])


class OtherOperations(Trials):
    shared = True

    def test_ring_of_all_nodes(self):
        for seed, (regions, nodes, gpus) in draws(enumerate([(2, 3, 1), (3, 2, 1), (2, 2, 2)])):
            rng = random.Random(seed)
            drawn = world(rng, regions, nodes, gpus)
            self.draw(rng, [drawn], EVERYBODY, all_reduce="by-region", fidelities=MOVING,
                      sweep={"/workers": [{}, {"slow": slow(rng, drawn["nodes"] * gpus)}]})


if __name__ == "__main__":
    unittest.main()
