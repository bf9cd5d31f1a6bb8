"""Is every network, node and device that comes with the project readable, with a source, and on its page, and as fast as is stated there?"""
import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMCTL = os.environ.get("SIMCTL", str(ROOT / "build" / "simctl"))
KINDS = [("scenarios/clusters", "scenarios/CLUSTERS.md", r"`([\w-]+\.json)`"), ("models/devices", "models/README.md", r"`devices/([\w-]+\.json)`")]
FLAT = {"name": "ring", "across": "gpus"}
BUS_BANDWIDTHS = [  # cluster, nodes, all-reduce, bytes, GB/s: as scenarios/CLUSTERS.md says of nominal ones, as the publishers say of measured ones
    ("dgx-a100", 1, "ring", 2**33, 231.6), ("dgx-a100", 2, "ring", 2**33, 143.2), ("dgx-a100", 2, FLAT, 2**33, 180.6), ("dgx-a100", 1, "ring", 2**26, 211.7),
    ("dgx-h100", 1, "ring", 2**33, 450 * 0.804), ("dgx1-v100", 1, "ring", 2**33, 150 * 0.861), ("pcie4-8x8-100gbe", 1, "ring", 2**33, 31.5 * 0.459),
    ("nvlink3-8x4-200g-infiniband", 2, FLAT, 2**33, 100 * 0.903),
    ("azure-nd-a100-v4", 1, "ring", 2**33, 231.58), ("azure-nd-a100-v4", 1, "ring", 2**26, 166.63), ("azure-nd-h100-v5", 1, "ring", 2**33, 478.87),
    ("azure-nd-h200-v5", 1, "ring", 2**33, 479.98), ("aws-2-p4de", 2, "ring", 2**31, 78.33), ("aws-2-p5", 2, "ring", 2**34, 487.09),
]
SAMPLES_PER_S = [  # device, model, batch, input, measured
    ("a100", "resnet50", 640, None, 1066), ("a100", "bert_base", 172, "384", 239), ("a100", "resnet50", 256, None, 938),
    ("h100", "resnet50", 640, None, 1895), ("h100", "bert_base", 172, "384", 432.5),
    ("h100-bf16", "llama_7b", 2, None, 1.831), ("h100-bf16", "gpt2_small", 64, None, 460.4),
    ("h100-bf16", "bert_base", 320, "384", 854.5), ("h100-bf16", "resnet50", 1280, None, 2791),
]


def median_share(kind):
    """Of the nominal bandwidth, in published benchmarks."""
    with open(ROOT / "scenarios/clusters/runs/link-efficiencies.csv", newline="") as text:
        rows = [row for row in csv.DictReader(line for line in text if not line.startswith("#")) if row["kind"] == kind]
    return statistics.median(float(row["busbw_GBps"]) / float(row["nominal_GBps"]) for row in rows)


def simctl(*arguments):
    return subprocess.run([SIMCTL, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=600, cwd=ROOT)


class Library(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_every_file_is_read_and_says_where_its_figures_come_from(self):
        for folder, _, _ in KINDS:
            for path in sorted((ROOT / folder).glob("*.json")):
                with self.subTest(path.name):
                    done = subprocess.run([SIMCTL, "show", path], capture_output=True, text=True, timeout=600)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    source = json.loads(path.read_text())["source"]
                    self.assertIn(source, done.stdout)
                    self.assertRegex(source, r"nominal|https?://|et al\.|fitted|least squares|coefficients|\(MG-WFBP|paper")

    def test_the_tables_name_every_file_and_no_other(self):
        for folder, page, name in KINDS:
            with self.subTest(folder):
                rows = [line for line in (ROOT / page).read_text().splitlines() if line.startswith("| `") and ".json`" in line]
                table = [row for row in rows if folder == "models/devices" and "`devices/" in row or folder == "scenarios/clusters" and row.split("|")[3].strip().split(",")[0] in ("nominal", "measured")]
                listed = {found for row in table for found in re.findall(name, row.split("|")[1])}
                self.assertEqual(listed, {path.name for path in (ROOT / folder).glob("*.json")})

    def test_clusters_are_named_as_their_files(self):
        for path in (ROOT / "scenarios/clusters").glob("*.json"):
            self.assertEqual(json.loads(path.read_text())["name"], path.stem)

    def test_nominal_nodes_are_about_as_fast_as_measured_ones(self):
        """The bus bandwidth of a ring is its links' rate: within a third of what NCCL got inside such nodes for gigabytes, as published."""
        measured = {"dgx-a100": "azure-nd-a100-v4", "dgx-h100": "azure-nd-h100-v5"}
        for nominal, run in measured.items():
            with self.subTest(nominal):
                link = json.loads((ROOT / f"scenarios/clusters/{nominal}.json").read_text())["intra_node"]
                points = json.loads((ROOT / f"scenarios/clusters/{run}.json").read_text())["fit"]["points"]
                size, seconds = points[-1]
                rate = float(link["bandwidth"].removesuffix("GBps")) * 1e9 * median_share(link["kind"])
                self.assertLess(abs(size * 2 * 7 / 8 / seconds / rate - 1), 1 / 3)

    def test_bus_bandwidths_are_as_stated(self):
        trace = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "made for a test"}, "model": {"name": "one", "batch": 1, "dtype": "fp32"},
                 "layers": [{"name": "l", "type": "unknown", "forward_s": 1e-9, "backward_s": 1e-9}]}
        for name, nodes, algorithm, size, stated in BUS_BANDWIDTHS:
            with self.subTest(name, nodes=nodes, algorithm=algorithm, size=size):
                cluster = json.loads((ROOT / f"scenarios/clusters/{name}.json").read_text()) | {"nodes": nodes}
                scenario = {"format": "scenario/1", "name": "one", "trace": trace | {"gradients": [{"name": "g", "layer": "l", "bytes": size}]},
                            "cluster": cluster, "all_reduce": algorithm, "schedule": {"name": "wfbp"}, "iterations": {"warmup": 1, "measured": 1}}
                (self.folder / "scenario.json").write_text(json.dumps(scenario))
                done = simctl("run", self.folder / "scenario.json", "--format", "csv", "--quiet")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                seconds = float(next(csv.DictReader(done.stdout.splitlines()))["iteration_s"])
                ranks = nodes * cluster["gpus_per_node"]
                self.assertAlmostEqual(size / seconds * 2 * (ranks - 1) / ranks / 1e9 / stated, 1, delta=0.003)

    def test_devices_are_as_far_off_as_they_state(self):
        for device, model, batch, size, measured in SAMPLES_PER_S:
            with self.subTest(device, model=model, batch=batch):
                profile = json.loads((ROOT / f"models/devices/{device}.json").read_text())
                stated, = (error for error in profile["error"] if f"({measured} " in error["against"])
                done = simctl("trace", "synth", f"models/{model}.json", "--device", f"models/devices/{device}.json", "--batch", batch,
                              *(("--input", size) if size else ()), "-o", self.folder / "trace.json")
                self.assertEqual(done.returncode, 0, done.stderr)
                trace = json.loads((self.folder / "trace.json").read_text())
                seconds = sum(layer["forward_s"] + layer["backward_s"] for layer in trace["layers"]) + trace["update_s"]
                self.assertEqual(stated["model"], model)
                self.assertAlmostEqual(batch / seconds / measured - 1, stated["samples_per_s"], delta=0.0006)


if __name__ == "__main__":
    unittest.main()
