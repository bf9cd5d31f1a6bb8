"""Does `simctl trace import` make of a torch.profiler file the trace that is in it, and say what is missing when there is none?"""
import contextlib
import copy
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import kineto_writer
from kineto_writer import RESIDUAL, Profile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMCTL = os.environ.get("SIMCTL", str(ROOT / "build" / "simctl"))
SHARED = ROOT.parent / "shared/data"
SAMPLE = SHARED / "kineto/v100-resnet50-b32.pt.trace.json.gz"


def differences(got, want, place=""):
    """Where `got` is not `want`, whose keys it must have; times may differ by rounding."""
    if isinstance(want, dict):
        return [text for key in want for text in differences(got.get(key), want[key], f"{place}/{key}")]
    if isinstance(want, list) and isinstance(got, list) and len(got) == len(want):
        return [text for index, pair in enumerate(zip(got, want)) for text in differences(*pair, f"{place}/{index}")]
    if isinstance(want, float) and isinstance(got, (int, float)):
        return [] if abs(got - want) <= max(1e-9, 1e-8 * abs(want)) else [f"{place}: {got}, not {want}"]
    return [] if got == want else [f"{place}: {got}, not {want}"]


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))

    def simctl(self, *arguments):
        return subprocess.run([SIMCTL, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder, timeout=60, check=False)

    def trace(self, name="out.json"):
        return json.loads((self.folder / name).read_text())

    def import_profile(self, name, *arguments):
        """Imports `name` into out.json; the trace."""
        done = self.simctl("trace", "import", name, "-o", "out.json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = self.simctl("show", "out.json")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return self.trace()

    def measured(self, *arguments):
        """Wall seconds and peak megabytes of one import. The kernel counts the memory of this process before exec too: keep it small."""
        began = time.monotonic()
        with subprocess.Popen([SIMCTL, *map(str, arguments)], cwd=self.folder, stdout=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return time.monotonic() - began, usage.ru_maxrss / 1024


class Generated(Case):
    def test_the_trace_is_the_one_simulated(self):
        old = {"old": True, "integer": True}
        embedding = [kineto_writer.EMBEDDING, kineto_writer.LINEAR, kineto_writer.LOSS]
        table = [
            ("new", {}),
            ("an even number of steps", {"steps": 6}),
            ("integer times", {"integer": True}),
            ("old", old),
            ("ddp", {"world": 4}),
            ("events in no order", {"shuffled": True}),
            ("odd events", {"odd": True}),
            ("odd events in an old file", {"odd": True} | old),
            ("half", {"dtype": "c10::Half"}),
            ("bfloat16", {"dtype": "c10::BFloat16"}),
            ("no optimizer", {"optimizer": False}),
            ("no annotations", {"annotated": False}),
            ("no annotations, cut off", {"annotated": False, "cut_start": True, "cut_end": True}),
            ("cut off at the start", {"cut_start": True}),
            ("cut off at the end", {"cut_end": True} | old),
            ("a step with another operator", {"other": (2,)}),
            ("embedding", {"layers": embedding}),
            ("everything", {"world": 2, "integer": True, "odd": True, "shuffled": True, "cut_start": True, "cut_end": True, "other": (2,),
                            "steps": 9}),
        ]
        for what, options in table:
            for suffix in (".json", ".json.gz"):
                with self.subTest(what, suffix=suffix):
                    profile = Profile(**{"layers": RESIDUAL} | options)
                    profile.write(self.folder / f"mine.pt.trace{suffix}")
                    trace = self.import_profile(f"mine.pt.trace{suffix}")
                    want = profile.trace()
                    if not profile.optimizer:
                        del want["update_s"]
                        self.assertFalse(trace.get("update_s"))
                    self.assertEqual(differences(trace, want), [])
                    self.assertEqual(trace["timing"]["iterations"], len(profile.kept))
                    dtype = {"c10::Half": "fp16", "c10::BFloat16": "bf16"}.get(profile.dtype, "fp32")
                    self.assertEqual(trace["model"], {"name": "mine", "batch": 8, "dtype": dtype})
                    self.assertEqual(trace["device"], {"kind": "gpu", "name": "Simulated GPU"})
                    self.assertEqual((trace["provenance"]["kind"], trace["provenance"]["utc"]), ("imported", "2023-11-14T22:13:20Z"))
                    workers = f", one of {profile.world} workers" if profile.world > 1 else ""
                    self.assertEqual(trace["provenance"]["source"], f"torch.profiler trace mine.pt.trace{suffix}{workers}")

    def test_a_sum_of_gradients_belongs_to_no_layer_where_evaluate_function_holds_it(self):
        """Newer PyTorch adds up gradients before the evaluate_function of the node that made one of them ends."""
        profile = Profile([kineto_writer.conv2d(), kineto_writer.relu(sums=[8]), kineto_writer.relu(), kineto_writer.LINEAR])
        document = profile.document()
        operators = [event for event in document["traceEvents"] if event["cat"] == "cpu_op"]
        for total in [event for event in operators if event["name"] == "aten::add"]:
            before = [event for event in operators if event["name"].startswith("autograd::engine") and event["ts"] < total["ts"]]
            node = max(before, key=lambda event: event["ts"])
            self.assertIn("ReluBackward0", node["name"])
            node["dur"] = total["ts"] + total["dur"] + 0.5 - node["ts"]
        (self.folder / "sum.json").write_text(json.dumps(document))
        self.assertEqual(differences(self.import_profile("sum.json"), profile.trace()), [])

    def document(self, profile, name="mine.json"):
        """A profile's document, whose events may be changed, and a function that imports it."""
        document = profile.document()

        def run(*arguments):
            (self.folder / name).write_text(json.dumps(document))
            return self.import_profile(name, *arguments)

        return document["traceEvents"], run

    def test_other_threads_do_not_confuse_it(self):
        """Sequence numbers are a thread's own, and nodes of two GPUs overlap in time."""
        profile = Profile(RESIDUAL)
        events, run = self.document(profile)
        forward = [event for event in events if event["cat"] == "cpu_op" and event["args"].get("Fwd thread id") == 0]
        twins = [copy.deepcopy(event) | {"tid": 300, "name": "aten::mul"} for event in forward[::2]]
        wrappers = [event for event in events if event["name"] == "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"]
        strangers = [copy.deepcopy(event) | {"tid": 400, "name": "autograd::engine::evaluate_function: OddBackward0", "ts": event["ts"] + 0.001,
                                             "args": {"Sequence number": 10**6 + index, "Fwd thread id": 7}}
                     for index, event in enumerate(wrappers)]
        events.extend(twins + strangers)
        self.assertGreater(len(strangers), 20)
        self.assertEqual(differences(run(), profile.trace()), [])

    def test_of_two_steps_the_whole_one_counts(self):
        whole = Profile([kineto_writer.LINEAR, kineto_writer.BATCH_NORM], steps=1)
        whole.document()
        Profile([kineto_writer.LINEAR, kineto_writer.BATCH_NORM], steps=2, cut_end=True).write(self.folder / "mine.json")
        trace = self.import_profile("mine.json")
        self.assertEqual([gradient["shape"] for gradient in trace["gradients"]], [gradient["shape"] for gradient in whole.trace()["gradients"]])
        self.assertNotIn("step_s", trace["timing"])

    def test_a_step_whose_forward_is_cut_off_is_left_out(self):
        layers = [kineto_writer.LINEAR, kineto_writer.relu(), kineto_writer.BATCH_NORM, kineto_writer.conv2d()]
        events, run = self.document(Profile(layers, steps=3))
        cut = min(event["ts"] + event["dur"] for event in events if event["name"] == "aten::linear")
        events[:] = [event for event in events if event["ts"] > cut]
        self.assertEqual(run()["timing"]["iterations"], 2)

    def test_model_and_batch_can_be_given(self):
        Profile().write(self.folder / "mine.json")
        done = self.simctl("trace", "import", "mine.json", "--model", "my net", "--batch", "5", "-o", "out.json")
        self.assertEqual((done.returncode, done.stderr), (0, "simctl: warning: the batch is set to 5, but the first operator's input shows 8\n"))
        self.assertEqual(self.trace()["model"], {"name": "my net", "batch": 5, "dtype": "fp32"})
        self.assertEqual(self.trace()["provenance"]["command"], "simctl trace import mine.json --model 'my net' --batch 5")

    def test_few_steps_and_no_optimizer_are_warned_of(self):
        table = [({"steps": 2}, "simctl: warning: out.json of 2 steps; record at least 5 for medians that mean something\n"),
                 ({"optimizer": False}, 'simctl: warning: no kernels of an "Optimizer.step"; update_s is 0\n')]
        for options, message in table:
            Profile(**options).write(self.folder / "mine.json")
            done = self.simctl("trace", "import", "mine.json", "-o", "out.json")
            self.assertEqual((done.returncode, done.stderr), (0, message))

    def test_the_shipped_profile_is_what_the_writer_writes(self):
        shipped = ROOT / "traces/profiles/generated.pt.trace.json"
        subprocess.run([sys.executable, kineto_writer.__file__, self.folder / "generated.pt.trace.json"], check=True)
        self.assertEqual(shipped.read_text(), (self.folder / "generated.pt.trace.json").read_text())
        self.assertLess(shipped.stat().st_size, 150000)
        self.assertIn("not measured", json.loads(shipped.read_text())["note"])
        self.assertEqual(differences(self.import_profile(shipped), expected(Profile())), [])

    def test_200_MB_fit_in_little_memory(self):
        options = {"layers": RESIDUAL, "steps": 560}
        big = Profile(**options, stack=4000).write(self.folder / "mine.json")
        self.assertGreater(big.stat().st_size, 200e6)
        _, megabytes = self.measured("trace", "import", big, "-o", "big-out.json")
        self.assertLess(megabytes, 300)
        (self.folder / "small").mkdir()
        small = Profile(**options)
        small.write(self.folder / "small/mine.json")
        trace = self.import_profile("small/mine.json")
        self.assertEqual(differences(trace, small.trace()), [])
        self.assertEqual([key for key in trace if trace[key] != self.trace("big-out.json")[key]], ["provenance"])  # it has the command


def expected(profile):
    for _ in profile.events():
        pass
    return profile.trace()


@unittest.skipUnless(SAMPLE.exists(), f"there is no {SAMPLE}")
class RealSample(Case):
    def test_resnet50_on_a_v100(self):
        seconds, megabytes = self.measured("trace", "import", SAMPLE, "-o", "out.json")
        self.assertLess(seconds, 3)
        self.assertLess(megabytes, 500)
        trace = self.import_profile(SAMPLE)
        reference = json.loads((SHARED / "traces/v100-resnet50-b32.json").read_text())
        gradients = trace["gradients"]
        self.assertEqual((len(gradients), sum(gradient["bytes"] for gradient in gradients)), (161, 102228128))
        self.assertEqual([gradient["shape"] for gradient in gradients], [gradient["shape"] for gradient in reference["gradients"]])
        ready = [gradient["ready_s"] for gradient in gradients]
        self.assertEqual(ready, sorted(ready))
        self.assertLessEqual(ready[-1], trace["iteration"]["backward_s"])
        for side in ("forward_s", "backward_s"):
            got, want = (sum(layer[side] for layer in content["layers"]) for content in (trace, reference))
            self.assertLess(abs(got / want - 1), 0.01)
        self.assertEqual((trace["model"]["batch"], trace["device"]["name"], trace["timing"]["iterations"]), (32, "Tesla V100-DGXS-32GB", 6))


RECORD = ("; record with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) "
          "round whole training steps; traces/README.md has the lines")
NO_EVENTS = 'no traceEvents: not a trace of torch.profiler; export one with prof.export_chrome_trace("trace.json")'
NO_NUMBERS = ('its operators have no "Sequence number", by which backward is matched with forward: '
              "the program ran without gradients, or its PyTorch was built without Kineto" + RECORD)
NO_SHAPES = 'its AccumulateGrad operators have no "Input Dims", so the sizes of the gradients are unknown' + RECORD
NO_LAUNCHES = 'no GPU kernel can be joined with the call that launched it ("correlation")' + RECORD
NO_BATCH = "the first operator (aten::conv2d) does not show the batch; give it with --batch"
TYPES = '("Input type"), expected float, double, c10::Half or c10::BFloat16' + RECORD


class BadInput(Case):
    def setUp(self):
        super().setUp()
        self.document = Profile().document()
        self.text = json.dumps(self.document)

    def changed(self, change=None, keep=lambda event: True):
        """The profile without the events that are not to be kept, with a change made to the others."""
        document = copy.deepcopy(self.document)
        document["traceEvents"] = [event for event in document["traceEvents"] if keep(event)]
        for event in document["traceEvents"] if change else []:
            change(event)
        return document

    def refused(self, name, message):
        before = sorted(self.folder.iterdir())
        done = self.simctl("trace", "import", name, "-o", "out.json")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: {name}: {message}\n"))
        self.assertEqual(sorted(self.folder.iterdir()), before, "nothing is written")

    def test_files_that_are_no_profile(self):
        packed = gzip.compress(self.text.encode(), mtime=0)
        damaged = bytearray(packed)
        damaged[-6] ^= 0xFF
        (self.folder / "folder").mkdir()
        table = [
            ("gone.json", None, "no such file"),
            ("folder", None, "expected a file, got a folder"),
            ("empty.json", "", "not valid JSON at line 1, column 1: the file is empty"),
            ("text.json", "hello", "not valid JSON at line 1, column 1: invalid literal; last read: 'h'"),
            ("cut.json", self.text[:-3], f"not valid JSON at line 1, column {len(self.text) - 2}: unexpected end of input; expected '}}'"
                                         "; a profile that was cut off while it was written cannot be used"),
            ("cut.json.gz", packed[:-2000], "the compressed file ends early; copy it again"),
            ("damaged.json.gz", bytes(damaged), "cannot be read: incorrect data check"),
            ("overflow.json", self.text.replace('"dur": 5.0', '"dur": 1e400', 1), None),
            ("other.json", {"schemaVersion": 1}, NO_EVENTS),
            ("number.json", "3", NO_EVENTS),
            ("object.json", {"traceEvents": {}}, NO_EVENTS),
            ("none.json", {"traceEvents": []}, "the profile has no events" + RECORD),
            ("numbers.json", {"traceEvents": [3, None]}, "the profile has no events" + RECORD),
            ("deep.json", '{"x": ' + "[" * 100000, None),
        ]
        for name, content, message in table:
            with self.subTest(name):
                if content is not None:
                    data = json.dumps(content) if isinstance(content, dict) else content
                    (self.folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
                if message:
                    self.refused(name, message)
                else:
                    done = self.simctl("trace", "import", name, "-o", "out.json")
                    self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1))
                    self.assertTrue(done.stderr.startswith(f"simctl: {name}: not valid JSON at "), done.stderr)

    def test_profiles_that_lack_something(self):
        def lose(key, operator=""):
            return self.changed(lambda event: event["args"].pop(key, None) if operator in event["name"] else None)

        def put(key, value, operator):
            return self.changed(lambda event: event["args"].update({key: value}) if event["name"] == operator else None)

        def miss(event):
            if event["cat"] in ("kernel", "gpu_memset", "gpu_memcpy"):
                event["args"]["correlation"] += 10**7

        def of_a_skipped_update(event):
            return event["name"].startswith("Optimizer.step") and event is not updates[0]

        accumulated = Profile(steps=4).document()
        updates = [event for event in accumulated["traceEvents"] if event["name"].startswith("Optimizer.step")]
        accumulated["traceEvents"] = [event for event in accumulated["traceEvents"] if not of_a_skipped_update(event)]
        table = [
            (accumulated, "the optimiser steps after 1 of 4 backward passes only: a trace has no accumulation of gradients; let every pass end "
                          "with a step" + RECORD),
            (self.changed(keep=lambda event: event["tid"] != kineto_writer.BACKWARD),
             "the profile has no backward pass: it is of inference" + RECORD),
            (self.changed(keep=lambda event: event["cat"] in ("cpu_op", "user_annotation")),
             "the profile has no GPU kernels: it saw the CPU only" + RECORD),
            (self.changed(keep=lambda event: event["cat"] not in ("cpu_op", "user_annotation")),
             "the profile has no operators of the CPU" + RECORD),
            (self.changed(keep=lambda event: "AccumulateGrad" not in event["name"]),
             "the profile has no torch::autograd::AccumulateGrad, so it does not say when gradients are ready" + RECORD),
            (Profile(steps=1, cut_start=True).document(),
             "no backward node has its forward operator in the profile: it holds no whole step" + RECORD),
            (Profile(shapes=False).document(), NO_SHAPES),
            (put("Input Dims", 3, "torch::autograd::AccumulateGrad"), NO_SHAPES),
            (lose("Sequence number"), NO_NUMBERS),
            (self.changed(lambda event: event.update(args=3)), NO_NUMBERS),
            (Profile(dtype="long int").document(), 'a gradient is of type "long int" ' + TYPES),
            (put("Input type", [3], "torch::autograd::AccumulateGrad"), 'a gradient is of type "" ' + TYPES),
            (put("Input Dims", [[], [3, 3]], "aten::conv2d"), NO_BATCH),
            (lose("Input Dims", "aten::conv2d"), NO_BATCH),
            (put("Input Dims", [[0, 3]], "aten::conv2d"), NO_BATCH),
            (self.changed(miss), NO_LAUNCHES),
            (self.changed(lambda event: event["args"].update(correlation="7")), NO_LAUNCHES),
        ]
        for index, (content, message) in enumerate(table):
            with self.subTest(message.split(";")[0], row=index):
                (self.folder / "bad.json").write_text(json.dumps(content))
                self.refused("bad.json", message)

    def test_nonsense_is_ignored_or_refused_and_never_becomes_a_trace_that_cannot_be_read(self):
        accumulate, conv2d = "torch::autograd::AccumulateGrad", "aten::conv2d"

        def args(name, **change):
            return self.changed(lambda event: event["args"].update(change) if event["name"] == name else None)

        def kernels(**change):
            return self.changed(lambda event: event.update(change) if event["cat"] == "kernel" else None)

        deep = "[" * 100000 + "]" * 100000
        table = [(f"{value} as {key} of every event", self.changed(lambda event, key=key, value=value: event.update({key: value})))
                 for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args")
                 for value in (None, 3, -3, 1e300, -1e300, "x", [], {}, [[1]])]
        table += [(f"{key} = {value}", args(conv2d, **{key: value}))
                  for key in ("Sequence number", "Fwd thread id") for value in (1e300, -1, 1.5, "891", None)]
        table += [(f"batch {batch}", args(conv2d, **{"Input Dims": [[batch, 3]]})) for batch in (-1, 1.5, 2 * 10**9, 1e18, 1e300, "8")]
        table += [(f"parameter {shape}", args(accumulate, **{"Input Dims": [shape]}))
                  for shape in ([-16], [0], [1.5], ["16"], [10**18, 10**18], [10**9] * 3, [2**32] * 2, [1e300], [])]
        table += [(f"kernels' {key} = {value}", kernels(**{key: value})) for key in ("ts", "dur") for value in (0, -5, -1e15, 1e15, 1e300)]
        table += [(f"{key} = {value}", self.document | {key: value})
                  for key in ("baseTimeNanoseconds", "distributedInfo", "deviceProperties", "schemaVersion")
                  for value in (3, "x", [], [3], {}, {"world_size": "4"}, {"world_size": 1e300}, [{"name": 3}], 1e300, -1)]
        def launched_in_backward(event):
            return event["cat"] == "cuda_runtime" and event["tid"] == kineto_writer.BACKWARD

        table += [("every duration negative", self.changed(lambda event: event.update(dur=-event["dur"]))),
                  ("no kernel of backward", self.changed(keep=lambda event: not launched_in_backward(event))),
                  ("a name of two lines", self.text.replace("aten::conv2d", "aten::a\\nb")),
                  ("deep", self.text.replace('"schemaVersion": 1', f'"schemaVersion": {deep}')),
                  ("deep arguments", self.text.replace('"cbid": 211', f'"cbid": {deep}', 1)),
                  ("deep shape", self.text.replace("[[16, 3, 3, 3]]", deep, 1)),
                  ("deep objects", self.text.replace('"schemaVersion": 1', '"schemaVersion": ' + '{"a":' * 100000 + "1" + "}" * 100000)),
                  ("deep events", f'{{"traceEvents": {deep}}}')]
        for what, content in table:
            with self.subTest(what):
                (self.folder / "bad.json").write_text(content if isinstance(content, str) else json.dumps(content))
                (self.folder / "out.json").unlink(missing_ok=True)
                done = self.simctl("trace", "import", "bad.json", "-o", "out.json")
                self.assertIn(done.returncode, (0, 3), done.stderr)
                if done.returncode:
                    self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
                    self.assertFalse((self.folder / "out.json").exists())
                else:
                    shown = self.simctl("show", "out.json")
                    self.assertEqual((shown.returncode, shown.stderr), (0, ""))

    def test_what_cannot_be_ordered_or_written(self):
        (self.folder / "mine.json").write_text(self.text)
        (self.folder / "folder").mkdir()
        for batch in ("0", "-1", "x", "1.5", "1000000001"):
            done = self.simctl("trace", "import", "mine.json", "-o", "out.json", f"--batch={batch}")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertTrue(done.stderr.startswith(f"simctl: --batch: Value {batch} not in range 1 to 1000000000; "), done.stderr)
        for out, message in [("folder", "folder: cannot be written: Is a directory"),
                             ("mine.json/out.json", "mine.json: cannot be made an output folder: Not a directory; choose another with -o"),
                             ("/proc/none/out.json",
                              "/proc/none: cannot be made an output folder: No such file or directory; choose another with -o")]:
            done = self.simctl("trace", "import", "mine.json", "-o", out)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (5, "", f"simctl: {message}\n"))
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["folder", "mine.json"])

    def test_a_profile_is_not_overwritten_by_its_own_trace(self):
        (self.folder / "mine.json").write_text(self.text)
        done = self.simctl("trace", "import", "mine.json", "-o", "mine.json")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual((self.folder / "mine.json").read_text(), self.text)


