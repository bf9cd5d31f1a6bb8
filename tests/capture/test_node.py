"""Does the program nodeprobe write what it measured of a node, or nothing at all and say why?"""
import json
import os
import pathlib
import resource
import subprocess
import unittest

from program_support import TINY, ProgramCase, has_gpu
from support import ROOT

NODEPROBE = os.environ.get("NODEPROBE", str(ROOT / "build" / "nodeprobe"))
BLOCKS = (1, 2, 4, 8, 16, 32)
TINY_PARAMETERS = 4 * 3 * 9 + 4 + 4 * 36 * 10 + 10
TRAFFIC = {"device_copy": 2, "pack": 2, "add": 3, "cast_fp16": 1.5, "uncast_fp16": 1.5, "sign": 1 + 1 / 32, "top_k_0.01": 1.02, "top_k_0.001": 1.002}


class NodeCase(ProgramCase):
    def nodeprobe(self, *arguments, device="cpu", size="1MiB", out="node.json", **options):
        words = ["--device", device] if device is not None else []
        words += ["--bytes", size] if size else []
        words += ["-o", out] if out else []
        return self.program(NODEPROBE, *words, *arguments, **options)

    def node(self, out="node.json"):
        return json.loads((self.folder / out).read_text())


class Measured(NodeCase):
    def check_measurements(self, node, repetitions):
        self.assertEqual(list(node), ["format", "provenance", "device", "software", "timing", "measurements", "overlap", "failed"])
        self.assertEqual(node["format"], "node/1")
        self.assertEqual(node["timing"]["repetitions"], repetitions)
        self.assertEqual(node["failed"], [])
        for measured in node["measurements"]:
            with self.subTest(measured["name"]):
                low, high = measured["quartiles_s"]
                self.assertGreater(low, 0)
                self.assertLessEqual(low, measured["seconds"])
                self.assertLessEqual(measured["seconds"], high)
                per_byte = measured["seconds"] / measured["bytes"]
                self.assertAlmostEqual(measured["s_per_byte"], per_byte, delta=1e-6 * per_byte)
                if measured["name"] in TRAFFIC:
                    bandwidth = TRAFFIC[measured["name"]] / per_byte
                    self.assertAlmostEqual(measured["bandwidth_bytes_per_s"], bandwidth, delta=1e-6 * bandwidth)
                self.assertIsInstance(measured["counts"], str)

    def check_overlap(self, node, computes, unit, most, places):
        """The rows by share of the device: each number of blocks that it has beside each kind of compute."""
        rows = [row for row in node["overlap"] if "blocks" in row]
        self.assertEqual([(row["compute"], row["blocks"]) for row in rows],
                         [(compute, blocks) for compute in computes for blocks in BLOCKS if blocks <= most])
        for row in rows:
            self.assertEqual(row["beside"], f"additions in {row['blocks']} {unit}{'s' if row['blocks'] > 1 else ''}")
            self.assertAlmostEqual(row["share"], row["blocks"] / places, delta=1e-8)
        for row in node["overlap"]:
            self.assertGreater(row["alone_s"], 0)
            self.assertAlmostEqual(row["slowdown"], row["beside_s"] / row["alone_s"] - 1, delta=1e-6)

    def test_every_operation_of_the_processor(self):
        finished = self.nodeprobe("--repetitions", 12, out="new/folder/node.json")
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        node = self.node("new/folder/node.json")
        self.check_measurements(node, 12)
        self.assertEqual([measured["name"] for measured in node["measurements"]], list(TRAFFIC))
        for measured in node["measurements"]:
            self.assertEqual(measured["dtype"], "fp32")
            self.assertEqual(measured["bytes"], 161 * 4 * (2**18 // 161 // 64 * 64) if measured["name"] == "pack" else 2**20)
            self.assertIn(measured["name"], finished.stdout)
        self.check_overlap(node, ["matrix product, fp32", "elementwise, fp32"], "thread", os.cpu_count() - 1, os.cpu_count())
        self.assertEqual(len(node["overlap"]), 2 * len([blocks for blocks in BLOCKS if blocks < os.cpu_count()]))
        self.assertEqual(node["device"]["kind"], "cpu")
        self.assertTrue(node["device"]["name"].endswith("1 thread"))
        self.assertEqual(node["timing"]["clock"], "CPU time of the thread")
        self.assertEqual(node["provenance"]["kind"], "measured")
        self.assertRegex(node["provenance"]["utc"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(node["provenance"]["command"],
                         "nodeprobe --device cpu --bytes 1048576 --repetitions 12")
        self.assertIn("syncopate", node["software"])

    def test_a_models_gradients_are_packed(self):
        finished = self.nodeprobe("--model", "tiny.json", "--quiet")
        self.assertEqual((finished.returncode, finished.stdout, finished.stderr), (0, "", ""))
        node = self.node()
        self.check_measurements(node, 30)
        pack = next(measured for measured in node["measurements"] if measured["name"] == "pack")
        self.assertEqual((pack["tensors"], pack["bytes"]), (4, 4 * TINY_PARAMETERS))
        self.assertIn("--model tiny.json", node["provenance"]["command"])

    def test_a_measurement_a_line(self):
        self.assertEqual(self.nodeprobe("--repetitions", 10).returncode, 0)
        lines = [line.rstrip(",") for line in (self.folder / "node.json").read_text().splitlines() if line.startswith('{"name"')]
        self.assertEqual([json.loads(line)["name"] for line in lines], list(TRAFFIC))

    def test_sizes_with_units(self):
        for size, count in (("2MB", 2_000_000), ("2mib", 2**21), ("1500000", 1_500_000), ("1500003", 1_500_000)):
            with self.subTest(size):
                self.assertEqual(self.nodeprobe("--repetitions", 10, size=size).returncode, 0)
                self.assertEqual(self.node()["measurements"][0]["bytes"], count)

    def test_a_full_standard_output_is_noticed(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            finished = subprocess.run([NODEPROBE, "--device", "cpu", "--bytes", "1MiB", "--repetitions", "10", "-o", "node.json"],
                                      cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(finished.returncode, 5)
        self.assertIn("standard output cannot be written: No space left on device", finished.stderr)

    @unittest.skipUnless(has_gpu(), "needs a GPU")
    def test_every_operation_of_the_gpu(self):
        finished = self.nodeprobe("--repetitions", 10, device="cuda:0", size="16MiB")
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        node = self.node()
        self.check_measurements(node, 10)
        measured = {(row["name"], row["dtype"]) for row in node["measurements"]}
        for name in ("pack", "pack_each", "add"):
            for dtype in ("fp32", "fp16", "bf16"):
                self.assertIn((name, dtype), measured)
        for name in ("host_to_device", "device_to_host", *TRAFFIC):
            self.assertIn((name, "fp32"), measured)
        places = round(1 / node["overlap"][2]["share"])  # its first row of additions is beside one block
        self.check_overlap(node, ["matrix product, bf16", "matrix product, tf32", "elementwise, fp32"], "block", places, places)
        self.assertEqual(sum("blocks" not in row for row in node["overlap"]), 6)


class Refused(NodeCase):
    def test_usage(self):
        table = [
            ({"device": None}, [], "--device is missing; use cuda or cpu"),
            ({"device": "tpu"}, [], "--device tpu: expected cuda, cuda:N or cpu"),
            ({"device": "cpu:1"}, [], "--device cpu:1: the CPU has no number; use --device cpu"),
            ({"device": "cuda:x"}, [], "--device cuda:x: expected cuda:N, where N counts GPUs from 0"),
            ({"device": "cuda:-1"}, [], "--device cuda:-1: expected cuda:N"),
            ({"out": None}, [], "-o: the name of a file is missing"),
            ({"out": "."}, [], "-o .: this is a folder; name a file in it"),
            ({"out": "new/"}, [], "-o new/: this is a folder; name a file in it"),
            ({"out": "tiny.json"}, ["--model", "tiny.json"], "-o tiny.json: this would overwrite an input file; choose another name"),
            ({"size": "1MB"}, [], "--bytes 1000000: expected 1MiB to 4GiB"),
            ({"size": "0"}, [], "--bytes 0: expected 1MiB to 4GiB"),
            ({"size": "-1048576"}, [], "--bytes -1048576: expected 1MiB to 4GiB"),
            ({"size": "1048575"}, [], "--bytes 1048575: expected 1MiB to 4GiB"),
            ({"size": "5GiB"}, [], "--bytes 5368709120: expected 1MiB to 4GiB"),
            ({"size": "big"}, [], "--bytes: big unit not recognized"),
            ({"size": "1.5MB"}, [], "--bytes"),
            ({"size": "99999999999EB"}, [], "--bytes"),
            ({}, ["--repetitions", 9], "--repetitions: Value 9 not in range 10 to 100000"),
            ({}, ["--threads", 2], "--threads"),
        ]
        for options, arguments, message in table:
            with self.subTest(message):
                self.check_refused(self.nodeprobe(*arguments, **options), 2, message)

    def test_input(self):
        self.write("truncated.json", json.dumps(TINY)[:-9])
        self.write("no-parameters.json", {**TINY, "layers": [{"name": "flat", "op": "flatten"}]})
        self.before = self.files()
        table = [
            ("missing.json", "missing.json: no such file"),
            (".", "a folder"),
            ("truncated.json", "truncated.json: "),
            ("trace.json", "trace.json: /format"),
            ("no-parameters.json", "no-parameters.json: /layers: no layer has parameters"),
        ]
        for model, message in table:
            with self.subTest(model):
                self.check_refused(self.nodeprobe("--model", model, out="new/folder/node.json"), 3, message)

    def test_an_output_that_cannot_be_written(self):
        self.write("file", "")
        self.before = self.files()
        self.check_refused(self.nodeprobe(out="file/node.json"), 5, "file")
        self.check_refused(self.nodeprobe(out="/proc/node.json"), 5, "/proc")

    @unittest.skipIf(has_gpu(), "this machine has a GPU")
    def test_no_gpu(self):
        self.check_refused(self.nodeprobe(device="cuda"), 5, "--device cuda: ")
        self.check_refused(self.nodeprobe(device="cuda:1"), 5, "--device cuda: ")

    @unittest.skipUnless(has_gpu(), "needs a GPU")
    def test_a_gpu_that_there_is_not(self):
        self.check_refused(self.nodeprobe(device="cuda:1000"), 5, "--device cuda:1000: there ")

    @unittest.skipIf(b"__asan_init" in pathlib.Path(NODEPROBE).read_bytes(), "a sanitized program takes more address space than any limit")
    def test_too_little_memory(self):
        finished = self.nodeprobe(size="4GiB", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30,) * 2))
        self.check_refused(finished, 5, "gradients of 4.295 GB are more than this machine's memory holds; choose fewer --bytes")

    @unittest.skipIf(b"__asan_init" in pathlib.Path(NODEPROBE).read_bytes(), "a sanitized program takes more address space than any limit")
    def test_what_fails_is_listed_and_the_rest_is_kept(self):
        # What the program's libraries take differs: the first limit in which signs fit, and sums do not.
        for limit in range(300, 8000, 100):
            finished = self.nodeprobe("--repetitions", 10, "--quiet", size="256MiB",
                                      preexec_fn=lambda most=limit * 2**20: resource.setrlimit(resource.RLIMIT_AS, (most,) * 2))
            if finished.returncode == 0:
                break
            self.assertEqual(self.files(), self.before)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        node = self.node()
        failed = [failure["name"] for failure in node["failed"]]
        self.assertIn("add fp32", failed)
        self.assertIn("sign", [measured["name"] for measured in node["measurements"]])
        self.assertEqual(finished.stderr.splitlines(), [f"nodeprobe: warning: {name}: out of memory" for name in failed])


if __name__ == "__main__":
    unittest.main()
