"""Do whole scenarios give what closed forms and recurrences of the five papers give, which were worked out apart from any simulator?

cases.json names each scenario's question, the expected values of some columns, row by row, and their relative tolerance."""
import json
import pathlib
import unittest

from support import Case

HERE = pathlib.Path(__file__).resolve().parent
CASES = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))


def same(cell, value):
    try:
        return float(cell) == float(value)
    except ValueError:
        return cell == str(value)


class Acceptance(Case):
    def differences(self, case, rows):
        for expected in case["expect"]:
            where = expected["where"]
            found = [row for row in rows if all(same(row[column], value) for column, value in where.items())]
            if len(found) != 1:
                yield f"{len(found)} rows match {where}"
                continue
            for column, value in expected.items():
                if column != "where" and not abs(float(found[0][column]) - value) <= case["tolerance"] * abs(value) + 1e-12:
                    yield f"{where}: {column} is {found[0][column]}, expected {value:.9g}"

    def test_cases(self):
        for case in CASES:
            with self.subTest(case["id"], question=case["question"]):
                done = self.simctl("run", HERE / case["scenario"], "-o", case["id"], "--quiet")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(list(self.differences(case, self.rows(case["id"]))), [])

    def test_every_scenario_is_a_case_that_expects_something(self):
        self.assertEqual({case["scenario"] for case in CASES}, {f"scenarios/{path.name}" for path in (HERE / "scenarios").iterdir()})
        for case in CASES:
            self.assertTrue(all(len(expected) > 1 for expected in case["expect"]) and case["expect"], case["id"])


if __name__ == "__main__":
    unittest.main()
