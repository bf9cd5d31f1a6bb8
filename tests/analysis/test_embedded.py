"""Is what the page embeds for its charts what the files say?"""

import itertools
import math
import os
import re
import subprocess
import unittest

from pages import ROOT, Pages, labelled

from syncopate.common import style
from syncopate.common.wording import of_two, plain, quantity, ratio
from syncopate.report import axes, page_data, tracks
from syncopate.results import timeline_file
from syncopate.web import theme
import samples
from matplotlib.colors import to_rgb
from test_figures import oklab

SIMCTL = os.environ.get("SIMCTL", str(ROOT / "build" / "simctl"))


class Looks(Pages):
    def test_schedules_are_told_apart_on_a_dark_page_too(self):
        for color in style.HUES:
            self.assertGreaterEqual(theme.luminance(theme.on_dark(color)), theme.READABLE)
        for one, other in itertools.combinations([theme.on_dark(color) for color in style.HUES], 2):
            self.assertGreater(math.dist(oklab(one), oklab(other)), 0.065, f"{one} {other}")

    def test_no_schedule_has_the_colour_of_what_time_is_spent_on(self):
        for time, hue in itertools.product([one["color"] for one in page_data.PHASES.values() if one["name"] != "critical path"] +
                                           [color for _, color in style.PARTS.values()] + list(page_data.CLASSES.values()), style.HUES):
            self.assertGreater(math.dist(oklab(time), oklab(hue)), 0.05, f"{time} {hue}")

    def test_what_is_no_schedule_has_no_schedules_colour(self):
        """What the advice compares, and what pages mark."""
        css = "".join((ROOT / f"analysis/syncopate/web/templates/{name}.css").read_text() for name in ("page", "interactive"))
        marks = [style.QUIET, style.REFERENCE, style.INK, *re.findall(r"--(?:fault|quiet|edge): (#\w{6})", css)]
        self.assertGreater(len(marks), 7)
        for mark, hue in itertools.product(marks, [color for color in style.HUES if color not in (style.BLACK, style.GREY)]):
            self.assertGreater(math.dist(oklab(mark), oklab(hue)), 0.05, f"{mark} {hue}")
        for rule in (".warning", ".gain", ".change .faster", ".change .slower"):
            body = re.search(rf"^ *{re.escape(rule)} {{([^}}]*)}}", css, re.M)[1]
            self.assertNotRegex(body, r"#\w{6}|--accent")

    def test_every_schedule_of_simctl_has_a_colour_of_its_own(self):
        listed = subprocess.run([SIMCTL, "list", "schedules"], capture_output=True, text=True, check=True).stdout.split("\n\n")[0].splitlines()[2:]
        names = {line.split()[0] for line in listed if line.split("  ")[0]}
        self.assertEqual(set(style.SCHEDULES), names)
        self.assertEqual(len({row[0] for row in style.SCHEDULES.values()}), len(style.SCHEDULES))

    def test_a_schedule_keeps_its_hue_alone_and_beside_others(self):
        def looks(*names):
            rows = [samples.row(place, {"/schedule": {"name": name.split()[0], **({"delay": int(name.split("=")[1])} if "=" in name else {})}}, "10gbe", name.split()[0], 8,
                                0.01 * (place + 1)) for place, name in enumerate(names)]
            return labelled(samples.write(self.tmp / "out", rows))[2]

        delays = [f"dts delay={delay}" for delay in (1, 2, 4)]
        beside = looks("wfbp", *delays, "s-sgd")
        self.assertEqual(looks(*delays), {name: beside[name] for name in delays})
        for name in ("wfbp", "groups", "new-sgd"):
            self.assertEqual(looks(name)[name], looks("s-sgd", name, "fusion")[name])

    def test_every_marker_has_a_path(self):
        self.assertEqual(set(theme.PATHS), set(style.MARKERS))

    def test_a_schedule_gets_lighter_with_its_parameter_whatever_the_order_of_the_sweep(self):
        delays = [16, 2, 8, 4]
        rows = [samples.row(place, {"/schedule": {"name": "dts", "delay": delay}}, "10gbe", "dts", 8, 0.01 * (place + 1)) for place, delay in enumerate(delays)]
        rows.append(samples.row(4, {"/schedule": {"name": "wfbp"}}, "10gbe", "wfbp", 8, 0.2))
        _, _, styles, _ = labelled(samples.write(self.tmp / "out", rows))
        self.assertEqual(list(styles), ["wfbp", *(f"dts delay={delay}" for delay in sorted(delays))])
        lightness = [oklab(look.color)[0] for name, look in styles.items() if name != "wfbp"]
        self.assertEqual(lightness, sorted(lightness))
        self.assertEqual(styles["dts delay=2"].color, style.SCHEDULES["dts"][0])
        self.assertLess(max(to_rgb(styles["dts delay=16"].color)[:2]), 0.9)

    def test_heat_goes_from_green_over_yellow_to_red(self):
        self.assertEqual([theme.heat(part) for part in (0, 0.5, 1, 3)],
                         ["#a0d0b8", "#e8d070", "#b84028", "#b84028"])


