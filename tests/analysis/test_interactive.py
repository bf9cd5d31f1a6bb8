"""Does the page do in a browser what it offers?"""

import csv
import io
import itertools
import json
import unittest
from unittest import mock

from browser import Browser
from pages import run

import samples
from syncopate.common import style
from syncopate.papers import page as paper_page
from syncopate.papers.published import Published
from syncopate.papers.quantities import Comparison
from syncopate.report import tracks
from syncopate.web import theme
from syncopate.web.theme import on_dark


def step_of(worker, name, collectives, length):
    """Events of a step that collectives of equal length fill. `length` in seconds."""
    each = length * 1e6 / len(collectives)
    return [{"ph": "X", "pid": worker, "tid": 1, "cat": "step", "name": name, "ts": 0, "dur": length * 1e6, "args": {"iteration": 0}}] + [
        {"ph": "X", "pid": worker, "tid": 2, "cat": "collective", "name": collective, "ts": index * each, "dur": each, "args": {"iteration": 0, "bytes": 8}}
        for index, collective in enumerate(collectives)]


def write_timeline(folder, row, events):
    """The timeline of a point of results.json."""
    about = {key: row[key] for key in ("point", "model", "cluster", "schedule", "nodes")} | {"window_open_s": 0, "window_close_s": row["iteration_s"]}
    (folder / f"timeline-{row['point']}.json").write_text(json.dumps({"displayTimeUnit": "ms", "otherData": about, "traceEvents": events}))


