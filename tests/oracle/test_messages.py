"""Fidelity per-message, and flows that meet no other: do messages move when the rules say that they may?"""

import collections
import json
import math
import random
import unittest

import moving
import oracle
import plans
from comparing import accumulating, cluster, compressing, disturbances, node_windows, scenario, slow, trace
from network import alone
from running import Running, draws, swept, thinned

SIZES = [2, 3, 4, 7, 8, 16, 33]
ALGORITHMS = list(plans.ALL_REDUCE)
MOVING = ["per-message", "flow"]
ALPHA, BETA, GAMMA, SIZE = 1e-4, 1e-9, 3e-10, 3e6


class Moving(Running):
    """simctl beside the oracle."""

    def setUp(self):
        super().setUp()
        self.known = {}  # what the oracle has said

    def run_points(self, content, traces, *options):
        """(point, row) of every point."""
        for index, one in enumerate(traces):
            self.write(f"trace{index}.json", one)
        self.run_well({"trace": "trace0.json", **content}, *options)
        points, rows = list(oracle.points(self.folder / "scenario.json")), self.rows()
        self.assertEqual(len(rows), len(points))
        return list(zip(points, rows))

    def compare(self, content, traces, *options, shared=False):
        """To 1e-9. `shared`: flows may meet, so that the oracle shares links where the fidelity is flow."""
        content = thinned(content) if content["name"] == "random" else content
        wrong, pairs = [], self.run_points(content, traces, *options)
        for index, (point, written) in enumerate(pairs):
            fidelity = point.pop("fidelity")
            point["region_order"] = self.points[index].get("region_order")
            flows = shared and fidelity == "flow"
            key = json.dumps([point, flows])
            if key not in self.known:
                self.known[key] = moving.expected(point, flows)
            expected = {"fidelity": fidelity, **self.known[key]}
            for column, value in expected.items():
                if written[column] != value if column == "fidelity" else not math.isclose(written[column], value, rel_tol=1e-9):
                    wrong.append(f"{column}: simctl {written[column]}, oracle {value!r}: point {index} {swept(written)}")
            iteration, *split = (written[column] for column in ("iteration_s", "compute_s", "wait_s", "exposed_communication_s"))
            self.assertAlmostEqual(sum(split) / iteration, 1, places=9)
        if wrong:
            self.fail("\n".join([f"{len(wrong)} values of {len(pairs)} points differ, the first:", *wrong[:12]]))
        return len(pairs)

    def close(self, found, expected):
        self.assertTrue(math.isclose(found, expected, rel_tol=1e-9), f"{found} instead of {expected}")

    def draw(self, rng, clusters, *options, shared=False, fidelities=MOVING, layers=3, sweep=None, **changes):
        content = scenario(rng, sweep={"/cluster": clusters, **(sweep or {}), "/fidelity": fidelities}, **changes)
        return self.compare(content, [trace(rng, layers)], *options, shared=shared)


def star(algorithm, n, **changes):
    return {"cluster": {"nodes": n, "link": {"bandwidth": 1 / BETA, "latency": ALPHA}, "reduce_s_per_B": GAMMA, **changes},
            "all_reduce": algorithm}


class Plans(unittest.TestCase):
    """Does every rank end with every contribution exactly once, having sent no more than the textbook says?"""

    def carry_out(self, plan, held):
        """The bytes that each rank has sent, of data of 1 byte; `held`: by rank, what it has of each part."""
        sent = [0] * plan.ranks
        for stage in plan.stages:
            for ends in zip(*((message.sender, message.receiver) for message in stage)):
                self.assertEqual(len(set(ends)), len(stage))
            moved = [(message, {part: held[message.sender][part].copy() for part in message.parts}) for message in stage]
            for message, data in moved:
                sent[message.sender] += len(data)
                mine = held[message.receiver]
                mine.update({part: added + mine[part] if message.reduces else added for part, added in data.items()})
        return [count / plan.parts for count in sent]

    def test_all_reduce(self):
        for n in range(2, 36):
            for algorithm in ALGORITHMS:
                for chunks in (1, 3) if algorithm == "binary-tree" else (1,):
                    plan = plans.all_reduce(algorithm, n, chunks)
                    held = [{part: collections.Counter([rank]) for part in range(plan.parts)} for rank in range(n)]
                    sent = self.carry_out(plan, held)
                    everything = dict.fromkeys(range(plan.parts), collections.Counter(range(n)))
                    self.assertEqual(held, [everything] * n)
                    if algorithm in ("ring", "halving-doubling"):
                        self.assertAlmostEqual(min(sent), 2 * (n - 1) / n)
                        self.assertAlmostEqual(max(sent), 2 * (n - 1) / n)
                    elif algorithm == "binary-tree":
                        self.assertAlmostEqual(sum(sent), 2 * (n - 1))
                    else:
                        size = 2 ** (n.bit_length() - 1)
                        self.assertAlmostEqual(sum(sent), size * math.log2(size) + 2 * (n - size))

    def test_all_gather(self):
        for n in range(2, 36):
            for algorithm in ALGORITHMS:
                plan = plans.all_gather(algorithm, n)
                held = [{rank: collections.Counter([rank])} for rank in range(n)]
                self.assertAlmostEqual(sum(self.carry_out(plan, held)), n - 1)
                self.assertEqual(held, [{rank: collections.Counter([rank]) for rank in range(n)}] * n)


