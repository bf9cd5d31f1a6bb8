"""Are synthetic traces what their model and device profile say, marked as such, and how far from measured ones?"""
import csv
import json
import math
import re
import shlex
import sys
import unittest

from support import ROOT, Case

sys.path.insert(0, str(ROOT / "tests/models"))
import oracle  # noqa: E402

SHARED = ROOT.parent / "shared" / "data" / "traces"
SYNTHETIC = sorted((ROOT / "traces").glob("synthetic-*.json"))
CLASSES = {"conv1d": "convolution", "linear": "linear", "embedding": "embedding", "attention": "attention", "batch_norm": "normalization",
           "layer_norm": "normalization", "lrn": "normalization", "max_pool": "pooling", "avg_pool": "pooling", "adaptive_avg_pool": "pooling",
           "max_over_time": "pooling", "add": "join", "concat": "join"}


def needs_shared(name):
    return unittest.skipUnless((SHARED / name).exists(), f"no ../shared/data/traces/{name}")


def cost(term, work):
    """The profile's formula, read from models/README.md: launch + MACs/rate + activations/bandwidth + weights/weight bandwidth."""
    rates = [(work[0], term.get("macs_per_s")), (work[1], term.get("bandwidth")), (work[2], term.get("weight_bandwidth"))]
    return term.get("launch_s", 0) + sum(amount / rate for amount, rate in rates if rate)


def cost_class(layer, kernels):
    if layer["op"] == "conv2d":
        return "convolution_3x3" if kernels.get(layer["name"]) == (3, 1) else "convolution"
    return CLASSES.get(layer["op"], "elementwise")


def direction(profile, name):
    costs = profile["costs"]
    if name == "convolution_3x3" and name not in costs:
        name = "convolution"
    return costs.get(name) or costs["others"]