class Charts(Browser):
    def sweep(self, **how):
        rows = samples.grid()
        self.open(samples.write(self.tmp / "out", rows), **how)
        return rows

    def test_the_chart_shows_the_chosen_measure_of_the_chosen_setting(self):
        rows = self.sweep()
        self.assertEqual(self.choices("scaling-measure"), ["Iteration time", "Speedup over one worker", "Efficiency (speedup / workers)", "Throughput"])
        self.choose("scaling-setting", "100gbib")
        for measure, column in (("Speedup over one worker", "speedup"), ("Efficiency (speedup / workers)", "efficiency"),
                                ("Throughput", "throughput_samples_per_s"), ("Iteration time", "iteration_s")):
            self.choose("scaling-measure", measure)
            shown = self.series("scaling-chart")
            linear = shown.pop("linear scaling", None)
            self.assertEqual(linear, {"speedup": [[size, size] for size in (4, 8, 16, 32)], "efficiency": [[size, 1] for size in (4, 8, 16, 32)]}.get(column))
            self.assertEqual(shown, {name: [[row["nodes"], row[column]] for row in rows if (row["cluster"], row["schedule"]) == ("100gbib", name)]
                                     for name in ("s-sgd", "wfbp", "sync-easgd")})
            self.assertTrue(self.option("scaling-chart")["yAxis"][0]["name"].startswith(measure.lower()))

    def test_a_few_settings_stand_side_by_side(self):
        """With the same axes, each with its own values and tooltip; below each other where there is no room. An interval from 0 on is cut off."""
        rows = [row | ({"iteration_low_s": 0.0, "iteration_high_s": 3 * row["iteration_s"]} if row["nodes"] == 32 else {}) for row in samples.grid(("1gbe", "10gbe", "100gbe"))]
        self.open(samples.write(self.tmp / "out", rows))
        self.find("#scaling-log-y").click()
        settings = list(dict.fromkeys(row["cluster"] for row in rows))
        option = self.option("scaling-chart")
        self.assertEqual([title["text"] for title in option["title"]], settings)
        for place, setting in enumerate(settings):
            shown = {one["name"]: one["data"] for one in option["series"] if one["type"] == "line" and one["yAxisIndex"] == place}
            self.assertEqual(shown, {name: [[row["nodes"], row["iteration_s"]] for row in rows if (row["cluster"], row["schedule"]) == (setting, name)]
                                     for name in ("s-sgd", "wfbp", "sync-easgd")})
        for axis in ("xAxis", "yAxis"):
            self.assertEqual(len({(one["min"], one["max"]) for one in option[axis]}), 1)
        last = len(option["series"]) - 1 - next(place for place, one in enumerate(reversed(option["series"])) if one["type"] == "line")
        row = next(row for row in rows if row["cluster"] == settings[-1] and row["nodes"] == 4 and row["schedule"] == option["series"][last]["name"])
        self.assertIn(f"{row['iteration_s'] * 1000:.6g} ms", self.tip("scaling-chart", last, 0))
        self.choose("scaling-measure", "Speedup over one worker")
        self.assertIn(" or more", self.tip("scaling-chart", last, 3))
        self.assertNotIn("Infinity", self.script("return document.querySelector('#scaling-chart').innerHTML"))
        for setting in ("all, side by side", settings[0]):
            self.find("#scaling-log-y").click()
            self.choose("scaling-setting", setting)
            self.assertNotIn("Infinity", self.script("return document.querySelector('#scaling-chart').innerHTML"))
        self.choose("scaling-setting", "all, side by side")
        self.choose("scaling-measure", "Iteration time")
        lefts = lambda: {round(grid["left"]) for grid in self.option("scaling-chart")["grid"]}
        self.assertEqual(len(lefts()), len(settings))
        self.show(self.tmp / "report.html", width=420)
        self.assertEqual(len(lefts()), 1)
        grids = self.option("scaling-chart")["grid"]
        height = self.script("return syncopate.charts['scaling-chart'].chart.getHeight()")
        for above, below in itertools.pairwise(grids):
            self.assertLess(height - above["bottom"], below["top"])

    SPEEDS, DELAYS = ("100Gbps", "1Gbps", "25Gbps"), ("5us", "50us")

    def facets(self, keys=("/cluster/link/bandwidth", "/cluster/link/latency"), schedules=("wfbp", "s-sgd"), leave=lambda *cell: False, **how):
        """A sweep of two keys, nodes and schedules; its rows."""
        cells = [cell for cell in itertools.product(self.SPEEDS, self.DELAYS, (4, 8), schedules) if not leave(*cell)]
        rows = [samples.row(place, {keys[0]: speed, keys[1]: delay, "/cluster/nodes": size, "/schedule/name": schedule}, "x", schedule, size, 0.001 * (place + 1))
                for place, (speed, delay, size, schedule) in enumerate(cells)]
        self.open(samples.write(self.tmp / "out", rows), **how)
        return rows

    def panels(self):
        """{title: {series: data}}."""
        option = self.option("scaling-chart")
        return {title["text"]: {one["name"]: one["data"] for one in option["series"] if one["type"] == "line" and one["yAxisIndex"] == place}
                for place, title in enumerate(option["title"])}

    def test_a_third_key_makes_small_multiples(self):
        """A panel for each of its values by size; all other keys are chosen, and both are in the address."""
        rows = self.facets()
        self.assertEqual(self.choices("scaling-facet"), ["nothing", "bandwidth", "latency"])
        self.assertEqual(len(self.choices("scaling-setting")), 7)
        first = self.script("return location.hash")
        self.choose("scaling-facet", "bandwidth")
        self.assertEqual(self.choices("scaling-setting"), ["latency=5us", "latency=50us"])
        for delay in self.DELAYS[::-1]:
            self.choose("scaling-setting", f"latency={delay}")
            expected = {f"bandwidth={speed}": {name: [[row["nodes"], row["iteration_s"]] for row in rows if list(row["sweep"].values())[:2] == [speed, delay] and row["schedule"] == name]
                                               for name in ("wfbp", "s-sgd")} for speed in ("1Gbps", "25Gbps", "100Gbps")}
            self.assertEqual(self.panels(), expected)
            self.assertEqual(list(self.panels()), list(expected))
            axes = self.option("scaling-chart")
            self.assertEqual(len({(one["min"], one["max"]) for one in axes["yAxis"]}), 1)
        self.choose("scaling-facet", "latency")
        self.choose("scaling-setting", "bandwidth=25Gbps")
        self.assertEqual(self.script("return location.hash"), "#panels=latency&on=bandwidth%3D25Gbps")
        kept = self.panels()
        self.assertEqual(list(kept), ["latency=5us", "latency=50us"])
        address = self.driver.current_url
        self.show(self.tmp / "report.html")
        self.driver.get(address)
        self.await_frame()
        self.assertEqual(self.panels(), kept)
        for broken in ("#panels=nonsense", "#panels=bandwidth&on=nonsense", "#panels=&on=%"):
            self.script("location.hash = arguments[0]", broken)
            self.await_frame()
            self.assertTrue(self.option("scaling-chart")["series"])
        for name in ("bandwidth", "nothing"):
            self.choose("scaling-facet", name)
        self.assertEqual(self.script("return location.hash"), first)

    def test_along_another_key_the_nodes_may_be_spread(self):
        rows = self.facets()
        self.choose("scaling-axis", "bandwidth")
        self.assertEqual(self.choices("scaling-facet"), ["nothing", "nodes", "latency"])
        self.choose("scaling-facet", "nodes")
        self.choose("scaling-setting", "latency=50us")
        shown = self.panels()
        self.assertEqual(list(shown), ["4 nodes", "8 nodes"])
        speeds = {"1Gbps": 1e9, "25Gbps": 25e9, "100Gbps": 1e11}
        self.assertEqual(shown["8 nodes"]["wfbp"], [[speeds[speed], row["iteration_s"]] for speed in speeds for row in rows
                                                   if list(row["sweep"].values()) == [speed, "50us", 8, "wfbp"]])

    def test_of_one_schedule_the_swept_keys_are_spread_and_the_others_are_lines(self):
        self.facets(schedules=("wfbp",))
        self.assertEqual(self.choices("scaling-facet"), ["nothing", "bandwidth", "latency"])
        self.choose("scaling-facet", "latency")
        self.assertFalse(self.find("#scaling-setting").is_displayed())
        self.assertEqual({len(lines) for lines in self.panels().values()}, {3})

    def test_a_value_without_points_has_no_panel_and_one_key_alone_needs_no_choice(self):
        self.facets(leave=lambda speed, delay, size, schedule: (speed, delay) == ("1Gbps", "50us") or (speed, delay, size) == ("25Gbps", "50us", 8))
        self.choose("scaling-facet", "bandwidth")
        self.choose("scaling-setting", "latency=50us")
        self.assertEqual(list(self.panels()), ["bandwidth=25Gbps", "bandwidth=100Gbps"])
        self.sweep()
        self.assertFalse(self.find("#scaling-facet").is_displayed())

    def test_many_panels_stand_in_rows_that_fit(self):
        rows = [samples.row(place, {"/x": x, "/y": y, "/cluster/nodes": size, "/schedule/name": schedule}, "x", schedule, size, 0.001 * (place + 1))
                for place, (x, y, size, schedule) in enumerate(itertools.product(range(7), range(2), (4, 8), ("wfbp", "s-sgd")))]
        out = samples.write(self.tmp / "out", rows)
        for width, columns in ((1400, 4), (420, 1)):
            self.open(out, width=width)
            self.choose("scaling-facet", "x")
            grids = self.option("scaling-chart")["grid"]
            self.assertEqual((len(grids), len({round(grid["left"]) for grid in grids})), (7, columns))
            height = self.script("return syncopate.charts['scaling-chart'].chart.getHeight()")
            for above, below in zip(grids, grids[columns:]):
                self.assertLess(height - above["bottom"], below["top"])
            self.assert_fits(width)

    def test_axes_are_linear_or_logarithmic(self):
        self.sweep()
        kinds = lambda: [self.option("scaling-chart")[axis][0]["type"] for axis in ("xAxis", "yAxis")]
        self.assertEqual(kinds(), ["log", "value"])
        self.find("#scaling-log-x").click()
        self.find("#scaling-log-y").click()
        self.assertEqual(kinds(), ["value", "log"])

    def test_hours_and_epochs_are_offered_where_there_are_any(self):
        rows = [row | {"epoch_s": 100 * row["iteration_s"], "total_h": row["iteration_s"]} for row in samples.grid(("10gbe",))]
        self.open(samples.write(self.tmp / "out", rows))
        self.choose("scaling-measure", "Hours of training")
        self.assertEqual(self.series("scaling-chart")["wfbp"], [[row["nodes"], row["total_h"]] for row in rows if row["schedule"] == "wfbp"])
        self.assertIn("Time of an epoch", self.choices("scaling-measure"))

    def test_every_swept_number_can_be_the_axis_units_included(self):
        speeds = {"100Mbps": 1e8, "1Gbps": 1e9, "25Gbps": 25e9}
        cells = [(speed, size, schedule) for speed in reversed(speeds) for size in (4, 8) for schedule in ("wfbp", "s-sgd")]
        rows = [samples.row(place, {"/cluster/link/bandwidth": speed, "/cluster/nodes": size, "/schedule/name": schedule}, "x", schedule, size, 0.001 * (place + 1))
                for place, (speed, size, schedule) in enumerate(cells)]
        self.open(samples.write(self.tmp / "out", rows))
        self.assertEqual(self.choices("scaling-axis"), ["nodes", "bandwidth"])
        self.choose("scaling-axis", "bandwidth")
        self.assertEqual(self.choices("scaling-setting"), ["4 nodes", "8 nodes", "all, side by side"])
        self.choose("scaling-setting", "8 nodes")
        expected = {speeds[speed]: row["iteration_s"] for (speed, size, schedule), row in zip(cells, rows) if (size, schedule) == (8, "wfbp")}
        self.assertEqual(self.series("scaling-chart")["wfbp"], [list(pair) for pair in sorted(expected.items())])
        self.assertIn("bandwidth 1 Gb/s", self.tip("scaling-chart", 0, 1))

    def test_a_tooltip_has_exact_values_with_units_intervals_and_staleness(self):
        rows = samples.grid(("10gbe",), schedules=("wfbp", "s-sgd"))
        for row in rows:
            row.update(iteration_low_s=0.9 * row["iteration_s"], iteration_high_s=1.1 * row["iteration_s"], staleness_mean=2.5, staleness_max=4)
        self.open(samples.write(self.tmp / "out", rows))
        told = self.tip("scaling-chart", 0, 0)
        self.assertEqual(told.split("\n")[0], "4 nodes")
        self.assertIn("wfbp\t135 ms\t95%: 121.5 ms to 148.5 ms", told)
        self.assertIn("staleness 2.5 steps, at most 4", told)
        self.choose("scaling-measure", "Throughput")
        first = next(row for row in rows if row["schedule"] == "wfbp")
        ends = [first["throughput_samples_per_s"] / factor for factor in (1.1, 0.9)]
        self.assertIn(f"95%: {ends[0]:.6g} samples/s to {ends[1]:.6g} samples/s", self.tip("scaling-chart", 0, 0))

    def test_a_tooltip_has_the_range_over_usual_networks(self):
        rows = samples.grid(("10gbe",), schedules=("wfbp", "s-sgd"))
        for row in rows:
            row.update(iteration_low_s=0.9 * row["iteration_s"], iteration_high_s=1.1 * row["iteration_s"])
            if row["schedule"] == "wfbp":
                row.update(iteration_fast_s=0.5 * row["iteration_s"], iteration_slow_s=2 * row["iteration_s"])
        self.open(samples.write(self.tmp / "out", rows))
        told = self.tip("scaling-chart", 0, 0)
        self.assertIn("wfbp\t135 ms\tusual networks: 67.5 ms to 270 ms", told)
        self.assertIn("95%: ", told)
        self.assertEqual(self.find("#scaling-about-intervals").text, "Upright lines are ranges over usual networks, or else 95% intervals.")

    def test_a_click_on_a_name_isolates_it_another_shows_all_and_shift_hides_one(self):
        self.sweep()
        selected = lambda: {name for name, shown in self.option("scaling-chart")["legend"][0]["selected"].items() if shown}
        button = self.find('#scaling-legend [data-name="wfbp"]')
        button.click()
        self.assertEqual(selected(), {"wfbp"})
        self.assertEqual([one.get_attribute("aria-pressed") for one in self.find_all("#scaling-legend button")], ["false", "true", "false"])
        self.assertEqual(self.tip("scaling-chart", 1, 0).count("ms"), 1)
        button.click()
        self.assertEqual(selected(), {"wfbp", "s-sgd", "sync-easgd"})
        self.shift_click(button)
        self.assertEqual(selected(), {"s-sgd", "sync-easgd"})
        self.press(button, "ENTER")
        self.assertEqual(selected(), {"wfbp"})

    def test_one_size_gives_bars(self):
        """Where another setting has several; else there is nothing that scales."""
        rows = samples.grid(("10gbe",), (8,))
        self.open(samples.write(self.tmp / "one", rows))
        self.assertFalse(self.find("#scaling").is_displayed())
        self.open(samples.write(self.tmp / "out", rows + [row | {"point": 3 + place} for place, row in enumerate(samples.grid(("100gbib",), (8, 16)))]))
        self.choose("scaling-setting", "10gbe")
        option = self.option("scaling-chart")
        for about in ("linear", "intervals", "ties", "zoom"):
            self.assertFalse(self.find(f"#scaling-about-{about}").is_displayed(), about)
        self.assertEqual([one["type"] for one in option["series"]], ["bar"])
        times = {row["schedule"]: row["iteration_s"] for row in rows}
        self.assertEqual([bar["value"] for bar in option["series"][0]["data"]], [times[name] for name in option["yAxis"][0]["data"]])
        self.assertFalse(self.find("#scaling-log-x").is_displayed())

    def test_bars_split_the_iteration_at_the_chosen_size(self):
        rows = self.sweep()
        self.choose("composition-setting", "10gbe")
        self.choose("composition-value", "16")
        its = sorted((row for row in rows if (row["cluster"], row["nodes"]) == ("10gbe", 16)), key=lambda row: row["iteration_s"])
        option = self.option("composition-chart")
        self.assertEqual(option["yAxis"][0]["data"], [row["schedule"] for row in its])
        self.assertEqual([one["data"] for one in option["series"]],
                         [[row[column] for row in its] for column in ("compute_s", "wait_s", "exposed_communication_s")])
        self.assertIn("exposed communication\t48 ms\t31.4 %", self.tip("composition-chart", 0, 0))

    def test_the_chart_zooms(self):
        self.sweep()
        self.script("syncopate.charts['scaling-chart'].chart.dispatchAction({type: 'dataZoom', start: 40, end: 60})")
        self.assertEqual([self.option("scaling-chart")["dataZoom"][0][end] for end in ("start", "end")], [40, 60])


