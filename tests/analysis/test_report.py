"""Does a report say what the result files say, and refuse files that are wrong?"""

import contextlib
import io
import json
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "analysis"), str(HERE)]

import figures  # noqa: E402
import labels  # noqa: E402
import notes  # noqa: E402
import report  # noqa: E402
import samples  # noqa: E402
import style  # noqa: E402
import timeline  # noqa: E402
from answer import winners  # noqa: E402
from columns import COLUMNS  # noqa: E402
from results import read_runs  # noqa: E402


def run(*words):
    """(exit code, stdout, stderr) of the command line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = report.main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue(), err.getvalue()


def labelled(*folders):
    runs = read_runs(folders)
    frame = labels.label(runs)
    return runs, frame, style.styles(frame), (notes.subject(runs, frame), notes.warnings(runs))


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.tmp = Path(holder.name)


class Page(HTMLParser):
    """Collects the cells of tables, the tags, and complains about tags that do not close."""

    VOID = {"meta", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.tables, self.problems = [], [], {}, []
        self.table = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.table = self.tables.setdefault(attributes["id"], [])
        elif tag == "tr":
            self.table.append([])
        elif tag in ("td", "th"):
            self.table[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)

    def handle_data(self, data):
        if any(tag in self.open for tag in ("td", "th")):
            self.table[-1][-1] += data


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
        _, frame, _, _ = labelled(samples.write(self.tmp / "two", rows(["wfbp", "s-sgd"])))
        self.assertEqual(list(dict.fromkeys(frame["panel"])), ["bandwidth=1Gbps", "bandwidth=10Gbps"])
        self.assertEqual(list(dict.fromkeys(frame["setting"])), ["x, bandwidth=1Gbps", "x, bandwidth=10Gbps"])
        self.assertEqual([one.names for one in winners(frame)], [("wfbp",), ("wfbp",)])

    def test_rows_of_two_scenarios_are_told_apart(self):
        first = samples.write(self.tmp / "a", samples.grid(("10gbe",)), name="calm")
        second = samples.write(self.tmp / "b", samples.grid(("10gbe",)), name="jitter")
        _, frame, _, about = labelled(first, second)
        self.assertEqual(list(dict.fromkeys(frame["setting"])), ["10gbe, calm", "10gbe, jitter"])
        self.assertEqual(list(dict.fromkeys(frame["panel"])), ["calm", "jitter"])
        self.assertTrue(about[0].endswith("cluster 10gbe"))

    def test_the_glossary_is_the_table_of_the_result_files(self):
        text = (HERE.parents[1] / "sim/output/RESULTS.md").read_text(encoding="utf-8")
        table = re.search(r"^\| column \| unit \| meaning \|\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.M)[1].replace("`", "")
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

        again = "run the scenario again: simctl run SCENARIO -o OUT"
        redraw = "write it again: simctl run SCENARIO -o OUT --timeline"
        table = [
            (lambda out: (out / "results.csv").unlink(), f"OUT/results.csv: missing; {again}"),
            (lambda out: (out / "results.json").unlink(), f"OUT/results.json: missing; {again}"),
            (csv(lambda text: ""), f"OUT/results.csv: empty: expected a header and one row per point; {again}"),
            (csv(lambda text: text.splitlines()[0]), f"OUT/results.csv: no rows: expected one row per point; {again}"),
            (csv(lambda text: text.replace("wait_s", "wait")),
             f'OUT/results.csv: header: missing column "wait_s"; {again}'),
            (csv(lambda text: text.replace("/cluster/nodes", "model")),
             f'OUT/results.csv: header: column "model" appears 2 times, expected once; {again}'),
            (csv(lambda text: text + "1,2\n"), f"OUT/results.csv: row 25: expected 28 cells, got 2; {again}"),
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
            (about(settings=[]), f"OUT/results.json: /settings: expected an object, got []; {again}"),
            (about(notes=[1]), f"OUT/results.json: /notes/0: expected a string, got 1; {again}"),
            (lane(lambda content: content.update(traceEvents=1)),
             f"OUT/timeline-0.json: /traceEvents: expected a list, got 1; {redraw}"),
            (lane(lambda content: content["otherData"].update(schedule="asgd")),
             f'OUT/timeline-0.json: /otherData/schedule: expected "wfbp" as in results.csv, got "asgd"; {redraw}'),
            (lane(lambda content: content["traceEvents"][1].update(ts="soon")),
             f'OUT/timeline-0.json: /traceEvents/1/ts: expected a number, got "soon"; {redraw}'),
            (lambda out: samples.timeline(out, {**samples.grid()[0], "point": 77}), "OUT/timeline-77.json: expected a "
             f"point of results.csv, which has no such row; delete the file or {redraw}"),
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

    def test_help_has_an_example(self):
        code, text, _ = run("--help")
        self.assertEqual(code, 0)
        self.assertIn("analysis/report.py out -o report.html", text)


class WhatThePageSays(Folder):
    def page(self, *folders, words=()):
        code, _, error = run(*folders, "-o", self.tmp / "report.html", *words)
        self.assertEqual((code, error), (0, ""))
        self.text = (self.tmp / "report.html").read_text(encoding="utf-8")
        page = Page(self.text)
        self.assertEqual((page.problems, page.open), ([], []))
        return page

    def test_it_needs_nothing_from_outside(self):
        out = samples.write(self.tmp / "out", samples.grid())
        samples.timeline(out, samples.grid()[0])
        page = self.page(out)
        self.assertNotIn("http", self.text)
        self.assertNotIn("@import", self.text)
        names = [tag for tag, _ in page.tags]
        self.assertEqual(names.count("svg"), 4)
        self.assertFalse({"script", "link", "img", "iframe"} & set(names))
        targets = [value for _, attributes in page.tags for key, value in attributes.items() if key in ("href", "src")]
        targets += re.findall(r"url\((.*?)\)", self.text)
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        self.assertTrue(all(target[0] == "#" and target[1:] in ids for target in targets))
        self.assertEqual(len(ids), len(set(ids)))
        for svg in re.findall(r"<svg.*?</svg>", self.text, re.S):
            ElementTree.fromstring(svg)

    def test_the_answer_names_the_fastest_schedule_of_each_cluster_and_size(self):
        page = self.page(samples.write(self.tmp / "out", samples.grid()))
        self.assertEqual(page.tables["answer"][0], ["Setting", "Nodes", "Fastest", "Iteration", "Efficiency",
                                                    "Runner-up", "its time / fastest", "wfbp's time / fastest"])
        self.assertEqual(page.tables["answer"][1],
                         ["10gbe", "4", "wfbp", "135 ms", "74.1 %", "sync-easgd", "1.104×", "–"])
        self.assertEqual(page.tables["answer"][4],
                         ["10gbe", "32", "sync-easgd", "155 ms", "64.5 %", "wfbp", "1.065×", "1.065×"])
        self.assertEqual([line[2] for line in page.tables["answer"][1:]], ["wfbp"] * 2 + ["sync-easgd"] * 2 +
                         ["wfbp"] * 2 + ["sync-easgd, wfbp (within 0.5 %)", "sync-easgd"])
        self.assertIn("On <b>10gbe</b>, wfbp is fastest from 4 to 8 nodes; sync-easgd is fastest from 16 to 32 nodes.",
                      self.text)
        self.assertLess(self.text.index('id="answer"'), self.text.index("<svg"))

    def compare(self, **exposed):
        """The answer's row of one setting in which these schedules take 105 ms plus so many exposed ms."""
        rows = [samples.row(place, {"/schedule/name": name}, "10gbe", name, 8, cost / 1000)
                for place, (name, cost) in enumerate(exposed.items())]
        return self.page(samples.write(self.tmp / str(len(list(self.tmp.iterdir()))), rows)).tables["answer"][1]

    def test_practically_equal_times_share_the_win_the_fastest_first(self):
        row = self.compare(**{"mg-wfbp-optimal": 10.5, "mg-wfbp": 10, "wfbp": 20})
        self.assertEqual(row[1:2] + row[4:], ["mg-wfbp, mg-wfbp-optimal (within 0.5 %)", "wfbp", "1.087×", "1.087×"])
        self.assertIn("mg-wfbp and mg-wfbp-optimal tie (within 0.5 %) at 8 nodes.", self.text)
        row = self.compare(**{"mg-wfbp-optimal": 10.6, "mg-wfbp": 10, "wfbp": 20})
        self.assertEqual(row[1:2] + row[4:], ["mg-wfbp", "mg-wfbp-optimal", "1.005×", "1.087×"])
        self.assertIn("mg-wfbp is fastest at 8 nodes.", self.text)

    def test_equal_runners_up_are_all_named(self):
        row = self.compare(**{"s-sgd": 20, "mg-wfbp": 10, "wfbp": 20, "fusion": 20.1})
        self.assertEqual(row[4:], ["s-sgd, wfbp", "1.087×", "1.087×"])

    def test_wfbp_that_shares_the_win_has_no_ratio(self):
        row = self.compare(**{"mg-wfbp": 10, "wfbp": 10.4, "s-sgd": 20})
        self.assertEqual(row[1:2] + row[4:], ["mg-wfbp, wfbp (within 0.5 %)", "s-sgd", "1.087×"])

    def test_what_was_changed_and_disturbed_is_said(self):
        workers = {"jitter": {"distribution": "lognormal", "cv": 0.2},
                   "slow": [{"ranks": "0-3,7", "factor": 2.0}, {"ranks": "5", "factor": 1.5}]}
        self.page(samples.write(self.tmp / "out", samples.grid(), scenario={"workers": workers},
                                settings={"/cluster/link/bandwidth": "1Gbps", "/cluster/nodes": 4}))
        self.assertIn("<dt>Changed</dt><dd>/cluster/link/bandwidth = &quot;1Gbps&quot;; /cluster/nodes = 4</dd>",
                      self.text)
        self.assertIn("<dt>Workers</dt><dd>lognormal jitter, cv 0.2; ranks 0-3,7 slowed by 2; rank 5 slowed by 1.5"
                      "</dd>", self.text)
        rows = [samples.row(place, {"/workers/jitter/cv": cv}, "10gbe", "wfbp", 8, cv)
                for place, cv in enumerate((0.1, 0.2))]
        self.page(samples.write(self.tmp / "swept", rows))
        self.assertIn("<dt>Workers</dt><dd>swept: /workers/jitter/cv</dd>", self.text)
        self.assertNotIn("<dt>Changed</dt>", self.text)

    def test_all_rows_and_what_was_simulated_are_there(self):
        rows = samples.grid()
        page = self.page(samples.write(self.tmp / "out", rows))
        self.assertEqual(len(page.tables["rows"]), 1 + len(rows))
        self.assertEqual(page.tables["rows"][0], list(COLUMNS))       # no swept key says more than these
        column = page.tables["rows"][0].index("iteration_s")
        for line, one in zip(page.tables["rows"][1:], rows):
            self.assertAlmostEqual(float(line[column]), one["iteration_s"], delta=1e-6)
        for words in ("small sweep", "Tesla V100", "bench &lt;1&gt;", "simgrid 4.1", "<dt>Seed</dt><dd>7</dd>",
                      "24 of 24", "small.json"):
            self.assertIn(words, self.text)

    def test_a_swept_key_that_says_more_than_a_column_stays_in_all_rows(self):
        rows = samples.grid(("10gbe",), (4,))
        for one in rows:
            one["sweep"] = {"/cluster": "clusters/other.json", "/cluster/link/bandwidth": "1Gbps", **one["sweep"]}
            one["sweep"]["/cluster"] = "clusters/other.json"
        page = self.page(samples.write(self.tmp / "out", rows))
        self.assertEqual(page.tables["rows"][0][:4], ["point", "/cluster", "/cluster/link/bandwidth", "model"])

    def test_a_single_point_without_a_sweep(self):
        page = self.page(samples.write(self.tmp / "out", [samples.row(0, {}, "10gbe", "wfbp", 8, 0.02)]))
        self.assertEqual(page.tables["answer"],
                         [["Nodes", "Schedule", "Iteration", "Efficiency"], ["8", "wfbp", "125 ms", "80.0 %"]])

    def test_missing_points_and_synthetic_traces_are_visible_on_the_page_and_in_every_figure(self):
        rows = [one for one in samples.grid() if one["point"] not in (3, 22, 23)]
        out = samples.write(self.tmp / "out", rows, kind="synthetic", total=24,
                            failed=[{"point": 3, "error": "deadlock: rank 0 waits"}])
        page = self.page(out)
        self.assertEqual(page.tables["answer"][-1][2], "wfbp (of 1)")
        marks = ["Synthetic trace (resnet50): its layer times are modelled, not measured.",
                 "Incomplete: 21 of 24 points (1 failed, 2 not run)."]
        for words in marks + ["point 3: deadlock: rank 0 waits"]:
            self.assertIn(words, self.text)
        samples.timeline(out, rows[0])
        runs, frame, styles, about = labelled(out)
        lanes, _ = timeline.read_all(runs, frame)
        drawn = [draw(frame, styles, about) for draw in (figures.iteration_time, figures.speedup, figures.efficiency)]
        for figure in drawn + [timeline.figure(lanes, styles, about)]:
            written = " ".join(text.get_text() for text in figure.texts)
            for words in marks:
                self.assertIn(words, written)

    def test_a_timeline_without_a_whole_iteration_is_mentioned_not_drawn(self):
        out = samples.write(self.tmp / "out", samples.grid())
        samples.timeline(out, samples.grid()[0], iterations=1)
        page = self.page(out)
        self.assertEqual([tag for tag, _ in page.tags].count("svg"), 3)
        self.assertIn("timeline-0.json: no whole iteration inside the measured window; not drawn.", self.text)


