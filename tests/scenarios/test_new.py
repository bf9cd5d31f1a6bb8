"""Does simctl new write a scenario that runs, explains itself and spoils nothing?"""
import json
import re
import unittest

from support import ROOT, Case, cluster, schedules, trace


class New(Case):
    def new(self, *arguments, cwd=None):
        done = self.simctl("new", *arguments, cwd=cwd)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_it_is_valid_and_runs(self):
        self.assertEqual(self.new("mine.json"), f"mine.json: 20 points; change what you like, then: {self.own_command()} run mine.json\n")
        self.assertTrue(self.simctl("check", "mine.json").stdout.startswith("mine.json: valid, 20 points\n"))
        self.assertEqual(self.simctl("run", "mine.json", "--quiet", "--set", "/cluster/nodes=4").returncode, 0)

    def test_layers_of_a_gpu_are_slower_beside_communication(self):
        for trace, expected in (("cpu-resnet50-b8", {"jitter"}), ("h100-resnet50-b32", {"jitter", "overlap_slowdown"})):
            self.assertEqual(set(json.loads(self.new("--trace", trace))["workers"]), expected, trace)

    def test_stdout_takes_it_and_a_pipe_runs_it(self):
        for words in ([], ["-"]):
            text = self.new(*words, "--trace", "trace.json", "--cluster", "cluster.json", "--nodes", "2", "--schedules", "wfbp")
            content = json.loads(text)
            self.assertEqual((content["trace"], content["cluster"], content["sweep"]), ("trace.json", "cluster.json", {"/cluster/nodes": [2]}))
            done = self.simctl("run", "-", "-o", "-", input=text)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_every_key_is_explained(self):
        content = json.loads(self.new())
        keys = [key for key in content if not key.startswith("x-") and key != "format"]
        self.assertEqual([key for key in content if key.startswith("x-help-")], [f"x-help-{key}" for key in keys])
        page = (ROOT / "scenarios/FORMAT.md").read_text()
        table = page[page.index("| key | default |"):page.index("## Sweeps and --set")]
        documented = {key.split(".")[0] for row in re.findall(r"^\| ([^|]*) \|", table, re.M) for key in re.findall(r"`([a-z_.]+)`", row)}
        everything = " ".join(map(str, content.values()))
        for key in documented:
            self.assertTrue(key in content or f'"{key}"' in everything, key)

    def test_a_file_names_the_schema_for_editors(self):
        self.new("deeper/mine.json")
        content = json.loads((self.folder / "deeper/mine.json").read_text())
        self.assertEqual((self.folder / "deeper" / content["$schema"]).resolve(), ROOT / "scenarios/schemas/scenario.schema.json")
        self.assertNotIn("$schema", json.loads(self.new()))     # nobody knows where that will be

    def test_files_are_named_as_seen_from_the_scenario(self):
        self.new("deeper/mine.json", "--trace", "trace.json", "--cluster", "10gbe")
        content = json.loads((self.folder / "deeper/mine.json").read_text())
        self.assertEqual((content["name"], content["trace"], content["cluster"]), ("mine", "../trace.json", "10gbe"))
        self.assertEqual(self.simctl("check", "deeper/mine.json").returncode, 0)
        self.write("deeper/10gbe.json", cluster(name="another"))
        self.new("deeper/second.json", "--cluster", "10gbe")
        self.assertTrue(json.loads((self.folder / "deeper/second.json").read_text())["cluster"].endswith("/scenarios/clusters/10gbe.json"))
        self.assertEqual(self.simctl("check", "deeper/second.json").returncode, 0)
        self.new("../third.json", "--trace", "../trace.json", cwd=self.folder / "deeper")
        self.assertEqual(json.loads((self.folder / "third.json").read_text())["trace"], "trace.json")

    def test_all_schedules_but_those_that_the_cluster_refuses(self):
        content = json.loads(self.new("--schedules", "all", "--nodes", "8"))
        self.assertEqual([one["name"] for one in content["sweep"]["/schedule"]], schedules())
        done = self.simctl("new", "mine.json", "--schedules", "all", "--cluster", "aws-4-regions")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.simctl("check", "mine.json").returncode, 0)
        content = json.loads((self.folder / "mine.json").read_text())
        self.assertNotIn("/cluster/nodes", content["sweep"])
        left_out = set(schedules()) - {one["name"] for one in content["sweep"]["/schedule"]}
        self.assertEqual(set(re.findall(r"[\w-]+", done.stderr.partition("aws-4-regions: ")[2])), left_out)

    def test_nothing_is_overwritten_unasked(self):
        self.write("mine.json", "precious")
        done = self.simctl("new", "mine.json")
        self.assertEqual((done.returncode, done.stderr), (2, "simctl: mine.json: there is such a file; choose another name, or overwrite it with --force\n"))
        self.assertEqual((self.folder / "mine.json").read_text(), "precious")
        self.new("mine.json", "--force")
        self.assertEqual(json.loads((self.folder / "mine.json").read_text())["format"], "scenario/1")

    def test_bad_choices_write_nothing(self):
        self.write("bad.json", trace(layers=[]))
        self.write("old.json", {key: value for key, value in cluster().items() if key != "format"})
        self.write("odd\x1b.json", cluster())
        for words, code, message in (
                (["--trace", "resnet50"], 3, "resnet50: no such file, and no trace has this name; there are cpu-resnet50-b8, "),
                (["--trace", "gone.json"], 3, "gone.json: no such file"), (["--trace", "bad.json"], 3, "bad.json: /layers: expected a list"),
                (["--cluster", "old.json"], 3, 'old.json: /: the required key "format" is missing'),
                (["--cluster", "odd\x1b.json"], 3, "odd\\x1b.json: expected UTF-8 without control characters; rename it"),
                (["--cluster", "25gb"], 3, "25gb: no such file, and no cluster has this name"),
                (["--schedules", "wbfp"], 2, '--schedule: no schedule is called "wbfp"; did you mean "wfbp"?'),
                (["--schedules", "wfbp,wfbp"], 2, "--schedule: wfbp is there twice"), (["--schedules", ""], 2, ""),
                (["--nodes", "0,4"], 2, "--nodes 0,4: expected ascending whole numbers from 1 on, such as 4,8,16"),
                (["--nodes", "many"], 2, "--nodes many: expected"),
                (["--cluster", "aws-4-regions", "--nodes", "5"], 3, "")):
            with self.subTest(words):
                done = self.simctl("new", "out.json", *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertFalse((self.folder / "out.json").exists())


if __name__ == "__main__":
    unittest.main()
