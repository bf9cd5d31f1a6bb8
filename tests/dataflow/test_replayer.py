"""Do the replayer and the checks of structure do what the page says, on records made by hand? And do they notice what is wrong?"""

import copy
import gzip
import json
import pathlib
import tempfile
import unittest

import numpy as np
import structure
import toy
from recording import Recorded
from replayer import COMPRESSIONS, Record, Replay


def header(**changes):
    return {"format": "dataflow/1", "program": "1.0", "point": 0, "labels": {}, "schedule": "ps-sgd", "optimizer": "sgd", "workers": 2,
            "samples": 4, "parts": [{"name": "all", "bytes": 400}], "initial": [0], "zeros": [], "zero_parts": [], "hyper": {"lr": None},
            "operations": 0, "end_s": 1.0} | changes


def made(lines, **changes):
    record = Record.__new__(Record)
    record.header, record.lines = header(operations=len(lines), **changes), lines
    return record


def gradient(v, x, w, k, t):
    return {"o": "G", "v": v, "x": x, "w": w, "k": k, "t": t}


def two_workers():
    return [{"o": "E", "x": 0, "w": 0, "t": 0, "n": 0}, gradient(1, 0, 0, 0, 0.2), gradient(2, 0, 1, 0, 0.3),
            {"o": "L", "v": 3, "of": [[1, 0], [-0.5, 1, "lr"], [-0.5, 2, "lr"]]}, {"o": "E", "x": 3, "w": 0, "t": 0.4, "n": 2},
            gradient(4, 3, 0, 1, 0.6), gradient(5, 3, 1, 1, 0.7), {"o": "L", "v": 6, "of": [[1, 3], [-0.5, 4, "lr"], [-0.5, 5, "lr"]]},
            {"o": "E", "x": 6, "w": 0, "t": 0.8, "n": 4}]


class Known(Recorded):
    def test_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "dataflow-0.jsonl.gz"
            with gzip.open(path, "wt") as file:
                file.writelines(json.dumps(line) + "\n" for line in [header(), *two_workers()])
            self.assertEqual(Record(path).lines, two_workers())

    def test_gradients_and_combinations(self):
        replay = self.replay(made(two_workers()))
        x, g, lr = self.problem.initial, self.problem.gradient, toy.HYPER["lr"]
        first = x - lr * (g(x, 0, 0) + g(x, 1, 0)) / 2
        second = first - lr * (g(first, 0, 1) + g(first, 1, 1)) / 2
        for found, right in zip([model for _, model in replay.evaluated], [x, first, second], strict=True):
            self.assert_same(found, right, 1e-15, "model")

    def test_hyper_parameters(self):
        terms = {"o": "L", "v": 1, "of": [[2, 0, "lr_loc", "1/lr", "mu"]]}
        replay = Replay(made([terms], hyper={"lr": None, "lr_loc": [4, "lr"], "mu": [0.9]}), self.problem, lr=0.1)
        self.assert_same(replay.values[1], 7.2 * self.problem.initial, 1e-15, "default")
        replay = Replay(made([terms], hyper={"lr": None, "lr_loc": [4, "lr"], "mu": [0.9]}), self.problem, lr=0.1, lr_loc=0.3)
        self.assert_same(replay.values[1], 5.4 * self.problem.initial, 1e-15, "told")
        with self.assertRaisesRegex(ValueError, "lr must be given"):
            Replay(made([terms], hyper={"lr": None, "lr_loc": [4, "lr"], "mu": [0.9]}), self.problem)

    def test_parts_are_cut_from_the_end(self):
        parts = [{"name": "head", "bytes": 100}, {"name": "rest", "bytes": 300}]
        lines = [gradient([2, 3], [0, 1], 0, 0, 0.1), {"o": "L", "v": 4, "of": [[1, 0], [-1, 2, "lr"]], "part": 0},
                 {"o": "E", "x": [4, 1], "w": 0, "t": 0.2, "n": 1}]
        [(_, model)] = self.replay(made(lines, parts=parts, initial=[0, 1], workers=1)).evaluated
        right = self.problem.initial.copy()
        right[72:] -= toy.HYPER["lr"] * self.problem.gradient(right, 0, 0)[72:]
        self.assert_same(model, right, 1e-15, "model")

    def test_optimisers(self):
        """The second step from a gradient of 1 at 0, worked out by hand."""
        h = {"lr": 0.5, "mu": 0.5, "beta1": 0.5, "beta2": 0.75, "epsilon": 0.25, "weight_decay": 0.5}
        right = {"momentum": -1.25, "nesterov": -1.625, "adam": -0.8, "adamw": -0.7}
        for name, value in right.items():
            count = structure.STEPS[name][0] - 2
            lines = [gradient(20, 0, 0, 0, 0.1),
                     {"o": "S", "f": name, "v": [*range(11, 12 + count)], "of": [0, *range(1, 1 + count), 20]},
                     {"o": "S", "f": name, "v": [*range(31, 32 + count)], "of": [11, *range(12, 12 + count), 20]}]
            problem = toy.Toy(1)
            problem.initial, problem.gradient = np.zeros(1), lambda model, worker, number: np.ones(1)
            replay = Replay(made(lines, workers=1, zeros=[*range(1, 1 + count)], zero_parts=[0] * count, hyper=dict.fromkeys(h)), problem, **h)
            self.assertAlmostEqual(replay.values[31][0], value, places=14, msg=name)

    def test_delay_compensation(self):
        lines = [gradient(2, 0, 0, 0, 0.1), {"o": "S", "f": "delay-compensated", "v": [3], "of": [1, 0, 2]}]
        problem = toy.Toy(1)
        problem.initial, problem.gradient = np.full(1, 2.0), lambda model, worker, number: np.full(1, 3.0)
        replay = Replay(made(lines, workers=1, zeros=[1], zero_parts=[0], hyper={"lr": None, "lambda": [0.04]}), problem, lr=0.5)
        self.assertAlmostEqual(replay.values[3][0], -0.5 * (3 - 0.04 * 9 * 2))

    def test_compression(self):
        a, line = np.array([0.5, -2.0, 0.0, 1.0 + 2**-12]), {"k": 0.3, "n": 0}
        right = {"fp16": [0.5, -2, 0, 1], "sign": [0.87506103515625, -0.87506103515625, 0.87506103515625, 0.87506103515625],
                 "top-k": [0, -2, 0, 1.000244140625]}
        for name, message in right.items():
            self.assertEqual(list(COMPRESSIONS[name](a, line, self.problem)), message, name)
        self.assertEqual(list(COMPRESSIONS["top-k"](np.ones(4), line, self.problem)), [1, 1, 0, 0])
        self.assertEqual(np.count_nonzero(COMPRESSIONS["top-k"](np.ones(100), {"k": 0.07}, self.problem)), 7)
        found = COMPRESSIONS["random-k"](a + 1, line, self.problem)
        self.assertEqual(np.count_nonzero(found == a + 1), 2)
        lines = [{"o": "C", "f": "top-k", "v": [2, 3], "of": [0, 1], "k": 0.1}, {"o": "C", "f": "top-k", "v": [4, 5], "of": [0, 3], "k": 0.1}]
        replay = self.replay(made(lines, zeros=[1], zero_parts=[0]))
        self.assertEqual([np.count_nonzero(replay.values[value]) for value in (2, 4)], [10, 10])
        self.assert_same(replay.values[2] + replay.values[4] + replay.values[5], 2 * self.problem.initial, 1e-15, "what was sent and what was not")

    def test_a_toy_tells_workers_batches_and_parts_apart(self):
        found = [self.problem.gradient(self.problem.initial, worker, number) for worker in range(5) for number in range(5)]
        for index, one in enumerate(found):
            for other in found[:index]:
                self.assertGreater(np.min(np.abs(one - other)), 0)
        changed = self.problem.initial.copy()
        changed[:4] += 1
        self.assertNotEqual(self.problem.gradient(changed, 0, 0)[50], found[0][50])