class ClosedForms(unittest.TestCase):
    """Does the oracle itself say what can be worked out by hand?"""

    def check(self, seconds, ends):
        for shared in (False, True):
            for found in ends(shared):
                self.assertTrue(math.isclose(found, seconds, rel_tol=1e-12), f"{found} instead of {seconds}")

    def test_ring(self):
        for n in SIZES:
            self.check(2 * (n - 1) * (ALPHA + SIZE / n * BETA) + (n - 1) / n * GAMMA * SIZE,
                       lambda shared, n=n: alone(star("ring", n), SIZE, shared and n < 20))

    def test_doubling(self):
        for n in (2, 4, 8, 16):
            self.check(math.log2(n) * (ALPHA + (BETA + GAMMA) * SIZE), lambda shared: alone(star("recursive-doubling", n), SIZE, shared))
        # Rank 2 need not wait for 0's message to 1; 1's sum with its own is there just when 1 has sent to 2 and can send to 0.
        self.check(2 * ALPHA + 3 * BETA * SIZE + GAMMA * SIZE, lambda shared: [max(alone(star("recursive-doubling", 3), SIZE, shared))])

    def test_halving_doubling(self):
        for n in SIZES:  # Bruck's takes as long where n is no power of two
            self.check(2 * oracle.rounds(n) * ALPHA + (2 * BETA + GAMMA) * (n - 1) / n * SIZE,
                       lambda shared: alone(star("halving-doubling", n), SIZE, shared and n < 20))

    def test_binary_tree(self):
        for n in (2, 4, 8, 16):
            self.check(math.log2(n) * (2 * ALPHA + (2 * BETA + GAMMA) * SIZE),
                       lambda shared: [max(alone(star("binary-tree", n), SIZE, shared))])
        one = ALPHA + BETA * SIZE  # of two ranks the chunks go there, and each comes back once it is reduced
        self.check(2 * one - 3 / 4 * BETA * SIZE + GAMMA * SIZE / 4,
                   lambda shared: [max(alone(star({"name": "binary-tree", "chunk": SIZE / 4}, 2), SIZE, shared))])

    def test_late_rank(self):
        """Round a ring of four whose first rank is late by far, all wait for it."""
        late, one = 1.0, ALPHA + SIZE / 4 * BETA
        ends = alone(star("ring", 4, reduce_s_per_B=0.0), SIZE, starts=[late, 0, 0, 0])
        self.assertTrue(math.isclose(max(ends), late + 6 * one, rel_tol=1e-12))
        ends = alone(star("binary-tree", 4, reduce_s_per_B=0.0), SIZE, starts=[0, 0, late, 0])  # only its own way to the root waits
        self.assertTrue(math.isclose(max(ends), late + 3 * (ALPHA + SIZE * BETA) + ALPHA + SIZE * BETA, rel_tol=1e-12))


