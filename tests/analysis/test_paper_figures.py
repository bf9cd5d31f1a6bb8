"""Are figures of any column over any swept key what a paper can print: exact width, intervals, labels that can be read, the values of results.csv?"""

import csv
import io
import itertools
import math
import re
import unittest

from pages import Folder, run

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgba
from matplotlib.ft2font import FT2Font
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.text import Text
from syncopate.common import sheet, style
from syncopate.report import figures, files, measures, notes, timeline
from syncopate.report import main as report
from syncopate.report.lanes import read_all as read_lanes
from syncopate.results import labels
from syncopate.results.folder import read_runs
import samples

SCHEDULES = {"s-sgd": 0.3, "wfbp": 0.2, "mg-wfbp": 0.1}
SPEEDS = ("100Gbps", "1Gbps", "25Gbps")      # not in the order of their size


def swept(values=SPEEDS, key="/cluster/link/bandwidth", schedules=None, half=0.01, nodes=8):
    """Rows of a sweep of a key and of schedules, with intervals of `half` of the mean where that is not 0."""
    cells = itertools.product(values, (schedules or SCHEDULES).items())
    rows = []
    for point, (value, (schedule, exposed)) in enumerate(cells):
        one = samples.row(point, {key: value, "/schedule/name": schedule}, "10gbe", schedule, nodes, exposed * (1 + values.index(value)))
        if half:
            one.update(iteration_low_s=one["iteration_s"] * (1 - half), iteration_high_s=one["iteration_s"] * (1 + 2 * half))
        rows.append(one)
    return rows


def sizes(**how):
    """swept() on 4 and on 8 nodes."""
    return [{**one, "point": one["point"] + shift, "sweep": {**one["sweep"], "/cluster/nodes": nodes}}
            for nodes, shift in ((4, 0), (8, 100)) for one in swept(nodes=nodes, **how)]


