"""Does capture/torch_profile.py write a whole profile of a model file's or the user's training, or say why not?"""
import gzip
import json
import math
import os
import subprocess
import sys
import unittest
from unittest import mock

from torch_support import KINETO, ROOT, TINY, Case, needs_kineto, needs_simctl, needs_torch, torch

import torch_profile
from small_models import layer

SCRIPT = ROOT / "capture/torch_profile.py"

USER = """
import json, os, pathlib, torch

def make_step():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    def step():
        optimizer.zero_grad(set_to_none=True)
        model(torch.randn(4, 6)).square().mean().backward()
        optimizer.step()
    return step

class StandIn:
    "A profiler that writes how many of its steps were to be recorded."
    def __init__(self, activities, schedule, record_shapes, on_trace_ready):
        self.actions, self.schedule, self.ready = [], schedule, on_trace_ready
        assert record_shapes
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.ready(self)
    def step(self):
        self.actions.append(self.schedule(len(self.actions)).name)
    def export_chrome_trace(self, path):
        recorded = sum("RECORD" in action for action in self.actions)
        pathlib.Path(path).write_text("\\n" + json.dumps({"traceEvents": [], "recorded": recorded}) + "\\n")

def counted(last=None, error=None):
    "A step that counts its calls in a file, and raises `error` in the last. It works in a folder of its own."
    torch.autograd.kineto_available, torch.profiler.profile = lambda: True, StandIn
    calls, file = [], pathlib.Path("calls").absolute()
    def step():
        calls.append(1)
        file.write_text(str(len(calls)))
        if len(calls) == last:
            raise error
        os.chdir("/")
    return step

def fails_while_profiled(): return counted(8, RuntimeError("enough"))
def is_interrupted(): return counted(4, KeyboardInterrupt())
def raises(): raise ValueError("no data\\nhere")
def exits(): raise SystemExit("usage: train")
def returns_nothing(): pass
def fails_late(): return lambda: [][3]
def fills_the_gpu(): return counted(1, torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"))
def fills_memory(): return lambda: torch.empty(1 << 55)
number = 3
"""


class Finish(Case):
    def finish(self, text, name):
        source = self.write("recorded", text)
        torch_profile.finish(source, self.folder / name, {"step_s": 0.5, "command": 'a "b"'})
        source.unlink()

    def test_adds_a_key_in_front(self):
        for name, opened in [("out.json", open), ("out.json.gz", gzip.open)]:
            for text in ['{"traceEvents": [1]}', '\n{\n  "traceEvents": [1]\n}\n', ' {"a": "' + "x" * 5000 + '",\n "traceEvents": [1]}']:
                self.finish(text, name)
                with opened(self.folder / name, "rt", encoding="utf-8") as file:
                    found = json.load(file)
                self.assertEqual(found, {"syncopate": {"step_s": 0.5, "command": 'a "b"'}, **json.loads(text)})
                self.assertEqual(list(found)[0], "syncopate")
        self.assertEqual(self.files(), ["out.json", "out.json.gz"])

    def test_leaves_the_output_alone_when_the_profile_is_not_whole(self):
        self.write("out.json", "old")
        for text in ["", "[]", '{"traceEvents": [', "{" + "x" * 3000]:
            with self.subTest(text[:20]), self.assertRaises(torch_profile.Failure) as caught:
                self.finish(text, "out.json")
            self.assertEqual(caught.exception.args[0], 5)
            self.assertEqual((self.folder / "out.json").read_text(encoding="utf-8"), "old")

    def test_says_when_the_output_cannot_be_written(self):
        with self.assertRaises(torch_profile.Failure) as caught:
            self.finish("{}", "none/out.json")
        self.assertEqual(caught.exception.args[0], 5)
        self.assertRegex(str(caught.exception.args[1]), "none/out.json cannot be written: ")

    @needs_simctl
    def test_the_importer_does_not_mind_the_key(self):
        self.finish((ROOT / "traces/profiles/generated.pt.trace.json").read_text(encoding="utf-8"), "keyed.pt.trace.json.gz")
        traces = []
        for profile in [ROOT / "traces/profiles/generated.pt.trace.json", "keyed.pt.trace.json.gz"]:
            done = self.simctl("trace", "import", profile, "-o", "trace.json", "--force")
            self.assertEqual(done.returncode, 0, done.stderr)
            traces.append(json.loads((self.folder / "trace.json").read_text(encoding="utf-8")))
        for key in ["layers", "gradients", "iteration", "update_s"]:
            self.assertEqual(traces[0][key], traces[1][key])


