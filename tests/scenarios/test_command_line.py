"""Does simctl do what its help, the README and RESULTS.md say?"""
import contextlib
import json
import os
import pty
import re
import shlex
import subprocess
import unittest

from support import ROOT, SIMCTL, Case, cluster, scenario, trace

SIX = ["s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", "fusion"]


class Results(Case):
    def test_columns_are_those_that_results_md_documents(self):
        self.assertEqual(self.run_scenario(scenario()).returncode, 0)
        table = self.simctl("list", "figures", "--markdown").stdout
        page = "sim/output/RESULTS.md"
        self.assertTrue(f"\n{table}\n" in (ROOT / page).read_text(), f"{page} lacks this table as it stands; put it in:\n{table}")
        documented = re.findall(r"^\| `([A-Za-z0-9_]+)` \|", table, re.M)
        header = (self.folder / "out/results.csv").read_text().splitlines()[0].split(",")
        self.assertEqual(header, documented)
        document = json.loads((self.folder / "out/results.json").read_text())
        self.assertEqual([key for key in document["points"][0] if key not in ("sweep", "links", "groups")], documented)

    def test_json_holds_the_same_as_csv_and_where_it_came_from(self):
        sweep = {"/cluster/nodes": [2, 4], "/schedule": [{"name": "wfbp"}, {"name": "fusion", "bucket": "1MB"}]}
        self.assertEqual(self.run_scenario(scenario(sweep=sweep, seed=7)).returncode, 0)
        document = json.loads((self.folder / "out/results.json").read_text())
        rows = self.rows()
        self.assertEqual(len(rows), 4)
        for row, point in zip(rows, document["points"]):
            for key, value in point.items():
                if key == "sweep":
                    self.assertEqual(row["/cluster/nodes"], str(value["/cluster/nodes"]))
                    self.assertEqual(json.loads(row["/schedule"]), value["/schedule"])
                elif key in ("links", "groups"):
                    self.assertNotIn(key, row)
                elif isinstance(value, str):
                    self.assertEqual(row[key], value)
                else:
                    self.assertEqual(float(row[key]) if row[key] else None, value)
        self.assertEqual([row["/cluster/nodes"] for row in rows], ["2", "2", "4", "4"], "the last pointer varies fastest")
        self.assertEqual((document["seed"], document["points_total"], document["failed"]), (7, 4, []))
        self.assertEqual(document["traces"][0]["provenance"]["kind"], "synthetic")
        self.assertGreater(json.loads((self.folder / "out/run.json").read_text())["wall_s"], 0)
        self.assertEqual(document["scenario"]["sweep"], sweep)

    def test_the_csv_is_byte_identical_across_runs_and_jobs(self):
        workers = {"jitter": {"distribution": "lognormal", "cv": 0.2}, "slow": [{"ranks": "0", "factor": 1.5}]}
        content = scenario(workers=workers, sweep={"/cluster/nodes": [2, 4, 8], "/schedule/name": SIX})
        texts = set()
        self.write("scenario.json", content)
        for words in (["-j", "1"], ["-j", "2"], ["-j", "5"], ["-j", "1"]):
            texts.add(self.simctl("run", "scenario.json", "--format", "csv", "--quiet", *words).stdout)
        self.assertEqual((len(texts), len(min(texts).splitlines())), (1, 19))
        other = self.simctl("run", "scenario.json", "--format", "csv", "--quiet", "--set", "/seed=2").stdout
        self.assertNotIn(other, texts, "another seed draws other numbers")

    def test_no_symmetry_changes_no_number(self):
        content = scenario(cluster="cluster.json", sweep={"/schedule/name": SIX})
        for fast, full in zip(self.points(content), self.points(content, "--no-symmetry"), strict=True):
            self.assertEqual((fast["workers_simulated"], full["workers_simulated"]), (1, 4))
            for column in fast:
                if fast[column] and (column.endswith("_s") or column in ("speedup", "efficiency")):
                    self.assertAlmostEqual(fast[column], full[column], delta=1e-9 * max(1e-3, abs(fast[column])))

    def test_bytes_on_the_network(self):
        """Closed forms, per gradient step of 8 workers with a model of M bytes: in all, and over the busiest direction of a link."""
        m, n = 6e6, 8
        table = [({"schedule": {"name": "sync-easgd"}}, 2 * (n - 1) * m, 2 * (n - 1) / n * m),
                 ({"schedule": {"name": "sync-easgd"}, "all_reduce": "binary-tree"}, 2 * (n - 1) * m, 3 * m),
                 ({"schedule": {"name": "sync-easgd"}, "all_reduce": "recursive-doubling"}, 3 * n * m, 3 * m),
                 ({"schedule": {"name": "sasgd", "interval": 4}, "iterations": {"warmup": 4, "measured": 8}}, 2 * (n - 1) * m / 4, 2 * (n - 1) / n * m / 4),
                 ({"schedule": {"name": "ps-sgd", "servers": 2}}, 2 * n * m, n * m / 2),
                 ({"schedule": {"name": "ps-sgd", "servers": n, "colocated": True}}, 2 * (n - 1) * m, 2 * (n - 1) / n * m),
                 ({"schedule": {"name": "sgp"}}, n * m, m)]
        self.write("cluster.json", cluster(nodes=n))
        for change, total, most in table:
            with self.subTest(change):
                point = self.point(scenario(**{"fidelity": "per-message"} | change))
                self.assertAlmostEqual(point["network_bytes_per_iteration"] / total, 1, delta=1e-9)
                self.assertAlmostEqual(point["busiest_link_bytes_per_iteration"] / most, 1, delta=1e-9)
        self.write("cluster.json", cluster(nodes=2, gpus_per_node=4, intra_node={"bandwidth": "10GBps", "latency": 0}))
        known, unknown = self.points(scenario(sweep={"/fidelity": ["per-message", "alpha-beta"]}))
        self.assertAlmostEqual(known["network_bytes_per_iteration"] / (2 * m), 1, delta=1e-9)
        self.assertEqual({unknown[f"{which}_bytes_per_iteration"] for which in ("network", "busiest_link")}, {None})

    def test_a_warm_up_that_the_paper_does_not_allow_is_noted(self):
        for warmup, noted in ((6, False), (7, True)):
            notes = self.results(scenario(schedule={"name": "ssd-sgd", "delay": 3, "warmup_iterations": warmup}))["notes"]
            self.assertEqual(any("the paper asks for a warm-up of a multiple of the delay, but it has 7 iterations" in note for note in notes), noted)

    def test_bus_bandwidth(self):
        """Of a ring over 4 nodes without latency it is that of the links; of three all-reduces with latency, what nccl-tests would print."""
        self.write("cluster.json", cluster(link={"bandwidth": "10Gbps", "latency": 0}))
        self.assertAlmostEqual(self.point(scenario(schedule={"name": "s-sgd"}))["bus_bandwidth_Bps"] / 1.25e9, 1)
        self.write("cluster.json", cluster())
        known, *unknown = self.points(scenario(sweep={"/schedule": [
            {"name": "s-sgd"}, {"name": "ps-sgd"}, {"name": "sgp"}, {"name": "wfbp", "compression": {"name": "top-k", "ratio": 0.01}}]}))
        self.assertAlmostEqual(known["bus_bandwidth_Bps"] / (1.5 * 6e6 / (3 * 6 * 50e-6 + 1.5 * 6e6 / 1.25e9)), 1)
        self.assertEqual([point["bus_bandwidth_Bps"] for point in unknown], [None] * 3)

    def test_epochs(self):
        point = self.point(scenario(samples=1000, epochs=7.5))
        self.assertAlmostEqual(point["epoch_s"], 1000 * point["iteration_s"] / 16)
        self.assertAlmostEqual(point["total_h"], 7.5 * point["epoch_s"] / 3600, places=12)
        self.assertIsNone(point["cost"])
        self.write("cluster.json", cluster(price_per_node_hour=2.5))
        schedules = [({"name": "wfbp"}, 4), ({"name": "ps-sgd", "servers": 2}, 6), ({"name": "ps-sgd", "servers": 2, "colocated": True}, 4)]
        points = self.points(scenario(samples=1000, epochs=7.5, sweep={"/schedule": [schedule for schedule, _ in schedules]}))
        for point, (_, nodes) in zip(points, schedules, strict=True):
            self.assertAlmostEqual(point["cost"] / (2.5 * nodes * point["total_h"]), 1)
        point = self.point(scenario(samples=1000))
        self.assertEqual((point["cost"], point["epoch_s"] is None, point["total_h"]), (None, False, None))

    def test_inline_and_swept_clusters_and_traces(self):
        self.write("other.json", cluster(name="other", nodes=16))
        self.write("slow-trace.json", trace(update_s=0.5))
        content = scenario(cluster=cluster(name="inline"), sweep={"/cluster": ["cluster.json", "other.json"], "/trace": ["trace.json", "slow-trace.json"]})
        points = self.points(content)
        self.assertEqual([point["cluster"] for point in points], ["small", "small", "other", "other"])
        for point, want in zip(points, [0.009, 0.509, 0.009, 0.509], strict=True):
            self.assertAlmostEqual(point["compute_s"], want)

    def test_a_pointer_may_name_any_key_that_the_schema_knows(self):
        sweep = {"/cluster/reduce_s_per_B": [0, 1e-8], "/trace/update_s": [0, 0.1], "/workers/slow": [[], [{"ranks": "1", "factor": 2}]], "/seed": [3]}
        self.assertEqual(len({point["iteration_s"] for point in self.points(scenario(sweep=sweep))}), 8)


