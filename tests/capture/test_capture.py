"""Does the program capture write a trace that the simulator takes, or nothing at all and say why?"""
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time
import unittest

from program_support import TINY, ProgramCase, has_gpu
from support import ROOT, SIMCTL

sys.path.insert(0, str(ROOT / "tests" / "models"))
import oracle  # noqa: E402

CAPTURE = os.environ.get("CAPTURE", str(ROOT / "build" / "capture"))
MODELS = sorted(path for path in (ROOT / "models").glob("*.json"))


def simulates():
    return pathlib.Path(SIMCTL).exists() and subprocess.run([SIMCTL, "list", "schedules"], capture_output=True, check=False).returncode == 0


class CaptureCase(ProgramCase):
    def capture(self, *arguments, model="tiny.json", batch=2, device="cpu", out="trace-out.json", **options):
        words = ["--model", model, "--batch", batch]
        words += ["--device", device] if device else []
        words += ["-o", out] if out else []
        return self.program(CAPTURE, *words, *arguments, **options)


class Plan(CaptureCase):
    def test_layers_shapes_and_tensors_of_every_shipped_model_without_a_device(self):
        for path in MODELS:
            with self.subTest(path.name):
                finished = self.capture("--plan", model=path, batch=3, device=None, out=None)
                self.assertEqual(finished.returncode, 0, finished.stderr)
                lines = [re.split(r"  +", line.strip()) for line in finished.stdout.splitlines()]
                rows = {line[0]: line for line in lines[4:] if len(line) > 4}
                layers = oracle.read(path)
                self.assertEqual(len(rows), len(layers))
                for layer in layers:
                    row = rows[layer["name"]]
                    shape = "x".join(map(str, [3, *layer["shape"]]))
                    tensors = " ".join("x".join(map(str, shape)) for _, shape in layer["tensors"])
                    parameters = sum(oracle.math.prod(shape) for _, shape in layer["tensors"])
                    self.assertEqual(row[1:3], [layer["op"], shape])
                    self.assertEqual(row[3:-1], ([tensors] if tensors else []) + [str(parameters), str(round(3 * layer["macs"]))], layer["name"])

    def test_samples_of_another_size(self):
        model = json.loads((ROOT / "models" / "resnet20.json").read_text())
        resized = self.write("resized.json", model | {"input": [3, 48, 40]})
        plans = [self.capture("--plan", *words, model=path, device=None, out=None).stdout for words, path in
                 [(["--input", "3x48x40"], ROOT / "models" / "resnet20.json"), ([], resized)]]
        self.assertEqual(*plans)
        self.assertIn("2x16x48x40", plans[0])

    def test_memory_is_the_sum_of_its_parts(self):
        units = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
        for dtype in ("fp32", "bf16"):
            text = self.capture("--plan", "--dtype", dtype, device="cuda", out=None, model=ROOT / "models" / "resnet50.json", batch=32).stdout
            line = next(line for line in text.splitlines() if line.startswith("memory:"))
            total, *parts = [float(number) * units[unit] for number, unit in re.findall(r"([\d.e+]+) ([kMG]?B)", line)]
            self.assertEqual(len(parts), 7)
            self.assertAlmostEqual(total, sum(parts), delta=0.002 * total)


    def test_fused_attention_keeps_less_than_products(self):
        kept = {}
        for dtype, words in (("bf16", []), ("bf16", ["--attention", "products"]), ("fp32", [])):
            text = self.capture("--plan", "--dtype", dtype, *words, device="cuda", out=None, model=ROOT / "models" / "bert_base.json", batch=32).stdout
            kept[dtype, *words] = next(line for line in text.splitlines() if line.startswith("memory:"))
        self.assertEqual(len(set(kept.values())), 3)


