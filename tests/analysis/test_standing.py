"""Is the fastest choice named where the rows can tell it, and only there, and as simctl does?"""

import itertools
import json
import os
import re
import subprocess
import unittest
from dataclasses import replace
from pathlib import Path

from pages import Pages, labelled, run

from syncopate.common.wording import plain
from syncopate.report import answer
from syncopate.report.standing import EQUAL, SLOWER, UNDECIDED, Mean, standing
import samples

ROOT = Path(__file__).resolve().parents[2]
SIMCTL = os.environ.get("SIMCTL", str(ROOT / "build" / "simctl"))
STUDENT = {2: 12.70620474, 3: 4.30265273, 5: 2.77644511}  # t(0.975) of so many values, from a table


def mean(*replicates, seed=1):
    """Of replicates, with Student's interval."""
    middle = sum(replicates) / len(replicates)
    deviation = (sum((one - middle) ** 2 for one in replicates) / (len(replicates) - 1)) ** 0.5
    return Mean(middle, STUDENT[len(replicates)] * deviation / len(replicates) ** 0.5, replicates, seed, False)


def single(time, half_width=0.0):
    return Mean(time, half_width, (), 1, False)


class TheRule(unittest.TestCase):
    def test_it_is_the_interval_of_the_difference_that_decides(self):
        noisy = (1.0, 9.0, 5.0)
        for one, fastest, expected in ((single(1.005), single(1.0), EQUAL), (single(1.0051), single(1.0), SLOWER),
                                       (single(1.4, 0.3), single(1.0, 0.3), UNDECIDED), (single(1.43, 0.3), single(1.0, 0.3), UNDECIDED), (single(1.45, 0.3), single(1.0, 0.3), SLOWER),
                                       (single(1.25, 0.3), single(1.0), UNDECIDED), (single(540.0, 640.0), single(1.0), SLOWER), (single(1.004, 0.5), single(1.0, 0.5), EQUAL),
                                       # the same seeds: what is common to both says nothing
                                       (mean(1.5, 9.5, 5.5), mean(*noisy), SLOWER), (mean(1.5, 9.6, 5.55), mean(*noisy), SLOWER),
                                       (mean(1.5, 9.5, 5.5, seed=2), mean(*noisy), UNDECIDED), (mean(2.0, 10.0), mean(*noisy), UNDECIDED),
                                       (mean(5.5, 1.5, 9.5), mean(*noisy), UNDECIDED),
                                       # two replicates, a factor of eleven: one of them is rare
                                       (mean(4.0, 54.0), mean(2.5, 2.7), UNDECIDED),
                                       # nothing drawn
                                       (mean(1.1, 1.2, 1.3), single(1.0), UNDECIDED), (mean(1.3, 1.4, 1.35), single(1.0), SLOWER),
                                       (single(9.0), replace(single(1.0), unsure=True), UNDECIDED), (replace(single(9.0), unsure=True), single(1.0), UNDECIDED),
                                       (replace(single(1.0), unsure=True), single(1.0), EQUAL),
                                       # their windows meet other events
                                       (replace(single(9.0), missed=frozenset({("pause of rank 1", 5.0)})), single(1.0), UNDECIDED),
                                       (*(replace(single(time), missed=frozenset({("pause of rank 1", 5.0)})) for time in (9.0, 1.0)), SLOWER),
                                       (single(1.3), mean(1.0, 1.0, 1.0), SLOWER), (mean(1.3, 1.3, 1.3), mean(1.0, 1.0, 1.0), SLOWER)):
            with self.subTest(one=one, fastest=fastest):
                self.assertEqual(standing(one, fastest), expected)

    def test_numbers_in_sentences_have_no_exponent(self):
        self.assertEqual([plain(value, 2) for value in (7.25, 7.0, 9.96, 128.4, 12345.6, -0.0512, 0)], ["7.2", "7", "10", "128", "12346", "-0.051", "0"])


