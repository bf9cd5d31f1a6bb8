"""Does the page of an advice do in a browser what it offers?"""

import functools
import json
import tempfile
import unittest
from pathlib import Path

from browser import Browser
from samples import advice as result
from samples import candidate
from syncopate.advice.page import page
from syncopate.advice.result import read
from syncopate.common import style
from syncopate.web.theme import on_dark

CANDIDATES = [
    candidate(0, "wfbp", 10.0, 40.0, cluster="10gbe", nodes=4),
    candidate(1, {"name": "fusion", "bucket": "25MB"}, 6.0, 60.0, nodes=8, risk={"mean": 6.1, "worst": 6.5, "worst_regret": 0.05, "mean_regret": 0.02}),
    candidate(2, "mg-wfbp", 4.0, 80.0, cluster="25gbe", nodes=16, iteration_s=0.0123456),
    candidate(3, "s-sgd", 12.0, 45.0, nodes=4),
    candidate(4, "asgd", 5.0, 30.0, sgd=False, nodes=8, on_front=True, as_good_with_samples=1.25),
    candidate(5, {"name": "dts", "delay": 2}, 7.0, 50.0, sgd=False, is_comparable=True, samples_factor=1.1, cluster="25gbe", nodes=8),
    candidate(6, "s-sgd", 2.0, 500.0, nodes=32, within_limits=False),
    candidate(7, "wfbp", 8.0, 70.0, nodes=12),
]
FACTORS = {"dts": 1.1}
BEST_FIRST = [0, 1, 2, 5, 7, 3, 4, 6]        # choice, runner-up, then by hours; 4 is not compared, 6 beyond the limits


def front(upwards):
    """Candidates that nothing which is compared and within the limits is better than, by hours."""
    some = [one for one in CANDIDATES if one["within_limits"] and one["is_comparable"]]
    better = lambda a, b: a["hours"] <= b["hours"] and a[upwards] <= b[upwards] and (a["hours"], a[upwards]) != (b["hours"], b[upwards])
    return sorted([one["hours"], one[upwards]] for one in some if not any(better(other, one) for other in some))


