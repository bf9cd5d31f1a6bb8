"""Does the Python package do what simctl does, and say what it says? Its page and its notebook, as users run them?"""

import contextlib
import csv
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock, skipUnless

import pandas

import samples
from pages import ROOT, Folder

import syncopate as sy
from syncopate.api import options

SIMCTL = os.environ.get("SIMCTL", str(ROOT / "build" / "simctl"))
HOSTILE = "</script><b>x</b> $\\frac{1}{0}$ & \"'"
LAYERS = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "made for a test"}, "model": {"name": "one", "batch": 4, "dtype": "fp32"},
          "layers": [{"name": "l", "type": "unknown", "forward_s": 0.001, "backward_s": 0.002}], "gradients": [{"name": "w", "layer": "l", "bytes": 8_000_000}]}
LINK = {"format": "cluster/1", "name": "small", "nodes": 4, "link": {"bandwidth": "10Gbps", "latency": "50us"}}


def simctl(*words, stdin="", code=0):
    """What the command line prints."""
    done = subprocess.run([SIMCTL, *map(str, words)], input=stdin, capture_output=True, text=True, cwd=ROOT, timeout=600, check=False)
    assert done.returncode == code, done.stderr
    return done


class Case(Folder):
    """A cache of its own; the current folder is the source tree."""

    def setUp(self):
        super().setUp()
        self.cache = self.tmp / "cache" / "syncopate"
        patch = mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.tmp / "cache"), SYNCOPATE_SIMCTL=SIMCTL)
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(ROOT)

    def kept(self):
        return sorted(path.name for path in self.cache.iterdir()) if self.cache.exists() else []

    def counting(self):
        """simctl in a script that notes every call; returns the file with the calls."""
        calls, script = self.tmp / "calls", self.tmp / "counting"
        script.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {SIMCTL} "$@"\n')
        script.chmod(0o755)
        os.environ["SYNCOPATE_SIMCTL"] = str(script)
        return calls


class WhatIsSimulated(Case):
    """Finds a keyword that means something else than the same words of a scenario."""

    def test_the_table_is_what_the_command_line_writes(self):
        result = sy.run(trace="h100-resnet50-b64", cluster="100gbe", schedule=["wfbp", "fsdp"], nodes=[8, 64])
        scenario = {"format": "scenario/1", "name": "x", "trace": "h100-resnet50-b64", "cluster": "100gbe", "all_reduce": "auto", "schedule": {"name": "wfbp"},
                    "sweep": {"/schedule/name": ["wfbp", "fsdp"], "/cluster/nodes": [8, 64]}}
        rows = list(csv.DictReader(io.StringIO(simctl("run", "-", "--format", "csv", stdin=json.dumps(scenario)).stdout)))
        self.assertEqual(list(result.table.columns), list(rows[0]))
        for name in rows[0]:
            expected = [row[name] for row in rows]
            if name in ("iteration_s", "efficiency", "nodes", "/cluster/nodes", "cost"):
                found = ["" if pandas.isna(cell) else float(cell) for cell in result.table[name]]
                self.assertEqual(found, [float(cell) if cell else "" for cell in expected], name)
            elif name in ("schedule", "/schedule/name", "fidelity"):
                self.assertEqual(list(result.table[name]), expected)
        self.assertEqual({name: result.table.attrs["units"].get(name) for name in ("iteration_s", "batch", "total_h", "efficiency")},
                         {"iteration_s": "s", "batch": "samples", "total_h": "h", "efficiency": None})

    def test_contents_and_settings_give_the_closed_form(self):
        """A ring of n nodes takes 2(n-1) steps of latency + bytes / n / bandwidth, after forward and backward."""
        result = sy.run(trace=LAYERS, cluster=LINK, schedule="s-sgd", all_reduce="ring", fidelity="alpha-beta", nodes=range(2, 4), bandwidth=["1Gbps", "10Gbps"],
                        set={"/cluster/link/latency": ["10us", "1ms"]})
        self.assertEqual((result.swept, len(result)), (["/cluster/nodes", "/cluster/link/bandwidth", "/cluster/link/latency"], 8))
        for _, row in result.table.iterrows():
            speed, latency = {"1Gbps": 1e9, "10Gbps": 1e10}[row["/cluster/link/bandwidth"]] / 8, {"10us": 1e-5, "1ms": 1e-3}[row["/cluster/link/latency"]]
            nodes = row["/cluster/nodes"]
            self.assertAlmostEqual(row["iteration_s"], 0.003 + 2 * (nodes - 1) * (latency + 8e6 / nodes / speed), 9)

    def test_keywords_replace_what_the_scenario_sweeps(self):
        six = ["s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", "fusion"]
        names, three, mission = "/schedule/name", ["/network", "/cluster/nodes", "/schedule"], {"set": {"/network": "ring"}, "scenario": "mission"}
        for keywords, swept, schedules in (
                ({}, [names], six),
                ({"schedule": "fsdp"}, [names], ["fsdp"]),
                ({"schedule": ["fsdp", "wfbp"]}, [names], ["fsdp", "wfbp"]),
                ({"schedule": {"name": "fusion", "bucket": "4MB"}}, [], ["fusion"]),
                ({"schedule": [{"name": "fusion", "bucket": "4MB"}, "wfbp"]}, ["/schedule"], ["fusion", "wfbp"]),
                ({"cluster": ROOT / "scenarios/clusters/100gbe.json"}, [names], six),
                ({"set": {names: "wfbp"}}, [names], ["wfbp"]),
                ({"schedule": "lasgd", "nodes": 4, **mission}, three, ["lasgd"]),
                ({"schedule": ["wfbp", "fsdp"], "nodes": [4], **mission}, three, ["wfbp", "fsdp"])):
            with self.subTest(keywords):
                keywords = dict(keywords)
                result = sy.run(keywords.pop("scenario", "quickstart"), **keywords)
                self.assertEqual(list(result.table["schedule"]), schedules)
                self.assertEqual(result.swept, swept)

    def test_every_option_of_every_command_has_its_keyword(self):
        """Completion lists them by another way than --help."""
        for command in (("run",), ("solve",), ("advise",), ("calibrate",), ("explain",), ("cluster", "fit"), ("trace", "import")):
            listed = {line.split("\t")[0] for line in simctl("complete", "simctl", *command, "--").stdout.splitlines()}
            expected = {word.removeprefix("--").replace("-", "_") for word in listed if word.startswith("--")} - {"help", "format", "quiet"}
            own = {name.rstrip("_") for name in options.options_of(command)}
            self.assertEqual(own - {"output"}, expected - {"output", "trace", "cluster", "schedule", "bandwidth", "nodes"}, command)  # keys of the scenario
        known = options.options_of(("run",))
        self.assertEqual([(known[name].is_flag, known[name].is_repeated) for name in ("no_symmetry", "timeline", "reuse")],
                         [(True, False), (False, False), (False, True)])

    def test_options_are_passed(self):
        result = sy.run("quickstart", schedule="wfbp", workers={"jitter": {"distribution": "lognormal", "cv": 0.1}}, replicates=3, timeline=True, explain=[0])
        self.assertEqual(list(result.table["replicates"]), [3])
        self.assertTrue((result.folder / "timeline-0.json").exists() and (result.folder / "explanation-0.json").exists())

    def test_output_is_a_folder_and_goes_on(self):
        folder = self.tmp / "mine"
        self.assertEqual(len(sy.run("quickstart", output=folder)), 6)
        (folder / "points" / sorted(os.listdir(folder / "points"))[0]).unlink()
        sy.run("quickstart", output=folder, resume=True)
        self.assertEqual(len(os.listdir(folder / "points")), 6)
        self.assertEqual(list(sy.load(folder).table["schedule"])[:2], ["s-sgd", "wfbp"])
        self.assertEqual(self.kept(), [])


