"""Reading explanation-<point>.json: why a point takes as long as it does, and what would help."""

from dataclasses import dataclass

from syncopate.common.errors import InputError
from syncopate.common.reading import Checker, is_number, read_json
from syncopate.results.folder import point_of


@dataclass(frozen=True)
class Explanation:
    row: object         # the point's labelled row
    iteration_s: float
    path: tuple         # of (class, what, seconds), which add up to the iteration
    what_if: tuple      # of (factor, change, seconds, part of the time saved); the last two are None where the change fails


def read_all(runs, frame):
    """Every explanation of the runs, in the order of their points. Raises InputError."""
    return [read(path, frame[(frame["run"] == number) & (frame["point"] == point_of(path))], run.folder)
            for number, run in enumerate(runs) for path in run.explanations]


def read(path, rows, folder):
    again = f"write it again: simctl run SCENARIO -o {folder} --explain"
    found, checker = read_json(path, again), Checker(path, again)
    if rows.empty:
        raise InputError(f"{path}: expected a point of results.csv, which has no such row; delete the file or {again}")
    row = rows.iloc[0]
    checker.need(found.get("format") == "explanation/1", "/format", '"explanation/1"', found.get("format"))
    checker.need(found.get("point") == row["point"], "/point", f"{row['point']}, as in the file's name", found.get("point"))
    checker.number(found.get("iteration_s"), "/iteration_s")
    path, what_if = [], []
    for where, one in checker.objects(found.get("path"), "/path"):
        path.append((checker.string(one.get("class"), f"{where}/class"), checker.string(one.get("what"), f"{where}/what"),
                     checker.number(one.get("s"), f"{where}/s")))
    for where, one in checker.objects(found.get("what_if"), "/what_if"):
        change = one.get("change")
        checker.string(one.get("factor"), f"{where}/factor")
        checker.need(isinstance(change, str) or is_number(change), f"{where}/change", "a number or a word", change)
        if "error" not in one:
            checker.number(one.get("iteration_s"), f"{where}/iteration_s")
            checker.number(one.get("time_saved"), f"{where}/time_saved")
        what_if.append((one["factor"], change, one.get("iteration_s"), one.get("time_saved")))
    return Explanation(row, found["iteration_s"], tuple(path), tuple(what_if))