class Synthesis(Case):
    def synth(self, model, device, batch, out="t.json"):
        done = self.simctl("trace", "synth", model, "--device", device, "--batch", batch, "-o", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads((self.folder / out).read_text()), done.stdout

    def test_every_layer_costs_what_the_formula_says(self):
        model, device = ROOT / "models/resnet20.json", ROOT / "models/devices/v100.json"
        trace, _ = self.synth(model, device, 7)
        profile = json.loads(device.read_text())
        layers = oracle.read(model)
        shapes = {"$input": [3, 32, 32]} | {layer["name"]: layer["shape"] for layer in layers}
        # In this network every 3x3 convolution that keeps the image's size has stride 1.
        kernels = {layer["name"]: (layer["tensors"][0][1][2], shapes[layer["inputs"][0]][1] // layer["shape"][1])
                   for layer in layers if layer["op"] == "conv2d"}
        self.assertEqual([layer["name"] for layer in trace["layers"]], [layer["name"] for layer in layers])
        for got, layer in zip(trace["layers"], layers):
            activations = sum(math.prod(shapes[name]) for name in layer["inputs"]) + math.prod(layer["shape"])
            work = (7 * layer["macs"], 7 * 4 * activations, 4 * sum(math.prod(shape) for _, shape in layer["tensors"]))
            for way in ("forward", "backward"):
                want = 0 if layer["op"] == "flatten" else cost(direction(profile, cost_class(layer, kernels))[way], work)
                self.assertAlmostEqual(got[f"{way}_s"], want, delta=1e-8 * want, msg=f"{layer['name']} {way}")
        parameters = sum(math.prod(shape) for layer in layers for _, shape in layer["tensors"])
        self.assertAlmostEqual(trace["update_s"], 4 * parameters / profile["update"]["weight_bandwidth"], delta=1e-12)

    def test_samples_of_another_size_are_those_of_a_model_of_that_size(self):
        model = json.loads((ROOT / "models/resnet20.json").read_text())
        self.write("resnet20.json", model | {"input": [3, 48, 40]})
        device = ROOT / "models/devices/v100.json"
        want, _ = self.synth("resnet20.json", device, 4)
        done = self.simctl("trace", "synth", ROOT / "models/resnet20.json", "--device", device, "--batch", 4, "--input", "3x48x40", "-o", "out.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        got = json.loads((self.folder / "out.json").read_text())
        self.assertEqual((got["layers"], got["gradients"]), (want["layers"], want["gradients"]))
        self.assertEqual((got["model"]["input"], want["model"].get("input")), ([3, 48, 40], None))
        self.assertIn("--input 3x48x40", got["provenance"]["command"])
        self.assertIn("resnet20, input 3x48x40, batch 4", self.simctl("show", "out.json").stdout)
        # A fit to such a trace takes that size for the model's, too.
        measured = got | {"provenance": {"kind": "measured"}}
        self.write("measured.json", measured)
        done = self.simctl("trace", "fit", "measured.json", "--model", ROOT / "models/resnet20.json", "--profile", device)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("forward +0.0%, backward +0.0%", done.stdout)
        refused = self.simctl("trace", "synth", "resnet20.json", "--device", device, "--batch", 4, "--input", "48x40", "-o", "none.json")
        self.assertEqual((refused.returncode, refused.stderr), (
            3, "simctl: resnet20.json: /input: 3x48x40 cannot be replaced by 48x40, which has a different number of dimensions\n"))

    def test_the_shipped_traces_are_what_their_command_writes(self):
        self.assertGreaterEqual(len(SYNTHETIC), 8)
        for path in SYNTHETIC:
            with self.subTest(path.name):
                command = json.loads(path.read_text())["provenance"]["command"]
                done = self.simctl(*shlex.split(command)[1:], "-o", self.folder / path.name, cwd=ROOT)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual((self.folder / path.name).read_text(), path.read_text())

    def test_they_are_marked_everywhere(self):
        trace, said = self.synth(ROOT / "models/alexnet.json", ROOT / "models/devices/v100.json", 4)
        self.assertEqual(trace["provenance"]["kind"], "synthetic")
        note = trace["provenance"]["note"]
        self.assertTrue(note.startswith("the device profile's error: forward +0.6%, backward +0.3%, "), note)
        self.assertTrue(note.endswith("; unknown for alexnet"), note)
        self.assertIn("SYNTHETIC", said)
        self.assertIn("provenance: SYNTHETIC", self.simctl("show", "t.json").stdout)
        scenario = {"format": "scenario/1", "name": "s", "trace": "t.json", "cluster": "cluster.json", "schedule": {"name": "wfbp"}}
        done = self.run_scenario(scenario)
        self.assertIn(f"SYNTHETIC, not measured\n  {trace['provenance']['note']}\n", done.stdout)
        results = json.loads((self.folder / "out/results.json").read_text())
        self.assertEqual(results["traces"][0]["provenance"]["note"], trace["provenance"]["note"])

    def test_transformers_on_an_h100_take_six_operations_for_each_weight_and_token(self):
        """At 40% of 989 TFLOPS; gradients have two bytes a number, and that of a shared weight comes with the embedding."""
        for name, tokens, last in (("gpt2_small-b8", 8 * 1024, "transformer.wte"), ("llama_7b-b1", 4096, "model.embed_tokens")):
            trace = json.loads((ROOT / f"traces/synthetic-h100-{name}.json").read_text())
            products = {layer["name"] for layer in trace["layers"] if layer["type"].endswith("linear")}
            weights = sum(math.prod(gradient["shape"]) for gradient in trace["gradients"] if len(gradient["shape"]) == 2 and gradient["layer"] in products)
            weights += 50257 * 768 if name.startswith("gpt2") else 0
            seconds = sum(layer["forward_s"] + layer["backward_s"] for layer in trace["layers"] if layer["name"] in products)
            self.assertAlmostEqual(seconds / (6 * weights * tokens / (0.4 * 989e12)), 1, delta=1e-6, msg=name)
            self.assertEqual((trace["model"]["dtype"], trace["gradients"][-1]["layer"]), ("bf16", last))
            for gradient in trace["gradients"]:
                self.assertEqual(gradient["bytes"], 2 * math.prod(gradient["shape"]))

    def test_v100_images_per_second_and_the_error_that_the_profile_states(self):
        trace, _ = self.synth(ROOT / "models/resnet50.json", ROOT / "models/devices/v100.json", 32)
        seconds = sum(layer["forward_s"] + layer["backward_s"] for layer in trace["layers"]) + trace["update_s"]
        stated = {error["against"]: error for error in json.loads((ROOT / "models/devices/v100.json").read_text())["error"]}
        published = next(error for against, error in stated.items() if "SSD-SGD" in against)
        self.assertAlmostEqual(32 / seconds / (3657.22 / 16) - 1, published["samples_per_s"], delta=0.0006)

    @needs_shared("v100-resnet50-b32.json")
    def test_v100_layer_sums_and_the_error_that_the_profile_states(self):
        done = self.simctl("trace", "fit", SHARED / "v100-resnet50-b32.json", "--profile", ROOT / "models/devices/v100.json", cwd=ROOT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        stated = json.loads((ROOT / "models/devices/v100.json").read_text())["error"][0]
        for quantity in ("forward", "backward"):
            self.assertIn(f"{quantity} {100 * stated[quantity]:+.1f}%", done.stdout)
        self.assertIn(f"median layer off by {100 * stated['median_layer']:.1f}% against resnet50 batch 32", done.stdout)

    @needs_shared("k80-googlenet-b64.json")
    def test_k80_speedups_of_mg_wfbp_at_64_nodes(self):
        speedups = {}
        for name, trace in (("measured", SHARED / "k80-googlenet-b64.json"), ("synthetic", ROOT / "traces/synthetic-k80-googlenet_bvlc-b64.json")):
            study = json.loads((ROOT / "scenarios/k80-googlenet.json").read_text())
            study["trace"] = str(trace)
            study["sweep"]["/cluster/nodes"] = [64]
            self.assertEqual(self.run_scenario(study).returncode, 0)
            with open(self.folder / "out/results.csv", newline="", encoding="utf-8") as file:
                seconds = {row["schedule"]: float(row["iteration_s"]) for row in csv.DictReader(file)}
            speedups[name] = [seconds[other] / seconds["mg-wfbp"] for other in ("wfbp", "sync-easgd")]
        print("MG-WFBP over WFBP and over SyncEASGD, GoogLeNet, 64 K80 nodes:",
              ", ".join(f"{name} {over_wfbp:.2f} and {over_sync:.2f}" for name, (over_wfbp, over_sync) in speedups.items()))
        for measured, synthetic, stated in zip(speedups["measured"], speedups["synthetic"], (1.74, 1.35)):
            self.assertAlmostEqual(measured, stated, delta=0.005)
            self.assertAlmostEqual(synthetic / measured, 1, delta=0.1)

    @needs_shared("k80-googlenet-b64.json")
    def test_k80_sums_and_the_errors_that_the_profile_states(self):
        logged = json.loads((SHARED / "k80-googlenet-b64.json").read_text())["layers"]
        synthetic = json.loads((ROOT / "traces/synthetic-k80-googlenet_bvlc-b64.json").read_text())
        trained = {gradient["layer"] for gradient in synthetic["gradients"]}
        total = sum(layer["backward_s"] for layer in logged)
        both = [sum(layer["backward_s"] for layer in synthetic["layers"] if layer["name"] in trained), sum(layer["backward_s"] for layer in synthetic["layers"])]
        for seconds, stated in zip(both, json.loads((ROOT / "models/devices/k80.json").read_text())["error"]):
            self.assertAlmostEqual(seconds / total - 1, stated["backward"], delta=0.0006)


    def test_what_costs_nothing_makes_no_trace(self):
        cost = {"forward": {}, "backward": {}}
        self.write("d.json", {"format": "device/1", "name": "d", "kind": "gpu", "source": "made for a test", "dtype": "fp32",
                              "costs": {"others": cost}, "error": "unknown"})
        model = ROOT / "models/alexnet.json"
        done = self.simctl("trace", "synth", model, "--device", "d.json", "--batch", 1, "-o", "none.json")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertEqual(done.stderr, f"simctl: {model} on d.json does not give a valid trace: the trace: /layers: an iteration must take some time\n")
        self.assertFalse((self.folder / "none.json").exists())


class Fit(Case):
    def test_layers_in_mixed_precision_are_matched(self):
        """In bf16, capture keeps normalizations in fp32, and autocast keeps all parameters in it."""
        trace = json.loads((ROOT / "traces/cpu-resnet20-b128.json").read_text())
        trace["model"]["dtype"] = "bf16"
        normalizations = {layer["name"] for layer in trace["layers"] if layer["type"] == "batch_norm"}
        masters = [gradient | {"bytes": gradient["bytes"] / (1 if gradient["layer"] in normalizations else 2)} for gradient in trace["gradients"]]
        for name, gradients in (("masters", masters), ("autocast", trace["gradients"])):
            file = self.write(f"{name}.json", json.dumps(trace | {"gradients": gradients}))
            done = self.simctl("trace", "fit", file, "-o", self.folder / "device.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, rf"normalization +{len(normalizations)} ")
        half = [gradient | {"bytes": gradient["bytes"] / 2} for gradient in masters]
        convolutions = sum(layer["type"] == "conv2d" for layer in trace["layers"])
        for name, gradients, fitted in (("masters", masters, convolutions), ("half", half, 0)):
            done = self.simctl("trace", "fit", self.write(f"{name}.json", json.dumps(trace | {"gradients": gradients})), "-o", self.folder / "device.json")
            found = sum(int(count) for count in re.findall(r"^convolution\S* +(\d+) ", done.stdout, re.M))
            self.assertEqual(found, fitted, name)  # a layer of another size is no match

    def test_a_profile_of_the_shipped_cpu_traces(self):
        traces = [ROOT / f"traces/cpu-{name}-b8.json" for name in ("resnet50", "googlenet", "vgg11", "alexnet")]
        done = self.simctl("trace", "fit", *traces, "--name", "one CPU thread", "-o", self.folder / "cpu.json", cwd=ROOT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        profile = json.loads((self.folder / "cpu.json").read_text())
        self.assertEqual((profile["name"], profile["kind"], profile["dtype"], len(profile["error"])), ("one CPU thread", "cpu", "fp32", 4))
        # The error that it states is the one of a trace that it synthesizes.
        self.assertEqual(self.simctl("trace", "synth", ROOT / "models/vgg11.json", "--device", "cpu.json", "--batch", 8, "-o", "t.json").returncode, 0)
        measured = [layer for layer in json.loads(traces[2].read_text())["layers"] if layer["name"] != "loss"]  # which a model has not
        predicted = {layer["name"]: layer for layer in json.loads((self.folder / "t.json").read_text())["layers"]}
        for way in ("forward", "backward"):
            ratio = sum(predicted[layer["name"]][f"{way}_s"] for layer in measured) / sum(layer[f"{way}_s"] for layer in measured)
            self.assertAlmostEqual(ratio - 1, profile["error"][2][way], delta=1e-3)

    def test_refusals(self):
        self.write("s.json", json.dumps(json.loads(SYNTHETIC[0].read_text())))
        measured = json.loads((ROOT / "traces/cpu-alexnet-b8.json").read_text())
        self.write("half.json", json.dumps(measured | {"model": measured["model"] | {"dtype": "fp16"}}))
        self.write("odd.json", json.dumps(measured | {"model": measured["model"] | {"name": "nobody"}}))
        self.write("fp32.json", json.dumps(measured))
        self.write("other.json", json.dumps(measured | {"device": {"kind": "cpu", "name": "another"}}))
        model = ROOT / "models/alexnet.json"
        table = [
            (["s.json", "-o", "p.json"], 3, "s.json: /provenance/kind: a synthetic trace measured nothing that could be fitted"),
            (["odd.json", "-o", "p.json"], 3, "odd.json: /model/name: no "),
            (["fp32.json", "half.json", "--model", model, "-o", "p.json"], 3,
             'half.json: /model/dtype: "fp16" cannot be fitted together with the "fp32" of fp32.json; fit a profile for each'),
            (["fp32.json", "--model", ROOT / "models/bert_base.json", "-o", "p.json"], 3, "fp32.json: only 0 of its 23 layers, with 0% of the time, match the model bert_base ("),
            (["trace.json", "--model", model, "-o", "p.json"], 3, "trace.json: /provenance/kind"),
            (["fp32.json", "--model", ROOT / "models/vgg11.json", "-o", "p.json"], 3, "fp32.json: "),
            (["fp32.json", "other.json", "--model", model, "-o", "p.json"], 3,
             'other.json: /device/name: "another" is not the "' + measured["device"]["name"] + '" of fp32.json; fit a profile for each device, or call them one with --name'),
            (["fp32.json", "--model", model, "--profile", ROOT / "models/devices/v100.json", "--gpus", 2], 2,
             "--gpus and --name are of a new profile; with --profile leave them out"),
            (["half.json", "--model", model, "--profile", ROOT / "models/devices/v100.json"], 3,
             'half.json: /model/dtype: the trace is in "fp16", the profile Tesla V100 for "fp32"; compare like with like'),
            (["fp32.json", "--model", model, "-o", "fp32.json"], 2, "-o fp32.json: this would overwrite an input file; choose another name"),
            (["fp32.json", "--model", model, "-o", "p.json", "--name", "a" * 300], 2, "p.json: /name: expected a name of at most 255 bytes, got "),
            (["fp32.json", "--model", model, "-o", "p.json", "--name", "\x1b[31m"], 2, "p.json: /name: expected a string without control characters, got "),
            (["fp32.json"], 2, "give either -o, a device/1 file to write, or --profile, one whose error you want to know"),
        ]
        for arguments, code, message in table:
            with self.subTest(message):
                done = self.simctl("trace", "fit", *arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertFalse((self.folder / "p.json").exists())


if __name__ == "__main__":
    unittest.main()
