"""Does `simctl trace compare` pair the layers of two traces rightly, and tell their differences?"""
import copy
import json
import math
import random
import unittest

from kineto_writer import RESIDUAL, Profile
from support import Case, trace


def layer(name, kind, forward, backward):
    return {"name": name, "type": kind, "forward_s": forward, "backward_s": backward}


class Compare(Case):
    def compare(self, first, second, *arguments):
        self.write("a.json", first)
        self.write("b.json", second)
        done = self.simctl("trace", "compare", "a.json", "b.json", "-o", "out.json", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.printed = done.stdout
        return json.loads((self.folder / "out.json").read_text())

    def pairs(self, comparison):
        return {row["name"]: row["other"] for row in comparison["layers"]}

    def test_a_trace_and_itself_do_not_differ(self):
        for row in (got := self.compare(trace(), trace()))["layers"]:
            self.assertEqual((row["name"], row["forward_s"][0]), (row["other"], row["forward_s"][1]))
        self.assertEqual((len(got["layers"]), got["matched_by"]), (3, "name"))
        self.assertIn("+0.0%", self.printed)

    def test_totals_types_and_layers_are_sums_of_what_the_traces_say(self):
        random.seed(5)
        kinds = ["conv2d", "batch_norm", "relu"] * 7
        first = trace(layers=[layer(f"l{i}", kind, random.random(), random.random()) for i, kind in enumerate(kinds)], update_s=0.25)
        second = copy.deepcopy(first) | {"update_s": 0.5, "iteration": {"forward_s": 20, "backward_s": 30}}
        for entry in second["layers"]:
            entry["forward_s"] *= random.uniform(0.5, 2)
            entry["backward_s"] *= random.uniform(0.5, 2)
        got = self.compare(first, second)
        sums = [[math.fsum(entry[key] for entry in each["layers"]) for each in (first, second)] for key in ("forward_s", "backward_s")]
        for want, key in zip(sums, ("forward_of_layers_s", "backward_of_layers_s")):
            for mine, theirs in zip(got[key], want):
                self.assertAlmostEqual(mine, theirs, places=12)
        self.assertAlmostEqual(got["forward_s"][0], sums[0][0], places=12)
        self.assertEqual((got["forward_s"][1], got["backward_s"][1], got["update_s"]), (20, 30, [0.25, 0.5]))
        self.assertAlmostEqual(got["iteration_s"][1], 50.5, places=12)
        self.assertEqual({row["name"]: row["layers"] for row in got["types"]}, {"conv2d": 7, "batch_norm": 7, "relu": 7})
        for row in got["types"]:
            for key in ("forward_s", "backward_s"):
                for mine, each in zip(row[key], (first, second)):
                    self.assertAlmostEqual(mine, math.fsum(e[key] for e in each["layers"] if e["type"] == row["name"]), places=12)
        apart = [abs(sum(row["forward_s"]) * 0 + row["forward_s"][1] + row["backward_s"][1] - row["forward_s"][0] - row["backward_s"][0])
                 for row in got["layers"]]
        self.assertEqual(apart, sorted(apart, reverse=True))

    def test_an_imported_profile_is_matched_by_the_order_of_its_types(self):
        Profile(RESIDUAL).write(self.folder / "mine.pt.trace.json")
        self.assertEqual(self.simctl("trace", "import", "mine.pt.trace.json", "-o", "imported.json").returncode, 0)
        imported = json.loads((self.folder / "imported.json").read_text())
        kinds = ["conv2d", "batch_norm", "relu", "conv2d", "batch_norm", "add", "relu", "linear", "cross_entropy"]
        names = ["c1", "b1", "r1", "c2", "b2", "sum", "r2", "fc", "loss"]
        captured = copy.deepcopy(imported) | {"layers": [layer(*each, 1e-5, 2e-5) for each in zip(names, kinds)]}
        renamed = dict(zip((entry["name"] for entry in imported["layers"]), names))
        captured["gradients"] = [gradient | {"layer": renamed[gradient["layer"]]} for gradient in imported["gradients"]]
        captured["timing"] = {"kernels": {"c1": ["ALGO_1", "", "WINOGRAD"]}}
        got = self.compare(captured, imported)
        self.assertEqual(self.pairs(got), {name: old for old, name in renamed.items()})
        row = next(row for row in got["layers"] if row["name"] == "c1")
        self.assertEqual((row["kernels"], row["other_kernels"]), (["ALGO_1", "WINOGRAD"], ["gemm<float>", "Memset (Device)"]))
        self.assertIn("c1: ALGO_1; WINOGRAD\n  second: gemm<float>; Memset (Device)\n", self.printed)

    def test_layers_whose_gradients_differ_in_size_are_no_pair(self):
        def with_shape(shape):
            made = trace()
            made["gradients"][0] |= {"shape": shape, "bytes": 4 * math.prod(shape)}
            return made

        self.assertEqual(self.pairs(self.compare(with_shape([3, 5]), with_shape([5, 3]))), {f"l{i}": f"l{i}" for i in range(3)})
        self.assertEqual(self.pairs(self.compare(with_shape([3, 5]), with_shape([3, 6]))), {"l0": "l0", "l1": "l1"})

    def test_what_cannot_be_matched_still_has_totals(self):
        other = trace(layers=[layer("z", "conv2d", 1, 1)], gradients=[{"name": "z.w", "layer": "z", "bytes": 4}])
        got = self.compare(trace(layers=[layer(f"l{i}", "relu", 0.5, 1) for i in range(3)]), other)
        self.assertEqual((got["layers"], got["types"], got["forward_s"]), ([], [], [1.5, 1]))
        self.assertIn("0 of 3 and 1 layers matched", self.printed)

    def test_traces_of_different_networks_are_warned_of(self):
        self.write("a.json", trace())
        self.write("b.json", trace(model={"name": "other", "batch": 8, "dtype": "fp32"}))
        done = self.simctl("trace", "compare", "a.json", "b.json")
        self.assertEqual((done.returncode, done.stderr),
                         (0, "simctl: warning: the traces are of different models (three and other), batches (4 and 8)\n"))

    def test_kernels_of_any_shape_do_no_harm(self):
        for kernels in (3, [], {"l0": 3}, {"l0": [1, None, {"a": 1}]}, {"other": ["x"]}):
            got = self.compare(trace(timing={"kernels": kernels}), trace())
            self.assertFalse(any("kernels" in row for row in got["layers"]))

    def test_bad_input(self):
        self.write("model.json", {"format": "model/1"})
        for words, code, message in [
                (["trace.json", "gone.json"], 3, "gone.json: no such file"),
                (["trace.json", "model.json"], 3, "model.json: /format"),
                (["trace.json", "trace.json", "-o", "trace.json"], 2, "this would overwrite an input file"),
                (["trace.json", "trace.json", "-o", "."], 2, "this is a folder"),
                (["trace.json", "trace.json", "-o", "trace.json/x"], 5, "trace.json"),
                (["trace.json", "trace.json", "--layers", "-1"], 2, "--layers"),
                (["trace.json"], 2, "SECOND is required")]:
            with self.subTest(words):
                before = sorted(self.folder.iterdir())
                done = self.simctl("trace", "compare", *words)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (code, "", 1), done.stderr)
                self.assertIn(message, done.stderr)
                self.assertEqual(sorted(self.folder.iterdir()), before)


if __name__ == "__main__":
    unittest.main()