class WhatIsAnswered(Case):
    def setUp(self):
        super().setUp()
        self.result = sy.run("quickstart")

    def test_best_is_what_the_program_stars(self):
        """In each row of simctl's table of times, the starred schedules are ours and those as good as it."""
        grid = sy.run(trace="h100-resnet50-b64", cluster="100gbe", schedule=["wfbp", "mg-wfbp", "fsdp"], nodes=[8, 64])
        scenario = json.dumps(grid.about["scenario"])
        lines = simctl("run", "-", stdin=scenario).stdout.split("iteration time")[1].split("\n\n")[0].splitlines()[1:]
        for line in lines[2:]:
            nodes, *times = line.replace(" ms", "").split()
            starred = {name for name, cell in zip(lines[0].split()[1:], times) if cell.startswith("*")}
            (row,) = grid.best().query(f"nodes == {nodes}").to_dict("records")
            others = grid.table[grid.table["point"].isin([int(point) for point in row["as_good"].split(", ") if point])]
            self.assertEqual({row["schedule"], *others["schedule"]}, starred)
        self.assertEqual(len(lines), 4)
        whole = grid.best("throughput_samples_per_s", by=[])
        self.assertEqual([whole["point"][0]], [int(grid.table["throughput_samples_per_s"].argmax())])
        self.assertEqual(list(grid.best("efficiency", by="schedule")["nodes"]), [8, 8, 8])
        self.assertEqual(list(grid.best("nodes", by=[], largest=True)["nodes"]), [64])

    def test_explain_says_what_the_command_says(self):
        said = json.loads(simctl("explain", "quickstart", "--point", "1", "--format", "json").stdout)
        found = self.result.explain(1)
        self.assertEqual(found.data, said)
        self.assertAlmostEqual(found.path["share"].sum(), 1, 9)
        text = simctl("explain", "quickstart", "--point", "1").stdout
        for kind, what in (("transfer", "link"), ("compute", "forward")):
            share = re.search(rf"^{kind} +{what} .* (\S+%)$", text, re.M)[1]
            self.assertRegex(repr(found), rf"{kind} +{what} .* {share}\n")
        beside = simctl("explain", "quickstart", "--point", "1", "--against", "3").stdout
        first = re.search(r"^-+\n(\S+) +(\S+) ", beside, re.M)
        self.assertEqual(self.result.explain(1, against=3).shown()[0].iloc[0].tolist()[:2], list(first.groups()))

    def test_timeline_is_the_file_that_the_command_writes(self):
        simctl("run", "quickstart", "--set", '/schedule/name="mg-wfbp"', "--timeline", "-o", self.tmp / "one", "--quiet")
        found = self.result.timeline(3)
        events, expected = (json.loads(path.read_text())["traceEvents"] for path in (found.path, self.tmp / "one/timeline-0.json"))
        self.assertEqual(events, expected)
        self.assertEqual(found._repr_png_()[:4], b"\x89PNG")
        self.assertEqual(self.result.timeline(3, ranks="0", iterations=1).path.name, "timeline-3.json")

    def test_solve_reads_the_table_that_is_printed(self):
        found = sy.solve("quickstart", for_="/cluster/link/bandwidth", from_="1Gbps", to="100Gbps", until="efficiency >= 0.9")
        text = simctl("solve", "quickstart", "--for", "/cluster/link/bandwidth", "--from", "1Gbps", "--to", "100Gbps", "--until", "efficiency >= 0.9").stdout
        expected = re.findall(r"^([\w-]+) +(nowhere|from) ?(\S*bps)? +(\S+(?: to \S+)?)", text, re.M)
        self.assertEqual(len(expected), 6)
        for row, (schedule, holds, value, column) in zip(found.table.to_dict("records"), expected):
            self.assertEqual((row["/schedule/name"], row["holds"]), (schedule, holds))
            if holds == "from":
                self.assertEqual((row["/cluster/link/bandwidth"], float(f"{row['efficiency']:.4g}")), (value, float(column)))
            else:
                self.assertTrue(pandas.isna(row["efficiency"]))

    def test_solve_of_what_comes_and_goes_has_the_answer_in_its_error(self):
        workers = {"jitter": {"distribution": "lognormal", "cv": 0.5}}
        middle = sy.run("quickstart", schedule="wfbp", workers=workers, set={"/seed": list(range(1, 7))}).table["iteration_s"].median()
        with self.assertRaises(sy.SimulationError) as raised:
            sy.solve("quickstart", schedule="wfbp", workers=workers, for_="/seed", from_=1, to=40, until=f"iteration_s < {middle}")
        (row,) = raised.exception.result.table.to_dict("records")
        self.assertEqual(row["holds"], "comes and goes")
        self.assertTrue(pandas.isna(row["iteration_s"]))

    def test_calibrate_finds_the_factor_and_its_scenario_runs(self):
        found = sy.calibrate("quickstart", schedule="fusion", measured={1: 800, 8: 4400}, sizes=[16, 32])
        self.assertEqual([list(table.columns[:2]) for table in found.tables], [["GPUs", "measured"], ["cause", "key"]])
        self.assertAlmostEqual(found.scenario["trace_factor"], 64 / 800 / 0.076915569312, 3)     # batch / rate / compute_s
        again = sy.run(found.scenario, nodes=[8, 16])
        for rate, predicted in zip(again.table["throughput_samples_per_s"], found.table["calibrated"]):
            self.assertAlmostEqual(rate / predicted, 1, 3)
        written = sy.calibrate("quickstart", schedule="fusion", measured={1: 800, 8: 4400}, output=self.tmp / "mine.json")
        self.assertEqual(len(sy.run(written.scenario)), 1)

    def test_advise_has_the_choice_as_a_scenario(self):
        keys = {"trace": "synthetic-v100-resnet50-b64", "clusters": [{"cluster": "10gbe", "nodes": [4, 8]}], "target": {"samples": 1e6}, "objective": "time"}
        found = sy.advise(schedules=["wfbp", "mg-wfbp"], **keys)
        self.assertEqual((len(found.table), found.data["format"]), (4, "advice-result/1"))
        fastest = found.table.loc[found.table["hours"].idxmin()]
        self.assertAlmostEqual(sy.run(found.choice).table["iteration_s"][0], fastest["iteration_s"], 9)
        self.assertIn(f"take {fastest['schedule']['name']} on {fastest['nodes']} nodes", found.text)

    def test_what_is_made_can_be_simulated_and_saved(self):
        simctl("cluster", "fit", "scenarios/clusters/runs/generated.txt", "-o", self.tmp / "c.json", "--name", "x")
        cluster = sy.fit_cluster("scenarios/clusters/runs/generated.txt", name="x")
        self.assertEqual(cluster, json.loads((self.tmp / "c.json").read_text()))
        trace = sy.import_trace("traces/profiles/generated.pt.trace.json", output=self.tmp / "t.json")
        self.assertEqual(trace, json.loads((self.tmp / "t.json").read_text()))
        (self.tmp / "t.json").write_text("mine")
        with self.assertRaisesRegex(sy.UsageError, "it is no import of .*overwrite it with --force"):
            sy.import_trace("traces/profiles/generated.pt.trace.json", output=self.tmp / "t.json")
        self.assertEqual(sy.import_trace("traces/profiles/generated.pt.trace.json", output=self.tmp / "t.json", force=True), trace)
        self.assertEqual(sy.run(trace=trace, cluster=cluster, schedule="wfbp").table["model"][0], trace["model"]["name"])
        self.assertIn("a ring of links with 6 us", cluster.text)


