"""Does `simctl trace import` say what is missing from a file of which no trace can be made?"""
import copy
import gzip
import json
import re
import subprocess
import sys
import unittest

import kineto_writer
from kineto_writer import Profile
from support import ROOT, Case

RECORD = ("; record with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) around whole training steps; see traces/PROFILES.md")
NO_EVENTS = 'no traceEvents: not a trace of torch.profiler; export one with prof.export_chrome_trace("trace.json")'
NO_NUMBERS = ('its operators have no "Sequence number", by which backward is matched with forward: '
              "the program ran without gradients, or its PyTorch was built without Kineto" + RECORD)
NO_SHAPES = 'its AccumulateGrad operators have no "Input Dims", so the sizes of the gradients are unknown; give them with --sizes (a model/1 file, or lines "name shape")' + RECORD
NO_LAUNCHES = 'no GPU kernel can be matched with the call that launched it ("correlation")' + RECORD
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
            ("folder", None, "no profile in this folder; expected .json or .json.gz files"),
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
            (accumulated, "the optimiser steps after only 1 of 4 backward passes, but a trace cannot describe accumulation of gradients; let every pass end with a step" + RECORD),
            (self.changed(keep=lambda event: event["tid"] != kineto_writer.BACKWARD),
             "the profile has no backward pass (it shows inference, not training)" + RECORD),
            (self.changed(keep=lambda event: event["cat"] in ("cpu_op", "user_annotation", "cuda_runtime")),
             "the profile has calls that start GPU kernels, but no kernels" + RECORD),
            (self.changed(lambda event: event.update(name="aten::cudnn_convolution") if event["name"] == "aten::convolution" else None,
                          keep=lambda event: event["cat"] in ("cpu_op", "user_annotation")),
             "the profile recorded only the CPU, but aten::cudnn_convolution runs on a GPU" + RECORD),
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
                 for value in (None, -3, 1e300, "x", [], {})]
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
        before = sorted(self.folder.iterdir())
        for batch in ("0", "-1", "x", "1.5", "1000000001"):
            done = self.simctl("trace", "import", "mine.json", "-o", "out.json", f"--batch={batch}")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertTrue(done.stderr.startswith(f"simctl: --batch: Value {batch} not in range 1 to 1000000000; "), done.stderr)
        for out, code, message in [("folder", 2, "-o folder: this is a folder; name a file in it"),
                             ("mine.json/out.json", 5, "mine.json: cannot be used as an output folder: Not a directory; choose another with -o"),
                             ("/proc/none/out.json", 5,
                              "/proc/none: cannot be used as an output folder: No such file or directory; choose another with -o")]:
            done = self.simctl("trace", "import", "mine.json", "-o", out)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (code, "", f"simctl: {message}\n"))
        self.assertEqual(sorted(self.folder.iterdir()), before)

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
        lines = re.search(r"```python\n(.*?)```", (ROOT / "traces/PROFILES.md").read_text(), re.S)[1]
        recorded = subprocess.run([sys.executable, "-c", BEFORE + lines + AFTER], cwd=self.folder, capture_output=True, text=True,
                                  timeout=900, check=False)
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
            self.assertCountEqual([gradient["shape"] for gradient in json.loads((self.folder / "out.json").read_text())["gradients"]], [[4, 3, 3, 3], [4], [10, 144], [10]])


if __name__ == "__main__":
    unittest.main()