class WhatFiguresShow(Folder):
    def test_lines_are_the_columns_on_log2_axes_with_one_legend(self):
        _, frame, styles, about = labelled(samples.write(self.tmp / "out", samples.grid()))
        for draw, column in ((figures.speedup, "speedup"), (figures.efficiency, "efficiency")):
            figure = draw(frame, styles, about)
            self.assertEqual([axes.get_title(loc="left") for axes in figure.axes], ["10gbe", "100gbib"])
            self.assertEqual(len(figure.legends), 1)
            self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()],
                             ["s-sgd", "wfbp", "sync-easgd", "linear scaling"])
            for axes in figure.axes:
                rows = frame[frame["panel"] == axes.get_title(loc="left")]
                lines = {line.get_label(): line for line in axes.lines}
                self.assertEqual(set(lines), {"s-sgd", "wfbp", "sync-easgd", "linear scaling"})
                for name in styles:
                    series = rows[rows["series"] == name]
                    self.assertEqual(list(lines[name].get_xdata()), list(series["nodes"]))
                    self.assertEqual(list(lines[name].get_ydata()), list(series[column]))
                ideal = [4, 8, 16, 32] if column == "speedup" else [1, 1, 1, 1]
                self.assertEqual(list(lines["linear scaling"].get_ydata()), ideal)
                self.assertEqual((axes.get_xscale(), axes.xaxis.get_transform().base), ("log", 2))
                self.assertEqual([axes.xaxis.get_major_formatter()(tick, 0) for tick in axes.get_xticks()],
                                 ["4", "8", "16", "32"])
                self.assertEqual(axes.get_xlabel(), "nodes")

    def test_bars_are_the_columns_and_sum_to_the_iteration_time(self):
        _, frame, styles, about = labelled(samples.write(self.tmp / "out", samples.grid()))
        figure = figures.iteration_time(frame, styles, about)
        self.assertEqual((len(figure.axes), len(figure.legends)), (8, 1))
        names = ["s-sgd", "wfbp", "sync-easgd"]
        rows = frame[(frame["panel"] == "10gbe") & (frame["nodes"] == 4)].set_index("series").loc[names]
        drawn = {bars.get_label(): {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in bars}
                 for bars in figure.axes[0].containers}
        for column, (label, _) in style.PARTS.items():
            for place, value in enumerate(rows[column]):
                self.assertAlmostEqual(drawn[label][place], 1000 * value, places=9)

    def test_one_size_gives_bars_instead_of_lines(self):
        _, frame, styles, about = labelled(samples.write(self.tmp / "out", samples.grid(sizes=(8,))))
        axes = figures.speedup(frame, styles, about).axes[0]
        self.assertEqual([bar.get_width() for bars in axes.containers for bar in bars],
                         [frame.set_index("series").loc[name, "speedup"].iloc[0] for name in styles])

    def test_a_schedule_keeps_its_colour_and_no_two_look_alike(self):
        self.assertEqual(len(set(map(str, style.SCHEDULES.values()))), 16)
        self.assertEqual(style.variant("wfbp", 0).color, style.BLUE)
        self.assertEqual(style.variant("new-sgd", 0), style.variant("new-sgd", 0))
        looks = [str(style.variant("ssd-sgd", number)) for number in range(12)]
        self.assertEqual(len(set(looks)), 12)

    def test_the_timeline_shows_one_whole_measured_iteration(self):
        rows = samples.grid()
        out = samples.write(self.tmp / "out", rows)
        for one in rows[:2]:
            samples.timeline(out, one)
        runs, frame, styles, about = labelled(out)
        lanes, skipped = timeline.read_all(runs, frame)
        self.assertEqual(skipped, [])
        self.assertEqual([one.series for one in lanes], ["wfbp", "sync-easgd"])
        first = lanes[0]
        self.assertEqual((first.iteration, first.rank), (1, 0))
        self.assertAlmostEqual(first.length, rows[0]["iteration_s"], places=9)
        self.assertEqual([part.kind for part in first.compute], ["forward", "backward", "wait", "exposed"])
        self.assertAlmostEqual(first.compute[1].start, 0.04, places=9)
        self.assertEqual(len([part for part in first.channel if part.end - part.start > 1e-9]), 2)
        figure = timeline.figure(lanes, styles, about)
        self.assertEqual([axes.get_title(loc="left") for axes in figure.axes], ["10gbe, 4 nodes"])

    def test_a_timeline_names_the_worker_unless_one_stands_for_all(self):
        one = samples.row(0, {}, "10gbe", "wfbp", 8, 0.02)
        one["workers_simulated"] = 8
        samples.timeline(samples.write(self.tmp / "out", [one]), one)
        runs, frame, styles, about = labelled(self.tmp / "out")
        figure = timeline.figure(timeline.read_all(runs, frame)[0], styles, about)
        self.assertEqual([axes.get_title(loc="left") for axes in figure.axes], ["10gbe, 8 nodes, worker 0"])

    def test_long_titles_and_names_are_whole(self):
        cells = [(speed, size, schedule) for speed in ("1Gbps", "10Gbps", "100Gbps")
                 for size in (1, 2) for schedule in ("wfbp", "fusion bucket_that_is_long=100000 and_another=1000000")]
        rows = [samples.row(place, {"/cluster/link/bandwidth": speed, "/workers/slow/0/factor": 1.5,
                                    "/a/parameter/with/a/rather/long/name": 1000 * size}, "x", schedule, 8,
                            0.01 * (place + 1)) for place, (speed, size, schedule) in enumerate(cells)]
        _, frame, styles, about = labelled(samples.write(self.tmp / "out", rows))
        expected = [f"bandwidth={speed}, name={size}, 8 nodes" for speed in ("1Gbps", "10Gbps", "100Gbps")
                    for size in ("1000", "2000")]
        for draw in (figures.speedup, figures.iteration_time):
            figure = draw(frame, styles, about)
            self.assertEqual([axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes], expected)
            names = [text.get_text().replace("\n", " ") for text in figure.axes[0].texts]
            self.assertLessEqual(set(styles), set(names))
            figure.canvas.draw()
            for axes in figure.axes:
                box = axes.title.get_window_extent()
                self.assertTrue(0 <= box.x0 and box.x1 <= figure.bbox.x1)
                for text in axes.texts:
                    self.assertGreaterEqual(text.get_window_extent().x0, 0)

    def test_more_series_than_can_be_told_apart_are_cut_and_the_figure_says_so(self):
        rows = [samples.row(place, {"/schedule/bucket": place}, "10gbe", "fusion", 8, 0.001 * (place + 1))
                for place in range(30)]
        _, frame, styles, about = labelled(samples.write(self.tmp / "out", rows))
        figure = figures.efficiency(frame, styles, about)
        self.assertIn("Shown: the 24 fastest of 30 series.", [text.get_text() for text in figure.texts])


