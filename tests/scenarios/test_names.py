"""Are traces, clusters, models, devices, scenarios and pieces of advice found by their names?"""
import json
import shutil
import subprocess
import unittest

from support import ROOT, SIMCTL, Case, cluster, scenario, trace


class Names(Case):
    """The current folder is none of the project's; the program is in the project's build folder."""

    def test_a_scenario_names_a_trace_and_a_cluster(self):
        done = self.run_scenario(scenario(trace="cpu-resnet20-b128", cluster="10gbe"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        by_name = self.rows()
        self.run_scenario(scenario(trace=str(ROOT / "traces/cpu-resnet20-b128.json"), cluster=str(ROOT / "scenarios/clusters/10gbe.json")))
        self.assertEqual(by_name, self.rows())

    def test_so_do_sweeps_and_settings(self):
        done = self.run_scenario(scenario(sweep={"/cluster": ["10gbe", "cluster.json"], "/cluster/nodes": [2]}), "--set", '/trace="cpu-vgg11-b8"')
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([(row["cluster"], row["model"]) for row in self.rows()], [("10gbe", "vgg11"), ("small", "vgg11")])
        self.assertEqual(self.run_scenario(scenario(), "--set", '/cluster="25gbe"', "--set", "/cluster/nodes=3").returncode, 0)
        self.assertEqual([(row["cluster"], row["nodes"]) for row in self.rows()], [("25gbe", "3")])

    def test_a_file_beside_the_scenario_comes_first(self):
        (self.folder / "deeper").mkdir()
        for name, its in (("10gbe.json", "mine"), ("10gbe", "plain")):
            self.write(f"deeper/{name}", cluster(name=its))
            self.write("deeper/scenario.json", scenario(trace="../trace.json", cluster="10gbe"))
            self.assertEqual(self.simctl("run", "deeper/scenario.json", "-o", "out", "--force").returncode, 0)
            self.assertEqual(self.rows()[0]["cluster"], its)
        self.assertEqual(self.run_scenario(scenario(cluster="10gbe")).returncode, 0)
        self.assertEqual(self.rows()[0]["cluster"], "10gbe")

    def test_commands_take_names(self):
        self.write("mine.json", trace())
        (self.folder / "scenarios/advice").mkdir(parents=True)
        self.write("scenarios/advice/cheap.json", {"format": "advice/1", "trace": "synthetic-v100-resnet50-b64", "clusters": [{"cluster": "10gbe", "nodes": [2]}],
                                                   "schedules": ["wfbp"], "target": {"samples": 1000}})
        for words, text in ((["show", "resnet50"], "GMACs"), (["show", "v100"], "V100"), (["show", "10gbe"], "cluster 10gbe"),
                            (["show", "cpu-vgg11-b8"], "trace "), (["show", "mine"], "SYNTHETIC"), (["check", "quickstart"], "valid, 6 points"),
                            (["run", "quickstart", "--set", "/schedule/name=\"wfbp\""], "quickstart: 1 point"),
                            (["explain", "quickstart", "--point", "0"], "critical path"), (["advise", "cheap", "--format", "json"], "advice-result/1"),
                            (["solve", "quickstart", "--for", "/cluster/nodes", "--from", "2", "--to", "4", "--until", "efficiency > 0"], "everywhere"),
                            (["trace", "compare", "mine", "mine"], "3 of 3 and 3 layers"),
                            (["trace", "synth", "resnet20", "--device", "v100", "--batch", "8", "-o", "new.json"], "SYNTHETIC"),
                            (["trace", "fit", "cpu-resnet50-b8", "cpu-vgg11-b8", "--model", "resnet50", "--profile", "v100"], "")):
            with self.subTest(words):
                done = self.simctl(*words)
                if words[1] != "fit":  # of two networks, which is an error of its own
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertNotIn("no such file", done.stderr)
                self.assertIn(text, done.stdout)

    def test_folders_of_other_programs_hide_nothing(self):
        for folder in ("models", "traces", "sub"):
            (self.folder / folder).mkdir()
        self.write("models/config.json", {"a": 1})
        self.write("traces/run.json", [])
        mine = json.loads((ROOT / "models/resnet20.json").read_text())
        self.write("models/mine.json", mine)
        self.write("models/resnet20.json", mine | {"name": "another"})
        done = self.simctl("list", "models", cwd=self.folder / "sub")
        names = [line.split()[0] for line in done.stdout.splitlines()[2:-1]]
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(names, sorted({path.stem for path in (ROOT / "models").glob("*.json")} | {"mine"}))
        self.assertIn("../models/NAME.json", done.stdout.splitlines()[-1])
        self.assertGreater(len(self.simctl("list", "traces", cwd=self.folder / "sub").stdout.splitlines()), 3)

    def test_what_is_listed_has_that_name(self):
        for what in ("scenarios", "advice", "clusters", "models", "devices", "traces"):
            lines = subprocess.run([SIMCTL, "list", what], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()[2:]
            self.assertRegex(lines.pop(), r"^files: [\w/]+/NAME.json$")
            self.assertGreater(len(lines), 0 if what == "advice" else 3)
            for line in lines:
                name = line.split()[0]
                if what not in ("scenarios", "advice"):
                    self.assertEqual(self.simctl("show", name).returncode, 0, name)

    def test_a_name_that_nobody_has_is_an_error_with_what_there_is(self):
        relative = " (paths are relative to the scenario file)"
        for content, message in (
                (scenario(trace="vgg11"), "/trace: vgg11: no such file, and no trace has this name; there are cpu-vgg11-b8, h100-vgg11-b64, h200-vgg11-b64-bf16, synthetic-v100-vgg11-b64"),
                (scenario(cluster="10bge"), '/cluster: 10bge: no such file, and no cluster has this name; did you mean "10gbe"?')):
            done = self.run_scenario(content)
            self.assertEqual((done.returncode, done.stderr), (3, f"simctl: scenario.json: {message}{relative}\n"))
        done = self.run_scenario(scenario(cluster="something"))
        self.assertIn("/cluster: something: no such file, and no cluster has this name; there are 100g-infiniband, 100gbe, 10gbe, ", done.stderr)
        for words, code, message in (
                (["show", "something-else"], 3, 'something-else: no such file, and no model or trace or device or cluster has this name; see "simctl list '
                                                'models", "simctl list traces", "simctl list devices", "simctl list clusters"'),
                (["check", "quickstrat"], 3, 'quickstrat: no such file, and no scenario has this name; did you mean "quickstart"?'),
                (["show", "traces"], 3, "traces: no such file"), (["show", "x" * 5000], 3, "no such file"),
                (["show", "resnet50.json"], 3, "resnet50.json: no such file")):
            done = self.simctl(*words)
            self.assertEqual(done.returncode, code)
            self.assertTrue(done.stderr.startswith("simctl: " + message) or len(words[1]) > 999, done.stderr)

    def test_a_name_that_several_have_is_an_error(self):
        for kind, content in (("models", (ROOT / "models/resnet20.json").read_text()), ("traces", json.dumps(trace()))):
            (self.folder / kind).mkdir()
            self.write(f"{kind}/mine.json", content)
        done = self.simctl("show", "mine")
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: mine: several files have this name: models/mine.json, traces/mine.json; give the path of one\n"))
        self.assertEqual(self.run_scenario(scenario(trace="mine")).returncode, 0)

    def test_a_program_outside_of_a_project_says_so(self):
        simctl = shutil.copy(SIMCTL, self.folder / "simctl")
        done = self.simctl("show", "v100", binary=simctl)
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: v100: no such file, and no model or trace or device or cluster has this name\n"))


if __name__ == "__main__":
    unittest.main()