class Captured(CaptureCase):
    def test_the_trace_is_the_models(self):
        model = ROOT / "models" / "resnet20.json"
        finished = self.capture("--iterations", 40, model=model, batch=4, out="new/folder/trace.json")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        trace = json.loads((self.folder / "new" / "folder" / "trace.json").read_text())
        layers = oracle.read(model)
        self.assertEqual([layer["name"] for layer in trace["layers"]], [layer["name"] for layer in layers] + ["loss"])
        self.assertEqual([layer["type"] for layer in trace["layers"][:-1]], [layer["op"] for layer in layers])
        for layer in trace["layers"]:
            for way in ("forward", "backward"):
                low, high = layer[f"{way}_quartiles_s"]
                self.assertLessEqual(low, layer[f"{way}_s"])
                self.assertLessEqual(layer[f"{way}_s"], high)
                if layer["type"] == "conv2d":
                    self.assertGreater(low, 0)
        wanted = {name: shape for layer in layers for name, shape in layer["tensors"]}
        self.assertEqual({gradient["name"]: gradient["shape"] for gradient in trace["gradients"]}, wanted)
        for gradient in trace["gradients"]:
            self.assertEqual(gradient["bytes"], 4 * oracle.math.prod(gradient["shape"]))
        ready = [gradient["ready_s"] for gradient in trace["gradients"]]
        self.assertEqual(ready, sorted(ready))
        self.assertLessEqual(ready[-1], trace["iteration"]["backward_s"])
        self.assertGreater(trace["update_s"], 0)

        self.assertEqual(trace["model"], {"name": "resnet20", "batch": 4, "dtype": "fp32"})
        self.assertEqual(trace["provenance"]["kind"], "measured")
        self.assertRegex(trace["provenance"]["utc"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertIn("--iterations 40", trace["provenance"]["command"])
        self.assertIn("onednn", trace["software"])
        self.assertIn("syncopate", trace["software"])
        timing = trace["timing"]
        self.assertEqual(timing["iterations"], 40)
        self.assertEqual(timing["optimizer"], "sgd")
        self.assertEqual(timing["clock"], "CPU time of the thread")
        self.assertIn("conv1", timing["kernels"])
        # A property of medians, on the thread's own clock: others on the machine hardly disturb it.
        total = sum(layer["forward_s"] + layer["backward_s"] for layer in trace["layers"]) + trace["update_s"]
        self.assertAlmostEqual(total, timing["sum_of_layers_s"], delta=1e-6 * total)
        if "add up" not in finished.stderr:
            self.assertLess(abs(total / timing["iteration_s"] - 1), 0.05)
        self.assertIn("samples/s", finished.stdout)

    @unittest.skipUnless(simulates(), "needs a simctl with SimGrid")
    def test_capture_then_simulate(self):
        self.assertEqual(self.capture("--quiet", out="trace.json").returncode, 0)
        shown = self.simctl("show", "trace.json")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("measured", shown.stdout)
        finished = self.run_scenario({"format": "scenario/1", "name": "captured", "trace": "trace.json", "cluster": "cluster.json", "schedule": {"name": "wfbp"}})
        self.assertEqual(finished.returncode, 0, finished.stderr)
        iteration = json.loads((self.folder / "trace.json").read_text())
        compute = iteration["iteration"]["forward_s"] + iteration["iteration"]["backward_s"] + iteration["update_s"]
        self.assertAlmostEqual(float(self.rows()[0]["compute_s"]), compute, delta=1e-6 * compute)

    def test_the_size_of_a_sample_is_in_the_trace_where_it_is_not_the_models(self):
        for words, expected in (([], None), (["--input", "3x8x8"], None), (["--input", "3x9x7"], [3, 9, 7])):
            self.assertEqual(self.capture(*words).returncode, 0)
            trace = json.loads((self.folder / "trace-out.json").read_text())
            self.assertEqual(trace["model"].get("input"), expected)
            self.assertEqual("--input" in trace["provenance"]["command"], bool(words))

    def test_quiet_says_nothing(self):
        finished = self.capture("--quiet")
        self.assertEqual((finished.returncode, finished.stdout), (0, ""))

    def test_a_full_standard_output_is_noticed(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            finished = subprocess.run([CAPTURE, "--plan", "--model", "tiny.json", "--batch", "2"], cwd=self.folder, stdout=full,
                                      stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(finished.returncode, 5)
        self.assertIn("standard output cannot be written: No space left on device", finished.stderr)

    def test_adam_takes_longer_and_is_named(self):
        self.write("wide.json", {**TINY, "layers": [{"name": "flat", "op": "flatten"}, {"name": "fc", "op": "linear", "out_features": 20000}]})
        updates = {}
        for optimizer in ("sgd", "adam"):
            self.assertEqual(self.capture("--optimizer", optimizer, model="wide.json").returncode, 0)
            trace = json.loads((self.folder / "trace-out.json").read_text())
            self.assertEqual(trace["timing"]["optimizer"], optimizer)
            self.assertEqual("--optimizer adam" in trace["provenance"]["command"], optimizer == "adam")
            updates[optimizer] = trace["update_s"]
        self.assertGreater(updates["adam"], updates["sgd"])

    def test_several_threads_are_timed_on_the_wall(self):
        self.assertEqual(self.capture("--threads", 2).returncode, 0)
        trace = json.loads((self.folder / "trace-out.json").read_text())
        self.assertEqual(trace["timing"]["clock"], "wall")
        self.assertTrue(trace["device"]["name"].endswith("2 threads"))
        self.assertIn("--threads 2", trace["provenance"]["command"])


class Refused(CaptureCase):
    def test_usage(self):
        table = [
            ({"device": None}, [], "--device is missing; use cuda or cpu"),
            ({"device": "tpu"}, [], "--device tpu: expected cuda, cuda:N or cpu"),
            ({"device": "cuda:x"}, [], "--device cuda:x: expected cuda:N, where N counts GPUs from 0"),
            ({"device": "cpu:1"}, [], "--device cpu:1: the CPU has no number; use --device cpu"),
            ({"out": None}, [], "-o: the name of a file is missing"),
            ({"out": "."}, [], "-o .: this is a folder; name a file in it"),
            ({"out": "new/"}, [], "-o new/: this is a folder; name a file in it"),
            ({"out": "tiny.json"}, [], "-o tiny.json: this would overwrite an input file; choose another name"),
            ({"batch": 0}, [], "--batch: Value 0 not in range"),
            ({"batch": -3}, [], "--batch"),
            ({"batch": "2.5"}, [], "--batch"),
            ({"batch": 10**30}, [], "--batch"),
            ({}, ["--dtype", "fp64"], "--dtype: fp64 not in {fp32,tf32,fp16,bf16}"),
            ({}, ["--dtype", "bf16"], "--dtype bf16: the cpu device supports fp32"),
            ({"device": "cuda"}, ["--threads", 2], "--threads: the cuda device has no number of threads; leave it out"),
            ({}, ["--graphs"], "--graphs: the cpu device has no CUDA graphs; leave it out"),
            ({}, ["--input", "3x0x8"], "--input 3x0x8: expected extents of 1 to 1000000, such as 3x224x224"),
            ({}, ["--input", "3,8,8"], "--input 3,8,8: expected extents"),
            ({}, ["--input", "x"], "--input x: expected extents"),
            ({}, ["--input", "3x8x"], "--input 3x8x: expected extents"),
            ({}, ["--optimizer", "lamb"], "--optimizer: lamb not in {sgd,adam}"),
            ({}, ["--attention", "flash"], "--attention: flash not in {fused,products}"),
            ({}, ["--iterations", 29], "--iterations: Value 29 not in range 30 to 100000"),
            ({}, ["--warmup", 0], "--warmup"),
            ({}, ["--threads", 0], "--threads"),
            ({}, ["--wramup", 3], "--wramup"),
        ]
        for options, arguments, message in table:
            with self.subTest(message):
                self.check_refused(self.capture(*arguments, **options), 2, message)

    def test_input(self):
        chained = {**TINY, "layers": [TINY["layers"][0], {"name": "emb", "op": "flatten"}, {"name": "e", "op": "embedding", "entries": 4, "width": 2}]}
        self.write("chained.json", chained)
        self.write("truncated.json", json.dumps(TINY)[:-9])
        self.before = self.files()
        table = [
            ("missing.json", "missing.json: "),
            (".", "a folder"),
            ("truncated.json", "truncated.json: "),
            ("trace.json", "trace.json: /format"),
            ("chained.json", "chained.json: layer e: an embedding can be captured only if it reads the model's input"),
        ]
        for model, message in table:
            with self.subTest(model):
                self.check_refused(self.capture(model=model, out="new/folder/trace.json"), 3, message)

    def test_an_input_that_does_not_fit_the_model(self):
        self.check_refused(self.capture("--input", "8"), 3, "/input: 3x8x8 cannot be replaced by 8, which has a different number of dimensions")
        self.check_refused(self.capture("--input", "3x2x2"), 3, "tiny.json: /layers/0")

    def test_an_output_that_cannot_be_written(self):
        self.write("file", "")
        self.before = self.files()
        self.check_refused(self.capture(out="file/trace.json"), 5, "file")
        self.check_refused(self.capture(out="/proc/trace.json"), 5, "/proc")

    @unittest.skipIf(has_gpu(), "this machine has a GPU")
    def test_no_gpu(self):
        self.check_refused(self.capture(device="cuda"), 5, "--device cuda: ")
        self.check_refused(self.capture(device="cuda:3"), 5, "--device cuda: ")

    @unittest.skipIf(b"__asan_init" in pathlib.Path(CAPTURE).read_bytes(), "a sanitized program takes more address space than any limit")
    def test_more_memory_than_there_is(self):
        for batch, options in [(900000, {}), (256, {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30,) * 2)})]:
            with self.subTest(batch):
                finished = self.capture(model=ROOT / "models" / "resnet50.json", batch=batch, **options)
                self.check_refused(finished, 5, f"resnet50 at batch {batch} needs ")
                self.assertRegex(finished.stderr, r"needs [\d.e+]+ [GT]B and oneDNN's workspace, but only [\d.e+]+ [MG]B are free; choose a smaller --batch")

    def test_killed_half_way(self):
        for kill in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(kill):
                process = subprocess.Popen([CAPTURE, "--model", "tiny.json", "--batch", "2", "--device", "cpu", "--iterations", "100000",
                                            "-o", "trace-out.json"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.addCleanup(process.wait)
                self.addCleanup(process.kill)
                started = pathlib.Path(f"/proc/{process.pid}/maps")
                deadline = time.monotonic() + 60
                while "libdnnl" not in started.read_text() and time.monotonic() < deadline:
                    time.sleep(0.01)
                time.sleep(0.3)
                self.assertIsNone(process.poll(), "it ended before it could be killed")
                process.send_signal(kill)
                self.assertEqual(process.wait(timeout=60), -kill)
                self.assertEqual(self.files(), self.before)


if __name__ == "__main__":
    unittest.main()