class CommandLine(Case):
    def setUp(self):
        super().setUp()
        self.write("tiny.json", TINY)
        self.write("odd.json", TINY | {"layers": [layer("conv", "conv3d")]})
        self.write("train.py", USER)
        self.write("broken.py", "import torch\nimport nothing_of_the_kind\n")
        self.before = self.files()

    def profile(self, *arguments, out="out.json", **environment):
        words = [*arguments, *(["-o", out] if out else [])]
        return subprocess.run([sys.executable, str(SCRIPT), *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=300,
                              env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"} | environment, check=False)

    def check_refused(self, finished, code, message):
        """One clear line, the documented exit code, and no file."""
        self.assertEqual(finished.returncode, code, finished.stderr)
        self.assertEqual(finished.stdout, "")
        self.assertRegex(finished.stderr, r"\Atorch_profile\.py: [^\n]+\n\Z")
        self.assertIn(message, finished.stderr)
        self.assertEqual([name for name in self.files() if name != "calls"], self.before)

    def test_usage(self):
        table = [
            ([], "give either --model FILE or MODULE:FUNCTION"),
            (["train:make_step", "--model", "tiny.json", "--batch", 2], "give either --model FILE or MODULE:FUNCTION"),
            (["train:make_step", "--batch", 2, "--no-channels-last"], "--batch: for a --model only; your own step decides that"),
            (["train.make_step"], "train.make_step is not MODULE:FUNCTION"),
            (["--model", "tiny.json"], "--batch is missing"),
            (["--model", "tiny.json", "--batch", 0], "at least 1"),
            (["--model", "tiny.json", "--batch", "many"], "--batch: invalid int value: 'many'"),
            (["train:make_step", "--steps", 1], "--steps: at least 2"),
            (["train:make_step", "--device", "cpu", "--threads", 0], "at least 1"),
            (["train:make_step", "--warmup", 0], "at least 1"),
            (["train:make_step", "--device", "gpu"], "--device gpu: choose cuda, cuda:N or cpu"),
            (["--model", "tiny.json", "--batch", 2, "--dtype", "fp8"], "--dtype: invalid choice: 'fp8'"),
            (["--model", "tiny.json", "--batch", 2, "--autocast"], "--autocast needs --dtype fp16 or bf16"),
        ]
        for arguments, message in table:
            with self.subTest(message):
                self.check_refused(self.profile(*arguments), 2, message)
        self.check_refused(self.profile("train:make_step", out=None), 2, "-o")

    def test_outputs_that_cannot_be_written(self):
        for out, code, message in [(".", 2, "-o .: this is a folder"), ("/dev/null", 2, "-o /dev/null: this is no ordinary file"),
                                   ("/proc/none/out.json", 5, "/proc/none/out.json cannot be written: "),
                                   ("train.py/out.json", 5, "train.py/out.json cannot be written: Not a directory")]:
            with self.subTest(out):
                self.check_refused(self.profile("train:make_step", out=out), code, message)
        self.check_refused(self.profile("--model", "tiny.json", "--batch", 2, out="./tiny.json"), 2, "this would overwrite the --model")

    def test_help_and_no_more_without_torch(self):
        (self.folder / "absent").mkdir()
        self.write("absent/torch.py", "raise ImportError('No module named torch')")
        self.before = self.files()
        helped = self.profile("--help", out=None, PYTHONPATH=str(self.folder / "absent"))
        self.assertEqual((helped.returncode, helped.stderr), (0, ""))
        self.assertIn("examples:", helped.stdout)
        self.check_refused(self.profile("train:make_step", PYTHONPATH=str(self.folder / "absent")), 5,
                           f"{sys.executable} cannot import torch (No module named torch)")

    def test_the_script_can_be_run(self):
        self.assertTrue(os.access(SCRIPT, os.X_OK))

    @needs_torch
    def test_bad_input(self):
        table = [
            (["--model", "odd.json", "--batch", 2], 3, 'odd.json: layer conv: no op is named "conv3d"'),
            (["--model", "none.json", "--batch", 2], 3, "none.json: No such file or directory"),
            (["none.train:make_step"], 3, f"none.train cannot be imported, from {self.folder} or else; start in the folder that holds"),
            (["broken:make_step"], 3, f"No module named 'nothing_of_the_kind' ({self.folder}/broken.py:2)"),
            (["train:nothing"], 3, f"train ({self.folder}/train.py) has no function nothing"),
            (["train:number"], 3, f"train ({self.folder}/train.py) has no function number"),
            (["train:raises"], 3, f"train:raises failed: ValueError: no data here ({self.folder}/train.py:"),
            (["train:exits"], 3, "train:exits failed: SystemExit: usage: train"),
            (["train:returns_nothing"], 3, "must return a function that does one training step, but returned NoneType"),
            (["train:fails_late"], 3, "a training step of train:fails_late failed: IndexError: list index out of range"),
            (["train:fails_while_profiled", "--warmup", 1, "--steps", 2], 3, "a training step of train:fails_while_profiled failed: "),
            (["train:fills_the_gpu"], 5, "out of memory; choose a smaller batch"),
            (["train:fills_memory"], 5, "out of memory; choose a smaller batch"),
            (["--model", "tiny.json", "--batch", 1 << 44], 5, "out of memory; choose a smaller batch"),
            (["train:make_step", "--device", "cuda"], 5, "GPU here"),
            (["train:make_step", "--device", "cuda:7"], 5, "GPU here"),
            (["--model", "tiny.json", "--batch", 2, "--dtype", "tf32"], 2, "--dtype tf32 needs a GPU"),
            (["train:is_interrupted"], 130, "interrupted"),
        ]
        for arguments, code, message in table:
            with self.subTest(arguments[-1] if len(arguments) == 1 else message):
                self.check_refused(self.profile(*arguments), code, message)

    @needs_torch
    def test_steps_on_a_gpu_are_timed_by_its_own_clock(self):
        """Without a GPU: stand-ins for all that is asked of CUDA. An event's time is the number of steps before it."""
        calls = []

        class Event:
            def __init__(self, enable_timing):
                self.time = None if enable_timing else 0

            def record(self):
                self.time = len(calls)

            def elapsed_time(self, end):
                return 3 * (end.time - self.time)

        cuda = {name: mock.DEFAULT for name in ["set_device", "synchronize", "reset_peak_memory_stats"]}
        with mock.patch.multiple(torch.cuda, Event=Event, device_count=lambda: 2, is_available=lambda: True,
                                 max_memory_allocated=lambda: 8e9, get_device_name=lambda: "a GPU", **cuda) as patched:
            options = torch_profile.parse(["train:make_step", "--device", "cuda:1", "-o", "out.json"])
            device = torch_profile.choose_device(options)
            patched["set_device"].assert_called_once_with(1)
            seconds = torch_profile.measure(lambda: calls.append(1), 5, device)
            patched["synchronize"].assert_called_once_with()
            about = torch_profile.describe(options, device, seconds)
            self.assertEqual(torch_profile.choose_device(torch_profile.parse(["a:b", "-o", "c"])), torch.device("cuda"))
            with self.assertRaisesRegex(torch_profile.Failure, "finds 2 GPU here"):
                torch_profile.choose_device(torch_profile.parse(["a:b", "-o", "c", "--device", "cuda:2"]))
            with mock.patch.object(torch.profiler, "supported_activities", lambda: {torch.profiler.ProfilerActivity.CPU}):
                with self.assertRaisesRegex(torch_profile.Failure, "without CUPTI"):
                    torch_profile.profiler_activities(device)
        self.assertEqual((about["step_s"], about["device"], about["peak_memory_bytes"]), (0.003, "a GPU", 8e9))

    @needs_torch
    @unittest.skipIf(KINETO, "needs a PyTorch without Kineto")
    def test_a_torch_that_cannot_profile(self):
        self.check_refused(self.profile("--model", "tiny.json", "--batch", 2), 5, "built without Kineto, as Debian 12's 1.13 is")

    @needs_torch
    def test_steps_are_counted(self):
        """With a stand-in for the profiler: 7 steps of warm-up, 4 measured, the profiler's own 5, 4 recorded."""
        (self.folder / "new").mkdir()
        self.write("new/out.json", "old")
        done = self.profile("train:counted", "--warmup", 7, "--steps", 4, "--dtype", "bf16", out="new/out.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.files(), sorted([*self.before, "calls", "new", "new/out.json"]))
        self.assertEqual((self.folder / "calls").read_text(encoding="utf-8"), str(7 + 4 + 5 + 4))
        profile = json.loads((self.folder / "new/out.json").read_text(encoding="utf-8"))
        self.assertEqual(profile["recorded"], 4)
        self.check_about(profile["syncopate"], dtype="bf16", model="train:counted", channels_last=None, optimizer=None, batch=None)
        command = "torch_profile.py train:counted --warmup 7 --steps 4 --dtype bf16 -o new/out.json"
        self.assertEqual(profile["syncopate"]["command"], command)
        self.assertRegex(done.stdout, r"\Anew/out\.json: 4 steps of train:counted; one takes [\d.e+-]+ ms without the profiler .*\n"
                                      r"next: build/simctl trace import new/out\.json -o out-trace\.json\n\Z")

    def check_about(self, about, **expected):
        self.assertEqual({key: about[key] for key in expected}, expected)
        first, third = about["quartiles_s"]
        self.assertTrue(0 < first <= about["step_s"] <= third < 60, about)
        self.assertEqual(about["torch"], torch.__version__)
        self.assertGreater(about["peak_memory_bytes"], 1e6)

    @needs_kineto
    @needs_simctl
    def test_a_profile_of_the_cpu_is_imported(self):
        for name, arguments, gradients in [("model", ["--model", "tiny.json", "--batch", 3], 6), ("own", ["train:make_step"], 4)]:
            with self.subTest(name):
                done = self.profile(*arguments, "--steps", 4, "--device", "cpu", out=f"made/{name}.pt.trace.json.gz")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"trace import made/{name}.pt.trace.json.gz -o {name}-trace.json", done.stdout)
                with gzip.open(self.folder / f"made/{name}.pt.trace.json.gz", "rt", encoding="utf-8") as file:
                    profile = json.load(file)
                self.check_about(profile["syncopate"])
                events = [event for event in profile["traceEvents"] if event.get("cat") == "user_annotation"]
                self.assertEqual(sum(event["name"].startswith("ProfilerStep#") for event in events), 4)
                done = self.simctl("trace", "import", f"made/{name}.pt.trace.json.gz", "-o", f"{name}.json")
                self.assertEqual(done.returncode, 0, done.stderr)
                trace = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
                self.assertEqual(len(trace["gradients"]), gradients)
                self.assertEqual(sum(math.prod(gradient["shape"]) for gradient in trace["gradients"]) * 4,
                                 sum(gradient["bytes"] for gradient in trace["gradients"]))


if __name__ == "__main__":
    unittest.main()
