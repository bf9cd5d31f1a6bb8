"""Are claims judged by the stated rule, does the page say what was measured, and are the quotes the papers' own?"""

import csv
import json
import math
import unittest

from pages import ROOT, Folder, Page, run_main

from syncopate.claims import main as claims
from syncopate.common.errors import InputError
from syncopate.claims.points import Studies
from syncopate.claims.table import COLUMNS, Point, read_claims
from syncopate.claims.verdicts import AGREES, DENIES, UNCLEAR, compare

PAPERS = ROOT.parent / "shared" / "papers"

ROW = {"id": "one", "paper": "DTS", "place": "Table 1", "quote": "little effect", "says": "A delay loses nothing", "quantity": "loss",
       "left": "dts: dts delay=4", "relation": "no more", "right": "dts: s-sgd", "note": ""}


def record(labels, finals, schedule=None, seconds=1.0, step=10):
    """One of training.json: from a loss of 2 each seed falls to its final one on a straight line over ten moments, and stays there for ten; None diverges."""
    fall = [[2 + (final - 2) * part / 10 for part in range(10)] + [final] * 11 if final is not None else [2.0] + [None] * 20 for final in finals]
    rising = [[None if one is None else max(0.0, 1 - one / 2) for one in losses] for losses in fall]
    return {"labels": labels, "setting": "all", "schedule": schedule or labels["/schedule"]["name"], "lr": 0.1, "lr_is_at_an_end": False,
            "final_accuracy": None if None in finals else 0.9, "curve": {"seconds": [place * seconds for place in range(21)], "gradients": [place * step for place in range(21)],
                                                  "samples": [8 * place * step for place in range(21)]},
            "by_seed": [{"seed": seed, "loss": losses, "accuracy": accuracies} for seed, (losses, accuracies) in enumerate(zip(fall, rising))]}


def named(name, **parameters):
    return {"/schedule": {"name": name, **parameters}}


class Verdicts(unittest.TestCase):
    def verdict(self, left, right, relation, quantity="loss"):
        return compare(left, right, relation, quantity).verdict

    def test_a_side_is_less_on_every_seed_and_by_a_tenth_in_the_mean(self):
        for left, less, more, no_more, as_good in (
                ([0.8, 0.5, 0.95], AGREES, DENIES, AGREES, DENIES),         # less
                ([1.3, 1.05, 1.2], DENIES, AGREES, DENIES, DENIES),         # more
                ([1.08, 0.95, 1.1], UNCLEAR, UNCLEAR, AGREES, AGREES),      # alike
                ([0.93, 0.95, 0.99], UNCLEAR, UNCLEAR, AGREES, AGREES),     # less, but by little: alike
                ([0.5, 0.6, 1.01], UNCLEAR, UNCLEAR, AGREES, UNCLEAR),      # not less on every seed, but on none more by much
                ([0.5, 0.6, 1.2], UNCLEAR, UNCLEAR, UNCLEAR, UNCLEAR),      # more by much on one
                ([1.02, 1.15, 1.05], UNCLEAR, UNCLEAR, UNCLEAR, UNCLEAR),   # on every seed, but by little, and more than little on one
                ([math.inf, 1.5, 2.0], DENIES, AGREES, DENIES, DENIES)):    # diverges on one
            found = tuple(self.verdict(left, [1.0, 1.0, 1.0], relation) for relation in ("less", "more", "no more", "as good as"))
            self.assertEqual(found, (less, more, no_more, as_good), left)

    def test_what_neither_reaches_tells_nothing(self):
        self.assertEqual(self.verdict([math.inf, 1.0], [math.inf, 5.0], "less", "time to target"), UNCLEAR)
        self.assertEqual(self.verdict([math.inf, math.inf], [5.0, 5.0], "less", "time to target"), DENIES)
        self.assertEqual(self.verdict([5.0, 5.0], [math.inf, math.inf], "less", "time to target"), AGREES)

    def test_the_same_is_exact_but_for_rounding(self):
        self.assertEqual(self.verdict([0.3, 0.2], [0.3 * (1 + 1e-12), 0.2], "the same"), AGREES)
        self.assertEqual(self.verdict([0.3, 0.2], [0.3 * (1 + 1e-6), 0.2], "the same"), DENIES)
        self.assertEqual(self.verdict([0.0], [0.0], "the same"), AGREES)

    def test_simulated_times_differ_by_more_than_a_tie(self):
        self.assertEqual(self.verdict([0.98], [1.0], "less", "time"), AGREES)
        self.assertEqual(self.verdict([0.998], [1.0], "less", "time"), UNCLEAR)