class Faults(unittest.TestCase):
    def test_a_right_record(self):
        self.assertEqual(structure.faults(made(two_workers())), [])

    def test_whatever_is_wrong_is_said(self):
        def swap(lines):
            lines[3], lines[4] = lines[4], lines[3]

        damages = [
            (lambda lines: lines[5].update(k=2), "worker 0's batch 2 after 1"),
            (lambda lines: lines[5].update(w=2), "worker 2"),
            (lambda lines: lines[5].update(v=3), "value 3 is made twice"),
            (lambda lines: lines[5].update(x=6), "value 6 is used before it is made"),
            (lambda lines: lines[5].update(t=0.1), "worker 0 is at 0.1, was at 0.4"),
            (lambda lines: lines[5].update(t=1.1), "end_s 1.0, but something is at 1.1"),
            (lambda lines: lines[4].update(n=1), "n is 1, 2 gradients came before"),
            (lambda lines: lines[4].update(w=1), "worker 0's lines are EGGE, not .*; others than worker 0 are evaluated"),
            (lambda lines: lines[3]["of"][1].__setitem__(2, "mu"), r"the header does not have \['mu'\]"),
            (lambda lines: lines[6].update(extra=1), "keys"),
            (lambda lines: lines.pop(), "9 operations are said, there are 8"),
            (swap, "value 3 is used before it is made"),
        ]
        for damage, words in damages:
            record = made(copy.deepcopy(two_workers()))
            damage(record.lines)
            self.assertRegex("; ".join(structure.faults(record)), words)

    def test_coefficients(self):
        expansion = structure.Expansion(made(two_workers()), lr=0.5)
        self.assertEqual(list(expansion.values[6]), [1, -0.25, -0.25, -0.25, -0.25])
        self.assertEqual(expansion.gradients, {(0, 0): 1, (1, 0): 2, (0, 1): 3, (1, 1): 4})


if __name__ == "__main__":
    unittest.main()
