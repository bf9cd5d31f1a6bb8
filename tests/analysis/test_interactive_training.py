"""Does the page of a training do in a browser what it offers?"""

import json
import tempfile
import unittest
from pathlib import Path

import records
from browser import Browser
from pages import run_main
from syncopate.training.main import main


class Training(Browser):
    @classmethod
    def setUpClass(cls):
        """Trains once for all tests."""
        super().setUpClass()
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.folder = Path(holder.name)
        made = [(records.s_sgd, "near", 1.0), (records.asgd, "near", None), (records.local_sgd, "near", None), (records.s_sgd, "far", 9.0)]
        for point, (make, cluster, seconds) in enumerate(made):
            writer = make(4, 24, **({"seconds": seconds} if seconds else {}))
            writer.header.update(point=point, labels={"/schedule/name": writer.header["schedule"], "/cluster": cluster})
            writer.write(cls.folder / f"dataflow-{point}.jsonl.gz")
        code, _, error = run_main(main, cls.folder, "--task", "synthetic:6-8-4", "--lr", "0.2", "--seeds", "2", "--evaluations", "12", "-o", cls.folder / "out")
        if code:
            raise AssertionError(error)
        cls.found = json.loads((cls.folder / "out" / "training.json").read_text(encoding="utf-8"))

    def open_page(self, width=1100, theme="light"):
        self.show(self.folder / "out" / "index.html", width, theme)

    def lines(self):
        return {name: its for name, its in self.series("training-chart").items() if its}

    def test_the_chart_shows_the_curves(self):
        self.open_page()
        self.assertEqual(self.choices("training-setting"), ["cluster=near", "cluster=far"])
        self.assertEqual(list(self.lines()), ["s-sgd", "asgd", "local-sgd"])
        curve = self.found["records"][1]["curve"]
        for (across, value), seconds, mean in zip(self.lines()["asgd"], curve["seconds"], curve["loss"]["mean"]):
            self.assertAlmostEqual(across, seconds, delta=1e-4)
            self.assertAlmostEqual(value, mean, delta=1e-4)
        self.choose("training-measure", "test error (1 − accuracy)")
        self.choose("training-axis", "samples")
        for (across, value), gradients, mean in zip(self.lines()["asgd"], curve["gradients"], curve["accuracy"]["mean"]):
            self.assertAlmostEqual(across, 8 * gradients)
            self.assertAlmostEqual(value, 1 - mean, delta=1e-4)
        self.choose("training-setting", "cluster=far")
        self.assertEqual(list(self.lines()), ["s-sgd"])

    def test_axes_legend_and_tooltip(self):
        self.open_page()
        self.assertEqual(self.option("training-chart")["yAxis"][0]["type"], "log")
        self.find("#training-log-y").click()
        self.find("#training-log-x").click()
        self.assertEqual([self.option("training-chart")[axis][0]["type"] for axis in ("xAxis", "yAxis")], ["log", "value"])
        self.assertTrue(all(point[0] > 0 for point in self.lines()["s-sgd"]))
        self.assertIn("local-sgd", self.tip("training-chart", 0, 5))
        self.find('#training-legend button[data-name="asgd"]').click()
        self.assertEqual(self.option("training-chart")["legend"][0]["selected"], {"s-sgd": False, "asgd": True, "local-sgd": False})
        self.assertNotIn("local-sgd", self.tip("training-chart", 1, 5))

    def test_the_table_has_every_record(self):
        self.open_page()
        self.assertEqual(self.column("schedule"), ["s-sgd", "asgd", "local-sgd", "s-sgd"])
        self.assertEqual(float(self.copied()[2][3]), self.found["records"][1]["lr"])

    def test_dark_narrow_and_by_name(self):
        self.open_page(width=400, theme="dark")
        self.assertEqual(self.background(), "rgb(20, 23, 26)")
        self.assert_fits(400)
        self.assert_all_is_named()
        self.print()
        self.assertEqual(self.background(), "rgb(255, 255, 255)")


if __name__ == "__main__":
    unittest.main()