# What the page's lines on recording a profile take for granted.
BEFORE = """
import torch
torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_function = torch.nn.CrossEntropyLoss()
loader = [(torch.randn(2, 3, 8, 8), torch.tensor([1, 2]))] * 30
"""
AFTER = """
print("gpu" if device == "cuda" else "kineto" if torch.profiler.kineto_available() else "none")
"""


class InstalledTorch(Case):
    def test_what_the_pages_lines_record_is_read_or_refused_with_the_reason(self):
        lines = re.search(r"```python\n(.*?)```", (ROOT / "traces/README.md").read_text(), re.S)[1]
        recorded = subprocess.run([sys.executable, "-c", BEFORE + lines + AFTER], cwd=self.folder, capture_output=True, text=True,
                                  timeout=100, check=False)
        if "No module named 'torch'" in recorded.stderr:
            self.skipTest("no torch")
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        profile = "mine.pt.trace.json.gz"
        done = self.simctl("trace", "import", profile, "-o", "out.json")
        messages = {"none": NO_NUMBERS, "kineto": "the profile has no GPU kernels: it saw the CPU only" + RECORD}
        if message := messages.get(recorded.stdout.strip()):
            self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: {profile}: {message}\n"))
            self.assertFalse((self.folder / "out.json").exists())
        else:
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertCountEqual([gradient["shape"] for gradient in self.trace()["gradients"]], [[4, 3, 3, 3], [4], [10, 144], [10]])


if __name__ == "__main__":
    unittest.main()
