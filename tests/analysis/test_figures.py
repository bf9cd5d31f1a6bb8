"""Do figures and files show what the result files say?"""

import collections
import itertools
import math
import unittest

from pages import Folder, labelled, run

from syncopate.common import sheet, style
from syncopate.report import figures, timeline
from syncopate.report import main as report
from syncopate.report.lanes import read_all as read_lanes
import samples
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch


def oklab(color):
    """Lightness and two axes of hue, in which equal distances look about equally large (Ottosson, 2020)."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color))
    long, medium, short = ((a * red + b * green + c * blue) ** (1 / 3) for a, b, c in (
        (0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566), (0.0883024619, 0.2817188376, 0.6299787005)))
    return (0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
            1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
            0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short)


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

    def test_a_schedule_keeps_its_colour(self):
        self.assertEqual(style.variant("wfbp", 0).color, style.BLUE)
        self.assertEqual(style.variant("new-sgd", 0), style.variant("new-sgd", 0))
        looks = [str(style.variant("ssd-sgd", number)) for number in range(12)]
        self.assertEqual(len(set(looks)), 12)

    def assert_told_apart(self, looks):
        for one, other in itertools.combinations([look.color for look in looks] + [style.REFERENCE, "#FFFFFF"], 2):
            self.assertGreater(math.dist(oklab(one), oklab(other)), 0.1, f"{one} {other}")
        self.assertEqual(len({(look.marker, str(look.dash)) for look in looks}), len(looks))

    def test_no_two_schedules_look_alike_a_new_one_included(self):
        for name in ("new-sgd", "adaptive", "z"):
            self.assert_told_apart([style.variant(one, 0, style.SCHEDULES) for one in [*style.SCHEDULES, name]])
            self.assertEqual(style.variant(name, 0, style.SCHEDULES), style.variant(name, 0))

    def test_new_schedules_look_unlike_all_beside_them(self):
        names = ["wfbp", "s-sgd", "fusion", "mg-wfbp"] + [f"new-{number}" for number in range(14)]

        def looks(names):
            rows = [samples.row(place, {"/schedule/name": name}, "10gbe", name, 8, 0.01) for place, name in enumerate(names)]
            return labelled(samples.write(self.tmp / "out", rows))[2]

        self.assert_told_apart(looks(names).values())
        self.assertEqual(looks(names), looks(names[::-1]))
        crowd = looks([*style.SCHEDULES, *names[4:]]).values()
        self.assertLessEqual(max(collections.Counter(look.color for look in crowd).values()), 2)
        self.assertEqual(len({(look.marker, str(look.dash)) for look in crowd}), len(crowd))

    def test_as_many_lines_of_one_schedule_as_a_figure_shows_look_different(self):
        for schedule in ("wfbp", "sgp", "new-sgd"):
            looks = [style.other_hue(schedule, number) for number in range(figures.MAX_SERIES)]
            self.assertEqual(len(set(map(str, looks))), figures.MAX_SERIES)
            self.assertEqual(len({look.color for look in looks[:17]}), 17)

    def test_the_timeline_shows_one_whole_measured_iteration(self):
        rows = samples.grid()
        out = samples.write(self.tmp / "out", rows)
        for one, compressed in zip(rows[:2], (False, True)):
            samples.timeline(out, one, compressed=compressed)
        runs, frame, styles, about = labelled(out)
        lanes, skipped = read_lanes(runs, frame)
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
        figure = timeline.figure(read_lanes(runs, frame)[0], styles, about)
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

    def test_a_legend_of_long_names_has_one_column(self):
        for count in range(1, 12):
            handles = [Patch(label=f"{number} " + 30 * "long ") for number in range(count)]
            self.assertEqual(sheet.legend_columns(handles, 7), 1)
            self.assertEqual(sheet.legend_columns(handles, 1000), count)

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

    def make(self, *words):
        return dict(report.make(report.arguments([str(self.out), *map(str, words)])))

    def test_the_same_results_give_the_same_page(self):
        self.assertEqual(self.make("-o", "x.html"), self.make("-o", "x.html"))

    def test_each_figure_becomes_a_file_with_the_same_bytes_every_time(self):
        names = ["efficiency", "iteration-time", "speedup", "timeline"]
        for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
            code, text, _ = run(self.out, "--format", kind, "-o", f"{self.tmp}/{kind}/")
            self.assertEqual(code, 0)
            paths = sorted((self.tmp / kind).iterdir())
            self.assertEqual([path.name for path in paths], sorted(f"{name}.{ending}" for name in names for ending in (kind, "csv")))
            self.assertTrue(all(path.read_bytes().startswith(start) for path in paths if path.suffix != ".csv"))
            self.assertEqual(sorted(text.split()), [str(path) for path in paths])
            if kind != "png":
                self.assertEqual(self.make("--format", kind, "-o", f"{self.tmp}/{kind}/"), {path: path.read_bytes() for path in paths})
        drawn = (self.tmp / "pdf" / "speedup.pdf").read_bytes()
        self.assertIn(b"/Type /Font", drawn)
        self.assertNotIn(b"/Subtype /Type3", drawn)
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
