"""Does simctl read the models as their specification says?"""
import csv
import math
import re
import subprocess
import unittest

import oracle
from support import ROOT, SIMCTL

MODELS = sorted((ROOT / "models").glob("*.json"))
LISTS = {path.stem.removesuffix("_cifar"): path for path in (ROOT / "tests/models/params").glob("*.csv")}


def show(path):
    """The lines of `simctl show` by layer, and its last line."""
    text = subprocess.run([SIMCTL, "show", path], capture_output=True, text=True, check=True, timeout=600).stdout
    table, totals = text.split("\n\n")[1:3]
    rows = [re.split(r" {2,}", line.strip()) for line in table.splitlines()[2:]]
    # A layer without tensors has an empty cell.
    return [row if len(row) == 8 else row[:4] + [""] + row[4:] for row in rows], totals.strip()


class Show(unittest.TestCase):
    def test_every_layer_is_what_an_independent_reader_makes_of_it(self):
        self.assertGreaterEqual(len(MODELS), 15)
        for path in MODELS:
            rows, totals = show(path)
            layers = oracle.read(path)
            expected = []
            for layer in layers:
                parameters = sum(math.prod(shape) for _, shape in layer["tensors"])
                expected.append([layer["name"], layer["op"], " ".join("input" if name == "$input" else name for name in layer["inputs"]),
                                 "x".join(map(str, layer["shape"])), " ".join("x".join(map(str, shape)) for _, shape in layer["tensors"]),
                                 str(parameters), str(4 * parameters), str(layer["macs"])])
            with self.subTest(path.name):
                self.assertEqual(rows, expected)
                tensors = sum(len(layer["tensors"]) for layer in layers)
                self.assertTrue(totals.startswith(f"{len(layers)} layers, {tensors} tensors, {sum(int(row[5]) for row in rows)} parameters, "), totals)

    def test_every_tensor_of_the_lists_is_there_in_order(self):
        self.assertEqual(len(LISTS), 9)
        for model, path in LISTS.items():
            with open(path, newline="", encoding="utf-8") as file:
                expected = [(row["name"].rsplit(".", 1)[0], row["shape"]) for row in csv.DictReader(file)]
            rows, _ = show(ROOT / "models" / f"{model}.json")
            with self.subTest(model):
                self.assertEqual([(row[0], shape) for row in rows for shape in row[4].split()], expected)

    def test_list_has_every_model_and_device(self):
        for what, folder in (("models", "models"), ("devices", "models/devices"), ("traces", "traces")):
            text = subprocess.run([SIMCTL, "list", what], capture_output=True, text=True, check=True, cwd=ROOT, timeout=600).stdout
            listed = [line.split()[0] for line in text.splitlines()[2:-1]]
            self.assertEqual(listed, sorted(path.stem for path in (ROOT / folder).glob("*.json")))
            self.assertEqual(text.splitlines()[-1], f"files: {folder}/NAME.json")


if __name__ == "__main__":
    unittest.main()
