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

    def test_a_node_file_says_how_much_slower(self):
        def rows(compute, **by_blocks):
            return [{"compute": compute, "beside": "additions", "blocks": int(blocks[1:]), "slowdown": slowdown} for blocks, slowdown in by_blocks.items()]

        whole = {"compute": "matrix product, bf16", "beside": "the whole", "slowdown": 3}
        both = [whole, *rows("matrix product, bf16", b1=0.1, b8=0.8), *rows("matrix product, tf32", b1=0.3, b8=1), *rows("elementwise, fp32", b1=-0.1, b8=0.1)]
        for overlap, channels, expected in ((both, 1, 0.05), (both, 8, 0.5), (both, 2, 0.114), (rows("elementwise, fp32", b2=0.04), 2, 0.04),
                                            (rows("matrix product, fp32", b2=0.25), 2, 0.25), (rows("elementwise, fp32", b2=-0.04), 2, 0)):
            self.write("node.json", {"format": "node/1", "overlap": overlap, "measurements": []})
            for trace in ("cpu-resnet50-b8", "h100-resnet50-b32"):
                content = json.loads(self.new("--trace", trace, "--node-file", "node.json", "--channels", str(channels)))
                self.assertEqual(content["workers"]["overlap_slowdown"], expected, (overlap, channels))
                self.assertIn(f"(here beside {channels} blocks of node.json)", content["x-help-workers"])
        self.new("deeper/mine.json", "--node-file", "node.json", "--channels", "2")
        self.assertIn("of ../node.json)", json.loads((self.folder / "deeper/mine.json").read_text())["x-help-workers"])
        self.assertEqual(self.simctl("check", "deeper/mine.json").returncode, 0)

    def test_shipped_node_files_have_the_blocks_of_a_usual_collective(self):
        for gpu, trace in (("h100", "h100-resnet50-b32"), ("h200", "h200-resnet50-b32-bf16")):
            node = json.loads((ROOT / f"capture/node/{gpu}.json").read_text())
            slowdowns = [row["slowdown"] for row in node["overlap"] if row.get("blocks") == 16]
            content = json.loads(self.new("--trace", trace, "--node-file", ROOT / f"capture/node/{gpu}.json"))
            self.assertTrue(min(slowdowns) < content["workers"]["overlap_slowdown"] < max(slowdowns), gpu)

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
        row = {"compute": "elementwise, fp32", "beside": "additions in 4 blocks", "blocks": 4, "slowdown": 0.1}
        for name, overlap in (("node.json", [row]), ("range.json", [row, row | {"blocks": 16}]), ("idle.json", []), ("before.json", [{"slowdown": 0.1}]),
                              ("half.json", [row | {"blocks": 0.5}]), ("slow.json", [row | {"slowdown": "much"}]), ("rows.json", {})):
            self.write(name, {"format": "node/1", "overlap": overlap})
        self.write("none.json", {"format": "node/1"})
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
                (["--node-file", "gone.json"], 3, "gone.json: no such file"), (["--node-file", "old.json"], 3, 'old.json: /: the required key "format" is missing'),
                (["--node-file", "trace.json"], 3, "trace.json: /format: expected"), (["--node-file", "none.json"], 3, 'none.json: /: the required key "overlap" is missing'),
                (["--node-file", "idle.json"], 3, 'idle.json: /overlap: no row has "blocks"; measure the node again with this version\'s nodeprobe'),
                (["--node-file", "before.json"], 3, 'before.json: /overlap: no row has "blocks"'),
                (["--node-file", "rows.json"], 3, "rows.json: /overlap: expected a list"), (["--node-file", "half.json"], 3, "half.json: /overlap/0/blocks: expected"),
                (["--node-file", "slow.json"], 3, "slow.json: /overlap/0/slowdown: expected a number"),
                (["--node-file", "node.json"], 2, "--channels 16: node.json has slowdowns beside 4 blocks; choose such a number, or measure the node again"),
                (["--node-file", "range.json", "--channels", "17"], 2, "--channels 17: range.json has slowdowns beside 4 to 16 blocks"),
                (["--node-file", "node.json", "--channels", "0"], 2, "--channels"), (["--channels", "4"], 2, "--channels requires --node-file"),
                (["--cluster", "aws-4-regions", "--nodes", "5"], 3, "")):
            with self.subTest(words):
                done = self.simctl("new", "out.json", *words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertFalse((self.folder / "out.json").exists())


if __name__ == "__main__":
    unittest.main()