class Table(Browser):
    def test_it_sorts_filters_and_copies_exactly_what_it_shows(self):
        rows = samples.grid()
        self.open(samples.write(self.tmp / "out", rows))
        head = self.find('#rows [data-column="iteration_s"]')
        self.assertEqual(self.column("iteration_s"), [f"{row['iteration_s']:.6g}" for row in rows])
        head.click()
        head = self.driver.switch_to.active_element
        self.assertEqual(head.get_attribute("data-column"), "iteration_s")
        self.assertEqual(self.find("#rows th[aria-sort=ascending]").text.split("\n")[0], "iteration_s")
        self.press(head, "ENTER")
        self.assertEqual(len(self.find_all("#rows th[aria-sort=descending]")), 1)
        self.find("#table-filter").send_keys("10GBE nodes>=16 WFBP")
        found = sorted((row for row in rows if row["cluster"] == "10gbe" and row["nodes"] >= 16 and row["schedule"] == "wfbp"), key=lambda row: -row["iteration_s"])
        self.assertEqual(self.column("nodes"), [str(row["nodes"]) for row in found])
        self.assertEqual(self.find("#table-shown").text, f"Rows 1 to {len(found)} of {len(found)} (24 without the filter)")
        lines = self.copied()
        self.assertEqual(lines[0], [one.text.split("\n")[0] for one in self.find_all("#rows th button")])
        self.assertEqual([line[lines[0].index("iteration_s")] for line in lines[1:]], [repr(row["iteration_s"]) for row in found])
        self.assertEqual(self.find("#table-said").text, f"Copied {len(found)} rows.")
        self.find("#table-filter").clear()
        self.find("#table-filter").send_keys("nothing like this")
        self.assertEqual((self.rows(), self.find("#table-shown").text), ([], "No row of 24 has that"))

    def test_all_columns_copied_are_the_result_file(self):
        rows = samples.grid(("10gbe",), (4,))
        for row in rows:
            row["sweep"] = {"/schedule": {"name": row["schedule"], "note": 'a "b", c'}, "/x-note": "'=1+1"}      # as results.csv has a formula
        out = samples.write(self.tmp / "out", rows)
        self.open(out)
        self.choose("table-columns", "all")
        written = list(csv.reader(io.StringIO((out / "results.csv").read_text())))
        numbers = lambda lines: [[float(cell) if cell.replace(".", "", 1).isdigit() else cell for cell in line] for line in lines]
        self.assertEqual(numbers(self.copied()), numbers(written))

    def test_it_copies_where_the_clipboard_has_no_interface(self):
        self.open(samples.write(self.tmp / "out", samples.grid()))
        self.script("navigator.clipboard.writeText = () => Promise.reject(new Error('no'));"
                    "document.addEventListener('copy', () => { window.copied = document.activeElement.value; })")
        self.find("#table-copy").click()
        self.assertEqual(self.script("return window.copied"), self.script("return syncopate.csv()"))
        self.assertEqual(self.find("#table-said").text, "Copied 24 rows.")

    def test_of_ten_thousand_rows_a_hundred_are_drawn(self):
        cells = [(speed, cv, size, schedule) for speed in ("1Gbps", "5Gbps", "10Gbps", "25Gbps", "100Gbps") for cv in range(25)
                 for size in range(2, 12) for schedule in ("s-sgd", "wfbp", "fusion", "mg-wfbp", "sasgd", "dts", "asgd", "sgp")]
        rows = [samples.row(place, {"/cluster/link/bandwidth": speed, "/workers/jitter/cv": cv / 100, "/cluster/nodes": size, "/schedule/name": schedule},
                            "10gbe", schedule, size, 0.01 + 1e-6 * place) for place, (speed, cv, size, schedule) in enumerate(cells)]
        self.open(samples.write(self.tmp / "out", rows))
        self.assertEqual((len(self.rows()), self.find("#table-shown").text), (100, "Rows 1 to 100 of 10000"))
        self.find("#table-after").click()
        self.assertEqual((len(self.rows()), self.column("point")[0]), (100, "100"))
        for words, found in (("schedule=sgp nodes>5", [cell for cell in cells if cell[3] == "sgp" and cell[2] > 5]),
                             ("/workers/jitter/cv=0.24 nodes=4 dts", [cell for cell in cells if cell[1:] == (24, 4, "dts")])):
            self.script("const filter = document.getElementById('table-filter'); filter.value = arguments[0]; filter.dispatchEvent(new Event('input'))", words)
            shown = min(100, len(found))
            self.assertEqual((len(self.rows()), self.find("#table-shown").text), (shown, f"Rows 1 to {shown} of {len(found)} (10000 without the filter)"))