class Settings(Case):
    def test_set_changes_a_value_and_pins_a_swept_one(self):
        content = scenario(sweep={"/cluster/nodes": [2, 4], "/schedule/name": ["wfbp", "s-sgd"]})
        done = self.run_scenario(content, "--set", "/cluster/nodes=8", "--set", '/cluster/link/bandwidth="1Gbps"', "--set", '/cluster/name="renamed"')
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([(row["nodes"], row["/cluster/nodes"], row["cluster"]) for row in self.rows()], [("8", "8", "renamed")] * 2)

    def test_settings_are_reported(self):
        done = self.run_scenario(scenario(), "--set", "/cluster/nodes=8")
        self.assertIn("set /cluster/nodes = 8\n", done.stdout)
        self.assertEqual(json.loads((self.folder / "out/results.json").read_text())["settings"], {"/cluster/nodes": 8})

    def test_an_empty_sweep_is_none(self):
        done = self.run_scenario(scenario(sweep={"/cluster/nodes": [2, 4]}), "--set", "/sweep={}")
        self.assertEqual((done.returncode, [row["nodes"] for row in self.rows()]), (0, ["4"]))

    def test_bad_settings_are_usage_errors(self):
        table = [
            ("nodes=3", "--set nodes=3: expected POINTER=JSON, such as /cluster/nodes=64 or /schedule/name='\"wfbp\"'"),
            ("/cluster/nodes", "--set /cluster/nodes: expected POINTER=JSON, such as /cluster/nodes=64 or /schedule/name='\"wfbp\"'"),
            ("/schedule/name=wfbp", "--set /schedule/name=wfbp: value: not valid JSON at line 1, column 1: invalid literal; last read: 'w'; "
                                    "a string needs double quotes: /schedule/name='\"wfbp\"'"),
            ("/a~3=1", '--set /a~3=1: "/a~3" is not a JSON pointer: after ~ comes 0 or 1'),
            ("/cluster/nodes/x=1", "--set /cluster/nodes/x: the scenario sweeps /cluster/nodes, which would overwrite it; set /cluster/nodes instead"),
        ]
        for text, message in table:
            with self.subTest(text):
                done = self.run_scenario(scenario(sweep={"/cluster/nodes": [2, 4]}), "--set", text)
                self.assertEqual((done.returncode, done.stderr), (2, f"simctl: {message}\n"))
                self.assertFalse((self.folder / "out").exists())

    def test_a_set_value_that_breaks_a_rule_says_where_it_came_from(self):
        done = self.run_scenario(scenario(), "--set", "/cluster/nodes=0")
        self.assertEqual((done.returncode, done.stderr), (2, "simctl: scenario.json: /cluster/nodes: expected an integer >= 1, got 0 (from --set)\n"))