class WhatFails(Case):
    """Finds a failure of simctl that becomes another exception, or other words."""

    def raises(self, error, words, call):
        with self.assertRaises(error) as caught:
            call()
        self.assertIn(words, str(caught.exception))
        return caught.exception

    def test_the_words_are_those_of_the_program(self):
        for error, code, words, call in (
                (sy.InputError, 3, ("run", "nosuch"), lambda: sy.run("nosuch")),
                (sy.UsageError, 2, ("run", "quickstart", "--set", "/cluster/nodes=0"), lambda: sy.run("quickstart", nodes=0)),
                (sy.SimulationError, 4, ("run", "quickstart", "--max-steps", "1"), lambda: sy.run("quickstart", max_steps=1)),
                (sy.OutputError, 5, ("run", "quickstart", "-o", "/dev/null/x"), lambda: sy.run("quickstart", output="/dev/null/x")),
                (sy.InputError, 3, ("cluster", "fit", "nosuch", "-o", "-"), lambda: sy.fit_cluster("nosuch"))):
            with self.subTest(words):
                said = simctl(*words, code=code).stderr
                with self.assertRaises(error) as caught:
                    call()
                self.assertEqual(str(caught.exception), "\n".join(line.removeprefix("simctl: ") for line in said.splitlines() if line.startswith("simctl: ")))
                self.assertEqual((caught.exception.code, isinstance(caught.exception, sy.Failure)), (code, True))
        self.assertEqual(self.kept(), [])

    def test_a_traceback_ends_at_the_call(self):
        result = sy.run("quickstart", schedule="wfbp")
        for call in (lambda: sy.run("nosuch"), lambda: sy.run("quickstart", max_steps=1), lambda: sy.solve("quickstart", for_="/x", from_=1, to=2, until="efficiency > 0"),
                     lambda: sy.fit_cluster("nosuch"), lambda: sy.load(self.tmp), lambda: result.plot("nodes", "nosuch"), lambda: result.explain(9), lambda: result.best("nosuch")):
            frames, hides = self.frames(call, sy.Failure)
            self.assertEqual((frames, hides), ([("test_package.py", "frames"), ("test_package.py", "<lambda>"), ("brief.py", "outer")], True))
        with mock.patch("syncopate.api.simctl.call", side_effect=ZeroDivisionError):
            self.assertGreater(len(self.frames(lambda: sy.fit_cluster("nosuch"), ZeroDivisionError)[0]), 4)      # a fault of the package keeps its own

    def frames(self, call, kind):
        """(the frames of what it raises, whether what was raised before is hidden)."""
        try:
            call()
        except kind as error:       # pylint: disable=broad-exception-caught
            return [(Path(frame.filename).name, frame.name) for frame in traceback.extract_tb(error.__traceback__)], error.__suppress_context__
        return self.fail("nothing was raised")

    def test_points_that_did_not_fail_are_kept_with_the_error(self):
        error = self.raises(sy.SimulationError, "point 1: about", lambda: sy.run("quickstart", schedule="wfbp", nodes=[4, 64], no_symmetry=True, max_steps=100))
        self.assertEqual((list(error.result.table["nodes"]), len(error.result.about["failed"])), ([4], 1))
        self.assertIn("1 point, 1 failed", repr(error.result))
        self.assertEqual([name[:12] for name in self.kept()], [".unfinished-"])
        del error
        self.assertEqual(self.kept(), [])

    def test_the_package_refuses_what_is_no_scenario(self):
        for error, words, call in (
                (sy.UsageError, "nodes: expected a number, got nan", lambda: sy.run("quickstart", nodes=[8, float("nan")])),
                (sy.UsageError, "set: /a: expected what JSON can hold", lambda: sy.run("quickstart", set={"/a": object()})),
                (sy.UsageError, 'got "nodes"; for a key of the scenario: "/nodes"', lambda: sy.run("quickstart", set={"nodes": 3})),
                (sy.UsageError, "expected a name, a file's path or a dict, got int", lambda: sy.run(3)),
                (sy.UsageError, "no_symmetry: expected True or False, got 3", lambda: sy.run("quickstart", no_symmetry=3)),
                (sy.UsageError, "format: no keyword of the package", lambda: sy.run("quickstart", format="csv")),
                (sy.UsageError, "name it with output=", lambda: sy.run("quickstart", resume=True)),
                (sy.UsageError, "nosuch: no option of simctl cluster fit; it has ranks,", lambda: sy.fit_cluster("x", nosuch=1)),
                (sy.InputError, "nosuch.json: no such file", lambda: sy.run("nosuch.json")),
                (sy.UsageError, 'unknown key "bogus"', lambda: sy.run("quickstart", bogus=1))):
            with self.subTest(words):
                self.raises(error, words, call)

    def test_a_missing_program_says_where_it_was_sought_and_what_to_do(self):
        os.environ["SYNCOPATE_SIMCTL"] = str(self.tmp / "gone")
        self.raises(sy.InputError, f"{self.tmp}/gone: expected a program that can be run, as SYNCOPATE_SIMCTL names it", lambda: sy.run("quickstart"))
        copy = self.tmp / "alone"      # of the package, in no tree
        copy.mkdir()
        subprocess.run(["cp", "-r", ROOT / "analysis/syncopate", copy], check=True)
        program = "import syncopate as sy\ntry: sy.run('quickstart')\nexcept sy.InputError as e: print(e)"
        done = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(copy), "PATH": "/nowhere", "HOME": str(self.tmp)}, cwd="/",
                              capture_output=True, text=True, check=True)
        self.assertRegex(done.stdout, r"^simctl: not found; looked for .*/bin/simctl, and in PATH; build it with make build .*, "
                                      r"or set SYNCOPATE_SIMCTL to its path\n$")

    def test_folders_that_are_no_results(self):
        empty = self.tmp / "empty"
        empty.mkdir()
        old = samples.write(self.tmp / "old", samples.grid())
        (old / "results.csv").write_text((old / "results.csv").read_text().replace("wait_s", "wait"))
        for folder, words in ((self.tmp / "no", "no such folder; make it with: simctl run SCENARIO -o"),
                              (empty, "results.csv: missing; run the scenario again"),
                              (old / "results.csv", "is a file; name its folder"), (old, 'header: missing column "wait_s"; run the scenario again')):
            with self.subTest(words):
                self.raises(sy.InputError, words, lambda folder=folder: sy.load(folder))

    def test_questions_that_results_cannot_answer(self):
        result = sy.load(samples.write(self.tmp / "out", samples.grid()))
        for words, call in (('column "efficency": expected a column of results.csv', lambda: result.plot("nodes", "efficency")),
                            ("did you mean efficiency", lambda: result.best("efficency")),
                            ('column "schedule": expected a column of numbers', lambda: result.plot("nodes", "schedule")),
                            ('columns "nodes" and "cost": no point has a value of both', lambda: result.plot("nodes", "cost")),
                            ('column "cost": no point has a value of it: total_h x nodes', lambda: result.best("cost")),
                            ("point 99: expected a point of the table, whose points are 0 to 23", lambda: result.explain(99)),
                            ("explanation-1.json: missing; write it with: simctl run SCENARIO -o", lambda: result.explain(1)),
                            ("timeline-1.json: missing; write it with: simctl run SCENARIO -o", lambda: result.timeline(1))):
            with self.subTest(words):
                self.raises(sy.InputError, words, call)