class ThePage(Pages):
    def rows(self, *names, **more):
        return [samples.row(place, {"/schedule/name": name}, "10gbe", name, 8, 0.01 + 0.01 * place) | more for place, name in enumerate(names)]

    def test_replicates_of_the_same_seeds_are_compared_pair_by_pair(self):
        rows = self.rows("wfbp", "s-sgd")
        for row, seconds in zip(rows, ([0.015, 0.215, 0.115], [0.025, 0.226, 0.124])):
            its = mean(*seconds)
            row.update(iteration_low_s=0, iteration_high_s=its.iteration_s + its.half_width, replicates=3, replicates_iteration_s=seconds)
        page = self.page(samples.write(self.tmp / "out", rows))
        self.assertEqual((page.tables["answer"][1][1], page.tables["answer"][1][4]), ("wfbp", "s-sgd"))

    def test_unsure_is_marked(self):
        page = self.page(samples.write(self.tmp / "out", self.rows("wfbp", "s-sgd", unsure=True)))
        self.assertEqual(page.tables["answer"][1][1], "wfbp, s-sgd (cannot be told apart) (too few iterations)")
        self.assertIn("wfbp and s-sgd cannot be told apart by so few iterations at 8 nodes", self.text)

    def test_missing_rivals_are_said_in_the_sentence(self):
        rows = [one for one in samples.grid(("10gbe",)) if one["point"] < 10]
        self.page(samples.write(self.tmp / "out", rows, total=12))
        self.assertIn("wfbp is fastest at 32 nodes (of 1).", self.text)

    def test_staleness_has_no_exponent(self):
        rows = self.rows("asgd", "wfbp")
        rows[0]["staleness_mean"], rows[0]["staleness_max"] = 128.4, 300
        self.page(samples.write(self.tmp / "out", rows))
        self.assertIn("asgd (staleness 128) is fastest at 8 nodes.", self.text)

    def test_what_is_no_list_of_times_is_refused(self):
        for key, value, message in (("replicates_iteration_s", 3, "expected a list, got 3"), ("replicates_iteration_s/1", [1.0, 0], "expected a number > 0, got 0"),
                                    ("unsure", "yes", 'expected true or false, got "yes"')):
            with self.subTest(value):
                out = samples.write(self.tmp / "out", self.rows("wfbp", **{key.split("/")[0]: value}))
                code, _, error = run(out, "-o", self.tmp / "x.html")
                self.assertEqual((code, error), (3, f"report.py: {out}/results.json: /points/0/{key}: {message}; run the scenario again: "
                                                    f"simctl run SCENARIO -o {out}\n"))


class LikeSimctl(Pages):
    def test_the_same_choices_win(self):
        """Of few noisy runs, with and without replicates, exact ones beside them."""
        kinds = set()
        for cv, replicates, measured, seed in [(0, 1, 2, 1), (0, 2, 12, 2), *itertools.product((0.1, 1), (1, 2, 5), (2, 12), (1, 2))]:
            with self.subTest(cv=cv, replicates=replicates, measured=measured, seed=seed):
                out = self.tmp / f"{cv}-{replicates}-{measured}-{seed}"
                settings = {"/sweep": {"/schedule/name": ["wfbp", "sync-easgd", "asgd", "ad-psgd"]}, "/cluster/nodes": 4, "/seed": seed,
                            "/workers": {"jitter": {"distribution": "lognormal", "cv": cv}}, "/replicates": replicates,
                            "/iterations": {"warmup": 1, "measured": measured}}
                words = [word for key, value in settings.items() for word in ("--set", f"{key}={json.dumps(value)}")]
                done = subprocess.run([SIMCTL, "run", ROOT / "scenarios/quickstart.json", "--quiet", "-o", out, "--force", *words], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                runs, frame, _, _ = labelled(out)
                (winner,) = answer.winners(runs, frame)
                told = re.sub(r" \(staleness [^)]*\)", "", runs[0].about["answer"][0])
                names, verb, draw = re.match(r"On .*?, ((?:[\w-]+, )*[\w-]+(?: and [\w-]+)?) (is fastest|tie|cannot be told apart)( by so few iterations)?", told).groups()
                kinds.add(verb)
                self.assertEqual(tuple(re.split(", | and ", names)), winner.names)
                self.assertEqual((verb + (draw or "")), re.sub(" \\(within 0.5 %\\)| of unknown uncertainty", "", answer.verb(winner)))
        self.assertLessEqual({"is fastest", "cannot be told apart"}, kinds)


if __name__ == "__main__":
    unittest.main()
