"""Does `simctl trace import` make of a torch.profiler file the trace that is in it, and say what is missing when there is none?"""
import copy
import json
import os
import statistics
import subprocess
import sys
import unittest

import kineto_writer
from kineto_writer import RESIDUAL, Profile
from support import ROOT, SIMCTL, Case

SLOW = "SYNCOPATE_SLOW" in os.environ
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


class ImportCase(Case):
    def trace(self, name="out.json"):
        return json.loads((self.folder / name).read_text())

    def import_profile(self, name, *arguments):
        """Imports `name` into out.json, whatever is there; the trace."""
        done = self.simctl("trace", "import", name, "-o", "out.json", "--force", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = self.simctl("show", "out.json")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return self.trace()

    def peak_megabytes(self, *arguments):
        """The peak memory of one simctl. The kernel counts the memory of this process before exec too: keep it small."""
        with subprocess.Popen([SIMCTL, *map(str, arguments)], cwd=self.folder, stdout=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss / 1024


class Generated(ImportCase):
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
            ("a CPU", {"cpu": True}),
            ("a CPU, old", {"cpu": True} | old),
            ("a CPU, cut off", {"cpu": True, "cut_start": True, "cut_end": True, "shuffled": True, "other": (2,), "steps": 9}),
            ("everything", {"world": 2, "integer": True, "odd": True, "shuffled": True, "cut_start": True, "cut_end": True, "other": (2,),
                            "steps": 9}),
        ]
        for index, (what, options) in enumerate(table):
            for suffix in (".json", ".json.gz") if what in ("new", "everything") else ((".json", ".json.gz")[index % 2],):
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
                    self.assertEqual(trace["device"], {"kind": "cpu", "name": "CPU"} if profile.cpu else {"kind": "gpu", "name": "Simulated GPU"})
                    self.assertEqual((trace["provenance"]["kind"], trace["provenance"]["utc"]), ("imported", "2023-11-14T22:13:20Z"))
                    workers = f", one of {profile.world} workers" if profile.world > 1 else ""
                    self.assertEqual(trace["provenance"]["source"], f"torch.profiler trace mine.pt.trace{suffix}{workers}")

    def test_a_profile_of_the_cpu_is_imported_with_its_caveat(self):
        Profile(RESIDUAL, cpu=True).write(self.folder / "mine.json")
        done = self.simctl("trace", "import", "mine.json", "-o", "out.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\Asimctl: warning: a profile of the CPU alone: its times hold what the profiler costs [^\n]+\n\Z")
        trace = self.trace()
        self.assertIn("a profile of the CPU", trace["provenance"]["note"])
        self.assertEqual((trace["timing"]["clock"], trace["timing"]["method"]), ("wall", "operators of the CPU"))
        self.assertNotIn("kernels", trace["timing"])

    def test_attention_of_the_cpu_is_no_sign_of_a_gpu(self):
        events, run = self.document(Profile(RESIDUAL, cpu=True))
        for event in events:
            if event["name"] == "aten::linear":
                event["name"] = "aten::_scaled_dot_product_flash_attention_for_cpu"
        self.assertEqual(run()["device"]["kind"], "cpu")

    def test_a_profile_of_the_cpu_that_lacks_something_is_to_be_recorded_on_the_cpu(self):
        Profile(RESIDUAL, cpu=True, shapes=False).write(self.folder / "mine.json")
        done = self.simctl("trace", "import", "mine.json", "-o", "out.json", "--batch", 8)
        self.assertEqual(done.returncode, 3)
        self.assertIn("record with torch.profiler.profile(activities=[ProfilerActivity.CPU], record_shapes=True)", done.stderr)

    def test_kernels_are_named_by_layer(self):
        profile = Profile(RESIDUAL)
        profile.write(self.folder / "mine.json")
        kernels = self.import_profile("mine.json")["timing"]["kernels"]
        self.assertEqual(list(kernels), [layer["name"] for layer in profile.trace()["layers"]])
        self.assertEqual(kernels["conv2d_1"], ["gemm<float>", "Memset (Device)"])  # an upload is of no layer
        self.assertEqual(kernels["add_1"], ["Memcpy DtoD (Device -> Device)", "gemm<float>"])
        events, run = self.document(profile, "renamed.json")
        names = {"void gemm<float>(int, float*)": "x" * 95 + "\N{GREEK SMALL LETTER MU}<(anonymous namespace)::f>(int, (bool)0)"}
        for event in events:
            event["name"] = names.get(event["name"], event["name"])
        self.assertEqual(run()["timing"]["kernels"]["relu_1"], ["x" * 95 + "..."])

    def test_a_sum_of_gradients_belongs_to_the_layer_whose_evaluate_function_holds_it(self):
        """Newer PyTorch adds up gradients before the evaluate_function of the node that made the last of them ends."""
        profile = Profile([kineto_writer.conv2d(), kineto_writer.relu(sums=[8]), kineto_writer.relu(), kineto_writer.LINEAR])
        profile.write(self.folder / "outside.json")
        document = profile.document()
        operators = [event for event in document["traceEvents"] if event["cat"] == "cpu_op"]
        kernels = {event["args"]["correlation"]: event["dur"] for event in document["traceEvents"] if event["cat"] == "kernel"}
        launches = [event for event in document["traceEvents"] if event["cat"] == "cuda_runtime" and event["args"].get("correlation") in kernels]
        times = []
        for total in [event for event in operators if event["name"] == "aten::add"]:
            before = [event for event in operators if event["name"].startswith("autograd::engine") and event["ts"] < total["ts"]]
            node = max(before, key=lambda event: event["ts"])
            self.assertIn("ReluBackward0", node["name"])
            node["dur"] = total["ts"] + total["dur"] + 0.5 - node["ts"]
            times.append(sum(kernels[launch["args"]["correlation"]] for launch in launches
                             if launch["tid"] == node["tid"] and 0 <= launch["ts"] - node["ts"] <= node["dur"]))
        (self.folder / "sum.json").write_text(json.dumps(document))
        outside, inside = self.import_profile("outside.json"), self.import_profile("sum.json")
        self.assertGreater(outside["timing"]["backward_of_no_layer_s"], 0)
        self.assertEqual(inside["timing"]["backward_of_no_layer_s"], 0)
        self.assertAlmostEqual(inside["layers"][2]["backward_s"], 1e-6 * statistics.median(times), delta=1e-9)
        for trace in (outside, inside):
            del trace["provenance"], trace["timing"], trace["model"], trace["layers"][2]["backward_s"], trace["layers"][2]["backward_quartiles_s"]
        self.assertEqual(differences(inside, outside), [])

    def test_what_hooks_do_after_a_gradient_is_of_no_layer(self):
        """DDP copies a gradient into its bucket before the evaluate_function of AccumulateGrad ends."""
        profile = Profile([kineto_writer.conv2d(), kineto_writer.relu(sums=[8]), kineto_writer.conv2d(), kineto_writer.LINEAR])
        document = profile.document()
        operators = [event for event in document["traceEvents"] if event["cat"] == "cpu_op"]
        for copy_ in [event for event in operators if event["name"] == "aten::add"]:
            node = max((event for event in operators if event["name"].startswith("autograd::engine") and event["ts"] < copy_["ts"]), key=lambda event: event["ts"])
            self.assertIn("AccumulateGrad", node["name"])
            node["dur"] = copy_["ts"] + copy_["dur"] + 0.5 - node["ts"]
        (self.folder / "hooks.json").write_text(json.dumps(document))
        self.assertEqual(differences(self.import_profile("hooks.json"), profile.trace()), [])

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

    def test_only_an_earlier_import_of_the_same_profile_is_replaced(self):
        for name in ("mine.json", "your own.json", "mine.json.gz"):
            Profile().write(self.folder / name)
        imported = lambda name, *words: self.simctl("trace", "import", name, "-o", "out.json", *words)
        refused = lambda name: (2, "", f"simctl: -o out.json: there is such a file, and it is no import of {name}; choose another name, or overwrite it with --force\n")
        outcome = lambda done: (done.returncode, done.stdout, done.stderr)
        for name in ("mine.json", "your own.json"):
            self.assertEqual(imported(name, "--batch", 8).returncode, 0)
            for words in ((), ("--batch", 8, "--model", "x"), ("--device-time",), ()):
                self.assertEqual(imported(name, *words).returncode, 0)
            before = (self.folder / "out.json").read_bytes()
            for other in ({"mine.json", "your own.json", "mine.json.gz"} - {name}):
                self.assertEqual(outcome(imported(other)), refused(other))
            self.assertEqual((self.folder / "out.json").read_bytes(), before)
            (self.folder / "out.json").unlink()
        self.assertEqual(imported("mine.json").returncode, 0)
        trace = self.trace()
        for changes in ({"provenance": {**trace["provenance"], "kind": "measured"}}, {"provenance": {"kind": "imported", "source": "x"}}, {"format": "scenario/1"}):
            text = json.dumps({**trace, **changes})
            (self.folder / "out.json").write_text(text)
            self.assertEqual(outcome(imported("mine.json")), refused("mine.json"), changes)
            self.assertEqual((self.folder / "out.json").read_text(), text)
        for text in (b"", b"{", b"notes of mine", b"\xff\xfe", b"[" * 100000):
            (self.folder / "out.json").write_bytes(text)
            self.assertEqual(outcome(imported("mine.json")), refused("mine.json"), text[:9])
        self.assertEqual(imported("mine.json", "--force").returncode, 0)
        self.assertEqual(self.trace(), trace)
        self.assertEqual(self.simctl("trace", "import", "mine.json", "-o", "/dev/null").returncode, 0)
        self.assertEqual(imported("mine.json", "--workers", "/dev/null").returncode, 0)

    def test_an_import_that_was_edited_is_not_replaced(self):
        Profile().write(self.folder / "mine.json")
        imported = lambda *words: self.simctl("trace", "import", "mine.json", "-o", "out.json", *words)
        self.assertEqual(imported().returncode, 0)
        trace = self.trace()
        layers, provenance = trace["layers"], trace["provenance"]
        for changes in ({"update_s": 1e-3}, {"layers": [{**layers[0], "forward_s": 1.5 * layers[0]["forward_s"]}, *layers[1:]]}, {"x-mine": "a note"},
                        {"provenance": {**provenance, "note": "mine"}}, {"provenance": {**provenance, "x-mine": 1}}, {"model": {**trace["model"], "name": "another"}},
                        {"provenance": {**provenance, "command": "simctl trace import mine.jsonx"}}, {"provenance": {**provenance, "command": "simctl trace import mine.json and.json"}},
                        {"provenance": {**provenance, "import": {**provenance["import"], "trace": "0"}}}):
            text = json.dumps({**trace, **changes})
            (self.folder / "out.json").write_text(text)
            done = imported("--batch", 8)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", "simctl: -o out.json: there is such a file, and it is an import of mine.json that was edited; "
                                                                           "choose another name, or overwrite it with --force\n"), changes)
            self.assertEqual((self.folder / "out.json").read_text(), text)
        older = {key: value for key, value in provenance.items() if key != "import"}
        (self.folder / "out.json").write_text(json.dumps({**trace, "provenance": older}))
        self.assertIn("it is an import by an older version, which does not tell whether it was edited; choose another name", imported().stderr)
        (self.folder / "out.json").write_text(json.dumps(trace, indent=1))  # laid out anew, with the same content
        self.assertEqual(imported().returncode, 0)
        self.assertEqual(self.trace(), trace)

    def test_a_file_of_the_same_name_elsewhere_is_another_one(self):
        """What counts is where the profile is, however it is named."""
        for folder in ("here", "there"):
            (self.folder / folder).mkdir()
            Profile().write(self.folder / folder / "mine.json")
        (self.folder / "link").symlink_to("here")
        out = self.folder / "out.json"
        imported = lambda folder, name, *words: self.simctl("trace", "import", name, "-o", out, *words, cwd=self.folder / folder)
        self.assertEqual(imported("here", "mine.json").returncode, 0)
        first = out.read_bytes()
        for folder, name in (("there", "mine.json"), ("", "there/mine.json"), ("here", "../there/mine.json")):
            done = imported(folder, name)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (folder, name))
            self.assertIn(f"it is no import of {name}; choose another name", done.stderr)
            self.assertEqual(out.read_bytes(), first)
        for folder, name in (("here", "mine.json"), ("here", "./mine.json"), ("", "here/mine.json"), ("there", "../here/mine.json"), ("", "link/mine.json"),
                             ("there", self.folder / "here/mine.json")):
            self.assertEqual(imported(folder, name).returncode, 0, (folder, name))
        self.assertEqual(imported("there", "mine.json", "--force").returncode, 0)
        self.assertEqual(imported("there", "mine.json").returncode, 0)

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

    def test_large_files_fit_in_little_memory(self):
        """Their text, and little besides: as a tree of JSON it would take several times as much."""
        options = {"layers": RESIDUAL, "steps": 560 if SLOW else 140}
        big = Profile(**options, stack=4000).write(self.folder / "mine.json")
        size = big.stat().st_size
        self.assertGreater(size, 200e6 if SLOW else 50e6)
        megabytes = self.peak_megabytes("trace", "import", big, "-o", "big-out.json")
        self.assertLess(megabytes, 50 + 1.25 * size / 1e6)
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
class RealSample(ImportCase):
    def test_resnet50_on_a_v100(self):
        megabytes = self.peak_megabytes("trace", "import", SAMPLE, "-o", "out.json")
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


if __name__ == "__main__":
    unittest.main()