class WhatIsWritten(Browser):
    """Names, numbers and captions: does each say what is there, and have room?"""

    def boxes(self, chart):
        """(left, top, right, bottom) of each text of a drawing."""
        return self.script("return [...document.querySelectorAll(`#${arguments[0]} svg text`)].map(one => one.getBoundingClientRect())"
                           ".map(box => [box.left, box.top, box.right, box.bottom])", chart)

    def assert_apart(self, boxes):
        for one, other in itertools.combinations(boxes, 2):
            self.assertFalse(all(one[side] < other[side + 2] - 1 and other[side] < one[side + 2] - 1 for side in (0, 1)), f"{one} {other}")

    def test_names_of_bars_have_room(self):
        names = [{"name": "ps-sgd", "servers": {"count": count, "region": "oregon-and-a-long-word-that-nobody-breaks"}, "colocated": True, "service": "shared"} for count in (1, 2, 4)]
        rows = [samples.row(place, {"/schedule": name, "/cluster/nodes": nodes}, "10gbe", "ps-sgd", nodes, 0.01 * (place + 1))
                for place, (name, nodes) in enumerate([(name, 8) for name in names] + [(names[0], 16)])]
        for width in (1400, 420):
            self.open(samples.write(self.tmp / f"out{width}", rows), width=width)
            self.choose("composition-value", "8")
            boxes = self.boxes("composition-chart")
            self.assertGreater(len(boxes), 8)
            self.assert_apart(boxes)
            self.assert_fits(width)

    def test_computing_that_was_faster_is_no_waiting_below_nothing(self):
        rows = samples.grid(("10gbe",), (4,), ("wfbp", "s-sgd"))
        for row in rows:
            row.update(wait_s=-0.002275, exposed_communication_s=row["iteration_s"] - 0.1 + 0.002275)
        self.open(samples.write(self.tmp / "out", rows))
        told = self.tip("composition-chart", 0, 0)
        self.assertIn("compute\t97.725 ms", told)
        self.assertIn("2.27 ms less than undisturbed", told)
        self.assertNotIn("waiting", told + self.find("#composition-key").text)
        self.assertNotIn("-2.275", self.script("return document.querySelector('#composition').outerHTML"))
        self.assertTrue(self.find("#composition-about-faster").is_displayed())

    def test_lines_that_lie_on_each_other_share_their_dashes(self):
        rows = [row for row in samples.grid(("10gbe",)) if row["schedule"] != "s-sgd"]
        rows += [row | {"schedule": "fusion", "sweep": row["sweep"] | {"/schedule/name": "fusion"}} for row in rows if row["schedule"] == "wfbp"]
        self.open(samples.write(self.tmp / "out", [row | {"point": place} for place, row in enumerate(rows)]))
        lines = {one["name"]: one["lineStyle"] for one in self.option("scaling-chart")["series"] if one["type"] == "line"}
        (on, off), shift = lines["fusion"]["type"], lines["fusion"]["dashOffset"] - lines["wfbp"]["dashOffset"]
        self.assertEqual((lines["wfbp"]["type"], on, abs(shift)), ([on, off], off, on))
        self.assertEqual(lines["sync-easgd"]["type"], "solid")
        self.assertTrue(self.find("#scaling-about-ties").is_displayed())
        self.find('#scaling-legend [data-name="wfbp"]').click()
        self.assertFalse(self.find("#scaling-about-ties").is_displayed())

    def test_axes_have_round_numbers_and_the_swept_ones(self):
        rows = [samples.row(place, {"/cluster/link/bandwidth": f"{speed}Gbps", "/bucket": f"{size}MiB"}, "10gbe", "fusion", 8, 30 / speed + 0.001 * size)
                for place, (speed, size) in enumerate(itertools.product((1, 25), (4, 32)))]
        self.open(samples.write(self.tmp / "out", rows))
        self.assertEqual(self.find("#scaling-title").text, "By bandwidth")
        texts = lambda: self.script("return [...document.querySelectorAll('#scaling-chart svg text')].map(one => one.textContent)")
        ends = self.option("scaling-chart")["yAxis"][0]
        self.assertAlmostEqual(ends["min"], 1, places=4)
        for text in ("1 Gb/s", "25 Gb/s", "1", "2", "5", "10", "20", "50"):
            self.assertIn(text, texts())
        self.choose("scaling-axis", "bucket")
        self.assertLess({"4 MiB", "32 MiB"}, set(texts()))

    def test_the_table_begins_with_what_was_swept_as_people_say_it(self):
        rows = [samples.row(place, {"/cluster/link/bandwidth": speed, "/schedule": {"name": "dts", "delay": delay}}, "10gbe", "dts", 8, 0.01) | {"cost": 2.5}
                for place, (speed, delay) in enumerate(itertools.product(("1Gbps", "25Gbps"), (2, 4)))]
        self.open(samples.write(self.tmp / "out", rows))
        heads = [head.text for head in self.find_all("#rows th button")]
        self.assertEqual(heads[:3] + heads[-1:], ["bandwidth", "schedule", "iteration_s", "point"])
        self.assertIn("cost (price units)", heads)
        self.assertEqual(self.rows()[1][:2], ["1Gbps", "dts delay=4"])
        self.find("#table-filter").send_keys("bandwidth=25gbps")
        self.assertEqual(len(self.rows()), 2)


