"""Does the page of an advice say what advice.json holds, and refuse what is none?"""

import json
import re
import subprocess
import sys
import unittest

from pages import ROOT, Folder, Page, run_main
from samples import advice as result, candidate
from syncopate.advice.main import main

PROGRAM = ROOT / "analysis" / "advice.py"


def run_here(*words):
    return run_main(main, *words)


def run_program(*words):
    done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Advice(Folder):
    def run_on(self, content, code=0, by=run_here):
        """What is on the page but for its scripts and what it embeds for them, or the error. `by` runs advice.py."""
        (self.tmp / "advice.json").write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        found, _, error = by(self.tmp, "-o", self.tmp / "page.html")
        self.assertEqual(found, code, error)
        if code:
            return error
        self.text = (self.tmp / "page.html").read_text(encoding="utf-8")
        self.read = Page(self.text)
        self.assertEqual((self.read.problems, self.read.open), ([], []))
        return re.sub(r"\s+", " ", self.text[:self.text.index('<script type="application/json"')])

    def test_the_choice_leads_and_everything_is_escaped(self):
        page = self.run_on(result(candidate(0, "wfbp", 12345.678, 99.5, cluster="a<b"), candidate(1, "fusion", 20000.0, 120.0, cluster="a<b")))
        self.assertIn("Take <b>wfbp on 4 nodes of a&lt;b</b>: 12346 h, cost 99.5.", page)
        self.assertIn("Runner-up: fusion on 5 nodes of a&lt;b: 20000 h, cost 120.", page)
        self.assertEqual(self.read.tables["what-if"], [["Change", "by", "Time saved"], ["link.bandwidth", "+10 %", "3.12 %"], ["workers.jitter", "off", "50 %"]])
        self.assertEqual(re.findall(r"--part:([0-9.]+)", page), ["0.0624", "1.0000"])
        self.assertIn("<code>simctl run choice.json -o results --timeline --explain</code>", page)
        self.assertNotIn("a<b", self.text)
        self.assertNotRegex(page, r"\d[eE][+-]\d")
        self.assertNotIn("Better, but staler", page)

    def test_staler_ones_are_apart(self):
        page = self.run_on(result(candidate(0, "wfbp", 10.0), candidate(1, "asgd", 8.0, sgd=False, as_good_with_samples=1.25)))
        self.assertIn("Better, but staler", page)
        self.assertEqual([row[0] for row in self.read.tables["best"][1:]], ["wfbp"])
        self.assertEqual(self.read.tables["staler"][1:], [["asgd", "10gbe", "5", "100 ms", "8", "3", "1.25"]])

    def test_what_failed_in_another_world_is_not_among_the_best(self):
        self.run_on(result(candidate(0, "wfbp", 10.0), candidate(1, "s-sgd", 9.0, refusal="in another world: deadlock")))
        self.assertEqual([row[0] for row in self.read.tables["best"][1:]], ["wfbp"])

    def test_one_whose_samples_are_known_is_compared(self):
        self.run_on(result(candidate(0, "asgd", 8.0, sgd=False, is_comparable=True, samples_factor=1.2), runner_up=None))
        self.assertEqual(self.read.tables["best"][1][0], "asgd")

    def test_where_nothing_is_compared_nothing_is_as_good(self):
        page = self.run_on(result(candidate(0, "asgd", 8.0, sgd=False, as_good_with_samples=None), choice=None, runner_up=None))
        self.assertIn("Nothing trains as synchronous SGD does, or has a samples_factor.", page)
        self.assertIn("<td>–</td> </tr>", page)

    def test_without_a_choice(self):
        one = {key: value for key, value in result(candidate(0, "wfbp", 10.0, 3.0), objective="pareto").items() if key not in ("choice", "runner_up")}
        self.assertIn("Nothing is both faster and cheaper than any of the 1 below", self.run_on(one))
        one["candidates"][0]["within_limits"] = False
        self.assertIn("Nothing that can be compared is within the limits", self.run_on(one))

    def test_the_same_bytes_again(self):
        pages = [self.run_on(result(candidate(0, "wfbp", 10.0), notes=["the trace of x is SYNTHETIC, not measured"]), by=run_program) for _ in range(2)]
        self.assertEqual(*pages)
        self.assertIn("SYNTHETIC", pages[0])

    def test_the_best_come_first_and_what_nobody_can_choose_last(self):
        rows = [candidate(0, "wfbp", 12.0), candidate(1, "s-sgd", 10.0), candidate(2, "asgd", 1.0, sgd=False), candidate(3, "fusion", 11.0, on_front=True),
                candidate(4, "horovod", 2.0, within_limits=False), candidate(5, "mg-wfbp", 9.0)]
        self.run_on(result(*rows))
        self.assertEqual([row[0] for row in self.read.all_points()[1:]], [0, 1, 3, 5, 2, 4])

    def test_only_columns_that_hold_anything_are_there(self):
        self.run_on(result(candidate(0, "wfbp", 10.0), candidate(1, {"name": "fusion", "bucket": "25MB"}, 11.0)))
        head, *rows = self.read.all_points()
        self.assertEqual(head, ["candidate", "rank", "schedule", "parameters", "cluster", "nodes", "paid_nodes", "hours", "iteration_s", "throughput_samples_per_s",
                                "staleness_mean", "samples_factor", "fidelity", "compared", "within_limits"])
        self.assertEqual(rows[1], [1, "runner-up", "fusion", "bucket=25MB", "10gbe", 5, 5, 11.0, 0.1, 320.0, 0.0, 1, "per-message", "yes", "yes"])

    def test_bad_input(self):
        good = candidate(0, "wfbp", 1.0)
        for content, said in (("{", "expected JSON"), ("[]", "expected a JSON object"), (result(good, format="advice/1"), "/format"), (result(), "/candidates"),
                              ({key: value for key, value in result(good).items() if key != "notes"}, "/notes: expected a list of texts, got nothing"),
                              (result(good, decides=[{"factor": "x"}]), "/decides"), (result(3), "/candidates/0: expected an object, got 3"),
                              (result(good, good | {"hours": 0}), "/candidates/1/hours: expected a number > 0, got 0"),
                              (result(good | {"schedule": "wfbp"}), "/candidates/0/schedule"), (result(good | {"cost": -1}), "/candidates/0/cost"),
                              (result(good | {"risk": {"mean_regret": 0}}), "/candidates/0/risk"), (result(good | {"is_sgd": 1}), "/candidates/0/is_sgd")):
            with self.subTest(said):
                error = self.run_on(content, 3)
                self.assertTrue(error.startswith("advice.py: ") and "advice.json" in error and said in error and error.count("\n") == 1, error)
        (self.tmp / "advice.json").unlink()
        self.assertEqual(run_program(self.tmp, "-o", self.tmp / "page.html")[0], 3)


if __name__ == "__main__":
    unittest.main()
