"""Are result files read as they are, and wrong ones refused?"""

import gzip
import json
import os
import re
import subprocess
import sys
import unittest

from pages import ROOT, Folder, labelled, run

from syncopate.report import figures
from syncopate.report.answer import winners
from syncopate.results.columns import COLUMNS
import samples


class WhatIsRead(Folder):
    def test_rows_keep_their_numbers_and_names(self):
        rows = samples.grid()
        _, frame, _, _ = labelled(samples.write(self.tmp / "out", rows))
        self.assertEqual(len(frame), 24)
        self.assertEqual(list(frame["iteration_s"]), [one["iteration_s"] for one in rows])
        self.assertEqual(list(dict.fromkeys(frame["panel"])), ["10gbe", "100gbib"])
        self.assertEqual(list(dict.fromkeys(frame["series"])), ["wfbp", "sync-easgd", "s-sgd"])

    def test_object_valued_schedules_are_named_by_their_parameters(self):
        objects = [{"name": "wfbp"}, {"name": "ssd-sgd", "delay": 2, "servers": 4},
                   {"name": "ssd-sgd", "delay": 5, "servers": 4}, {"name": "lasgd", "tau_max": 3}]
        rows = [samples.row(place, {"/schedule": one}, "10gbe", one["name"], 8, 0.01 * (place + 1))
                for place, one in enumerate(objects)]
        _, frame, _, _ = labelled(samples.write(self.tmp / "out", rows))
        self.assertEqual(list(frame["series"]), ["wfbp", "ssd-sgd delay=2", "ssd-sgd delay=5", "lasgd tau_max=3"])

    def test_another_swept_key_is_a_setting_and_names_the_series_of_a_lone_schedule(self):
        def rows(schedules):
            cells = [(speed, schedule) for speed in ("1Gbps", "10Gbps") for schedule in schedules]
            return [samples.row(place, {"/cluster/link/bandwidth": speed, "/schedule/name": schedule}, "x", schedule, 8,
                                0.01 * (place + 1)) for place, (speed, schedule) in enumerate(cells)]

        _, frame, _, _ = labelled(samples.write(self.tmp / "one", rows(["wfbp"])))
        self.assertEqual(list(frame["series"]), ["bandwidth=1Gbps", "bandwidth=10Gbps"])
        runs, frame, _, _ = labelled(samples.write(self.tmp / "two", rows(["wfbp", "s-sgd"])))
        self.assertEqual(list(dict.fromkeys(frame["panel"])), ["bandwidth=1Gbps", "bandwidth=10Gbps"])
        self.assertEqual(list(dict.fromkeys(frame["setting"])), ["x, bandwidth=1Gbps", "x, bandwidth=10Gbps"])
        self.assertEqual([one.names for one in winners(runs, frame)], [("wfbp",), ("wfbp",)])

    def test_rows_of_two_scenarios_are_told_apart(self):
        first = samples.write(self.tmp / "a", samples.grid(("10gbe",)), name="calm")
        second = samples.write(self.tmp / "b", samples.grid(("10gbe",)), name="jitter")
        _, frame, _, about = labelled(first, second)
        self.assertEqual(list(dict.fromkeys(frame["setting"])), ["10gbe, calm", "10gbe, jitter"])
        self.assertEqual(list(dict.fromkeys(frame["panel"])), ["calm", "jitter"])
        self.assertTrue(about[0].endswith("cluster 10gbe"))

    def test_the_glossary_is_the_table_of_the_result_files(self):
        text = (ROOT / "sim/output/RESULTS.md").read_text(encoding="utf-8")
        table = re.search(r"^\| name \| unit \| meaning \|\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.M)[1].replace("`", "")
        documented = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines()]
        self.assertEqual(documented, [(name, column.unit, column.meaning) for name, column in COLUMNS.items()])

    def test_a_wait_below_zero_is_read_and_drawn_as_shorter_compute(self):
        one = samples.row(0, {}, "10gbe", "wfbp", 8, 0.02)
        one.update(wait_s=-0.01, iteration_s=0.11)
        _, frame, styles, about = labelled(samples.write(self.tmp / "out", [one]))
        self.assertEqual(frame["wait_s"].iloc[0], -0.01)
        axes = figures.iteration_time(frame, styles, about).axes[0]
        widths = [round(bar.get_width(), 6) for bars in axes.containers for bar in bars]
        self.assertEqual(widths, [90, 0, 20])


class WhatIsRefused(Folder):
    def test_every_bad_input_is_one_line_that_names_file_place_rule_value_and_fix(self):
        def csv(change):
            return lambda out: (out / "results.csv").write_text(change((out / "results.csv").read_text()))

        def about(**changes):
            def spoil(out):
                content = json.loads((out / "results.json").read_text())
                content.update(changes)
                (out / "results.json").write_text(json.dumps(content))
            return spoil

        def cell(column, text):
            def change(content):
                lines = [line.split(",") for line in content.splitlines()]
                lines[2][lines[0].index(column)] = text
                return "\n".join(map(",".join, lines)) + "\n"
            return csv(change)

        def lane(change):
            def spoil(out):
                path = samples.timeline(out, samples.grid()[0])
                content = json.loads(path.read_text())
                change(content)
                path.write_text(json.dumps(content))
            return spoil

        def explained(**changes):
            return lambda out: samples.explanation(out, samples.grid()[0], **changes)

        def fifo(name):
            def spoil(out):
                (out / name).unlink()
                os.mkfifo(out / name)
            return spoil

        def sparse(out):
            os.truncate(out / "results.json", 3 << 30)

        def bomb(out):
            with gzip.open(out / "timeline-0.json.gz", "wb", compresslevel=1) as file:
                for _ in range(257):
                    file.write(bytes(1 << 20))

        again = "run the scenario again: simctl run SCENARIO -o OUT"
        redraw = "write it again: simctl run SCENARIO -o OUT --timeline"
        explain = "write it again: simctl run SCENARIO -o OUT --explain"
        table = [
            (lambda out: (out / "results.csv").unlink(), f"OUT/results.csv: missing; {again}"),
            (lambda out: (out / "results.json").unlink(), f"OUT/results.json: missing; {again}"),
            (csv(lambda text: ""), f"OUT/results.csv: empty: expected a header and one row per point; {again}"),
            (csv(lambda text: text.splitlines()[0]), f"OUT/results.csv: no rows: expected one row per point; {again}"),
            (csv(lambda text: text.replace("wait_s", "wait")),
             f'OUT/results.csv: header: missing column "wait_s"; {again}'),
            (csv(lambda text: text.replace("/cluster/nodes", "model")),
             f'OUT/results.csv: header: column "model" appears 2 times, expected once; {again}'),
            (csv(lambda text: text + "1,2\n"), f"OUT/results.csv: row 25: expected {4 + len(samples.COLUMNS)} cells, got 2; {again}"),
            (lambda out: (out / "results.csv").write_bytes(b"point\xff"),
             f"OUT/results.csv: byte 5: expected UTF-8 text; {again}"),
            (cell("iteration_s", "fast"),
             f'OUT/results.csv: row 2, column "iteration_s": expected a number > 0, got "fast"; {again}'),
            (cell("speedup", "nan"),
             f'OUT/results.csv: row 2, column "speedup": expected a number >= 0, got "nan"; {again}'),
            (cell("efficiency", ""),
             f'OUT/results.csv: row 2, column "efficiency": expected a number >= 0, got ""; {again}'),
            (cell("nodes", "4.5"),
             f'OUT/results.csv: row 2, column "nodes": expected an integer >= 1, got "4.5"; {again}'),
            (cell("point", "0"),
             f'OUT/results.csv: row 2, column "point": expected each point once, got 0 again; {again}'),
            (cell("point", "99"),
             f"OUT/results.csv: expected the same points as results.json, which has point 1 too; {again}"),
            (cell("compute_s", "1"), "OUT/results.csv: row 2: compute_s + wait_s + exposed_communication_s must equal "
                                     f"iteration_s 0.149, got 1.049; {again}"),
            (lambda out: (out / "results.json").write_text("{"),
             "OUT/results.json: line 1, column 2: expected JSON (Expecting property name enclosed in double quotes); "
             + again),
            (fifo("results.json"), f"OUT/results.json: expected a regular file; {again}"),
            (fifo("results.csv"), f"OUT/results.csv: expected a regular file; {again}"),
            (sparse, f"OUT/results.json: too large: a text of more than 256 MiB; move it away, or {again}"),
            (bomb, f"OUT/timeline-0.json.gz: too large: a text of more than 256 MiB; move it away, or {redraw}"),
            (lambda out: (out / "results.json").write_text("[]"),
             f"OUT/results.json: expected a JSON object, got []; {again}"),
            (about(format="results/2"), f'OUT/results.json: /format: expected "results/1", got "results/2"; {again}'),
            (about(scenario=3), f"OUT/results.json: /scenario: expected an object, got 3; {again}"),
            (about(points_total=-1), f"OUT/results.json: /points_total: expected an integer >= 0, got -1; {again}"),
            (about(points_total=5), "OUT/results.json: /points_total: expected at least the 24 rows of results.csv, "
                                    f"got 5; {again}"),
            (about(failed=[{}]), f"OUT/results.json: /failed/0/point: expected an integer >= 0, got nothing; {again}"),
            (about(traces=[{"provenance": {"kind": "guessed"}}]), "OUT/results.json: /traces/0/provenance/kind: "
             f'expected measured, imported or synthetic, got "guessed"; {again}'),
            (lambda out: (out / "timeline-0.json").write_text("{}"),
             f"OUT/timeline-0.json: /otherData: expected an object, got nothing; {redraw}"),
            (lambda out: (out / "timeline-0.json.gz").write_text("{}"),
             f"OUT/timeline-0.json.gz: expected a whole gzip file (Not a gzipped file (b'{{}}')); {redraw}"),
            (about(settings=[]), f"OUT/results.json: /settings: expected an object, got []; {again}"),
            (about(notes=[1]), f"OUT/results.json: /notes/0: expected a string, got 1; {again}"),
            (lane(lambda content: content.update(traceEvents=1)),
             f"OUT/timeline-0.json: /traceEvents: expected a list, got 1; {redraw}"),
            (lane(lambda content: content["otherData"].update(schedule="asgd")),
             f'OUT/timeline-0.json: /otherData/schedule: expected "wfbp" as in results.csv, got "asgd"; {redraw}'),
            (lane(lambda content: content["traceEvents"][4].update(ts="soon")),
             f'OUT/timeline-0.json: /traceEvents/4/ts: expected a number, got "soon"; {redraw}'),
            (lambda out: samples.timeline(out, {**samples.grid()[0], "point": 77}), "OUT/timeline-77.json: expected a "
             f"point of results.csv, which has no such row; delete the file or {redraw}"),
            (explained(format="explanation/2"), f'OUT/explanation-0.json: /format: expected "explanation/1", got "explanation/2"; {explain}'),
            (explained(point=3), f"OUT/explanation-0.json: /point: expected 0, as in the file's name, got 3; {explain}"),
            (explained(path=[{"class": "compute", "what": "", "s": "long"}]), f'OUT/explanation-0.json: /path/0/s: expected a number, got "long"; {explain}'),
            (explained(what_if={}), f"OUT/explanation-0.json: /what_if: expected a list, got {{}}; {explain}"),
            (explained(what_if=[{"factor": "bytes", "change": 0.5, "iteration_s": 1}]),
             f"OUT/explanation-0.json: /what_if/0/time_saved: expected a number, got nothing; {explain}"),
            (lambda out: samples.explanation(out, {**samples.grid()[0], "point": 77}), "OUT/explanation-77.json: expected a "
             f"point of results.csv, which has no such row; delete the file or {explain}"),
        ]
        for number, (spoil, message) in enumerate(table):
            with self.subTest(message):
                out = samples.write(self.tmp / str(number), samples.grid())
                spoil(out)
                code, text, error = run(out, "-o", self.tmp / "x.html")
                self.assertEqual(error, "report.py: " + message.replace("OUT", str(out)) + "\n")
                self.assertEqual((code, text), (3, ""))
                self.assertFalse((self.tmp / "x.html").exists())

    def test_a_missing_folder_a_repeated_one_and_an_unknown_cluster(self):
        out = samples.write(self.tmp / "out", samples.grid())
        for words, message in [
                ([self.tmp / "no"],
                 f"{self.tmp}/no: no such folder; make it with: simctl run SCENARIO -o {self.tmp}/no"),
                ([out / "results.csv"], f"{out}/results.csv: is a file; name its folder, {out}"),
                ([out, out], f"{out}: given twice; name each result folder once"),
                ([out, "--cluster", "1gbe"], '--cluster: expected one of 10gbe, 100gbib, got "1gbe"')]:
            with self.subTest(message):
                self.assertEqual(run(*words, "-o", self.tmp / "x.html"), (3, "", f"report.py: {message}\n"))

    def test_usage_errors(self):
        for words, message in [
                ([], "the following arguments are required: DIR"),
                (["out"], "nothing to write: give -o PATH, --picture FILE.png or both"),
                (["out", "--picture", "a.svg"], '--picture: expected a name that ends in .png, got "a.svg"'),
                (["out", "-o", "x", "--format", "gif"], "argument --format: invalid choice: 'gif' (choose from "
                                                        "'html', 'png', 'svg', 'pdf')")]:
            with self.subTest(message):
                self.assertEqual(run(*words), (2, "", f"report.py: {message}; see report.py --help\n"))

    def test_run_json_is_no_need(self):
        out = samples.write(self.tmp / "out", samples.grid())
        os.mkfifo(out / "run.json")
        self.assertEqual(run(out, "-o", self.tmp / "x.html")[0], 0)

    def test_nothing_controls_the_terminal(self):
        self.assertEqual(run("out", "-o", "x", "--bogus=\x1b[31m"), (2, "", "report.py: unrecognized arguments: --bogus=\\x1b[31m; see report.py --help\n"))

    def test_stdout(self):
        out = samples.write(self.tmp / "out", samples.grid())
        written = self.tmp / "x.html"
        self.assertEqual(run(out, "-o", written)[0], 0)

        def program(*words, stdout=subprocess.PIPE):
            return subprocess.run([sys.executable, ROOT / "analysis" / "report.py", *map(str, words)], cwd=self.tmp, stdout=stdout, stderr=subprocess.PIPE, check=False, timeout=900)

        for name in ("-", "/dev/stdout"):
            with self.subTest(name):
                done = program(out, "-o", name)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertEqual(done.stdout, written.read_bytes())
        self.assertFalse((self.tmp / "-").exists())
        with open("/dev/full", "wb") as full:
            for name in ("-", "y.html"):
                with self.subTest(full=name):
                    done = program(out, "-o", name, stdout=full)
                    self.assertEqual((done.returncode, done.stderr.count(b"\n")), (5, 1), done.stderr)
                    self.assertIn(b"cannot be written: No space left on device", done.stderr)
        self.assertEqual(run(out, "-o", "-", "--format", "pdf"),
                         (2, "", "report.py: -o -: figures are several files; name a folder, or --format html; see report.py --help\n"))

    def test_help_has_an_example(self):
        code, text, _ = run("--help")
        self.assertEqual(code, 0)
        self.assertIn("analysis/report.py out -o report.html", text)


if __name__ == "__main__":
    unittest.main()