def read_csv(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


class PaperFigures(Folder):
    def figure(self, rows, column="iteration_s", pointer="/cluster/link/bandwidth", series=None, page=figures.Page(3.3, False)):
        """The figure of a column over a pointer."""
        runs = read_runs([samples.write(self.tmp / "out", rows)])
        frame = labels.label_by(runs, pointer, series)
        return figures.curves(frame, style.styles(frame), notes.of_figure(runs, frame), column, measures.axis(runs, frame, pointer), page)

    def written(self, rows, *words, name="figure.svg"):
        """(the table beside a figure, stderr) of the program."""
        code, _, error = run(samples.write(self.tmp / "out", rows), "-o", self.tmp / name, *words)
        self.assertEqual(code, 0, error)
        return read_csv((self.tmp / name).with_suffix(".csv")), error


class Widths(PaperFigures):
    def test_a_pdf_is_exactly_as_wide_as_asked(self):
        out = samples.write(self.tmp / "out", swept())
        for text, points in (("3.3in", 237.6), ("84mm", 84 / 25.4 * 72), ("8.4 cm", 84 / 25.4 * 72), ("240pt", 240.0)):
            self.assertEqual(run(out, "-o", self.tmp / "figure.pdf", "--y", "iteration_s", "--width", text, "--notes", "off")[0], 0)
            box = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", (self.tmp / "figure.pdf").read_bytes())
            self.assertEqual(len(box), 1)
            self.assertAlmostEqual(float(box[0][0]), points, places=3)
            self.assertTrue(0.5 < float(box[0][1]) / points < 1.2, box)

    def test_notes_are_small_and_grey_below_the_panels_or_on_stderr_alone(self):
        note = "layer times are guessed"
        out = samples.write(self.tmp / "out", swept(), kind="synthetic", note=note)
        runs = read_runs([out])
        frame = labels.label(runs)
        for draw in (figures.speedup, figures.iteration_time):
            shown = draw(frame, style.styles(frame), notes.of_figure(runs, frame), page=figures.Page(3.3))
            remarks = [text for text in shown.texts if text.get_color() == style.QUIET]
            self.assertIn("guessed", " ".join(text.get_text() for text in remarks))
            lowest = min(axes.get_position().y0 for axes in shown.axes)
            self.assertTrue(all(text.get_weight() == "normal" and text.get_size() == 6 and text.get_position()[1] < lowest for text in remarks))
            self.assertNotIn(to_hex(style.VERMILLION), [to_hex(text.get_color()) for text in shown.findobj(Text)])
            shown = draw(frame, style.styles(frame), notes.of_figure(runs, frame), page=figures.Page(3.3, False))
            self.assertNotIn(style.QUIET, [text.get_color() for text in shown.texts])
        code, _, error = run(out, "-o", self.tmp / "figure.svg", "--figure", "speedup", "--notes", "off")
        self.assertEqual(code, 0)
        self.assertIn(f"report.py: for the caption: Synthetic trace (resnet50): its layer times are modelled, not measured; {note}.\n", error)
        self.assertIn("report.py: for the caption: Bands and whiskers are 95% intervals of the mean.\n", error)

    def test_bad_options(self):
        out = samples.write(self.tmp / "out", swept())
        widths = [(("--width", text), 2, f'--width: expected a length such as 3.3in, 84mm, 8.4cm or 240pt, from 2in to 30in, got "{text}"; see')
                  for text in ("abc", "0", "0in", "3.3", "1e9", "1e9in", "1000000000in", "nanin", "infpt", "")]
        for words, expected, message in [
                *widths, (("--width=-3in",), 2, '--width: expected a length such as 3.3in, 84mm, 8.4cm or 240pt, from 2in to 30in, got "-3in"'),
                (("--y", "samples_per_s"), 3, '--y: expected a column of results.csv with numbers, got "samples_per_s"; the nearest: throughput_samples_per_s'),
                (("--y", "schedule"), 3, '--y: expected a column of results.csv with numbers, got "schedule"; the nearest: '),
                (("--y", "cost"), 3, f'{out}/results.csv: column "cost": empty at every point; it is: '),
                (("--x", "/cluster/link/bandwith"), 3, '--x: expected a swept key, got "/cluster/link/bandwith"; the nearest: /cluster/link/bandwidth'),
                (("--series", ""), 3, '--series: expected a swept key, got ""; the nearest: /cluster/link/bandwidth, /schedule/name, /cluster/nodes'),
                (("--x", "/schedule/name", "--series", "/schedule/name"), 3, '--x, --series: expected different keys, got "/schedule/name" for both'),
                (("--figure", "timeline"), 3, f"--figure timeline: no timeline in {out}; run the scenario with --timeline"),
                (("--figure", "timeline", "--x", "/cluster/nodes"), 2, "--x: --figure timeline has bars for each schedule"),
                (("--y", "speedup", "--format", "html"), 2, "--y: a page has none; write figures with"),
                (("--font", "serif"), 2, f"-o {self.tmp}/figure.pdf: several figures; name one with --figure or --y, or a folder ({self.tmp}/figure")]:
            with self.subTest(words):
                code, text, error = run(out, "-o", self.tmp / "figure.pdf", *(("--figure", "speedup") if words[0].startswith("--width") else ()), *words)
                self.assertEqual((code, text, error.count("\n")), (expected, "", 1), error)
                self.assertTrue(error.startswith(f"report.py: {message}"), error)
                self.assertEqual(list(self.tmp.iterdir()), [out])


class Values(PaperFigures):
    def test_the_table_has_the_values_of_the_results_sorted_by_the_number(self):
        rows = swept()
        table, _ = self.written(rows, "--x", "/cluster/link/bandwidth", "--y", "iteration_s")
        self.assertEqual(list(table[0]), ["x", "series", "y", "low", "high", "panel"])
        self.assertEqual([(row["series"], float(row["x"])) for row in table], [(name, x) for name in SCHEDULES for x in (1e9, 2.5e10, 1e11)])
        of = {(row["/cluster/link/bandwidth"], row["schedule"]): row for row in read_csv(self.tmp / "out" / "results.csv")}
        for row in table:
            source = of[f"{float(row['x']) / 1e9:g}Gbps", row["series"]]
            self.assertEqual([row["y"], row["low"], row["high"]], [source["iteration_s"], source["iteration_low_s"], source["iteration_high_s"]])

    def test_a_swept_number_gives_lines_with_bands_of_the_intervals(self):
        rows = swept()
        for column, value in (("iteration_s", lambda row, seconds: 1000 * seconds), ("efficiency", lambda row, seconds: samples.COMPUTE / seconds),
                              ("throughput_samples_per_s", lambda row, seconds: row["workers"] * samples.BATCH / seconds)):
            axes = self.figure(rows, column).axes[0]
            drawn = {line.get_label(): line for line in axes.lines if line.get_label() in SCHEDULES}
            self.assertEqual(set(drawn), set(SCHEDULES))
            bands = {to_rgba(band.get_facecolor()[0])[:3]: band for band in axes.collections if band.get_label() == "_95%"}
            self.assertEqual(len(bands), 3)
            for name, line in drawn.items():
                own = sorted((row for row in rows if row["schedule"] == name), key=lambda row: float(row["sweep"]["/cluster/link/bandwidth"][:-4]))
                for x, y, row, known in zip(line.get_xdata(), line.get_ydata(), own, (1e9, 2.5e10, 1e11)):
                    self.assertEqual((x, float(f"{y:.9g}")), (known, float(f"{value(row, row['iteration_s']):.9g}")))
                corners = bands[to_rgba(line.get_color())[:3]].get_paths()[0].vertices
                for x, row in zip(line.get_xdata(), own):
                    ends = sorted(value(row, row[key]) for key in ("iteration_low_s", "iteration_high_s"))
                    at = [height for place, height in corners if place == x]
                    self.assertAlmostEqual(min(at) / ends[0], 1, places=9)
                    self.assertAlmostEqual(max(at) / ends[1], 1, places=9)

    def test_ranges_over_usual_networks_come_before_intervals(self):
        rows = swept()
        for row in rows:
            if row["schedule"] != "s-sgd":
                row.update(iteration_fast_s=0.5 * row["iteration_s"], iteration_slow_s=1.75 * row["iteration_s"])
        table, told = self.written(rows, "--x", "/cluster/link/bandwidth", "--y", "iteration_s", "--notes", "off")
        self.assertIn("for the caption: Bands and whiskers reach from the faster to the slower quartile of usual networks; where these are not known, they are 95% intervals of the mean.\n", told)
        of = {(row["/cluster/link/bandwidth"], row["schedule"]): row for row in read_csv(self.tmp / "out" / "results.csv")}
        for row in table:
            source = of[f"{float(row['x']) / 1e9:g}Gbps", row["series"]]
            keys = ("iteration_low_s", "iteration_high_s") if row["series"] == "s-sgd" else ("iteration_fast_s", "iteration_slow_s")
            self.assertEqual([row["low"], row["high"]], [source[key] for key in keys])
        table, _ = self.written(rows, "--x", "/cluster/link/bandwidth", "--y", "efficiency")
        for row in table:
            if row["series"] != "s-sgd":
                self.assertAlmostEqual(float(row["low"]) * 1.75 / float(row["y"]), 1, places=9)
                self.assertAlmostEqual(float(row["high"]) * 0.5 / float(row["y"]), 1, places=9)

    def test_an_interval_without_neighbours_is_a_whisker_and_one_down_to_zero_has_no_upper_end_of_speed(self):
        rows = swept(half=0)
        first = next(row for row in rows if row["schedule"] == "wfbp" and row["sweep"]["/cluster/link/bandwidth"] == "25Gbps")
        first.update(iteration_low_s=0.0, iteration_high_s=2 * first["iteration_s"])
        whiskers = [one for one in self.figure(rows).axes[0].collections if one.get_label() != "_95%" and len(one.get_segments())]
        self.assertEqual([list(map(list, one.get_segments()[0])) for one in whiskers], [[[2.5e10, 0.0], [2.5e10, 2000 * first["iteration_s"]]]])
        table, _ = self.written(rows, "--y", "speedup")
        row = next(row for row in table if row["series"] == "wfbp" and float(row["x"]) == 2.5e10)
        self.assertEqual((float(row["low"]), float(row["high"])), (first["speedup"] / 2, math.inf))

    def test_bars_have_whiskers(self):
        rows = swept(("25Gbps",))
        for row in rows:
            row["epoch_s"] = 100 * row["iteration_s"]
        for column, low, high in (("iteration_s", 0.99, 1.02), ("epoch_s", 0.99, 1.02), ("speedup", 1 / 1.02, 1 / 0.99)):
            axes = self.figure(rows, column).axes[0]
            for one, name in zip((one for one in axes.containers if hasattr(one, "has_xerr")), SCHEDULES):
                value = next(row for row in rows if row["schedule"] == name)[column] * (1000 if column == "iteration_s" else 1)
                (left, _), (right, _) = one.lines[2][0].get_segments()[0]
                self.assertAlmostEqual(left, value * low, places=9)
                self.assertAlmostEqual(right, value * high, places=9)
            self.assertEqual(len([one for one in axes.containers if hasattr(one, "has_xerr")]), 3)

    def test_points_without_a_number_are_left_out_and_named(self):
        rows = swept()
        for place, row in enumerate(rows):
            row["network_bytes_per_iteration"] = 1e9 + place if place != 4 else None
        table, error = self.written(rows, "--y", "network_bytes_per_iteration")
        self.assertEqual(error, "report.py: Left out: 1 point without a number at network_bytes_per_iteration.\n")
        self.assertEqual(sorted(float(row["y"]) for row in table), [1e9 + place for place in range(9) if place != 4])
        other = samples.write(self.tmp / "other", samples.grid(("10gbe",), (4, 8)))
        words = (other, "-o", self.tmp / "figure.svg", "--y", "iteration_s", "--x", "/cluster/link/bandwidth")
        self.assertEqual(run(self.tmp / "out", *words)[2], "report.py: Left out: 6 points without a value at /cluster/link/bandwidth.\n")

    def test_the_default_figures_are_lines_over_the_swept_number(self):
        table, _ = self.written(swept(), "--figure", "efficiency")
        self.assertEqual(sorted({float(row["x"]) for row in table}), [1e9, 2.5e10, 1e11])
        shown = dict(report.make(report.arguments([str(self.tmp / "out"), "-o", f"{self.tmp}/all/", "--format", "svg"])))
        names = [f"{name}.{kind}" for name in ("iteration-time", "speedup", "efficiency") for kind in ("svg", "csv")]
        self.assertEqual(sorted(path.name for path in shown), sorted(names))

    def test_series_of_any_key_and_an_axis_of_names(self):
        table, _ = self.written(swept(), "--x", "/schedule/name", "--series", "/cluster/link/bandwidth")
        self.assertEqual([(row["x"], row["series"]) for row in table][:3], [("s-sgd", "100 Gb/s"), ("wfbp", "100 Gb/s"), ("mg-wfbp", "100 Gb/s")])
        axes = self.figure(swept(), pointer="/schedule/name", series="/cluster/link/bandwidth").axes[0]
        self.assertEqual(sum(len(one) for one in axes.containers if not hasattr(one, "has_xerr")), 9)
        rows = sizes()
        table, _ = self.written(rows, "--x", "/cluster/nodes", "--series", "/cluster/link/bandwidth", "--y", "speedup")
        self.assertEqual({row["panel"] for row in table}, set(SCHEDULES))
        self.assertEqual([(row["x"], row["series"]) for row in table][:4], [("4", "100 Gb/s"), ("8", "100 Gb/s"), ("4", "1 Gb/s"), ("8", "1 Gb/s")])
        samples.write(self.tmp / "again", rows)         # no two folders share a panel
        self.assertEqual(run(self.tmp / "out", self.tmp / "again", "-o", self.tmp / "two.svg", "--x", "/schedule/name", "--series", "/cluster/nodes")[0], 0)
        keys = [(row["x"], row["series"], row["panel"]) for row in read_csv(self.tmp / "two.csv")]
        self.assertEqual((len(keys), len(set(keys))), (36, 36))


class Labels(PaperFigures):
    def test_numbers_along_the_axis_are_as_people_write_them(self):
        for key, values, expected, label in (
                ("/cluster/link/bandwidth", ("25Gbps", "10Gbps", "100Gbps"), ["10", "25", "100"], "bandwidth (Gb/s)"),
                ("/cluster/link/latency", ("5us", "0.05ms", "500us"), ["5", "50", "500"], "latency (µs)"),
                ("/schedule/bucket", ("4MiB", "64KiB", "25MiB"), ["64 KiB", "4 MiB", "25 MiB"], "bucket"),
                ("/schedule/bucket", (4194304, 8388608), ["4194304", "8388608"], "bucket"),
                ("/schedule/ratio", (0.5, 0.03125, 0.25), ["0.03125", "0.25", "0.5"], "ratio")):
            axes = self.figure(swept(values, key), pointer=key).axes[0]
            shown = [axes.xaxis.get_major_formatter()(tick) for tick in axes.get_xticks()]
            self.assertEqual((shown, axes.get_xlabel()), (expected, label))
        for exposed, label in ((0.05, "exposed communication (ms)"), (50.0, "exposed communication (s)"), (5e-6, "exposed communication (µs)")):
            axes = self.figure(swept(schedules={"wfbp": exposed}), "exposed_communication_s").axes[0]
            self.assertEqual(axes.get_ylabel(), label)
            self.assertTrue(all(len(axes.yaxis.get_major_formatter()(tick)) <= 4 for tick in axes.get_yticks()))

    def test_tied_lines_are_told_apart(self):
        axes = self.figure(swept(schedules={"wfbp": 0.1, "mg-wfbp": 0.1, "s-sgd": 0.4}, half=0)).axes[0]
        FigureCanvasAgg(axes.figure).draw()
        tied = [style.SCHEDULES[name][0] for name in ("wfbp", "mg-wfbp")]
        one, other = [dashes for dashes in axes.collections if dashes.get_zorder() == 5]
        self.assertEqual([to_hex(dashes.get_color()[0]).upper() for dashes in (one, other)], tied)
        self.assertEqual(len(one.get_segments()), 2)
        for (first, (on, off)), (second, _) in zip(one.get_linestyle(), other.get_linestyle()):
            self.assertAlmostEqual(on, off)
            self.assertAlmostEqual(abs(first - second), on)         # one has its dashes in the other's gaps
        marks = [mark for mark in axes.collections if mark.get_label() == "_tied"]
        places = [mark.get_offset_transform().transform(mark.get_offsets()) for mark in marks]
        self.assertEqual([len(place) for place in places], [3, 3])
        for pair in zip(*places):
            self.assertGreater(math.dist(*pair) * 72 / axes.figure.dpi, 2)
        self.assertEqual({line.get_label(): line.get_markevery() for line in axes.lines}, {"wfbp": [], "mg-wfbp": [], "s-sgd": [0, 1, 2]})

    def test_nothing_written_overlaps_or_leaves_the_figure(self):
        crowd = {f"new-sgd-{number}-{'long-' * (number % 3)}name": 0.01 + 0.03 * number for number in range(9)}
        many = swept(("1Gbps", "10Gbps", "12Gbps", "25Gbps", "40Gbps", "100Gbps", "111Gbps", "1000Gbps"), schedules=crowd)
        hostile = swept(schedules={"</script><b>": 0.1, "$x_1$": 0.2, "ü" * 60: 0.3})
        for rows in (many, hostile, swept(("25Gbps",), schedules=crowd), sizes(values=("100MiB", "10MiB", "64KiB"), key="/schedule/bucket")):
            key = list(rows[0]["sweep"])[0]
            out = samples.write(self.tmp / "out", rows)
            runs = read_runs([out])
            frame = labels.label_by(runs, key)
            for page in (figures.Page(3.3, False, "serif"), figures.Page(2.0), figures.Page()):
                about = notes.of_figure(runs, frame)
                for column in ("efficiency", "throughput_samples_per_s"):
                    self.assert_readable(figures.curves(frame, style.styles(frame), about, column, measures.axis(runs, frame, key), page), page)
                if page.font == "serif":
                    self.assert_readable(self.figure(rows, pointer="/schedule/name", series=key, page=page), page)
                    by_nodes = labels.label(runs)
                    self.assert_readable(figures.iteration_time(by_nodes, style.styles(by_nodes), about, page), page)

    def test_nothing_of_a_timeline_overlaps(self):
        rows = samples.grid(("10gbe",), (4, 8))
        out = samples.write(self.tmp / "out", rows)
        for one in rows[:3]:
            samples.timeline(out, one)
        runs = read_runs([out])
        frame = labels.label(runs)
        page = figures.Page(3.3, True, "serif")
        lanes = read_lanes(runs, frame)[0]
        self.assert_readable(timeline.figure(lanes, style.styles(frame), notes.of_figure(runs, frame), page), page)
        table = list(csv.DictReader(io.StringIO(files.table_of_lanes(lanes).decode())))
        self.assertEqual(len(table), sum(len(one.compute) + len(one.channel) for one in lanes))
        self.assertEqual({row["series"] for row in table}, {"wfbp", "sync-easgd", "s-sgd"})

    def assert_readable(self, figure, page):
        """Measures every text as the renderer draws it."""
        with page.look():
            canvas = FigureCanvasAgg(figure)
            canvas.draw()
        renderer, boxes = canvas.get_renderer(), []
        ends = {axes: (axes.get_xlim(), axes.get_ylim()) for axes in figure.axes}
        unseen = {label for axes, limits in ends.items() for axis, (low, high) in zip((axes.xaxis, axes.yaxis), limits)
                  for tick in axis.get_major_ticks() for label in (tick.label1, tick.label2)
                  if not tick.label1.get_visible() or not min(low, high) <= tick.get_loc() <= max(low, high)}
        for text in figure.findobj(Text):
            if text.get_visible() and text.get_text().strip() and text not in unseen:
                boxes.append((text.get_window_extent(renderer), text.get_text()))
        width, height = figure.bbox.width, figure.bbox.height
        for box, text in boxes:
            inside = -0.5 <= box.x0 and box.x1 <= width + 0.5 and -0.5 <= box.y0 and box.y1 <= height + 0.5
            self.assertTrue(inside, f"{text!r} leaves the figure: {box} of {width} {height}")
        for (one, first), (other, second) in itertools.combinations(boxes, 2):
            across = min(one.x1, other.x1) - max(one.x0, other.x0)
            down = min(one.y1, other.y1) - max(one.y0, other.y0)
            self.assertFalse(across > 1 and down > 2.5, f"{first!r} overlaps {second!r} by {across:.1f} x {down:.1f} pixels")

    def test_the_legend_names_every_series(self):
        figure = self.figure(swept(schedules={"_hidden": 0.1, "wfbp": 0.2}))
        self.assertEqual([text.get_text().strip() for text in figure.legends[0].get_texts()], ["wfbp", "_hidden"])

    def test_the_serif_font_has_no_wrong_characters(self):
        with sheet.look("serif"):
            font = FT2Font(findfont(FontProperties(family=sheet.families("serif")[0])))
        self.assertEqual(font.family_name, "Syncopate Roman")
        known = set(font.get_charmap())
        self.assertFalse(known & set(map(ord, sheet.MISPLACED + "µ·×é")))
        self.assertTrue(known >= set(map(ord, "abcXYZ0189()/-.,=%")))
        self.assertEqual(font.get_glyph_name(font.get_char_index(ord("%"))), "percent")


if __name__ == "__main__":
    unittest.main()
