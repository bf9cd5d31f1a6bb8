"""Do show, solve and calibrate say as JSON what they print, as the page describes it, and nothing else?"""
import json
import math
import re
import statistics
import unittest

from support import MISBEHAVING, ROOT, Case, cluster, scenario, trace

PAGE = (ROOT / "scenarios/RUNNING.md").read_text(encoding="utf-8")
LINK = {"bandwidth": 1e9, "latency": 1e-4}


def described(name):
    """The keys that the page's table has for a format."""
    cells = re.search(rf"^\| {re.escape(name)} \| (.*) \|$", PAGE, re.M)[1]
    return re.findall(r"`(\w+)`", re.sub(r" \([^)]*\)|: .*?;", "", cells))


class Json(Case):
    def setUp(self):
        super().setUp()
        self.write("trace.json", trace())

    def json(self, *words, code=0, **options):
        done = self.simctl(*words, "--format", "json", **options)
        self.assertEqual(done.returncode, code, done.stderr)
        if not code:
            self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def show(self, *words, kind):
        found = self.json("show", *words)
        self.assertEqual((found["format"], found["kind"]), ("show/1", kind))
        self.assertEqual(set(found), {"format", *described("show/1, all"), *described(f"show/1, `{kind}`")} - ({"file"} if kind == "schedule" else set()))
        return found, self.simctl("show", *words).stdout

    def test_check_has_the_keys_of_the_page(self):
        self.assertEqual(set(self.json("check", "quickstart")), {"format", *described("check/1")})

    def test_a_trace(self):
        for file in sorted((ROOT / "traces").glob("*.json"))[:3] + [self.folder / "trace.json"]:
            content = json.loads(file.read_text())
            found, text = self.show(file, kind="trace")
            self.assertEqual([(layer["name"], layer["forward_s"], layer["backward_s"]) for layer in found["layers"]],
                             [(layer["name"], layer["forward_s"], layer["backward_s"]) for layer in content["layers"]])
            for whole, part in (("bytes", "bytes"), ("gradients", "gradients")):
                self.assertEqual(found[whole], sum(layer[part] for layer in found["layers"]))
            self.assertEqual(found["bytes"], sum(gradient["bytes"] for gradient in content["gradients"]))
            self.assertEqual({key: content["provenance"][key] for key in found["provenance"]}, found["provenance"])
            self.assertAlmostEqual(found["compute_s"], found["forward_s"] + found["backward_s"] + found["update_s"], 12)
            self.assertIn(f"{found['batch'] / found['compute_s']:.4g} samples/s", text)
            self.assertEqual(f"{found['samples_per_s']:.9g}", f"{found['batch'] / found['compute_s']:.9g}")

    def test_a_model_and_a_device(self):
        found, text = self.show("resnet50", kind="model")
        self.assertIn(f"{len(found['layers'])} layers, {found['tensors']} tensors, {found['parameters']:.0f} parameters", text)
        self.assertEqual(sum(math.prod(shape) for layer in found["layers"] for shape in layer["tensors"]), found["parameters"])
        self.assertEqual(sum(layer["macs"] for layer in found["layers"]), found["macs"])
        self.assertEqual(self.show("resnet50", "--input", "3x64x64", kind="model")[0]["input"], [3, 64, 64])
        for file in (ROOT / "models/devices").glob("*.json"):
            found, text = self.show(file, kind="device")
            rows = [re.split("  +", line)[:2] for line in text.splitlines() if line.endswith(tuple("0123456789-")) and not line.startswith("---")]
            self.assertEqual([[row["layers"], row["direction"]] for row in found["costs"]], [row for row in rows if row[1:] and row[1] in ("forward", "backward", "per tensor")])

    def test_a_cluster(self):
        self.write("c.json", cluster(nodes=8, link=LINK))
        found, text = self.show("c.json", kind="cluster")
        self.assertEqual(found["link"], {"bandwidth_Bps": 1e9, "latency_s": 1e-4})
        (ring,) = [row for row in found["all_reduces"] if row["name"] == "ring"]
        for time in [*ring["alpha_beta"], ring["per_message"]]:
            self.assertAlmostEqual(time["s"], 14 * (1e-4 + time["bytes"] / 8 / 1e9), 12)
        rows = [line.split("  ")[0] for line in text.split("alpha-beta:\n")[1].splitlines()[2:]]
        self.assertEqual([row["name"] for row in found["all_reduces"]], rows)
        self.assertIsNone([row for row in found["all_reduces"] if row["name"] == "in-network"][0]["per_message"])
        self.write("f.json", cluster(nodes=8, fit={"a_s": 1e-3, "b_s_per_B": 1e-9, "nodes": 4, "algorithm": "ring"}))
        (fit,) = self.show("f.json", kind="cluster")[0]["fits"]
        self.assertEqual({key: fit[key] for key in ("operation", "ranks", "algorithm", "a_s", "b_s_per_B")},
                         {"operation": "all-reduce", "ranks": 4, "algorithm": "ring", "a_s": 1e-3, "b_s_per_B": 1e-9})
        for file in (ROOT / "scenarios/clusters").glob("*.json"):
            found, text = self.show(file, kind="cluster")
            self.assertIn(f"{found['nodes']} nodes, {found['topology']}", text)
            self.assertEqual([region["name"] for region in found["regions"]], re.findall(r"^region ([^:]+): ", text, re.M))
            self.assertEqual([link["nominal"] for link in (found["intra_node"], found["link"]) if link and "nominal" in link],
                             re.findall(r"; ((?:half of|by \d).*)$", text, re.M))

    def test_every_schedule(self):
        names = [line.split()[0] for line in self.simctl("list", "schedules").stdout.splitlines()[2:] if re.match(r"[a-z0-9-]+  ", line)]
        self.assertGreater(len(names), 20)
        for name in names:
            found, text = self.show(name, kind="schedule")
            self.assertIn(found["meaning"], text)
            for parameter in found["parameters"]:
                self.assertIn(parameter["name"], text)
                self.assertEqual(parameter["default"] is None, parameter["paper"] is not None)

    def test_solve(self):
        content = scenario(cluster=cluster(nodes=4, link={"bandwidth": "1Gbps", "latency": "100us"}), fidelity="alpha-beta", schedule={"name": "wfbp"}, sweep={"/schedule/name": ["wfbp", "sync-easgd"]})
        self.write("s.json", content)
        words = ("solve", "s.json", "--for", "/cluster/nodes", "--from", "2", "--to", "300", "--until", "iteration_s < 0.15")
        found = self.json(*words)
        self.assertEqual(set(found), {"format", *described("solve/1")})
        self.assertEqual({key: found[key] for key in ("format", "scenario", "for", "until", "column", "from", "to")},
                         {"format": "solve/1", "scenario": "s.json", "for": "/cluster/nodes", "until": "iteration_s < 0.15", "column": "iteration_s", "from": 2, "to": 300})
        text = self.simctl(*words).stdout
        for point in found["points"]:
            self.assertEqual(set(point), set(re.findall(r"`(\w+)`", re.search(r"^- A point of solve/1.*?(?=^- )", PAGE, re.M | re.S)[0]))
                             - {"everywhere", "nowhere", "from", "failed"})
            self.assertEqual(point["holds"], "up to")
            self.assertRegex(text, rf"(?m)^{point['sweep']['/schedule/name']} +up to {point['at']} +{point['value']:.4g}$")
            self.assertTrue(point["ends"][0] < point["value"] < 0.15 < point["ends"][1])
        (point,) = self.json(*words[:-1], "efficiency > 1.5", "--set", "/sweep={}")["points"]
        self.assertEqual((point["holds"], point["sweep"], point["at"], point["value"], point["error"]), ("nowhere", {}, None, None, None))

    def test_solve_says_what_fails(self):
        self.write("s.json", scenario(cluster=cluster(nodes=4, link=LINK), fidelity="alpha-beta", schedule={"name": "fine"}, sweep={"/schedule/name": ["fine", "ends-early"]}))
        found = self.json("solve", "s.json", "--for", "/cluster/link/bandwidth", "--from", "1Gbps", "--to", "2Gbps", "--until", "efficiency > 0.001",
                          binary=MISBEHAVING, code=4)
        self.assertEqual([point["holds"] for point in found["points"]], ["everywhere", "failed"])
        self.assertIn("ended its program", found["points"][1]["error"])
        self.write("s.json", scenario(cluster=cluster(nodes=4, link=LINK), fidelity="alpha-beta", schedule={"name": "wfbp"}, workers={"jitter": {"distribution": "lognormal", "cv": 0.5}}))
        done = self.simctl("run", "s.json", "--set", '/sweep={"/seed":[1,2,3,4,5,6]}', "--format", "json")
        middle = statistics.median(point["iteration_s"] for point in json.loads(done.stdout)["points"])
        (point,) = self.json("solve", "s.json", "--for", "/seed", "--from", "1", "--to", "40", "--until", f"iteration_s < {middle}", code=4)["points"]
        self.assertEqual((point["holds"], point["at"]), ("comes and goes", None))
        self.assertGreater(len(point["changes_after"]), 1)

    def test_calibrate(self):
        self.write("s.json", scenario(cluster=cluster(nodes=4, link=LINK), fidelity="per-message", schedule={"name": "s-sgd"}))
        compute = sum(layer["forward_s"] + layer["backward_s"] for layer in trace()["layers"]) + trace().get("update_s", 0)
        words = ("calibrate", "s.json", "--unit", "s", "--measured", f"1:{1.1 * compute!r},4:{1.5 * compute + 0.05!r}", "--sizes", "8")
        found = self.json(*words)
        self.assertEqual(set(found), {"format", *described("calibrate/1")})
        self.assertEqual(found["format"], "calibrate/1")
        self.assertAlmostEqual(found["one_gpu"]["trace_factor"], 1.1, 9)
        self.assertEqual([one["gpus"] for one in found["predictions"]], [4, 8])
        measured = found["predictions"][0]
        self.assertAlmostEqual(measured["calibrated"] / measured["measured"], 1, 3)
        self.assertIsNone(found["predictions"][1]["measured"])
        text = self.simctl(*words).stdout
        for note in found["notes"]:
            self.assertIn(note, text)
        for cause in found["causes"]:
            self.assertIn(cause["key"], text)
        self.assertIn(found["chosen"], [cause["cause"] for cause in found["causes"] if cause["as_good"]])
        self.assertIsNone(found["calibrated"])
        printed = self.json(*words, "-o", "-")["calibrated"]
        self.assertEqual(self.json(*words, "-o", "found.json")["calibrated"], "found.json")
        self.assertEqual(json.loads((self.folder / "found.json").read_text()), printed)

    def test_errors_stay_as_they_are(self):
        self.write("c.json", cluster(nodes=4, link=LINK))
        self.write("s.json", scenario())
        for words, code in ((("show", "nope"), 3), (("show", "s.json"), 3), (("show", "trace.json", "--input", "3x2x2"), 3), (("check", "nope"), 3),
                            (("solve", "s.json", "--for", "/seed", "--from", "2", "--to", "1", "--until", "efficiency > 0"), 2),
                            (("calibrate", "s.json", "--measured", "4:x"), 2), (("calibrate", "s.json", "--measured", "4:1e9"), 2)):
            with self.subTest(words):
                plain, as_json = self.simctl(*words), self.simctl(*words, "--format", "json")
                self.assertEqual((as_json.returncode, as_json.stdout, as_json.stderr), (code, "", plain.stderr))
        for words in (("show", "c.json", "--dot"), ("show", "c.json", "--platform", "p.xml")):
            done = self.simctl(*words, "--format", "json")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("excludes", done.stderr)
        self.assertIn("yaml not in {text,json}", self.simctl("show", "wfbp", "--format", "yaml").stderr)


if __name__ == "__main__":
    unittest.main()