class Messages(Moving):
    def test_one_collective(self):
        for seed, nodes in draws(enumerate(SIZES)):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, nodes) for _ in range(2 if nodes > 10 else 4)], sweep={"/all_reduce": ALGORITHMS},
                      schedule={"name": "sync-easgd"}, iterations={"warmup": 0, "measured": 1})

    def test_one_by_one(self):
        rng = random.Random(1)
        self.draw(rng, [cluster(rng, nodes) for nodes in (2, 4, 5)], "--no-symmetry", sweep={"/all_reduce": ALGORITHMS},
                  schedule={"name": "wfbp"})

    def test_unequal_workers(self):
        for seed, nodes in draws(enumerate([3, 4, 5, 11], 10)):
            rng = random.Random(seed)
            self.draw(rng, [cluster(rng, nodes)], sweep={"/all_reduce": ALGORITHMS, "/workers": disturbances(rng, nodes, slowdown=False)},
                      schedule={"name": "wfbp"})

    def test_schedules(self):
        for seed, nodes in draws(enumerate([3, 4, 6], 20)):
            rng = random.Random(seed)
            names = [{"name": name} for name in oracle.SCHEDULES] + [{"name": "fusion", "first_bucket": "20kB", "bucket": "400kB"}]
            self.draw(rng, [cluster(rng, nodes)], layers=5, all_reduce=ALGORITHMS[seed % 4],
                      sweep={"/schedule": names, "/workers": [{}, {"slow": slow(rng, nodes)}]})

    def test_steps_that_only_add_up(self):
        for seed, nodes in draws(enumerate([2, 3, 5], 30)):
            rng = random.Random(seed)
            names = accumulating(rng, [{"name": name} for name in oracle.SCHEDULES])
            self.draw(rng, [cluster(rng, nodes)], all_reduce=ALGORITHMS[seed % 4],
                      sweep={"/schedule": names, "/workers": rng.sample(disturbances(rng, nodes, slowdown=False), 2)})

    def test_windows(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (5, 1), (3, 2)], 40)):
            rng = random.Random(seed)
            self.draw(rng, [node_windows(rng, cluster(rng, nodes, gpus, nics=nics)) for nics in (1, 2)], schedule={"name": "wfbp"},
                      sweep={"/all_reduce": ALGORITHMS, "/workers": [{}, {"slow": slow(rng, nodes * gpus)}]})

    def test_chunks(self):
        for seed, nodes in draws(enumerate([2, 3, 4, 7, 8, 16], 50)):
            rng = random.Random(seed)
            trees = [{"name": "binary-tree", "chunk": chunk} for chunk in ("100kB", "1MB", 123456)]
            self.draw(rng, [cluster(rng, nodes)], sweep={"/all_reduce": trees, "/workers": [{}, {"slow": slow(rng, nodes)}]},
                      schedule={"name": "wfbp"})

    def test_all_gather(self):
        for seed, nodes in draws(enumerate([2, 3, 4, 7, 8], 70)):
            rng = random.Random(seed)
            schedules = [{"name": "dts", "delay": delay, "period": period, "compression": 0.2, "overhead_s": 1e-4, "in_flight": "serial"}
                         for delay, period in ((0, 1), (1, 1), (2, 1), (2, 2))]
            self.draw(rng, [cluster(rng, nodes)], sweep={"/schedule": schedules, "/all_reduce": ["ring", "halving-doubling"],
                                                         "/workers": [{}, {"slow": slow(rng, nodes)}]})

    def test_compression(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (8, 1), (3, 2)], 80)):
            rng = random.Random(seed)
            names = [{"name": name} for name in oracle.SCHEDULES] + accumulating(rng, [{"name": "wfbp"}, {"name": "sync-easgd"}]) + [
                {"name": "dts", "delay": delay, "period": period, "in_flight": "serial"} for delay, period in ((0, 1), (1, 1), (2, 2))]
            self.draw(rng, [cluster(rng, nodes, gpus)], all_reduce=ALGORITHMS[seed % 4],
                      sweep={"/schedule": compressing(rng, names), "/workers": [{}, {"slow": slow(rng, nodes * gpus)}]})

    def test_copies(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (2, 2)], 90)):
            rng = random.Random(seed)
            names = [{"name": "sync-easgd"}, {"name": "fusion", "first_bucket": "20kB", "bucket": "400kB"}, {"name": "wfbp"}]
            self.draw(rng, [cluster(rng, nodes, gpus, copy_s_per_B=10 ** rng.uniform(-11, -9))], all_reduce=ALGORITHMS[seed % 4],
                      sweep={"/schedule": names + compressing(rng, names) + accumulating(rng, names[:2]),
                             "/workers": [{}, {"slow": slow(rng, nodes * gpus)}]})

    def test_launched_gradient_by_gradient(self):
        for seed, (nodes, gpus) in draws(enumerate([(2, 1), (3, 1), (5, 1), (2, 2)], 100)):
            rng = random.Random(seed)
            names = [{"name": "dts", "delay": delay, "period": period, "in_flight": flight, "launch": "gradient", "overhead_s": 3e-4}
                     for delay, period in ((0, 1), (1, 1), (2, 2), (1, 3)) for flight in ("serial", "pipelined")]
            self.draw(rng, [cluster(rng, nodes, gpus)], fidelities=["per-message"], all_reduce=ALGORITHMS[seed % 4], sweep={
                "/schedule": names + compressing(rng, names[:6:2]), "/workers": [{}, {"slow": slow(rng, nodes * gpus)}]})

    def test_double_binary_tree(self):
        """No rank can have received everything before its share of the least bytes has come."""
        large = trace(random.Random(0), 1) | {"gradients": [{"name": "w", "layer": "layer0", "bytes": 100000000}]}
        sweep = {"/cluster/nodes": [2, 3, 4, 7, 8, 16, 33], "/fidelity": MOVING}
        content = {"format": "scenario/1", "name": "large", "cluster": star("", 2)["cluster"] | {"reduce_s_per_B": 0.0, "name": "star"},
                   "all_reduce": "double-binary-tree", "schedule": {"name": "sync-easgd"}, "iterations": {"warmup": 0, "measured": 1}}
        for point, row in self.run_points(content | {"sweep": sweep}, [large]):
            n, seconds = point["cluster"]["nodes"], row["iteration_p95_s"] - row["compute_s"]
            self.assertGreaterEqual(seconds, 2 * (n - 1) / n * BETA * 1e8)
            self.assertLessEqual(seconds, 2 * 1.15 * BETA * 1e8)


if __name__ == "__main__":
    unittest.main()