class WhatIsWritten(Folder):
    def setUp(self):
        super().setUp()
        self.out = samples.write(self.tmp / "out", samples.grid(("10gbe",), (4, 8)))
        samples.timeline(self.out, samples.grid(("10gbe",), (4, 8))[0])

    def test_the_same_results_give_the_same_bytes(self):
        for words in (["-o", "x.html"], ["--format", "svg", "-o", "x"], ["--format", "pdf", "-o", "x"]):
            made = []
            for _ in range(2):
                options = report.arguments([str(self.out), *words])
                made.append([content for _, content in report.make(options)])
            self.assertEqual(made[0], made[1])

    def test_each_figure_becomes_a_file(self):
        names = ["efficiency", "iteration-time", "speedup", "timeline"]
        for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
            code, text, _ = run(self.out, "--format", kind, "-o", f"{self.tmp}/{kind}/")
            self.assertEqual(code, 0)
            paths = sorted((self.tmp / kind).iterdir())
            self.assertEqual([path.name for path in paths], [f"{name}.{kind}" for name in names])
            self.assertTrue(all(path.read_bytes().startswith(start) for path in paths))
            self.assertEqual(sorted(text.split()), [str(path) for path in paths])
        self.assertIn(b"/Type /Font", paths[0].read_bytes())
        self.assertNotIn(b"/Subtype /Type3", paths[0].read_bytes())
        self.assertNotIn(b"<dc:date>", (self.tmp / "svg" / "speedup.svg").read_bytes())

    def test_a_prefix_and_the_wide_picture(self):
        code, _, _ = run(self.out, "--format", "svg", "-o", self.tmp / "fig", "--picture", self.tmp / "wide.png")
        self.assertEqual(code, 0)
        self.assertTrue((self.tmp / "fig-speedup.svg").exists())
        header = (self.tmp / "wide.png").read_bytes()[16:20]
        self.assertEqual(int.from_bytes(header, "big"), 1800)

    def test_a_picture_that_leaves_clusters_out_says_so(self):
        out = samples.write(self.tmp / "two", samples.grid())
        words = (out, "--picture", self.tmp / "wide.png")
        self.assertEqual(run(*words)[2],
                         "report.py: --picture shows the cluster 10gbe; for another: --cluster 100gbib\n")
        self.assertEqual(run(*words, "--cluster", "100gbib")[2], "")

    def test_an_unwritable_place_leaves_nothing(self):
        (self.tmp / "file").write_text("")
        (self.tmp / "folder").mkdir()
        advice = "choose another place with -o or --picture"
        for path, reason in ((self.tmp / "file" / "x.html", f"{self.tmp}/file is not a folder; name another one"),
                             (self.tmp / "folder", "it is a folder; name a file"),
                             (self.tmp / ("x" * 300), f"File name too long; {advice}")):
            before = sorted(self.tmp.rglob("*"))
            self.assertEqual(run(self.out, "-o", path), (5, "", f"report.py: {path}: cannot be written: {reason}\n"))
            self.assertEqual(sorted(self.tmp.rglob("*")), before)


if __name__ == "__main__":
    unittest.main()