class WhatIsKept(Case):
    """Finds a stale answer, and anything that is left lying about."""

    def test_an_equal_call_simulates_nothing_and_jobs_do_not_matter(self):
        calls = self.counting()

        def runs():
            return len([line for line in calls.read_text().splitlines() if "--help" not in line])

        first = sy.run("quickstart")
        again = sy.run("quickstart", jobs=1)
        self.assertEqual((runs(), len(self.kept())), (1, 1))
        pandas.testing.assert_frame_equal(first.table, again.table)
        sy.run("quickstart", seed=2)
        self.assertEqual(runs(), 2)
        first.explain(1)
        again.explain(1)
        self.assertEqual(runs(), 3)
        sy.run("quickstart", cache=False)
        self.assertEqual((runs(), len(self.kept())), (4, 3))
        (self.cache / self.kept()[0] / "call.json").write_text("{")     # such as on a full disk
        for _ in range(2):
            sy.run("quickstart")
            sy.run("quickstart", seed=2)
            first.explain(1)
        self.assertEqual((runs(), len(self.kept())), (5, 3))

    def test_a_file_that_a_named_file_names_is_part_of_the_digest(self):
        place = self.tmp / "files"
        place.mkdir()
        (place / "trace.json").write_text(json.dumps(LAYERS))
        (place / "cluster.json").write_text(json.dumps(LINK))
        (place / "s.json").write_text(json.dumps({"format": "scenario/1", "name": "x", "trace": "trace.json", "cluster": "cluster.json",
                                                  "schedule": {"name": "wfbp"}}))

        def seconds(scenario=place / "s.json", **keywords):
            return sy.run(scenario, **keywords).table["iteration_s"][0]

        first = seconds()
        (place / "cluster.json").write_text(json.dumps({**LINK, "link": {"bandwidth": "1Gbps", "latency": "50us"}}))
        slower = seconds()
        self.assertGreater(slower, 2 * first)
        os.chdir(place)
        self.assertEqual(seconds(None, trace="trace.json", cluster="cluster.json", all_reduce="ring", schedule="wfbp"), slower)
        (place / "cluster.json").write_text(json.dumps(LINK))
        self.assertEqual(seconds(None, trace="trace.json", cluster="cluster.json", all_reduce="ring", schedule="wfbp"), first)
        self.assertEqual(seconds(), first)

    def test_equal_calls_at_a_time_agree_on_one_entry(self):
        program = "import syncopate as sy; r = sy.run('scalability', progress=False); print(len(r.table), len(r.about['points']))"
        environment = os.environ | {"PYTHONPATH": str(ROOT / "analysis")}
        processes = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
        self.assertEqual([process.communicate(timeout=300)[0] for process in processes], ["120 120\n"] * 2)
        self.assertEqual([len(name) for name in self.kept()], [64])

    def test_another_program_is_another_call(self):
        calls = self.counting()
        sy.run("quickstart")
        script = Path(os.environ["SYNCOPATE_SIMCTL"])
        script.write_text(script.read_text() + "# another build\n")
        sy.run("quickstart")
        self.assertEqual(len([line for line in calls.read_text().splitlines() if line.startswith("run quickstart")]), 2)

    def test_without_the_cache_the_files_go_with_the_object(self):
        result = sy.run("quickstart", cache=False)
        folder = result.folder
        self.assertTrue((folder / "results.csv").exists())
        timeline = result.timeline(0, cache=False)
        del result
        self.assertFalse(folder.exists())
        self.assertTrue(timeline.path.exists())
        self.assertEqual(self.kept(), [])

    def test_clearing_leaves_what_is_not_ours(self):
        sy.run("quickstart")
        (self.cache / "notes.txt").write_text("mine")
        (self.cache / ".unfinished-999999999-x").mkdir()        # of a process that was killed
        (self.cache / f".unfinished-{os.getpid()}-x").mkdir()   # of one at work
        self.assertEqual(sy.clear_cache(), 2)
        self.assertEqual(self.kept(), [f".unfinished-{os.getpid()}-x", "notes.txt"])

    def test_a_cache_that_cannot_be_written_is_named(self):
        os.environ["XDG_CACHE_HOME"] = "/dev/null"
        words = "^/dev/null/syncopate: cannot be written: .*; set XDG_CACHE_HOME to another folder, or call with cache=False$"
        with self.assertRaisesRegex(sy.OutputError, words):
            sy.run("quickstart")
        self.assertEqual(len(sy.run("quickstart", cache=False)), 6)

    def test_an_interrupt_ends_the_program_and_leaves_nothing(self):
        program = ("import syncopate as sy\ntry: sy.run('quickstart', nodes=64, no_symmetry=True, set={'/iterations/measured': 10000})\n"
                   "except KeyboardInterrupt: print('interrupted')")
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "analysis")})
        deadline = time.monotonic() + 60
        while not list(self.cache.glob(".unfinished-*/out/study.json")) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(len(self.kept()), 1)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGINT)
        self.assertEqual((process.communicate(timeout=60)[0], process.returncode), ("interrupted\n", 0))
        self.assertEqual((self.kept(), [child for child in children if Path(f"/proc/{child}").exists()]), ([], []))
        self.assertEqual(len(children), 1)

    def test_a_bar_counts_the_points(self):
        """In a module that stands for tqdm: whether that is installed must not matter."""
        folder = self.tmp / "out"
        (folder / "points").mkdir(parents=True)
        (folder / "study.json").write_text('{"points": 7}')
        for name in "abc":
            (folder / "points" / name).touch()
        from syncopate.api import functions
        with mock.patch.object(functions, "bar_of") as made, mock.patch.object(functions, "has_tqdm"), mock.patch.object(functions, "SHOW_AFTER", 0):
            made.return_value.n = 1
            bar = functions.Bar(True)
            bar.look(folder)
            functions.Bar(False).look(folder)
        made.assert_called_once_with(7)
        made.return_value.update.assert_called_once_with(2)


