"""Reading explanation-<point>.json: why a point takes as long as it does, and what would help."""

from dataclasses import dataclass

from errors import InputError
from results import is_number, point_of, read_json, shown


@dataclass(frozen=True)
class Explanation:
    """What one file tells of the point of a labelled row.

    `path` are (class, what, seconds) that add up to the iteration; `what_if` are (factor, change, seconds, part of the time saved), the last
    two None where the change fails.
    """

    row: object
    iteration_s: float
    path: tuple
    what_if: tuple


def read_all(runs, frame):
    """Every explanation of the runs, in the order of their points. Raises InputError."""
    found = []
    for number, run in enumerate(runs):
        for path in run.explanations:
            found.append(read(path, frame[(frame["run"] == number) & (frame["point"] == point_of(path))], run.folder))
    return found


def read(path, rows, folder):
    again = f"write it again: simctl run SCENARIO -o {folder} --explain"
    text = read_json(path, again)
    if rows.empty:
        raise InputError(f"{path}: expected a point of results.csv, which has no such row; delete the file or {again}")
    row = rows.iloc[0]

    def need(holds, where, rule, value):
        if not holds:
            raise InputError(f"{path}: {where}: expected {rule}, got {shown(value)}; {again}")

    def listed(key):
        need(isinstance(text.get(key), list), f"/{key}", "a list", text.get(key))
        for place, one in enumerate(text[key]):
            need(isinstance(one, dict), f"/{key}/{place}", "an object", one)
            yield f"/{key}/{place}", one

    need(text.get("format") == "explanation/1", "/format", '"explanation/1"', text.get("format"))
    need(text.get("point") == row["point"], "/point", f"{row['point']}, as in the file's name", text.get("point"))
    need(is_number(text.get("iteration_s")), "/iteration_s", "a number", text.get("iteration_s"))
    shares = []
    for where, one in listed("path"):
        for key in ("class", "what"):
            need(isinstance(one.get(key), str), f"{where}/{key}", "a string", one.get(key))
        need(is_number(one.get("s")), f"{where}/s", "a number", one.get("s"))
        shares.append((one["class"], one["what"], one["s"]))
    effects = []
    for where, one in listed("what_if"):
        need(isinstance(one.get("factor"), str), f"{where}/factor", "a string", one.get("factor"))
        need(isinstance(one.get("change"), str) or is_number(one.get("change")), f"{where}/change", "a number or a word", one.get("change"))
        if "error" not in one:
            for key in ("iteration_s", "time_saved"):
                need(is_number(one.get(key)), f"{where}/{key}", "a number", one.get(key))
        effects.append((one["factor"], one["change"], one.get("iteration_s"), one.get("time_saved")))
    return Explanation(row, text["iteration_s"], tuple(shares), tuple(effects))