class Numbers(unittest.TestCase):
    def test_quantities_are_read_as_simctl_reads_them(self):
        table = {"1Gbps": (1e9, "b/s"), "12GBps": (96e9, "b/s"), "100 Mbps": (1e8, "b/s"), "50us": (5e-5, "s"), "25MB": (25e6, "B"), "1MiB": (1048576, "B"),
                 5: (5, ""), 0.5: (0.5, ""), "ring": None, "1.2.3s": None, "10gbe": None, True: None}
        for text, value in table.items():
            self.assertEqual(quantity(text), value, text)

    def test_numbers_have_no_exponents_and_ratios_three_digits(self):
        self.assertEqual([plain(value) for value in (1e6, 0.2, 131.5, 123456789.0, -3.25, 0, 5e-5)],
                         ["1000000", "0.2", "131.5", "123456789", "-3.25", "0", "5e-05"])
        self.assertEqual([ratio(value) for value in (34.235, 1.104, 131.7, 1.0051)], ["34.2×", "1.10×", "132×", "1.01×"])


    def test_powers_of_two_are_written_as_such(self):
        self.assertEqual([of_two(value) for value in (64, 1024, 16384, 4194304, 1 << 30, 1 << 52, 3000, 0.5)],
                         ["64", "1 Ki", "16 Ki", "4 Mi", "1 Gi", "4096 Ti", "3000", "0.5"])


class Axes(Pages):
    def test_a_parameter_of_a_schedule_can_be_the_axis(self):
        cells = [(name, delay) for name in ("dts", "ssd-sgd") for delay in (2, 8, 4)]
        rows = [samples.row(place, {"/schedule/name": name, "/schedule/delay": delay}, "10gbe", name, 8, 0.01 * (place + 1))
                for place, (name, delay) in enumerate(cells)]
        runs, frame, _, _ = labelled(samples.write(self.tmp / "out", rows))
        (axis,) = axes.axes(runs, frame)
        self.assertEqual((axis["name"], axis["values"], axis["setting_names"]), ("delay", [2, 8, 4, 2, 8, 4], ["10gbe"]))
        self.assertEqual([axis["series"][place]["name"] for place in axis["series_of"]], ["ssd-sgd" if name == "ssd-sgd" else "dts" for name, _ in cells])

    def test_what_is_no_number_or_does_not_vary_is_no_axis(self):
        rows = [samples.row(place, {"/workers/slow/0/factor": factor, "/a": 1, "/b": text}, "10gbe", "wfbp", 8, 0.01 * (place + 1))
                for place, (factor, text) in enumerate(((1.5, "1Gbps"), (2, "2ms"), (3, "2ms")))]
        runs, frame, _, _ = labelled(samples.write(self.tmp / "out", rows))
        self.assertEqual([axis["name"] for axis in axes.axes(runs, frame)], ["factor"])
        runs, frame, _, _ = labelled(samples.write(self.tmp / "one", [samples.row(0, {}, "10gbe", "wfbp", 8, 0.1)]))
        self.assertEqual([(axis["name"], axis["values"]) for axis in axes.axes(runs, frame)], [("nodes", [8])])


class Tracks(Pages):
    def read(self, most):
        one = samples.grid()[0]
        out = samples.write(self.tmp / "out", samples.grid())
        samples.timeline(out, one)
        runs, frame, _, _ = labelled(out)
        (file,) = timeline_file.read_all(runs, frame)
        kinds = {}
        return file, tracks.tracks(file, most, kinds), list(kinds)

    def decoded(self, row, kinds):
        found, at = [], 0
        for kind, iteration, gap, length in zip(*[iter(row["slices"])] * 4):
            found.append((kinds[kind], iteration, at + gap, at + gap + length))
            at += gap + length
        return found

    def test_slices_are_those_of_the_file_in_the_measured_window(self):
        file, shown, kinds = self.read(1000)
        self.assertFalse(shown["cut"])
        slices = [one for row in shown["rows"] for one in self.decoded(row, kinds)]
        expected = [(round(1e9 * one.start), round(1e9 * one.end)) for one in file.events if one.start >= file.window[0] - 1e-9]
        self.assertEqual(sorted((start, end) for _, _, start, end in slices), sorted(expected))
        self.assertIn((("fc.bias", "collective", 8192), 1), [(kind, iteration) for kind, iteration, _, _ in slices])
        for row in shown["rows"]:
            told = [slack for count, slack in zip(*[iter(row["slack"])] * 2) for _ in range(count)]
            by_name = {"conv1": 0, "fc.bias": 2_500_000}
            self.assertEqual(told, [by_name.get(kind[0], -1) for kind, *_ in self.decoded(row, kinds)])
            ends = [time for _, _, start, end in self.decoded(row, kinds) for time in (start, end)]
            self.assertEqual(ends, sorted(ends))

    def test_too_many_slices_are_cut_at_the_end(self):
        _, whole, _ = self.read(1000)
        _, cut, _ = self.read(12)
        self.assertEqual((cut["cut"], sum(len(row["slices"]) for row in cut["rows"])), (True, 4 * 12))
        self.assertEqual((cut["from"], cut["first"]), (whole["from"], whole["first"]))
        self.assertLess(cut["to"], whole["to"])
        self.assertEqual([tracks.most_slices(points) for points in (0, 1, 10, 33)], [20_000, 20_000, 20_000, 6060])

    def test_a_page_without_timelines_is_little_more_than_its_library(self):
        page = self.page(samples.write(self.tmp / "plain", samples.grid()))
        self.assertLess(len(self.text.encode()), 1_200_000)
        self.assertEqual(page.data["timelines"], [])


if __name__ == "__main__":
    unittest.main()