class Links(Browser):
    """Does a link open what was shown?"""

    STATE = "return [JSON.stringify([...document.querySelectorAll('main select, main input')].map(one => one.type === 'checkbox' ? one.checked : one.value)), " \
            "[...document.querySelectorAll('#scaling-legend button')].map(one => one.ariaPressed), syncopate.timeline.from, syncopate.timeline.to, " \
            "syncopate.charts['scaling-chart'].chart.getOption().dataZoom[0].start, [...document.querySelectorAll('#rows tbody tr')].map(one => one.innerText)]"

    def test_all_that_is_chosen_is_in_the_address(self):
        rows = samples.grid()
        out = samples.write(self.tmp / "out", rows)
        for row in rows[:2]:
            samples.timeline(out, row)
            samples.explanation(out, row)
        self.open(out)
        first, address = self.script(self.STATE), self.script("return location.href")
        self.assertNotIn("#", address)
        for name, text in (("scaling-measure", "Speedup over one worker"), ("scaling-setting", "100gbib"), ("composition-setting", "100gbib"), ("composition-value", "16"),
                           ("timeline-point", "sync-easgd, 10gbe, 4 nodes"), ("explanation-point", "sync-easgd, 10gbe, 4 nodes"), ("table-columns", "all")):
            self.choose(name, text)
        self.shift_click(self.find('#scaling-legend [data-name="wfbp"]'))
        self.script("syncopate.charts['scaling-chart'].chart.dispatchAction({type: 'dataZoom', start: 40, end: 60})")
        self.find("#scaling-log-y").click()
        self.find("#timeline-in").click()
        self.find("#timeline-slack").click()
        self.press(self.find("#timeline-moment"), "ARROW_RIGHT", "ARROW_RIGHT")
        self.find("#table-filter").send_keys("nodes>=8 & easgd")
        self.find("#table-filter").clear()
        self.find("#table-filter").send_keys("nodes>=8 easgd")
        self.press(self.find('#rows [data-column="iteration_s"]'), "ENTER", "ENTER")
        changed, link = self.script(self.STATE), self.script("return location.href")
        self.assertNotEqual(changed[:3], first[:3])
        self.driver.get("about:blank")
        self.driver.get(link)
        self.await_frame()
        self.assertEqual(self.script(self.STATE), changed)
        self.script("location.hash = ''")
        self.await_frame()
        self.assertEqual(self.script(self.STATE), first)
        self.script("location.hash = 'show=x&on=%3Cb%3E&stretch=9-1&zoom=5&sort=-x&hidden=%25&moment=z&timeline='")
        self.await_frame()
        self.assertEqual(self.script(self.STATE), first, "what it does not know")


class ManySlices(Browser):
    """Is all of a long timeline drawn, before and after another point is chosen?"""
    LANES = 8

    def timeline(self, row, slices):
        """Lanes that messages fill without a gap."""
        length, each = row["iteration_s"], slices // self.LANES
        events = [{"ph": "M", "pid": lane, "name": "process_name", "args": {"name": f"rank {lane}"}} for lane in range(self.LANES)]
        for lane in range(self.LANES):
            events += step_of(lane, "step", [f"g{index % 5}" for index in range(each)], length)
        write_timeline(self.out, row, events)

    def drawn(self):
        """The share of the lanes' pixels that are coloured."""
        self.await_frame()
        return self.script("""
            const {chart} = syncopate.charts["timeline-chart"];
            const canvas = chart.getRenderedCanvas({pixelRatio: 1, backgroundColor: "#fff"});
            const {x, y, width, height} = chart.getModel().getComponent("grid").coordinateSystem.getRect();
            const pixels = canvas.getContext("2d").getImageData(x, y, width, height).data;
            let coloured = 0;
            for (let at = 0; at < pixels.length; at += 4) {
              if (Math.max(pixels[at], pixels[at + 1], pixels[at + 2]) - Math.min(pixels[at], pixels[at + 1], pixels[at + 2]) > 25) ++coloured;
            }
            return coloured / (width * height);""")

    def test_drawn_pixels(self):
        rows = samples.grid(("10gbe",))
        for slices in (100, 5000, 50000):
            with self.subTest(slices):
                self.out = samples.write(self.tmp / f"out{slices}", rows)
                for row in rows[:2]:
                    self.timeline(row, slices)
                self.open(self.out)
                names = self.choices("timeline-point")
                held = min(1, 20000 / slices)  # the page holds no more, and says so
                before = self.drawn()
                full = 0.7 * self.LANES / self.script("return syncopate.timeline.lanes")
                self.assertGreater(before, held * full)
                self.choose("timeline-point", names[1])
                self.find("#timeline-whole").click()
                self.assertAlmostEqual(self.drawn(), before, delta=0.02)
                for way in ("in", "left"):
                    self.find(f"#timeline-{way}").click()
                self.assertGreater(self.drawn(), held * full)