@functools.cache
def page_of(advice):
    """The page of an advice.json with that text."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "advice.json").write_text(advice, encoding="utf-8")
        return page(read(Path(folder)))


class Advice(Browser):
    def advise(self, *candidates, width=1100, theme="light", **changes):
        """Shows the page of an advice."""
        about = result(*(candidates or CANDIDATES), **{"samples_factor": FACTORS, **changes})
        (self.tmp / "advice.html").write_text(page_of(json.dumps(about)), encoding="utf-8")
        self.show(self.tmp / "advice.html", width, theme)

    def places(self):
        """{series: where its candidates are}."""
        return {name: [one["value"] if isinstance(one, dict) else one for one in its] for name, its in self.series("candidates-chart").items()}

    def sight(self):
        """The ends of both axes."""
        option = self.option("candidates-chart")
        return [[option[axis][0][end] for end in ("min", "max")] for axis in ("xAxis", "yAxis")]

    def pixel(self, place):
        return self.script("return syncopate.charts['candidates-chart'].chart.convertToPixel('grid', arguments[0])", place)

    def kinds(self):
        return [self.option("candidates-chart")[axis][0]["type"] for axis in ("xAxis", "yAxis")]

    def selected(self):
        return {name for name, shown in self.option("candidates-chart")["legend"][0]["selected"].items() if shown}

    def test_every_candidate_is_there_and_the_choice_the_runner_up_and_the_front_are_marked(self):
        self.advise()
        shown = self.places()
        marks = {name: shown.pop(name) for name in ("choice", "runner-up", "Pareto front")}
        self.assertEqual(marks, {"choice": [[10, 40]], "runner-up": [[6, 60]], "Pareto front": front("cost")})
        self.assertEqual(len(front("cost")), 4)
        self.assertEqual({name: sorted(its) for name, its in shown.items()},
                         {name: sorted([one["hours"], one["cost"]] for one in CANDIDATES if one["schedule"]["name"] == name)
                          for name in ("s-sgd", "wfbp", "fusion", "mg-wfbp", "asgd", "dts")})
        self.choose("candidates-measure", "number of nodes")
        self.assertEqual(self.places()["Pareto front"], front("nodes"))
        self.assertEqual(self.places()["choice"], [[10, 4]])

    def test_without_prices_it_is_nodes_and_without_a_choice_the_front_alone(self):
        self.advise(*(one | {"cost": None} for one in CANDIDATES), objective="pareto", choice=None, runner_up=None, decides=[])
        self.assertEqual(self.choices("candidates-measure"), ["number of nodes", "staleness (steps)"])
        shown = self.places()
        self.assertEqual(shown["Pareto front"], front("nodes"))
        self.assertFalse({"choice", "runner-up"} & set(shown))
        self.assertEqual(self.find_all("#again, #what-if"), [])

    def test_a_tooltip_has_exact_values_with_units(self):
        self.advise()
        series = list(self.places())
        told = self.tip("candidates-chart", series.index("mg-wfbp"), 0)
        self.assertEqual(told.split("\n")[0], "mg-wfbp on 16 nodes of 25gbe")
        for line in ("time\t4 h", "cost\t80", "iteration\t12.3456 ms", "throughput\t320 samples/s", "staleness\t0 steps", "fidelity\tper-message", "within the limits\tyes"):
            self.assertIn(line, told)
        told = self.tip("candidates-chart", series.index("fusion"), 0)
        self.assertIn("fusion bucket=25MB on 8 nodes of 10gbe (runner-up)", told)
        self.assertIn("worst regret\t5 %\nmean regret\t2 %", told)
        self.assertIn("as good with samples ×\t1.25", self.tip("candidates-chart", series.index("asgd"), 0))
        self.assertIn("needs samples ×\t1.1", self.tip("candidates-chart", series.index("dts"), 0))

    def test_candidates_at_one_place_are_all_told(self):
        twins = [candidate(number, name, 5.0, 10.0, nodes=4) for number, name in enumerate(("wfbp", "s-sgd", "fusion", "asgd", "dts", "mg-wfbp", "<i>"))]
        self.advise(*twins, candidate(7, "far", 50.0, 20.0))
        told = self.tip("candidates-chart", list(self.places()).index("s-sgd"), 0)
        self.assertIn("s-sgd on 4 nodes of 10gbe (runner-up)", told)
        self.assertIn("also here: wfbp on 4 nodes of 10gbe (choice); fusion on 4 nodes of 10gbe; ", told)
        self.assertTrue(told.endswith("; 2 more"), told)

    def test_a_click_on_a_name_isolates_it_by_schedule_cluster_or_what_is_compared(self):
        self.advise()
        self.assertEqual(self.choices("candidates-group"), ["schedule", "cluster", "what is compared"])
        self.find('#candidates-legend [data-name="wfbp"]').click()
        self.assertEqual(self.selected(), {"wfbp"})
        self.choose("candidates-group", "what is compared")
        shown = self.places()
        self.assertEqual((len(shown["compared"]), len(shown["others"])), (7, 1))
        button = self.find('#candidates-legend [data-name="others"]')
        button.click()
        self.assertEqual(self.selected(), {"others"})
        self.press(button, "ENTER")
        self.assertEqual(self.selected(), {"compared", "others"})
        self.shift_click(button)
        self.assertEqual(self.selected(), {"compared"})

    def test_axes_are_logarithmic_or_linear_but_not_where_something_is_0(self):
        self.advise()
        self.assertEqual(self.kinds(), ["log", "log"])
        self.find("#candidates-log-x").click()
        self.assertEqual(self.kinds(), ["value", "log"])
        self.find("#candidates-log-y").click()
        self.assertEqual(self.kinds(), ["value", "value"])
        self.choose("candidates-measure", "staleness (steps)")
        self.assertEqual(self.kinds(), ["value", "value"])
        self.assertFalse(self.find("#candidates-log-y").is_displayed())
        self.assertEqual(sum(map(len, (its for name, its in self.places().items() if name not in ("choice", "runner-up", "Pareto front")))), len(CANDIDATES))

    def test_buttons_zoom_at_the_choice_and_show_the_best(self):
        self.advise()
        for log in ("log", "value"):
            self.assertEqual(self.kinds(), [log, log])
            whole, place = self.sight(), self.pixel([10, 40])
            self.find("#candidates-in").click()
            for seen, wide in zip(self.sight(), whole):
                self.assertTrue(wide[0] < seen[0] < seen[1] < wide[1])
            for now, before in zip(self.pixel([10, 40]), place):
                self.assertAlmostEqual(now, before, delta=1)
            self.find("#candidates-out").click()
            self.assertEqual(self.sight(), whole)
            self.find("#candidates-best").click()
            across, upwards = self.sight()      # the front and the best that is not compared
            self.assertTrue(2 < across[0] < 4 and 10 < across[1] < 12 and 10 < upwards[0] < 30 and 80 < upwards[1] < 500)
            self.find("#candidates-whole").click()
            self.assertEqual(self.sight(), whole)
            self.find("#candidates-log-x").click()
            self.find("#candidates-log-y").click()

    def test_the_wheel_zooms_with_ctrl_alone_where_it_points_and_a_drag_moves(self):
        self.advise()
        chart = self.find("#candidates-chart")
        self.script("arguments[0].scrollIntoView({block: 'center'})", chart)
        whole = self.sight()
        self.drag(chart, 60)
        self.turn_wheel(chart, 100)
        self.assertEqual(self.sight(), whole)
        self.script("arguments[0].scrollIntoView({block: 'center'})", chart)
        at = self.script("return syncopate.charts['candidates-chart'].chart.convertFromPixel('grid', [arguments[0].clientWidth / 2 + 200, arguments[0].clientHeight / 2])", chart)
        before = self.pixel(at)
        self.turn_wheel(chart, -100, (200, 0), with_ctrl=True)
        zoomed = self.sight()
        self.assertNotEqual(zoomed, whole)
        self.assertAlmostEqual(self.pixel(at)[0], before[0], delta=2)
        place = self.pixel([6, 60])
        self.drag(chart, 60)
        self.assertAlmostEqual(self.pixel([6, 60])[0], place[0] + 60, delta=2)
        self.assertAlmostEqual(self.pixel([6, 60])[1], place[1], delta=2)

    def test_keys_go_from_one_candidate_to_the_next_and_zoom(self):
        self.advise()
        chart = self.find("#candidates-chart")
        by_hours = sorted(CANDIDATES, key=lambda one: one["hours"])
        said = lambda: self.find("#candidates-said").text
        self.press(chart, "ARROW_RIGHT")
        self.assertEqual(said(), "s-sgd on 4 nodes of 10gbe: 12 h, cost 45")
        for one in reversed(by_hours[:-1]):
            self.press(chart, "ARROW_LEFT")
            self.assertIn(f": {one['hours']:g} h, cost {one['cost']:g}", said())
        self.press(chart, "ARROW_LEFT")
        self.assertEqual(said(), "s-sgd on 32 nodes of 10gbe: 2 h, cost 500")
        whole, place = self.sight(), self.pixel([2, 500])
        self.press(chart, "+")
        self.assertNotEqual(self.sight(), whole)
        self.assertAlmostEqual(self.pixel([2, 500])[0], place[0], delta=1)
        self.press(chart, "0")
        self.assertEqual(self.sight(), whole)
        for axis in "xy":
            self.find(f"#candidates-log-{axis}").click()
        self.press(chart, "+" * 80)
        for low, high in self.sight():
            self.assertTrue(0 < 1e-7 * high < high - low, "one cannot zoom in for ever")

    def test_where_the_choice_has_no_price_one_zooms_at_another_candidate(self):
        self.advise(CANDIDATES[0] | {"cost": None}, *CANDIDATES[1:])
        self.press(self.find("#candidates-chart"), "+")
        for low, high in self.sight():
            self.assertTrue(0 < low < high)

    def test_the_table_sorts_filters_and_copies_exactly_what_it_shows(self):
        self.advise()
        self.assertEqual(self.column("hours"), [f"{CANDIDATES[number]['hours']:g}" for number in BEST_FIRST])
        self.assertEqual(self.column("rank"), ["choice", "runner-up", "", "", "", "", "best", ""])
        self.find('#rows [data-column="cost"]').click()
        self.assertEqual(self.column("cost"), ["30", "40", "45", "50", "60", "70", "80", "500"])
        self.press(self.driver.switch_to.active_element, "ENTER")
        self.find("#table-filter").send_keys("cost<100 nodes>=8 10gbe")
        found = [one for one in sorted(CANDIDATES, key=lambda one: -one["cost"]) if one["cost"] < 100 and one["nodes"] >= 8 and one["cluster"] == "10gbe"]
        self.assertEqual(self.column("schedule"), [one["schedule"]["name"] for one in found])
        self.find("#table-filter").clear()
        self.find("#table-filter").send_keys("schedule=fusion")
        self.choose("table-columns", "all")
        head, line = self.copied()
        its = dict(zip(head, line))
        for key in ("candidate", "cluster", "nodes", "hours", "cost", "iteration_s", "throughput_samples_per_s", "staleness_mean", "fidelity"):
            value = CANDIDATES[1][key]
            self.assertEqual(its[key] if isinstance(value, str) else float(its[key]), value)
        self.assertEqual([its[key] for key in ("rank", "parameters", "samples_factor", "as_good_with_samples", "worst_regret", "mean_regret", "compared", "within_limits")],
                         ["runner-up", "bucket=25MB", "1", "", "0.05", "0.02", "yes", "yes"])

    def test_the_theme_follows_the_system_and_paper_is_light_and_without_buttons(self):
        self.advise(theme="dark")
        color = lambda: next(one["color"] for one in self.option("candidates-chart")["series"] if one["name"] == "s-sgd")
        self.assertEqual((self.background(), color()), ("rgb(20, 23, 26)", on_dark(style.BLACK)))
        self.set_theme("light")
        self.assertEqual((self.background(), color()), ("rgb(255, 255, 255)", style.BLACK))
        self.set_theme("dark")
        self.print()
        self.assertEqual((self.background(), color()), ("rgb(255, 255, 255)", style.BLACK))
        self.assertEqual([one.text for one in self.find_all("main button") if one.is_displayed() and not one.get_attribute("data-name") and
                          not one.get_attribute("data-column")], [])
        self.assertLessEqual(self.script("return document.querySelector('#candidates-chart svg').getBoundingClientRect().width"), 660)

    def test_it_fits_a_telephone(self):
        self.advise(width=400)
        self.assert_fits(400)

    def test_every_control_has_a_name_and_the_chart_says_what_it_shows(self):
        self.advise()
        self.assert_all_is_named()
        words = self.find("#candidates-chart").get_attribute("aria-label")
        self.assertTrue(words.startswith("8 candidates by hours and cost. Choice: wfbp on 4 nodes of 10gbe: 10 h, cost 40. Runner-up: fusion bucket=25MB on 8 nodes"))
        self.assertIn("Pareto front: mg-wfbp on 16 nodes of 25gbe: 4 h, cost 80; ", words)

    def test_without_scripts_there_is_a_picture(self):
        self.advise()
        self.assertEqual(self.find_all("noscript svg"), [])
        self.command("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(self.command, "Emulation.setScriptExecutionDisabled", value=False)
        self.driver.refresh()
        self.assertGreater(self.find("noscript svg").rect["width"], 400)
        self.assertFalse(self.find("#candidates").is_displayed())
        self.assertFalse(self.find("#table").is_displayed())

    def test_names_are_text_whatever_they_hold(self):
        name = """<img src=x onerror="window.hit=1">"""
        names = {"fidelity": name, "cluster": name}
        self.advise(candidate(0, {"name": name, name: name}, 10.0, 5.0, **names), candidate(1, name + "2", 10.0, 5.0, **names, sgd=False, as_good_with_samples=2.0),
                    name=name, notes=[name], left_out=[name], decides=[{"factor": name, "change": name, "time_saved": 0.1}], simulated={name: 2})
        told = self.tip("candidates-chart", 0, 0)
        self.assertIn(name, told)
        self.assertIn(f"also here: {name}2 on 5 nodes of {name} (runner-up)", told)
        self.choose("candidates-group", "what is compared")
        self.press(self.find("#candidates-chart"), "ARROW_RIGHT")
        self.assertEqual(self.find_all("img"), [])
        self.assertIsNone(self.script("return window.hit"))


if __name__ == "__main__":
    unittest.main()