class Usage(Case):
    def test_exit_code_2(self):
        self.write("scenario.json", scenario())
        for arguments in ([], ["rum"], ["run"], ["run", "scenario.json", "--fast"], ["run", "scenario.json", "-j", "0"],
                          ["run", "scenario.json", "--timeline"], ["run", "scenario.json", "-o", "out", "--timeline", "7"],
                          ["run", "scenario.json", "--explain"], ["run", "scenario.json", "-o", "out", "--explain", "7"],
                          ["run", "scenario.json", "--replicates", "0"], ["list", "things"], ["trace"],
                          ["trace", "synth", "m.json"],
                          ["run", "scenario.json", "-o", ""], ["run", "scenario.json", "--set", "/nowhere=1"],
                          ["run", "scenario.json", "--set", "/workers/slow/99999999999999999999=1"]):
            with self.subTest(arguments):
                done = self.simctl(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(done.stderr)

    def test_every_help_has_an_example_that_runs(self):
        for command in ([], ["run"], ["check"], ["list"], ["new"], ["show"], ["trace"], ["trace", "import"], ["trace", "synth"], ["trace", "fit"], ["cluster"], ["cluster", "fit"]):
            done = self.simctl(*command, "--help")
            self.assertEqual(done.returncode, 0)
            examples = re.findall(r"^Example: simctl (.*)$", done.stdout, re.M)
            self.assertEqual(len(examples), 1, done.stdout)
            arguments = shlex.split(examples[0])
            if "-o" in arguments:
                arguments[arguments.index("-o") + 1] = str(self.folder / "-".join(["example", *command]))
            ran = subprocess.run([SIMCTL, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=600, check=False)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertTrue(ran.stdout)

    def test_version(self):
        self.assertRegex(self.simctl("--version").stdout, r"^\d+\.\d+\.\d+\n$")


class Output(Case):
    def test_results_go_to_stdout_and_quiet_prints_nothing(self):
        done = self.run_scenario(scenario(sweep={"/cluster/nodes": [2, 4], "/schedule/name": ["wfbp", "s-sgd"]}))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for text in ("SYNTHETIC", "iteration time", "efficiency", "/cluster/nodes", "wfbp", "s-sgd", "fidelity: per-message\n", "out/results.csv"):
            self.assertIn(text, done.stdout)
        self.assertEqual(self.run_scenario(scenario(), "--quiet").stdout, "")

    def test_pipes_read_a_scenario_and_write_results(self):
        """What a folder would get goes to stdout, notes to stderr, and paths of a scenario on stdin are the current folder's."""
        content = scenario(sweep={"/schedule/name": ["wfbp", "asgd"]})
        self.run_scenario(content, out="out")
        table = (self.folder / "out/results.csv").read_text()
        for words in (["-o", "-"], ["--format", "csv"], ["-o", "-", "--format", "csv"]):
            done = self.simctl("run", "-", *words, input=json.dumps(content))
            self.assertEqual((done.returncode, done.stdout), (0, table))
            self.assertIn("note: equal clients of asgd", done.stderr)
        done = self.simctl("run", "scenario.json", "--format", "json", "--quiet", "-o", "both")
        self.assertEqual(done.stderr, "")
        document, written = json.loads(done.stdout), json.loads((self.folder / "both/results.json").read_text())
        self.assertEqual(document, written)
        self.assertEqual(sorted(path.name for path in (self.folder / "both").iterdir()), [".lock", "points", "results.csv", "results.json", "run.json", "study.json"])
        self.assertFalse((self.folder / "-").exists())
        done = self.simctl("run", "-", input="{")
        self.assertEqual((done.returncode, done.stderr.split(":")[1].strip()), (3, "stdin"))
        done = self.simctl("solve", "-", "--for", "/cluster/nodes", "--from", "2", "--to", "8", "--until", "efficiency >= 0", input=json.dumps(scenario()))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_hint_for_a_page_works_from_any_folder_and_with_spaces(self):
        """And the page says what the run has noted."""
        out = self.folder / "my results"
        done = self.simctl("run", self.write("scenario.json", scenario(all_reduce="double-binary-tree", fidelity="alpha-beta")), "-o", out)
        (hint,) = re.findall("for a page: (.*)", done.stdout)
        page = subprocess.run(["/usr/bin/python3", *shlex.split(hint)], cwd=self.folder, capture_output=True, text=True, timeout=600)
        self.assertEqual((page.returncode, page.stderr), (0, ""))
        self.assertIn("Double-binary-tree costs what the MG-WFBP paper says", (out / "report.html").read_text())

    def test_schedules_are_the_columns_and_only_rivals_are_compared(self):
        done = self.run_scenario(scenario(sweep={"/schedule/name": ["wfbp", "s-sgd"], "/cluster/nodes": [2, 64]}))
        self.assertRegex(done.stdout, r"/cluster/nodes +wfbp +s-sgd\n")
        self.assertRegex(done.stdout, r"\n +2 +\*\S+ ms ")
        done = self.run_scenario(scenario(sweep={"/cluster/link/latency": [0, 1e-3], "/cluster/nodes": [2, 64]}))
        self.assertNotIn("*", done.stdout)

    def test_equal_asynchronous_clients_are_noted(self):
        link = {"bandwidth": "1Gbps", "latency": "50us"}
        for cluster, schedule, workers, is_noted in (
                ({}, {"name": "asgd"}, {}, True), ({}, {"name": "asgd", "service": "queued"}, {}, True),
                ({}, {"name": "asgd", "colocated": True, "servers": 4}, {}, True), ({"link": link | {"tcp_window": 65536}}, {"name": "asgd"}, {}, True),
                ({}, {"name": "asgd", "service": "fifo"}, {}, False), ({}, {"name": "ps-sgd"}, {}, False), ({}, {"name": "asgd", "colocated": True}, {}, False),
                ({"topology": "fat-tree"}, {"name": "asgd"}, {}, False), ({"nodes": 1}, {"name": "asgd"}, {}, False),
                ({}, {"name": "asgd"}, {"slow": [{"ranks": "1", "factor": 2}]}, False)):
            with self.subTest(cluster=cluster, schedule=schedule, workers=workers):
                described = {"format": "cluster/1", "name": "four", "nodes": 4, "link": link} | cluster
                notes = "\n".join(self.results(scenario(cluster=described, schedule=schedule, workers=workers))["notes"])
                self.assertEqual('equal clients of asgd push in lock-step' in notes and 'set "/workers/jitter"' in notes, is_noted)

    def test_what_is_surprising_is_noted(self):
        fit = {"a_s": 1e-3, "b_s_per_B": 1e-9, "nodes": 8, "algorithm": "ring"}
        done = self.run_scenario(scenario(cluster=cluster(fit=fit)))
        self.assertIn("note: collectives on small cost what its fit says for the link that it was measured at\n", done.stdout)
        done = self.run_scenario(scenario(), "--set", "/cluster/link/bandwidth=10")
        self.assertIn('note: the link of small carries only 10 bytes/s; for 10 Gb/s write "10Gbps"\n', done.stdout)

    def test_one_point_and_one_key(self):
        self.assertIn("exposed communication", self.run_scenario(scenario()).stdout)
        self.assertIn("comms/iter", self.run_scenario(scenario(sweep={"/schedule/name": SIX})).stdout)

    def test_a_caveat_of_a_collective_is_told(self):
        done = self.run_scenario(scenario(all_reduce="double-binary-tree", fidelity="alpha-beta"))
        self.assertIn("note: double-binary-tree costs what the MG-WFBP paper says; its bandwidth term is below the bound", done.stdout)
        self.assertEqual(len(json.loads((self.folder / "out/results.json").read_text())["notes"]), 1)
        for fidelity in ("auto", "flow"):
            self.assertEqual(self.results(scenario(all_reduce="double-binary-tree", fidelity=fidelity))["notes"], [])

    def test_iterations_are_whole_cycles_also_when_the_scenario_does_not_say_how_many(self):
        for iterations, measured in (({}, 60), ({"iterations": {}}, 60), ({"iterations": {"warmup": 1, "measured": 3}}, 20)):
            content = scenario(schedule={"name": "sasgd", "interval": 20}, workers={"slow": [{"ranks": "0", "factor": 2}]})
            del content["iterations"]
            point = self.point(content | iterations)
            self.assertEqual(point["measured_iterations"], measured)
            self.assertAlmostEqual(point["communications_per_iteration"], 0.05, places=12)

    def test_notes_say_what_the_figures_do_not(self):
        regions = [{"name": name, "nodes": 1} for name in "abc"]
        wan = [{"between": list(pair), "rtt": "40ms", "bandwidth": "100Mbps"} for pair in ("ab", "ac", "bc")]
        slow = cluster(link={"bandwidth": "1Gbps", "latency": "1ms"})
        pause = {"events": [{"kind": "pause", "rank": 1, "at_s": 500, "for_s": 1}]}
        for where, what, note in (
                (cluster(nodes=3, regions=regions, wan=wan), {}, "the ring passes through the regions of small in the order a, b, c"),
                (slow, {"workers": pause}, "the pause of rank 1 at 500 s lies outside the measured window, 0.0"),
                (slow, {"schedule": {"name": "dts", "delay": 60}, "iterations": {"warmup": 0, "measured": 60}, "fidelity": "alpha-beta"}, "queue up faster than they move"),
                (slow | {"latency_cv": 0.1}, {"schedule": {"name": "asgd"}}, "latency_cv of small does not matter to asgd"),
                (cluster(link={"bandwidth": "10Gbps", "latency": 50}), {}, "has a latency of 50 s; for 50 us write")):
            with self.subTest(note):
                self.write("cluster.json", where)
                done = self.run_scenario(scenario(**what))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(note, done.stdout)
                self.assertTrue(any(note in one for one in json.loads((self.folder / "out/results.json").read_text())["notes"]))
        self.write("cluster.json", slow)
        steady = scenario(schedule={"name": "dts", "delay": 60}, iterations={"warmup": 2000, "measured": 240})
        self.assertNotIn("note:", self.run_scenario(steady).stdout)
        self.assertNotIn("note:", self.run_scenario(scenario(workers={"events": [{"kind": "pause", "rank": 1, "at_s": 0.03, "for_s": 1}]})).stdout)

    def test_busiest_links_are_in_json_only(self):
        """A ring of 4 sends 2 x 3/4 of the 6 MB over every link."""
        self.assertEqual(self.run_scenario(scenario(schedule={"name": "s-sgd"})).returncode, 0)
        point = json.loads((self.folder / "out/results.json").read_text())["points"][0]
        self.assertEqual(len(point["links"]), 8)
        self.assertEqual({link["name"] for link in point["links"]}, {f"node-{node} {way}" for node in range(4) for way in ("up", "down")})
        for link in point["links"]:
            self.assertAlmostEqual(link["utilisation"], 1.5 * 6e6 / 1.25e9 / point["iteration_s"], places=12)
            # The ring moves bytes but for the latencies of its 2 x 3 steps, an all-reduce after the other.
            in_use = 1.5 * 6e6 / 1.25e9 / (3 * 6 * 50e-6 + 1.5 * 6e6 / 1.25e9)
            self.assertAlmostEqual(link["utilisation_in_use"], in_use, places=12)
            self.assertAlmostEqual(link["bytes"], 1.5 * 6e6 * point["measured_iterations"], places=3)
        self.assertEqual(self.run_scenario(scenario(fidelity="alpha-beta")).returncode, 0)
        self.assertNotIn("links", json.loads((self.folder / "out/results.json").read_text())["points"][0])

    def test_the_fidelity_that_auto_chooses(self):
        fit = {"a_s": 1e-3, "b_s_per_B": 1e-9, "nodes": 8, "algorithm": "ring"}
        square = {"name": "torus", "dimensions": [4, 4]}
        for where, what, fidelity in (
                (cluster(), {}, "per-message"),
                (cluster(fit=fit), {}, "alpha-beta"),
                (cluster(nodes=1), {}, "alpha-beta"),
                (cluster(nodes=8, topology={"name": "fat-tree", "k": 4, "oversubscription": 2}), {}, "per-message"),  # one flow per uplink
                (cluster(nodes=8, topology={"name": "fat-tree", "k": 4, "oversubscription": 2}), {"all_reduce": "halving-doubling"}, "flow"),
                (cluster(nodes=16, topology=square), {"all_reduce": "halving-doubling"}, "flow"),
                (cluster(), {"schedule": {"name": "asgd", "servers": 2}}, "per-message"),
                (cluster(topology={"name": "fat-tree", "k": 4}), {"schedule": {"name": "asgd", "servers": 2}}, "flow"),
                (cluster(), {"schedule": {"name": "sgp"}}, "per-message"),
                (cluster(), {"schedule": {"name": "dts", "delay": 2}}, "per-message")):
            with self.subTest(fidelity=fidelity, where=where):
                self.assertEqual(self.point(scenario(cluster=where, **what))["fidelity"], fidelity)

    def test_flows_that_would_take_over_an_hour_are_refused_with_their_number(self):
        self.write("cluster.json", cluster(nodes=2048, topology="torus", placement="random"))
        slow = {"slow": [{"ranks": "1", "factor": 1.1}]}
        done = self.run_scenario(scenario(fidelity="flow", schedule={"name": "s-sgd"}, iterations={"warmup": 0, "measured": 40}, workers=slow))
        self.assertEqual(done.returncode, 4)
        messages = 2 * 2047 * 2048 * 3 * 41
        self.assertRegex(done.stderr, rf"point 0: 1\.0\d?e\+09 messages as flows take about \d+ hours, over the limit of an hour; use \"fidelity\": \"per-message\"")
        self.assertAlmostEqual(messages, 1.03e9, delta=1e7)
        done = self.run_scenario(scenario(schedule={"name": "s-sgd"}, iterations={"warmup": 0, "measured": 4}, workers=slow))
        self.assertEqual((done.returncode, self.rows()[0]["fidelity"]), (0, "per-message"))
        self.assertRegex(done.stdout, r"note: point 0 \(s-sgd\): approximate: .*every message has links for itself though some meet")

    def test_details_of_some_points_are_in_json_only(self):
        shares = self.point(scenario(schedule={"name": "lasgd", "tau_max": 3}))["local_steps_per_all_reduce"]
        self.assertAlmostEqual(sum(shares.values()), 1)
        self.assertLessEqual(set(shares), {"1", "2", "3"})

    def test_without_a_folder_nothing_is_written(self):
        self.write("scenario.json", scenario())
        before = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(self.simctl("run", "scenario.json").returncode, 0)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)

    def test_a_sweep_on_a_terminal_shows_its_progress(self):
        self.write("scenario.json", scenario(sweep={"/cluster/nodes": [2, 4, 8]}))
        controller, terminal = pty.openpty()
        done = subprocess.run([SIMCTL, "run", "scenario.json"], stdout=subprocess.PIPE, stderr=terminal, cwd=self.folder, timeout=600, check=False)
        os.close(terminal)
        shown = ""
        with contextlib.suppress(OSError):  # the terminal has gone, and all of it has been read
            while chunk := os.read(controller, 100000):
                shown += chunk.decode()
        os.close(controller)
        self.assertEqual(done.returncode, 0)
        self.assertIn("3/3 points", shown)

    def test_check_validates_without_simulating(self):
        self.write("scenario.json", scenario(sweep={"/cluster/nodes": [2, 4, 8]}))
        done = self.simctl("check", "scenario.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("scenario.json: valid, 3 points\na run takes about "), done.stdout)

    def test_list_and_show(self):
        for what, expected in {"schedules": "mg-wfbp-optimal", "collectives": "halving-doubling", "topologies": "star",
                               "clusters": "100g-infiniband", "traces": "vgg11"}.items():
            done = subprocess.run([SIMCTL, "list", what], capture_output=True, text=True, cwd=ROOT, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(expected, done.stdout)
        shown = self.simctl("show", "trace.json").stdout
        for text in ("SYNTHETIC", "l2", "3 MB", "3 layers, 3 gradients, 6 MB", "forward 3 ms, backward 6 ms"):
            self.assertIn(text, shown)
        shown = self.simctl("show", "cluster.json").stdout
        for text in ("10 Gb/s", "50 us", "ring", "double-binary-tree"):
            self.assertIn(text, shown)
        shown = self.simctl("show", ROOT / "scenarios/clusters/aws-4-regions.json").stdout
        for text in ("to london: 0.42 Gb/s, 68 ms end to end", "order of the regions, for 100 MB: oregon, tokyo, ohio, london", "2.925 s"):
            self.assertIn(text, shown)
        self.assertNotIn("binary-tree", shown)


if __name__ == "__main__":
    unittest.main()