class Lanes(Browser):
    """Points with other workers, with and without names of tracks, one after the other."""

    def setUp(self):
        super().setUp()
        self.rows = samples.grid(("10gbe",))
        self.out = samples.write(self.tmp / "out", self.rows)
        for row, workers, slices, named in zip(self.rows, (1, 4, 2), (3, 900, 40), (True, False, True)):
            self.timeline(row, workers, slices, named)

    def timeline(self, row, workers, slices, named):
        length = row["iteration_s"]
        events = [{"ph": "C", "pid": 9, "tid": 0, "name": "node-0 <up>", "ts": share * length * 1e6, "args": {"% of 10 Gb/s": percent}}
                  for share, percent in ((0, 0), (0.25, 90), (0.75, 20), (1, 0))]
        for worker in range(workers):
            events.append({"ph": "M", "pid": worker, "name": "process_name", "args": {"name": f"worker {worker}"}})
            events += [{"ph": "M", "pid": worker, "tid": track, "name": "thread_name", "args": {"name": name}} for track, name in ((1, "compute"), (2, "channel")) if named]
            events += step_of(worker, "iteration", [f"g{index}" for index in range(slices)], length)
        write_timeline(self.out, row, events)

    def names(self):
        """The lanes' names and their boxes, as they are drawn."""
        return self.script("""
            const {chart} = syncopate.charts["timeline-chart"];
            const left = chart.getModel().getComponent("grid").coordinateSystem.getRect().x;
            return chart.getZr().storage.getDisplayList(true).filter(one => one.style.text && one.style.textAlign === "right" && one.style.x <= left).map(one => {
              const box = one.getBoundingRect().clone();
              if (one.transform) box.applyTransform(one.transform);
              return [one.style.text, [box.x, box.y, box.x + box.width, box.y + box.height]];
            });""")

    def test_every_point_has_its_workers_names_apart_from_each_other(self):
        for width in (1100, 420):
            self.open(self.out, width=width)
            choices = self.choices("timeline-point")
            for place in (1, 0, 2, 1, 0):
                self.choose("timeline-point", choices[place])
                self.script("syncopate.charts['timeline-chart'].chart.resize()")
                self.assertEqual(self.script("const {chart} = syncopate.charts['timeline-chart']; return chart.getHeight() / syncopate.timeline.lanes > 20"), True)
                names = self.names()
                workers, tracks = (1, 4, 2)[place], ("track 1", "track 2") if place == 1 else ("compute", "channel")
                for text in [f"worker {worker}" for worker in range(workers)] + list(tracks):
                    self.assertEqual(sum(name == text for name, _ in names), 1 if text.startswith("worker") else workers, text)
                for (_, one), (_, other) in itertools.combinations(names, 2):
                    self.assertFalse(one[1] < other[3] - 1 and other[1] < one[3] - 1, names)
                self.assertTrue(all(box[0] >= 0 for _, box in names))
            self.assert_fits(width)

    def test_links_and_what_happens_at_a_moment(self):
        self.open(self.out)
        slider, length = self.find("#timeline-moment"), self.rows[0]["iteration_s"]
        self.find(".moment summary").click()
        said = lambda: dict(row.text.split("\n") if "\n" in row.text else [cell.text for cell in row.find_elements("css selector", "td")] for row in self.find_all("#timeline-now tr"))
        self.assertEqual(said(), {"worker 0, channel": "g0", "node-0 <up> (10 Gb/s)": "0 %"})
        self.press(slider, "END")
        self.press(slider, *["PAGE_UP"] * 2)
        self.press(slider, "HOME", *["PAGE_UP"] * 3, "ARROW_RIGHT")
        share = int(slider.get_attribute("value")) / 1000
        self.assertEqual(said(), {"worker 0, channel": f"g{int(3 * share)}", "node-0 <up> (10 Gb/s)": "90 %"})
        self.assertAlmostEqual(self.script("return syncopate.timeline.moment") * 1e-9, share * length, delta=1e-6)
        colour = self.script("""
            const {chart} = syncopate.charts["timeline-chart"];
            const {x, y, width, height} = chart.getModel().getComponent("grid").coordinateSystem.getRect();
            const pixels = chart.getRenderedCanvas({pixelRatio: 1, backgroundColor: "#fff"}).getContext("2d").getImageData(x, y + height - 5, width, 1).data;
            return [0.1, 0.5, 0.9].map(share => [...pixels.slice(4 * Math.round(share * width), 4 * Math.round(share * width) + 3)]);""")
        self.assertEqual(colour[0], [255, 255, 255])
        self.assertGreater(colour[1][0] - colour[1][1], 60, "red: 90 %")
        self.assertTrue(all(part > 150 for part in colour[2]) or colour[2] == [255, 255, 255], "20 % is less high, and pale")


NETWORK = r'''graph G {
graph [label="10gbe: 4 nodes, fat-tree\n%: share of its bandwidth", layout=neato];
node [fontsize=10];
0[label="node-0, 8 GPUs", shape=box];
1[label="<b>\"node\"", shape=box];
2[label="node-2", shape=box];
3[label="server-0", shape=box];
4[label="", shape=point, width=0.15];
5[label="", shape=point, width=0.15];
6[label="", shape=point, width=0.15];
0--4 [tooltip="node-0", label="node\n10 Gb/s\n25%", color="#D55E00", penwidth=2, fontsize=8];
1--4 [tooltip="<b>\"node\"", label="node\n10 Gb/s\n3e-05%", color="#D55E00", penwidth=2, fontsize=8];
5--2 [tooltip="node-2", label="node\n10 Gb/s\n0%", color="#D55E00", penwidth=0.3, fontsize=8];
5--3 [tooltip="server-0", label="node\n10 Gb/s\n12.5%", color="#D55E00", penwidth=1, fontsize=8];
4--6 [tooltip="up 4", label="edge-core\n10 Gb/s\n95.5%", color="#0072B2", penwidth=7.64, fontsize=8];
6--5 [tooltip="up 5", label="edge-core\n10 Gb/s\n95.5%", color="#0072B2", penwidth=7.64, fontsize=8];
}
'''