class Tags(HTMLParser):
    """The names of the tags of a piece of HTML, and the classes of the first."""

    def __init__(self, text):
        super().__init__()
        self.names, self.classes, self.text = [], None, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.classes = self.classes if self.classes is not None else dict(attrs).get("class", "")

    def handle_data(self, data):
        self.text += data


class WhatIsShown(Case):
    def hostile(self):
        rows = [samples.row(place, {"/schedule/name": HOSTILE, "/cluster/nodes": nodes}, HOSTILE, HOSTILE, nodes, 0.01) for place, nodes in enumerate((4, 8))]
        return sy.load(samples.write(self.tmp / "out", rows, name=HOSTILE, answer=[HOSTILE], notes=[HOSTILE]))

    def test_hostile_names_stay_text(self):
        result = self.hostile()
        samples.explanation(result.folder, {**samples.row(0, {}, HOSTILE, HOSTILE, 4, 0.01), "fidelity": HOSTILE},
                            path=[{"class": HOSTILE, "what": HOSTILE, "s": 0.1}])
        for shown in (result, result.explain(0), sy.Answer(HOSTILE), sy.Made({}, HOSTILE)):
            page = Tags(shown._repr_html_())
            self.assertEqual(set(page.names) - {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "ul", "li", "pre"}, set())
            self.assertLessEqual(page.names.count("b"), 1)      # the heading's own
            self.assertIn("mathjax_ignore", page.classes)       # no formula between the dollars of a name
            self.assertIn(HOSTILE, page.text)
        picture = result.plot("nodes", "efficiency")
        self.assertEqual(picture.axes[0].get_title(loc="left"), HOSTILE)
        self.assertEqual(picture.save(self.tmp / "x.svg").read_text()[:5], "<?xml")

    def test_lines_are_the_rows_and_settings_are_side_by_side(self):
        rows = samples.grid()
        for row in rows:
            row.update(iteration_low_s=row["iteration_s"] - 0.001, iteration_high_s=row["iteration_s"] + 0.001)
        result = sy.load(samples.write(self.tmp / "out", rows))
        picture = result.plot("nodes", "iteration_s")
        self.assertEqual([axes.get_title(loc="left") for axes in picture.axes], ["cluster=10gbe", "cluster=100gbib"])
        for axes, cluster in zip(picture.axes, ("10gbe", "100gbib")):
            drawn = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines if not line.get_label().startswith("_")}
            for schedule in ("wfbp", "sync-easgd", "s-sgd"):
                mine = [row for row in rows if (row["cluster"], row["schedule"]) == (cluster, schedule)]
                self.assertEqual(drawn[schedule], ([row["nodes"] for row in mine], [row["iteration_s"] for row in mine]))
            self.assertEqual(len(axes.collections), 3)      # the intervals
        self.assertEqual(picture.axes[0].get_ylabel(), "iteration_s (s)")
        named = result.plot("schedule", "efficiency")
        self.assertEqual([text.get_text() for text in named.axes[0].get_xticklabels()], ["wfbp", "sync-easgd", "s-sgd"])
        with self.assertRaisesRegex(sy.UsageError, "expected a name that ends in .png, .svg or .pdf"):
            picture.save("x.gif")

    def test_a_swept_quantity_is_an_axis_with_its_unit(self):
        rows = [samples.row(place, {"/cluster/link/bandwidth": speed}, "x", "wfbp", 8, 0.01 * (place + 1)) for place, speed in enumerate(("1Gbps", "2000Mbps"))]
        axes = sy.load(samples.write(self.tmp / "out", rows)).plot("bandwidth", "efficiency").axes[0]
        self.assertEqual((list(axes.lines[0].get_xdata()), axes.get_xlabel()), ([1e9, 2e9], "bandwidth (b/s)"))

    def test_axes_of_ones_own_and_cells_without_a_value(self):
        from matplotlib.figure import Figure
        rows = samples.grid(("10gbe",))
        for row in rows[:3]:
            row["cost"] = 1.5
        result = sy.load(samples.write(self.tmp / "out", rows))
        mine = Figure().add_subplot()
        self.assertIs(result.plot("nodes", "cost", axes=mine).axes[0], mine)
        self.assertEqual(sum(len(line.get_xdata()) for line in mine.lines), 3)
        self.assertEqual((int(result.table["cost"].isna().sum()), len(result.best("cost"))), (9, 1))

    def test_a_hundred_thousand_points(self):
        many = 100_000
        rows = [samples.row(place, {"/cluster/nodes": 4}, "10gbe", "wfbp", 4, 0.02) for place in range(2)]
        out = samples.write(self.tmp / "out", rows, total=many, answer=["the answer"])
        header, line = (out / "results.csv").read_text().splitlines()[:2]
        tail = line.split(",", 2)[2]
        (out / "results.csv").write_text("\n".join([header, *(f"{place},{place + 4},{tail}" for place in range(many))]) + "\n")
        (out / "results.json").write_text(json.dumps({**json.loads((out / "results.json").read_text()), "points": []}))
        result = sy.load(out)
        self.assertEqual((len(result), result.table["/cluster/nodes"].iloc[-1]), (many, many + 3))
        page = result._repr_html_()
        self.assertEqual((Tags(page).names.count("tr"), "99,980 more rows" in page), (21, True))
        self.assertEqual(len(result.plot("/cluster/nodes", "efficiency").axes[0].lines[0].get_xdata()), many)

    def test_importing_loads_nothing_that_takes_long(self):
        program = "import sys, syncopate; print(*{'pandas', 'numpy', 'matplotlib', 'jinja2', 'tqdm', 'csv', 'html'} & {*sys.modules})"
        done = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(ROOT / "analysis")}, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "\n")
        self.assertTrue((ROOT / "analysis/syncopate/py.typed").exists())

    def test_public_functions_say_types_and_meaning(self):
        for name in sy.__all__:
            one = getattr(sy, name)
            self.assertTrue(one.__doc__, name)
            for function in [one] if not isinstance(one, type) else [part for key, part in vars(one).items() if callable(part) and not key.startswith("_")]:
                self.assertIn("return", function.__annotations__, f"{name}.{function.__name__}")


