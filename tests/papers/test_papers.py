"""Is every published number handled, do the papers' scenarios run, and does the page say what the files say?"""

import collections
import csv
import os
import re
import subprocess
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from pages import ROOT, Folder, Page, run_main
from syncopate.common.errors import InputError
from syncopate.papers import main as papers
from syncopate.papers import page as paper_page
from syncopate.papers.published import difference, read_published
from syncopate.papers.quantities import CALIBRATED, CHOSEN, MODULES, QUANTITIES, REMARKS, UNEXPLAINED, Comparison, compare, variants
from syncopate.papers.results import Results

SIMCTL = Path(os.environ.get("SIMCTL", ROOT / "build" / "simctl"))
PAPERS = ROOT / "scenarios" / "papers"
PUBLISHED = PAPERS / "published.csv"
SHARED = ROOT.parent / "shared" / "data" / "published.csv"


def run(*words):
    return run_main(papers.main, *words)


class Files(unittest.TestCase):
    def test_every_published_number_has_a_row_and_no_other_has(self):
        self.assertEqual(sorted(read_published(PUBLISHED)), sorted(QUANTITIES))

    @unittest.skipUnless(SHARED.exists(), "the shared data are absent")
    def test_every_number_of_the_shared_data_is_there(self):
        ours = read_published(PUBLISHED)
        with open(SHARED, newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                self.assertEqual((ours[row["id"]].text, ours[row["id"]].paper, ours[row["id"]].unit), (row["value"], row["paper"], row["unit"]))

    def test_calibrated_scenarios_are_chosen_on_numbers_of_their_paper(self):
        numbers = read_published(PUBLISHED)
        for paper, module in MODULES.items():
            self.assertTrue(module.CHOSEN)
            self.assertLessEqual(set(module.CHOSEN), module.CALIBRATED)
            varied = [row for _, formulas in module.VARIANTS for row in formulas]
            self.assertEqual({numbers[row].paper for row in (*module.QUANTITIES, *module.REMARKS, *module.CHOSEN, *varied)}, {paper})
        self.assertLessEqual(set(CALIBRATED), set(QUANTITIES))

    def test_every_scenario_and_cluster_is_valid_and_described(self):
        self.assertGreater(len(papers.scenarios()), 10)
        for scenario in papers.scenarios():
            with self.subTest(scenario.relative_to(PAPERS)):
                done = subprocess.run([SIMCTL, "check", scenario], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                readme = (scenario.parent / "README.md").read_text(encoding="utf-8")
                self.assertRegex(readme, rf"(?m)^## .*`{scenario.name}`")
        for path in sorted(PAPERS.glob("*/*/*.json")):
            with self.subTest(path.relative_to(PAPERS)):
                done = subprocess.run([SIMCTL, "show", path], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_every_paper_states_its_assumption(self):
        for paper in {one.paper for one in read_published(PUBLISHED).values()}:
            self.assertIn(".", papers.assumption(PAPERS / paper.lower() / "README.md"))


class ThePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.out = Path(cls.holder.name)
        cls.code, cls.said, cls.errors = run("-o", cls.out, "--simctl", SIMCTL)
        if cls.code == 0:
            cls.text = (cls.out / "papers.html").read_text(encoding="utf-8")
            cls.page = Page(cls.text)
            cls.compared = compare(Results(cls.out), read_published(PUBLISHED))
            cls.lines = [line for name, table in cls.page.tables.items() if name.startswith("numbers") for line in cls.with_remarks(*table)]

    @staticmethod
    def with_remarks(head, *rows):
        """The rows of a table as dicts; a row of two cells is the remark on the one above it."""
        found = []
        for cells in rows:
            if len(cells) == 2:
                found[-1]["Remark"] = cells[1]
            else:
                found.append(dict(zip(head, cells, strict=True)) | {"Remark": ""})
        return found

    def setUp(self):
        self.assertEqual((self.code, self.errors), (0, ""))

    def test_the_table_has_every_published_value_and_no_other(self):
        with open(PUBLISHED, newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        self.assertEqual([re.match(r"(?:at (?:least|most) )?([\d. e+-]*\d)", line["Published"])[1] for line in self.lines],
                         [row["value"] for row in rows])
        self.assertEqual([re.search(r"inputs: (\w+)$", line["Quantity"])[1] for line in self.lines], [row["inputs_given"] for row in rows])
        self.assertEqual([line["Place"] for line in self.lines], [row["place"] for row in rows])

    def test_published_values_come_from_the_file(self):
        text = PUBLISHED.read_text(encoding="utf-8")
        changed = self.out / "changed.csv"
        changed.write_text(text.replace(",3657.22,", ",1234.5,").replace(",33 19 10 7 5", ",77 19 10 7 5"), encoding="utf-8")
        page = Page(paper_page.page(compare(Results(self.out), read_published(changed)), [], [], collections.defaultdict(str)))
        for old, new in (("33 19 10 7 5 3", "77 19 10 7 5 3"), ("3657.22", "1234.5")):
            self.assertIn(old, str(self.page.tables))
            self.assertNotIn(old, str(page.tables))
            self.assertIn(new, str(page.tables))

    def test_published_words_are_text_whatever_they_hold(self):
        name = """<script>alert("it's")</script> & co"""
        hostile = [replace(one, published=replace(one.published, quantity=name, configuration=name, note=name))
                   for one in self.compared]
        drawing = [(hostile[0].published.paper, name, name, '<svg viewBox="0 0 1 1"></svg>')]
        page = Page(paper_page.page(hostile, drawing, [], collections.defaultdict(lambda: name)))
        self.assertTrue(page.tables["numbers-1"][1][1].startswith(name + name))
        self.assertNotIn("script", [tag for tag, _ in page.tags])
        self.assertIn(name, [attributes.get("aria-label") for _, attributes in page.tags])

    def test_remarks_belong_to_published_numbers(self):
        self.assertLessEqual(set(REMARKS), set(QUANTITIES))
        self.assertLessEqual(UNEXPLAINED, set(REMARKS) | {"lasgd-sgd-8"})

    def test_what_differs_or_cannot_be_compared_says_why(self):
        compared = self.compared
        self.assertEqual([one.published.id for one in compared if not one.close and not one.remark], [])
        for line, one in zip(self.lines, compared):
            self.assertIn(one.remark, line["Remark"])
            self.assertEqual(line["Difference"] == "not comparable", one.ours is None)
            self.assertRegex(line["Difference"], r"^(not comparable|0 %|[+-][\d.]+ (%|points))(gain [+-][\d.]+ %, ours [+-][\d.]+ %(, wrong sign)?|wrong sign)?$")
            self.assertEqual("wrong sign" in line["Difference"], one.wrong_sign)

    def test_inputs_are_read_back_exactly(self):
        for line in self.lines:
            if line["Remark"].startswith("An input") and line["Ours"] != "–":
                self.assertEqual(line["Difference"], "0 %")

    def test_the_summary_counts_right(self):
        compared = self.compared
        for line in self.page.tables["summary"][1:]:
            its = [one for one in compared if line[0] in ("all", one.published.paper)]
            predicted = [one for one in its if one.ours and one.published.kind in ("value", "gain")]
            bounds = [one for one in its if one.ours and one.published.kind == "bound"]
            self.assertEqual([int(cell) for cell in line[1:5]], [len(its), len(predicted), sum(one.close for one in predicted),
                                                                 sum(one.wrong_sign for one in predicted)])
            best = [one.calibrated or one for one in predicted if one.published.id not in CHOSEN]
            self.assertEqual(line[7], f"{sum(one.close for one in best)} of {len(best)}")
            self.assertEqual(line[9], f"{sum(one.close for one in bounds)} of {len(bounds)}")
            self.assertEqual(int(line[1]), int(line[2]) + len(bounds) + int(line[10]) + int(line[11]))
            self.assertEqual(int(line[2]), int(line[3]) + int(line[5]) + int(line[6]))

    def test_variants_stand_beside_and_are_not_counted(self):
        found = {paper: its for paper, its in variants(Results(self.out), read_published(PUBLISHED)).items() if its}
        self.assertEqual(set(found), {"MG-WFBP", "LASGD"})
        ours = {one.published.id: one.ours for one in self.compared}
        shown = [rows for name, rows in self.page.tables.items() if name.startswith("variant-")]
        for (words, its), (_, *rows) in zip([one for its in found.values() for one in its], shown, strict=True):
            self.assertIn(words, self.text.replace("&#39;", "'"))
            self.assertEqual([row[1] for row in rows], [one.published.quantity for one in its])
            self.assertEqual([row[3] for row in rows], [paper_page.ours(one) for one in its])
            for one in its:
                self.assertNotEqual(one.ours, ours[one.published.id], one.published.id)

    def test_a_chosen_number_comes_out_as_published(self):
        for one in self.compared:
            if one.calibrated and one.calibrated.chosen:
                of_a_row = one.published.id in ("dts-dts", "dts-speedup")      # the nearest of four rows, not any number
                self.assertLess(abs(one.calibrated.difference), 0.03 if of_a_row else 0.003, one.published.id)

    def test_it_says_which_traces_are_synthetic_and_needs_nothing_from_outside(self):
        self.assertEqual((self.page.problems, self.page.open), ([], []))
        self.assertIn("synthetic: their layer times are modelled, not measured", self.text)
        self.assertNotRegex(self.text, "https?:")
        self.assertEqual(self.text.count("their layer times are modelled, not measured"), 1)
        names = [tag for tag, _ in self.page.tags]
        self.assertFalse({"script", "link", "img", "iframe"} & set(names))
        self.assertEqual(names.count("svg"), names.count("figure"))
        ids = [attributes["id"] for _, attributes in self.page.tags if "id" in attributes]
        self.assertEqual(len(ids), len(set(ids)))
        for paper in {one.paper for one in read_published(PUBLISHED).values()}:
            self.assertIn(f">{paper}</h2>", self.text)


    def test_the_readme_counts_right(self):
        total = next(line for line in self.page.tables["summary"] if line[0] == "all")
        readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
        self.assertIn(f"of {total[2]} published numbers that a simulation predicts, {total[3]} come out within 10% and with the right sign, and {total[7]} with "
                      "inputs chosen on other numbers; bounds are not counted", readme)
        papers_readme = " ".join((PAPERS / "README.md").read_text(encoding="utf-8").split())
        self.assertIn(f"Of {total[2]} numbers that a simulation predicts, {total[3]} come out within 10% and with the right sign", papers_readme)
        self.assertIn(f"So {total[7]} come out", papers_readme)
        held, bounds = total[9].split(" of ")
        self.assertIn(f"The {bounds} bounds are not counted; {held} of them hold", papers_readme)


class Signs(unittest.TestCase):
    def one(self, published, ours, kind="gain"):
        numbers = read_published(PUBLISHED)["mg-sim-googlenet-wfbp"]
        return Comparison(replace(numbers, values=published, kind=kind), ours, 0.0, "each", "")

    def test_a_gain_that_is_none_or_a_loss(self):
        for published, ours, wrong in (((1.1,), [1.02], False), ((1.1,), [1.004], True), ((1.1,), [0.9], True), ((0.9,), [0.8], False),
                                       ((1.0,), [1.003], False), ((1.1,), [1.2, 0.99], True), ((1.1, 0.9), [1.2, 0.8], False)):
            self.assertEqual(self.one(published, ours).wrong_sign, wrong)
        self.assertFalse(self.one((1.1,), [0.9], "value").wrong_sign)

    def test_a_wrong_sign_is_a_miss_however_near(self):
        for ours, close in ((1.02, True), (1.0, False), (0.95, False)):
            found = replace(self.one((1.05,), [ours]), difference=ours / 1.05 - 1)
            self.assertLess(abs(found.difference), 0.1)
            self.assertEqual((found.close, found.wrong_sign), (close, not close))

    def test_a_bound_is_not_counted(self):
        names = {"value": [1.2], "gain": [1.2], "bound": [1.2], "input": [1.0], "count": [1.0], "repeat": [1.0]}
        found = [replace(self.one((1.0,), ours, kind), how="at least" if kind == "bound" else "each") for kind, ours in names.items()]
        self.assertEqual([one.published.kind for one in found if one.predicted], ["value", "gain"])
        total = paper_page.count("", found)
        self.assertEqual((total.predicted, total.bounds, total.bounds_held, total.others), (2, 1, 1, 3))

    def test_a_bound_holds_or_does_not(self):
        for ours, holds in ((0.6, True), (0.598, True), (0.57, False)):
            found = replace(self.one((0.6,), [ours], "bound"), how="at least", difference=min(0, ours / 0.6 - 1))
            self.assertEqual(found.close, holds)

    def test_an_order_that_is_reversed(self):
        for ours, wrong in (([1.2], False), ([0.996], False), ([0.98], True)):
            found = replace(self.one((1.0,), ours, "bound"), how="at least", difference=min(0, ours[0] - 1))
            self.assertEqual((found.wrong_sign, found.close), (wrong, not wrong))


class Errors(Folder):
    def write(self, change):
        path = self.tmp / "published.csv"
        path.write_text(change(PUBLISHED.read_text(encoding="utf-8")), encoding="utf-8")
        return path

    def fails(self, words, call, *values):
        with self.assertRaisesRegex(InputError, words):
            call(*values)

    def test_bad_published_numbers(self):
        changes = [("header: expected id,paper", lambda text: text.replace("id,", "", 1)),
                   (r'line 3: value: .* got "fast"', lambda text: text.replace("0.0018,s", "fast,s")),
                   (r'line 3: id "mg-allreduce-200k" appears twice', lambda text: text.replace("mg-allreduce-400k", "mg-allreduce-200k")),
                   (r'line 2: inputs_given: expected yes, partly, no, got "perhaps"', lambda text: text.replace("yes", "perhaps", 1))]
        for words, change in changes:
            with self.subTest(words):
                self.fails(words, read_published, self.write(change))
        self.fails("published.csv: missing", read_published, self.tmp / "none" / "published.csv")

    def test_unknown_and_missing_ids(self):
        numbers = read_published(self.write(lambda text: text.replace("mg-allreduce-200k", "mg-of-nobody")))
        self.fails("no row for mg-of-nobody", compare, Results(self.tmp), numbers)
        del numbers["mg-of-nobody"]
        self.fails("published.csv: no row for mg-allreduce-200k", compare, Results(self.tmp), numbers)

    def test_missing_results(self):
        self.fails("mg-wfbp/figure-4: no such folder; make it with: simctl run", compare, Results(self.tmp), read_published(PUBLISHED))

    def test_a_simulator_that_is_absent_or_fails(self):
        code, _, error = run("-o", self.tmp / "out", "--simctl", self.tmp / "absent")
        self.assertEqual(code, 3)
        self.assertIn("cannot be run", error)
        broken = self.tmp / "broken"
        broken.write_text("#!/bin/sh\necho 'a deadlock' >&2\nexit 4\n", encoding="utf-8")
        broken.chmod(0o755)
        code, _, error = run("-o", self.tmp / "out", "--simctl", broken)
        self.assertEqual(code, 4)
        self.assertRegex(error, r"papers.py: .*\.json: a deadlock")
        self.assertEqual(run()[0], 2)


class Differences(unittest.TestCase):
    def test_how_numbers_are_compared(self):
        self.assertAlmostEqual(difference((2.0,), [2.5], "each"), 0.25)
        self.assertAlmostEqual(difference((2.0,), [2.1, 1.0], "each"), -0.5)
        self.assertAlmostEqual(difference((1.0, 2.0), [1.1, 2.8], "each"), 0.4)
        self.assertEqual(difference((16.0, 64.0), [32, 64], "within"), 0)
        self.assertAlmostEqual(difference((16.0, 64.0), [32, 128], "within"), 1)
        self.assertEqual(difference((0.6,), [0.7, 0.9], "at least"), 0)
        self.assertAlmostEqual(difference((0.6,), [0.3, 0.9], "at least"), -0.5)
        self.assertAlmostEqual(difference((0.1, 0.9), [0.4, 0.7], "shares"), 0.3)


if __name__ == "__main__":
    unittest.main()