class Network(Browser):
    def write(self, text=NETWORK, point=0):
        self.rows = samples.grid(("10gbe",))
        out = samples.write(self.tmp / "out", self.rows)
        (out / f"network-{point}.dot").write_text(text)
        return out

    def test_cables_are_as_hot_as_they_are_used_between_rows_of_switches(self):
        self.open(self.write(), width=420)
        cables = {one.get_attribute("data-cable"): one for one in self.find_all("#network-picture path")}
        self.assertEqual(set(cables), {"node-0", '<b>"node"', "node-2", "server-0", "up 4", "up 5"})
        wide = {name: float(one.get_attribute("stroke-width")) for name, one in cables.items()}
        self.assertTrue(wide["node-2"] < wide["server-0"] < wide["node-0"] < wide["up 4"] == wide["up 5"])
        self.assertEqual([bool(cables[name].get_attribute("stroke-dasharray")) for name in ("node-2", "node-0")], [True, False])
        self.assertEqual(cables["up 4"].get_attribute("stroke"), theme.heat(0.95))
        self.assertEqual(self.find("#network-said").text, "Most used: up 4 (edge-core, 10 Gb/s): 95.5 % used, and 1 more as much. "
                         "2 of 6 cables are used to 90 % or more. 1 of 6 carry nothing (dashed).")
        heights = self.script("return syncopate.data.networks[0].vertices.map(one => one.at[1])")
        self.assertTrue(heights[6] < heights[4] == heights[5] < heights[0] == heights[1] == heights[2] == heights[3], heights)
        self.assertIn("Most used: up 4", self.find("#network-picture").get_attribute("aria-label"))
        self.assertEqual([one.text for one in self.find_all("#network-picture text")], ["0", '<b>"node"', "2", "s0"])
        self.assert_fits(420)
        light = self.find("#network-picture rect").get_attribute("fill")
        self.set_theme("dark")
        self.assertNotEqual(self.find("#network-picture rect").get_attribute("fill"), light)

    def test_what_is_no_such_file_is_refused(self):
        again = "write it again: simctl explain SCENARIO --point"
        for point, old, new, words in ((0, "10gbe: 4", "10gbe: 8", 'expected one that begins with "10gbe: 4 nodes, "'), (0, "95.5%", "much", "line 15: expected a label of level, bandwidth and use"),
                                       (0, "--", "-", "got 0 between 7"), (0, "6--5", "6--7", "expected 1 to 20000 cables"), (99, "", "", "expected a point of results.csv")):
            with self.subTest(words):
                out = self.write(NETWORK.replace(old, new), point)
                code, _, error = run(out, "-o", self.tmp / "x.html")
                self.assertEqual(code, 3)
                for part in (f"network-{point}.dot", words, again):
                    self.assertIn(part, error)
                (out / f"network-{point}.dot").unlink()


class Papers(Browser):
    """The page of published numbers has no scripts: does it fit, follow the theme, and lead to each paper and figure?"""

    def test_contents_theme_and_telephone(self):
        published = Published("x-1", "A <b>paper", "Fig. 1", "a speed", "3657.22", (3657.22,), "images/s", "16 nodes; 10GbE", "partly", "value", "a note")
        drawing = [("A <b>paper", "Speeds", "caption", '<svg viewBox="0 0 600 100"><text x="1" y="50">1</text></svg>')]
        text = paper_page.page([Comparison(published, [2657.22], -0.27, "each", "why it differs")], drawing, [], {"A <b>paper": "assumed `this`."})
        (self.tmp / "papers.html").write_text(text, encoding="utf-8")
        self.show(self.tmp / "papers.html", width=420, theme="dark")
        self.assertEqual(self.background(), "rgb(20, 23, 26)")
        self.assert_fits(420)
        self.find("nav summary").click()
        for link in self.find_all("nav a"):
            self.assertEqual(len(self.find_all(f"[id='{link.get_attribute('href').split('#')[1]}']")), 1)
        self.assertIn("Speeds", self.find("nav ul").text)
        row = self.find("table.numbers tbody tr")
        self.assertLessEqual(row.size["width"], 420)
        tops = [cell.rect["y"] for cell in row.find_elements("css selector", "td")]
        self.assertTrue(tops[0] < tops[1] < tops[2] == tops[3] == tops[4], tops)
        self.set_theme("light")
        self.assertEqual(self.background(), "rgb(255, 255, 255)")


class TimelineAndExplanation(Browser):
    def setUp(self):
        super().setUp()
        self.rows = samples.grid(("10gbe",))
        self.out = samples.write(self.tmp / "out", self.rows)
        for row in self.rows[:2]:
            samples.timeline(self.out, row)
            samples.explanation(self.out, row)
        self.open(self.out)

    def sight(self):
        """What the timeline shows, in seconds since the measured window began."""
        return [1e-9 * end for end in self.script("return [syncopate.timeline.from, syncopate.timeline.to]")]

    def assert_sight(self, start, end):
        for seen, expected in zip(self.sight(), (start, end)):
            self.assertAlmostEqual(seen, expected, delta=1e-6)

    def test_it_begins_with_one_iteration_and_zooms_and_pans(self):
        length = self.rows[0]["iteration_s"]
        self.assert_sight(0, length)
        self.find("#timeline-whole").click()
        self.assert_sight(0, 3 * length)
        self.find("#timeline-in").click()
        self.assert_sight(0.75 * length, 2.25 * length)
        self.find("#timeline-right").click()
        self.assert_sight(1.5 * length, 3 * length)
        chart = self.find("#timeline-chart")
        self.press(chart, "+", "ARROW_LEFT")
        self.assert_sight(1.5 * length, 2.25 * length)
        self.find("#timeline-iteration").click()
        self.assert_sight(0, length)

    def test_the_wheel_zooms_and_a_drag_pans(self):
        self.find("#timeline-whole").click()
        whole = self.sight()
        chart = self.find("#timeline-chart")
        self.script("arguments[0].scrollIntoView({block: 'center'})", chart)
        self.turn_wheel(chart, -300)
        zoomed = self.sight()
        self.assertLess(zoomed[1] - zoomed[0], 0.95 * (whole[1] - whole[0]))
        self.drag(chart, -60)
        moved = self.sight()
        self.assertGreater(moved[0], zoomed[0])
        self.assertAlmostEqual(moved[1] - moved[0], zoomed[1] - zoomed[0], delta=1e-3)

    def slices(self):
        return next(one["data"] for one in self.option("timeline-chart")["series"] if one["id"] == "slices")

    def test_slices_say_what_when_and_how_many_bytes(self):
        self.assertEqual([(row["process"], row["track"], row["critical"]) for row in self.script("return syncopate.timeline.rows")],
                         [("critical path", "track 1", True), *[("rank 0", "compute", False)] * 3, ("rank 0", "communication", False)])
        place = next(place for place, one in enumerate(self.slices()) if one[0] == 4)
        told = self.tip("timeline-chart", 1, place)
        for words in ("fc.bias, iteration 1", "message", "start\t60 ms", "length\t45 ms", "bytes\t8192 (8.19 kB)", "rank 0, communication"):
            self.assertIn(words, told)
        self.assertIn("critical path", self.tip("timeline-chart", 1, 0))
        self.assertIn("layer, forward", self.tip("timeline-chart", 1, next(place for place, one in enumerate(self.slices()) if one[0] == 3)))

    def fills(self):
        """The colours of all that is drawn on the timeline."""
        return self.script("return syncopate.charts['timeline-chart'].chart.getZr().storage.getDisplayList(true).map(one => one.style.fill)")

    def test_slack_is_told_and_makes_colours(self):
        place = next(place for place, one in enumerate(self.slices()) if one[0] == 4)
        self.assertIn("slack\t2.5 ms", self.tip("timeline-chart", 1, place))
        self.assertNotIn("slack", self.tip("timeline-chart", 1, 0))
        key = self.find("#timeline-key")
        self.assertIn("critical path", key.text)
        colors = {one["name"]: one["color"] for one in self.script("return syncopate.data.slack")}
        self.assertIn(style.MESSAGE.lower(), self.fills(), "messages")
        self.find("#timeline-slack").click()
        self.assertNotIn(style.MESSAGE.lower(), self.fills())
        self.assertEqual(key.text.split("\n"), list(colors))
        self.assertIn(colors["no slack"], self.fills(), "a layer")
        self.assertIn(colors["below 10%"], self.fills(), f"2.5 ms of {self.rows[0]['iteration_s']} s")
        self.assertNotIn(colors["more"], self.fills())
        self.find("#timeline-slack").click()
        self.assertIn("critical path", key.text)

    def test_another_point_can_be_chosen(self):
        self.assertEqual(self.choices("timeline-point"), ["wfbp, 4 nodes", "sync-easgd, 4 nodes"])
        self.choose("timeline-point", "sync-easgd, 4 nodes")
        self.assert_sight(0, self.rows[1]["iteration_s"])

    def test_only_what_can_be_told_apart_is_drawn(self):
        self.find("#timeline-whole").click()
        self.assertEqual(sum(one[4] for one in self.slices()), self.script("return syncopate.timeline.rows.reduce((sum, row) => sum + row.end.length, 0)"))
        self.assertTrue(all(one[2] > one[1] for one in self.slices()))

    def test_it_says_where_a_timeline_is_cut(self):
        self.assertFalse(self.find("#timeline-cut").is_displayed())
        with mock.patch.object(tracks, "SLICES", 12):
            self.open(self.out)
        self.assertTrue(self.find("#timeline-cut").text.startswith("Only the first 12 slices of the measured window are here"))

    def test_the_path_is_a_bar_by_class_and_changes_are_sorted_by_what_they_save(self):
        length = self.rows[0]["iteration_s"]
        shown = self.series("path-chart")
        self.assertEqual(list(shown), ["compute", "latency", "transfer"])
        for name, part in (("compute", 0.5), ("latency", 0.1), ("transfer", 0.4)):
            self.assertAlmostEqual(shown[name][0], part * length, places=8)
        self.assertIn("layers.fc.backward\t40.5 ms\t30 %", self.tip("path-chart", 0, 0))
        changes = [[cell.text for cell in row.find_elements("css selector", "td")] for row in self.find_all("#what-if tbody tr")]
        self.assertEqual(changes, [["bytes", "−50 %", "108.0 ms", "20 %"], ["link.bandwidth", "+10 %", "130.1 ms", "3.6 %"],
                                   ["link.latency", "−10 %", "133.4 ms", "1.2 %"], ["compute", "+10 %", "fails with this change"],
                                   ["network", "free", "67.50 ms", "50 %"]])


