"""Does the report compare schedules by what they need in samples, where it is told?"""

import json
import unittest

from pages import Pages, run

import samples
from samples import point


class Weighed(Pages):
    def factors(self, content):
        path = self.tmp / "samples_factor.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def shown(self, rows, factors, **more):
        return self.page(samples.write(self.tmp / "out", rows, **more), words=("--samples-factor", self.factors(factors)))

    def test_what_needs_fewer_samples_in_all_is_first(self):
        rows = [point(0, "asgd"), point(1, "wfbp"), point(2, "dts")]        # iterations of 115, 125 and 135 ms
        page = self.shown(rows, {"asgd": 1.5, "lasgd": 9})
        self.assertEqual(page.tables["samples"], [["Schedule", "Iteration", "Samples ×", "Together"],
                                                  ["wfbp", "125 ms", "1.00", "125 ms"], ["asgd", "115 ms", "1.50", "173 ms"]])
        self.assertIn("<b>125 ms</b>", self.text)
        self.assertIn("Without a factor: dts.", self.text)

    def test_each_size_has_its_own_least(self):
        page = self.shown([point(0, "asgd", 4, sweep={"/cluster/nodes": 4, "/schedule/name": "asgd"}), point(1, "wfbp", 4, sweep={"/cluster/nodes": 4, "/schedule/name": "wfbp"}),
                           point(2, "asgd", 8, sweep={"/cluster/nodes": 8, "/schedule/name": "asgd"})], {"asgd": 1.01})
        self.assertEqual([line[:2] for line in page.tables["samples"]], [["Nodes", "Schedule"], ["4", "asgd"], ["4", "wfbp"], ["8", "asgd"]])
        self.assertEqual(self.text.count("<td><b>"), 2)

    def test_what_accumulates_or_compresses_needs_a_factor_of_its_own(self):
        rows = [point(0, "asgd"), point(1, "wfbp", sweep={"/schedule": {"name": "wfbp", "accumulate": 4}})]
        rows[0]["sweep"] = {"/schedule": "asgd"}
        page = self.shown(rows, {"asgd": 1.5})
        self.assertEqual([line[0] for line in page.tables["samples"][1:]], ["asgd"])

    def test_without_a_factor_there_is_no_section(self):
        for factors in ({}, {"lasgd": 2}):
            self.assertNotIn("samples", self.shown([point(0, "asgd"), point(1, "wfbp")], factors).tables)

    def test_bad_factors(self):
        folder = samples.write(self.tmp / "out", [point(0, "asgd")])
        cases = [("{", "line 1, column 2: expected JSON"), ("[1]", "expected a JSON object, got [1]"), ({"asgd": 0}, "/asgd: expected a number > 0 and <= 1000000, got 0"),
                 ({"asgd": True}, "/asgd: expected a number > 0"), ({"asgd": "2"}, '/asgd: expected a number > 0 and <= 1000000, got "2"'), ('{"asgd": NaN}', "/asgd: expected a number > 0"),
                 ('{"asgd": 1e7}', "/asgd: expected a number > 0")]
        for content, message in cases:
            with self.subTest(content=content):
                code, out, error = run(folder, "-o", self.tmp / "report.html", "--samples-factor", self.factors(content))
                self.assertEqual((code, out), (3, ""))
                self.assertIn(message, error)
                self.assertIn("write it by train.py", error)
        code, _, error = run(folder, "-o", self.tmp / "report.html", "--samples-factor", self.tmp / "none.json")
        self.assertEqual(code, 3)
        self.assertIn("none.json: missing", error)
        self.assertEqual(run(folder, "-o", self.tmp / "figures/", "--format", "png", "--samples-factor", self.factors({}))[0], 2)


if __name__ == "__main__":
    unittest.main()
