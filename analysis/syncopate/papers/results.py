"""The results of the papers' scenarios, so that a formula can name the rows that it needs."""

import copy
import json
import re
from dataclasses import dataclass

from syncopate.common.errors import InputError
from syncopate.common.program import ROOT
from syncopate.common.reading import read_text
from syncopate.common.wording import parse
from syncopate.results.columns import COLUMNS
from syncopate.results.folder import read_run
from syncopate.results.labels import short


@dataclass(frozen=True)
class Model:
    """What `simctl show` counts in a model."""

    tensors: int
    parameters: int
    macs: float     # of forward, per sample


class Results:
    """Result folders below `folder`, each named PAPER/SCENARIO and read when it is first needed.

    A row has the columns of results.csv and a column for each swept value: `/cluster/fit/a_s` is `a_s`, `/trace` the
    file's stem; an object's keys are columns of their own.
    """

    is_calibrated = False

    def __init__(self, folder):
        self.folder, self.runs, self.frames = folder, {}, {}

    def calibrated(self):
        """The same results, for formulas to take the scenarios in which one input has been chosen so that one number comes out as published."""
        found = copy.copy(self)
        found.is_calibrated = True
        return found

    def run(self, name):
        if name not in self.runs:
            self.runs[name] = read_run(self.folder / name)
        return self.runs[name]

    def rows(self, name, **where):
        """The rows of a scenario in which these columns have these values, at least one. Raises InputError."""
        if name not in self.frames:
            self.frames[name] = with_swept(self.run(name))
        found = self.frames[name]
        for column, value in where.items():
            found = found[found[column] == value] if column in found else found[:0]
        if found.empty:
            raise InputError(f"{self.folder / name}: no row with {said(where)}; run the scenario again")
        return found

    def row(self, name, **where):
        """The one row with these values."""
        rows = self.rows(name, **where)
        if len(rows) > 1:
            raise InputError(f"{self.folder / name}: expected one row with {said(where)}, got {len(rows)}")
        return rows.iloc[0]

    def value(self, name, column, **where):
        return self.row(name, **where)[column]

    def point(self, name, **where):
        """What results.json says of the one row with these values."""
        number = self.value(name, "point", **where)
        return next(point for point in self.run(name).about["points"] if point["point"] == number)

    def model(self, name):
        """Of models/NAME.json, as `simctl show` described it. Raises InputError."""
        path = self.folder / "models" / f"{name}.txt"
        text = read_text(path, "run analysis/papers.py again")
        found = re.search(r"(\d+) tensors, (\d+) parameters, .*; ([\d.]+) GMACs", text)
        if not found:
            raise InputError(f"{path}: expected counts of tensors, parameters and MACs; run analysis/papers.py again")
        return Model(int(found[1]), int(found[2]), 1e9 * float(found[3]))

    def trace(self, name):
        """The document of the project's trace NAME.json."""
        return json.loads(read_text(ROOT / f"{name}.json", "restore it"))


def said(where):
    return ", ".join(f"{column} = {value}" for column, value in where.items())


def with_swept(run):
    """The run's rows with its swept values as columns."""
    frame = run.rows.copy()
    for pointer in run.swept:
        values = [parse(cell) for cell in frame[pointer]]
        last = pointer.split("/")[-1]
        if any(isinstance(value, dict) for value in values):
            for key in dict.fromkeys(key for value in values for key in value):
                add(frame, key, [value.get(key) for value in values])
        else:
            add(frame, last, [short(value) if last in ("trace", "cluster") else value for value in values])
    return frame


def add(frame, name, values):
    if name not in COLUMNS and name != "name":
        frame[name] = values