class ThePages(Case):
    def test_every_example_of_the_page_runs_without_a_display(self):
        page = (ROOT / "analysis/syncopate/README.md").read_text()
        found = {}
        with mock.patch.dict(os.environ), contextlib.redirect_stdout(io.StringIO()):
            os.environ.pop("DISPLAY", None)
            for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S):
                exec(block, found)      # pylint: disable=exec-used
        self.assertEqual((len(found["r"]), found["cluster"]["nodes"]), (9, 8))

    @skipUnless(importlib.util.find_spec("nbconvert") and importlib.util.find_spec("ipykernel"), "needs python3-nbconvert and python3-ipykernel")
    def test_the_notebook_runs_and_its_answer_is_what_simctl_says(self):
        source = ROOT / "scenarios/tutorials/notebook.ipynb"
        cells = json.loads(source.read_text())["cells"]
        self.assertEqual([cell["outputs"] for cell in cells if cell["cell_type"] == "code"], [[]] * 5)
        environment = os.environ | {"PYTHONPATH": str(ROOT / "analysis"), "HOME": str(self.tmp), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        done = subprocess.run([sys.executable, "-m", "nbconvert", "--execute", "--to", "notebook", "--output-dir", self.tmp, "--output", "done", source],
                              env=environment, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        outputs = [cell["outputs"] for cell in json.loads((self.tmp / "done.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
        self.assertEqual([[one["output_type"] for one in cell] for cell in outputs], [["execute_result"]] * 5)
        self.assertIn("image/png", outputs[1][0]["data"])
        self.assertIn("critical path", "".join(outputs[3][0]["data"]["text/html"]))

        answer = "".join(cells[-1]["source"])
        scenario = {"format": "scenario/1", "name": "x", "trace": "h100-resnet50-b64", "cluster": "100gbe", "all_reduce": "auto", "schedule": {"name": "wfbp"},
                    "sweep": {"/cluster": ["25gbe", "100gbe", "200gbe"], "/schedule/name": ["wfbp", "mg-wfbp", "fusion", "fsdp"], "/cluster/nodes": [64]}}
        rows = list(csv.DictReader(io.StringIO(simctl("run", "-", "--format", "csv", stdin=json.dumps(scenario)).stdout)))
        share = {(row["cluster"], row["schedule"]): f"{100 * float(row['efficiency']):.1f}%" for row in rows}
        best = {cluster: max(float(row["efficiency"]) for row in rows if row["cluster"] == cluster) for cluster in ("25gbe", "100gbe", "200gbe")}
        self.assertEqual({cluster: share[cluster, "mg-wfbp"] for cluster in best}, {cluster: f"{100 * value:.1f}%" for cluster, value in best.items()})
        self.assertIn(f"compute {share['100gbe', 'mg-wfbp']} of the time with `mg-wfbp`, instead of {share['25gbe', 'mg-wfbp']} at best", answer)
        self.assertIn(f"200 Gb/s add nothing: {share['200gbe', 'mg-wfbp']}", answer)
        self.assertIn(f"161 times: {share['25gbe', 'wfbp']} with 25 Gb/s", answer)
        self.assertEqual(share["100gbe", "wfbp"], share["100gbe", "mg-wfbp"])
        self.assertEqual({row["communications_per_iteration"] for row in rows if row["schedule"] == "wfbp"}, {"161"})
        enough = "".join(outputs[4][0]["data"]["text/plain"])
        self.assertRegex(enough, r"mg-wfbp +from +31\.[5-9]\d*Gbps")
        self.assertIn("With RDMA 32 Gb/s are enough for 90% with `mg-wfbp`, with TCP 56 Gb/s", answer)
        scenario = {**scenario, "cluster": "25gbe", "sweep": {"/schedule/name": ["wfbp", "mg-wfbp", "fusion"]}}
        said = simctl("solve", "-", "--set", "/cluster/nodes=64", "--for", "/cluster/link/bandwidth", "--from", "10Gbps", "--to", "400Gbps",
                      "--until", "efficiency >= 0.9", stdin=json.dumps(scenario)).stdout
        self.assertRegex(said, r"mg-wfbp +from 56\.[0-4]\d*Gbps")      # with TCP
        self.assertRegex(said, r"wfbp +nowhere")
        self.assertIn("`mg-wfbp` needs 56 Gb/s, and no bandwidth up to 400 Gb/s is enough for `wfbp`", "".join(cells[9]["source"]))
