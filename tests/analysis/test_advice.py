"""Does the page of an advice say what advice.json holds, and refuse what is none?"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "analysis" / "advice.py"


def candidate(number, schedule, hours, cost=None, sgd=True, **more):
    return {"candidate": number, "cluster": "a<b", "nodes": 4 + number, "schedule": {"name": schedule}, "fidelity": "per-message", "simulated_deepest": True,
            "iteration_s": 0.1, "throughput_samples_per_s": 320.0, "staleness_mean": 0.0 if sgd else 3.0, "is_sgd": sgd, "is_comparable": sgd, "hours": hours, "cost": cost,
            "within_limits": True, "on_front": number == 0, **more}


def result(*candidates, **changes):
    return {"format": "advice-result/1", "name": "test", "objective": "time", "samples": 1e6, "samples_factor": {}, "choice": 0, "runner_up": 1,
            "decides": [{"factor": "link.bandwidth", "change": 1.1, "time_saved": 0.0312}, {"factor": "workers.jitter", "change": "off", "time_saved": 0.5}],
            "simulated": {"alpha-beta": 3}, "notes": [], "left_out": [], "candidates": list(candidates), **changes}


class Advice(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tmp = pathlib.Path(folder.name)

    def run_on(self, content, code=0):
        (self.tmp / "advice.json").write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        done = subprocess.run([sys.executable, PROGRAM, self.tmp, "-o", self.tmp / "page.html"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr if code else re.sub(r"\s+", " ", (self.tmp / "page.html").read_text(encoding="utf-8"))

    def test_the_choice_leads_and_everything_is_escaped(self):
        page = self.run_on(result(candidate(0, "wfbp", 12345.678, 99.5), candidate(1, "fusion", 20000.0, 120.0)))
        self.assertIn("Take <b>wfbp on 4 nodes of a&lt;b</b>: 12346 h, cost 99.5.", page)
        self.assertIn("Runner-up: fusion on 5 nodes of a&lt;b: 20000 h, cost 120.", page)
        self.assertIn("link.bandwidth × 1.1 would save 3.1 %, workers.jitter × off would save 50 %", page)
        self.assertNotIn("a<b", page)
        self.assertNotRegex(page, r"\d[eE][+-]\d")
        self.assertNotIn("Better, but staler", page)

    def test_staler_ones_are_apart(self):
        page = self.run_on(result(candidate(0, "wfbp", 10.0), candidate(1, "asgd", 8.0, sgd=False, as_good_with_samples=1.25)))
        best, staler = page.split("<h2>The best</h2>")[1].split("<h2>Better, but staler</h2>")
        self.assertNotIn("asgd", best)
        self.assertIn("<td>1.25</td>", staler)

    def test_one_whose_samples_are_known_is_compared(self):
        page = self.run_on(result(candidate(0, "asgd", 8.0, sgd=False, is_comparable=True), runner_up=None))
        self.assertIn("asgd", page.split("<h2>The best</h2>")[1])

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
        pages = [self.run_on(result(candidate(0, "wfbp", 10.0), notes=["the trace of x is SYNTHETIC, not measured"])) for _ in range(2)]
        self.assertEqual(*pages)
        self.assertIn("SYNTHETIC", pages[0])

    def test_bad_input(self):
        for content, said in (("{", "expected JSON"), ("[]", "expected a JSON object"), (result(format="advice/1"), "/format"), (result(), "/candidates"),
                              ({key: value for key, value in result(candidate(0, "wfbp", 1.0)).items() if key != "notes"}, '"notes"')):
            with self.subTest(said):
                error = self.run_on(content, 3)
                self.assertTrue(error.startswith("advice.py: ") and "advice.json" in error and said in error and error.count("\n") == 1, error)
        (self.tmp / "advice.json").unlink()
        self.assertEqual(subprocess.run([sys.executable, PROGRAM, self.tmp, "-o", self.tmp / "page.html"], capture_output=True, check=False).returncode, 3)


if __name__ == "__main__":
    unittest.main()