class WhereItIsRead(Browser):
    def test_two_runs_are_shown_together(self):
        rows = samples.grid(("10gbe",))
        folders = [samples.write(self.tmp / name, rows, name=name) for name in ("calm", "busy")]
        for folder in folders:
            samples.timeline(folder, rows[0])
        self.open(*folders)
        self.assertEqual(self.choices("scaling-setting"), ["calm", "busy", "all, side by side"])
        self.assertEqual(self.choices("timeline-point"), ["wfbp, 10gbe, calm, 4 nodes", "wfbp, 10gbe, busy, 4 nodes"])
        self.assertEqual(self.find("#rows th").text, "scenario")

    def full(self, **how):
        rows = samples.grid()
        out = samples.write(self.tmp / "out", rows)
        samples.timeline(out, rows[0])
        samples.explanation(out, rows[0])
        self.open(out, **how)

    def colors(self):
        return {one["name"]: one["color"] for one in self.option("scaling-chart")["series"] if one["type"] == "line"}

    def test_the_theme_follows_the_system_at_once(self):
        self.full()
        self.assertEqual((self.background(), self.colors()["s-sgd"]), ("rgb(255, 255, 255)", style.BLACK))
        self.set_theme("dark")
        self.assertEqual((self.background(), self.colors()["s-sgd"]), ("rgb(20, 23, 26)", on_dark(style.BLACK)))
        self.set_theme("light")
        self.assertEqual((self.background(), self.colors()["s-sgd"]), ("rgb(255, 255, 255)", style.BLACK))

    def test_paper_is_light_and_without_controls(self):
        self.full(theme="dark")
        self.print()
        self.assertEqual((self.colors()["s-sgd"], self.background()), (style.BLACK, "rgb(255, 255, 255)"))
        self.assertTrue(self.find("#about dl").is_displayed(), "unfolded")
        self.assertFalse(self.find("dl.glossary").is_displayed())
        self.assertEqual(self.script("return syncopate.charts['scaling-chart'].chart.getWidth()"), 660)
        self.assertEqual([one.text for one in self.find_all("main button") if one.is_displayed() and not one.get_attribute("data-name") and
                          not one.get_attribute("data-column")], [])

    def test_the_legend_follows_the_theme_and_is_light_on_paper(self):
        self.full(theme="dark")
        color = lambda: self.script("return getComputedStyle(document.querySelector('#scaling-legend [data-name=\"s-sgd\"] path')).stroke")
        self.assertEqual(color(), "rgb(255, 255, 255)")
        self.set_theme("light")
        self.assertEqual(color(), "rgb(0, 0, 0)")
        self.set_theme("dark")
        self.print()
        self.assertEqual(color(), "rgb(0, 0, 0)")

    def test_it_fits_a_telephone(self):
        self.full(width=400)
        self.assert_fits(400)

    def test_every_control_has_a_name_and_every_chart_says_what_it_shows(self):
        self.full()
        self.assert_all_is_named()
        self.assertIn("s-sgd: 189 ms at 4 nodes, 225 ms at 32 nodes", self.find("#scaling-chart").get_attribute("aria-label"))

    def test_names_are_text_whatever_they_hold(self):
        name = """<img src=x onerror="window.hit=1">"""
        rows = [samples.row(place, {"/schedule/name": schedule, "/cluster/nodes": nodes}, name, schedule, nodes, 0.01 * (place + 1))
                for place, (nodes, schedule) in enumerate((nodes, schedule) for nodes in (4, 8) for schedule in (name, name + "2"))]
        out = samples.write(self.tmp / "out", rows)
        samples.timeline(out, rows[0])
        samples.explanation(out, rows[0], path=[{"class": name, "what": name, "s": rows[0]["iteration_s"]}],
                            what_if=[{"factor": name, "change": 1.1, "iteration_s": 0.1, "time_saved": 0.1}])
        self.open(out)
        for chart in ("scaling-chart", "composition-chart", "path-chart"):
            self.assertIn(name, self.tip(chart, 0, 0))
        self.assertEqual(self.find_all("img"), [])
        self.assertIsNone(self.script("return window.hit"))


if __name__ == "__main__":
    unittest.main()