class Claims(Folder):
    def claim(self, code=0, **words):
        """What the command line says of a table of this row."""
        self.table([ROW | words])
        found, out, err = run_main(claims.main, self.tmp, "-o", self.tmp / "out", "--table", self.tmp / "claims.csv")
        self.assertEqual((found, err.count("\n")), (code, 1 if code else 0), err)
        return (err if code else out).rstrip("\n").replace(f"{self.tmp}/", "")

    def table(self, rows, columns=COLUMNS):
        with open(self.tmp / "claims.csv", "w", newline="", encoding="utf-8") as stream:
            table = csv.DictWriter(stream, columns)
            table.writeheader()
            table.writerows(rows)

    def study(self, *records, name="dts", **words):
        (self.tmp / name).mkdir(exist_ok=True)
        seeds = len(records[0]["by_seed"]) if records else 3
        about = {"format": "training/1", "task": "digits", "batch": 8, "seeds": seeds, "targets": {"all": {"loss": 0.5}}, "notes": [], "records": list(records)} | words
        (self.tmp / name / "training.json").write_text(json.dumps(about), encoding="utf-8")

    def result(self):
        return json.loads((self.tmp / "out" / "claims.json").read_text(encoding="utf-8"))["claims"][0]

    def test_agrees_disagrees_and_cannot_tell(self):
        for finals, verdict in (([0.1, 0.21, 0.3], AGREES), ([0.13, 0.25, 0.4], DENIES), ([0.2, 0.1, 0.3], UNCLEAR)):
            self.study(record(named("s-sgd"), [0.1, 0.2, 0.3]), record(named("dts", delay=4), finals), record(named("dts", delay=20), [1.0, 1.0, 1.0]))
            self.assertEqual(self.claim(), "out/claims.html")
            found = self.result()
            self.assertEqual(found["verdict"], verdict)
            for mine, its in zip(found["left_by_seed"], finals):
                self.assertAlmostEqual(mine, its)
            page = Page((self.tmp / "out" / "claims.html").read_text(encoding="utf-8"))
            self.assertEqual((page.problems, page.open), ([], []))
            self.assertEqual(page.tables["summary"][-1], ["all", "1", *(str(int(verdict == one)) for one in (AGREES, DENIES, UNCLEAR))])
            self.assertEqual(page.tables["claims-1"][1][-1], verdict)
            self.assertIn("“little effect”", page.tables["claims-1"][2][1])
            self.assertEqual(len(page.tables["points-1"]), 3)
            self.assertFalse([value for _, tag in page.tags for value in tag.values() if str(value).startswith("http")])

    def test_losses_are_those_after_as_many_samples_as_both_have_seen(self):
        self.study(record(named("s-sgd"), [0.4]), record(named("dts", delay=4), [0.4], step=20))       # sees twice as many
        self.claim()
        left, right = self.result()["left_by_seed"][0], self.result()["right_by_seed"][0]
        self.assertAlmostEqual(left, 0.4)       # after half of its moments, where it has just come down
        self.assertAlmostEqual(right, 0.4)
        self.study(record(named("s-sgd"), [0.4]), record(named("dts", delay=4), [0.4], step=100))
        self.claim()
        self.assertAlmostEqual(self.result()["left_by_seed"][0], 2 - 1.6 * 2 / 10)     # after two of its moments

    def test_times_and_samples(self):
        self.study(record(named("s-sgd"), [0.0, 0.2]), record(named("dts", delay=4), [0.0, 0.2], seconds=0.5, step=20))
        for quantity, left, right in (("time to target", [3.75, 0.5 * 1.5 / 0.18], [7.5, 1.5 / 0.18]), ("samples to target", [7.5 * 160, 160 * 1.5 / 0.18], [600, 80 * 1.5 / 0.18]),
                                      ("time", [5], [20])):
            self.claim(quantity=quantity, relation="less")
            for mine, its in zip(self.result()["left_by_seed"] + self.result()["right_by_seed"], left + right):
                self.assertAlmostEqual(mine, its, 6, quantity)

    def test_what_diverges_has_no_loss_and_reaches_nothing(self):
        self.study(record(named("s-sgd"), [0.1, 0.2]), record(named("dts", delay=4), [0.1, None]))
        for quantity in ("loss", "time to target"):
            self.claim(quantity=quantity)
            self.assertIsNone(self.result()["left_by_seed"][1])
            self.assertEqual(self.result()["verdict"], UNCLEAR)

    def test_points_are_found_by_what_was_swept(self):
        self.study(record({"/schedule/name": "downpour", "/cluster/nodes": 2}, [0.1], "downpour"), record({"/schedule/name": "downpour", "/cluster/nodes": 8}, [0.2], "downpour"),
                   record(named("dts", delay=4, compression=0.01, colocated=True), [0.3], "dts delay=4"), name="some")
        studies = Studies(self.tmp)
        self.assertAlmostEqual(studies.point(Point("some", "downpour", (("nodes", "8"),))).seeds[0][0][-1], 0.2)
        self.assertAlmostEqual(studies.point(Point("some", "dts", (("compression", "0.01"), ("colocated", "true")))).seeds[0][0][-1], 0.3)

    def test_missing_points(self):
        self.assertEqual(self.claim(3), "claims.py: dts/training.json: missing; make claims writes it")
        self.study(record(named("s-sgd"), [0.1]), record(named("dts", delay=8), [0.1]))
        self.assertEqual(self.claim(3), 'claims.py: dts/training.json: records: expected one of "dts delay=4", got none; make claims writes it')
        self.study(record(named("s-sgd"), [0.1]), record(named("dts", delay=4, period=1), [0.1]), record(named("dts", delay=4, period=2), [0.1]))
        self.assertEqual(self.claim(3), 'claims.py: dts/training.json: records: expected one of "dts delay=4", got 2; make claims writes it')

    def test_what_train_py_did_not_write(self):
        good = record(named("s-sgd"), [0.1]), record(named("dts", delay=4), [0.1])
        self.study(*good, format="training/2")
        self.assertEqual(self.claim(3), 'claims.py: dts/training.json: format: expected "training/1", got "training/2"; make claims writes it')
        self.study(*good, targets={})
        self.assertIn("dts/training.json: expected what train.py writes, got something else (KeyError", self.claim(3))
        self.study(*good, seeds=2)
        self.assertIn("dts/training.json: records/0: expected curves of as many moments, of 2 seeds", self.claim(3))
        good[1]["curve"]["seconds"][3] = 100
        self.study(*good)
        self.assertIn("dts/training.json: records/1/curve: expected seconds and samples that do not fall", self.claim(3))

    def test_studies_that_do_not_belong_together(self):
        self.study(record(named("dts", delay=4), [0.1]))
        self.study(record(named("s-sgd"), [0.1]), name="other", task="lm")
        self.assertEqual(self.claim(3, right="other: s-sgd"), 'claims.py: other/training.json: task: expected "digits", as in dts/training.json, got "lm"; make claims writes it')
        self.study(record(named("s-sgd"), [0.1]), name="other", targets={"all": {"loss": 0.25}})
        self.assertEqual(self.claim(3, right="other: s-sgd", quantity="samples to target"),
                         "claims.py: dts/training.json: targets: expected 0.25, as in other/training.json, got 0.5; make claims writes it")
        self.claim(right="other: s-sgd")

    def test_a_bad_table(self):
        for words, said in (({"quantity": "accuracy"}, 'line 2: quantity: expected loss, samples to target, time to target, time, got "accuracy"'),
                            ({"relation": "better"}, 'line 2: relation: expected less, more, no more, as good as, the same, got "better"'),
                            ({"left": "dts delay=4"}, 'line 2: left: expected STUDY: SCHEDULE NAME=VALUE ..., such as "dts: dts delay=4 period=1", got "dts delay=4"'),
                            ({"right": "../x: s-sgd"}, 'line 2: right: expected STUDY: SCHEDULE NAME=VALUE ..., such as "dts: dts delay=4 period=1", got "../x: s-sgd"'),
                            ({"quote": " "}, "line 2: quote: expected a text, got none")):
            self.assertEqual(self.claim(3, **words), f"claims.py: claims.csv: {said}")
        for rows, columns, said in (([ROW, ROW], COLUMNS, 'line 3: id "one" appears twice, expected once'), ([], COLUMNS, "expected claims below its header, got none"),
                                    ([], COLUMNS[:3], f"header: expected {','.join(COLUMNS)}, got id,paper,place")):
            self.table(rows, columns)
            with self.assertRaisesRegex(InputError, said):
                read_claims(self.tmp / "claims.csv")
        (self.tmp / "claims.csv").write_text(",".join(COLUMNS) + "\none,two\n")
        with self.assertRaisesRegex(InputError, "line 2: expected 10 cells"):
            read_claims(self.tmp / "claims.csv")

    def test_what_cannot_be_written(self):
        self.study(record(named("s-sgd"), [0.1]), record(named("dts", delay=4), [0.1]))
        (self.tmp / "out").write_text("")
        self.assertIn("out/claims.json: cannot be written", self.claim(5))


class Table(unittest.TestCase):
    def test_every_point_is_in_a_scenario(self):
        scenarios = {path.stem: json.loads(path.read_text()) for path in (ROOT / "scenarios" / "accuracy" / "claims").glob("*.json")}
        for claim in read_claims(claims.TABLE):
            for point in (claim.left, claim.right):
                sweep = scenarios[max((name for name in scenarios if point.study.startswith(name) or point.study.split("-")[0] == name), key=len)]["sweep"]
                names = [one["name"] for one in sweep.get("/schedule", [])] + sweep.get("/schedule/name", []) or ["downpour"]
                self.assertIn(point.schedule, names, claim.id)

    @unittest.skipUnless(PAPERS.is_dir(), "the papers' texts are absent")
    def test_every_quote_is_the_papers_own(self):
        for claim in read_claims(claims.TABLE):
            text = (PAPERS / f"{claim.paper.lower()}.txt").read_text(encoding="utf-8")
            self.assertIn(plain(claim.quote), plain(text), claim.id)


def plain(text):
    """Without the marks of emphasis and formulas, and line ends."""
    return " ".join(text.replace("*", "").replace("$", "").split())


if __name__ == "__main__":
    unittest.main()
