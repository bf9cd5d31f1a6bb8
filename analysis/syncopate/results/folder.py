"""Reading result folders: results.csv and results.json, checked once, so that what follows may trust them."""

import csv
import io
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy
import pandas

from syncopate.common.errors import InputError
from syncopate.common.reading import Checker, read_json, read_text, shown
from syncopate.results.columns import COLUMNS

SPLIT = ["compute_s", "wait_s", "exposed_communication_s"]


@dataclass
class Run:
    """One result folder."""

    folder: Path
    about: dict             # results.json
    rows: pandas.DataFrame  # results.csv, with numbers as numbers
    swept: list             # the pointers that results.csv has as columns
    timelines: list         # files
    explanations: list
    networks: list

    @property
    def name(self):
        return self.about["scenario"]["name"]

    def missing(self):
        """Points of the sweep that have no row: (how many failed, how many were not run)."""
        failed = len(self.about["failed"])
        return failed, max(0, self.about["points_total"] - len(self.rows) - failed)


def read_runs(folders):
    """Reads every folder, in the order given. Raises InputError."""
    seen = set()
    for folder in map(Path, folders):
        if folder.resolve() in seen:
            raise InputError(f"{folder}: given twice; name each result folder once")
        seen.add(folder.resolve())
    try:
        return [read_run(Path(folder)) for folder in folders]
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read ({error.strerror}); check its permissions") from None


def check_folder(folder):
    if folder.is_file():
        raise InputError(f"{folder}: is a file; name its folder, {folder.parent}")
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; make it with: simctl run SCENARIO -o {folder}")


def read_run(folder):
    check_folder(folder)
    again = how_to_write(folder)
    rows, swept = read_table(folder / "results.csv", again)
    about = read_about(folder / "results.json", again)
    check_same_points(folder, about, rows, again)
    return Run(folder, about, rows, swept, files_of_points(folder, "timeline"), files_of_points(folder, "explanation"), files_of_points(folder, "network", r"dot"))


def how_to_write(folder):
    return f"run the scenario again: simctl run SCENARIO -o {folder}"


def files_of_points(folder, kind, ending=r"json(\.gz)?"):
    """The files KIND-<point>.json, or .json.gz, or with another ending, of the folder, in the order of their points."""
    return sorted((path for path in folder.iterdir() if re.fullmatch(rf"{kind}-\d+\.{ending}", path.name)), key=point_of)


def point_of(path):
    """The point of a file such as timeline-7.json."""
    return int(re.match(r"[a-z]+-(\d+)\.", path.name)[1])


def read_table(path, again):
    """results.csv as (DataFrame, swept pointers). Every cell of a known column is checked."""
    text = read_text(path, again)
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline="")) if line]
    except csv.Error as error:
        raise InputError(f"{path}: expected comma-separated values ({error}); {again}") from None
    if not lines:
        raise InputError(f"{path}: empty: expected a header and one row per point; {again}")
    header, body = lines[0], lines[1:]
    for name in COLUMNS:
        if name not in header:
            raise InputError(f'{path}: header: missing column "{name}"; {again}')
    for name in header:
        if header.count(name) > 1:
            raise InputError(f'{path}: header: column "{name}" appears {header.count(name)} times, '
                             f"expected once; {again}")
    if not body:
        raise InputError(f"{path}: no rows: expected one row per point; {again}")
    for number, line in enumerate(body, 1):
        if len(line) != len(header):
            raise InputError(f"{path}: row {number}: expected {len(header)} cells, got {len(line)}; {again}")
    cells = dict(zip(header, zip(*body)))
    for name, texts in cells.items():
        if name in COLUMNS and COLUMNS[name].kind != "text":
            found = numbers_in(COLUMNS[name].kind, texts)
            cells[name] = [number_in(path, row, name, cell, again) for row, cell in enumerate(texts, 1)] if found is None else found
        else:
            cells[name] = [as_text(cell) for cell in texts]
    rows = pandas.DataFrame(cells, columns=header)
    check_rows(path, rows, again)
    return rows, [name for name in header if name.startswith("/")]


def as_text(cell):
    """Without the apostrophe that keeps spreadsheets from taking a text for a formula: see sim/output/RESULTS.md."""
    return cell[1:] if len(cell) > 1 and cell[0] == "'" and cell[1] in "=+-@\t\r'" else cell


RULES = {
    "index": ("an integer >= 0", lambda value: value >= 0 and value == int(value)),
    "count": ("an integer >= 1", lambda value: value >= 1 and value == int(value)),
    "positive": ("a number > 0", lambda value: value > 0),
    "signed": ("a number", lambda value: True),
    "optional": ("a number >= 0 or nothing", lambda value: value >= 0),
    "number": ("a number >= 0", lambda value: value >= -1e-9),  # a difference of equal times may round below 0
}


LEAST = {"index": 0, "count": 1, "positive": 0, "signed": -math.inf, "optional": 0, "number": -1e-9}


def numbers_in(kind, cells):
    """What number_in gives for all cells of a column, ten times as fast; None where one of them may be wrong."""
    try:
        found = numpy.array([cell or "nan" for cell in cells] if kind == "optional" else cells).astype(float)
    except ValueError:
        return None
    known = numpy.isfinite(found)
    if known.sum() != (sum(map(bool, cells)) if kind == "optional" else len(cells)):
        return None
    values = found[known]
    if (values < LEAST[kind]).any() or (values > 1e18).any() or (kind == "positive" and (values == 0).any()):
        return None
    if kind in ("index", "count"):
        return found.astype(int) if (values == numpy.floor(values)).all() else None
    return found if kind == "signed" else numpy.maximum(found, 0.0)


def number_in(path, row, name, cell, again):
    kind = COLUMNS[name].kind
    rule, holds = RULES[kind]
    if kind == "optional" and cell == "":
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if value > 1e18:
        rule, value = "a number below 1e18", math.nan
    if not math.isfinite(value) or not holds(value):
        raise InputError(f'{path}: row {row}, column "{name}": expected {rule}, got {shown(cell)}; {again}')
    if kind in ("index", "count"):
        return int(value)
    return value if kind == "signed" else max(0.0, value)


def check_rows(path, rows, again):
    """Rows that contradict themselves would draw a figure that lies."""
    for number, (iteration, *parts) in enumerate(zip(rows["iteration_s"], *(rows[name] for name in SPLIT)), 1):
        if abs(sum(parts) - iteration) > 1e-3 * iteration:
            raise InputError(f"{path}: row {number}: compute_s + wait_s + exposed_communication_s must equal "
                             f"iteration_s {iteration:.9g}, got {sum(parts):.9g}; {again}")
    repeated = rows["point"][rows["point"].duplicated()]
    if len(repeated):
        raise InputError(f'{path}: row {repeated.index[0] + 1}, column "point": expected each point once, '
                         f"got {repeated.iloc[0]} again; {again}")


def read_about(path, again):
    """results.json, with what older versions leave out."""
    about, checker = read_json(path, again), Checker(path, again)
    checker.need(about.get("format") == "results/1", "/format", '"results/1"', about.get("format"))
    scenario = checker.object(about.get("scenario"), "/scenario")
    checker.string(scenario.get("name"), "/scenario/name")
    checker.object(about.setdefault("versions", {}), "/versions")
    checker.object(about.setdefault("settings", {}), "/settings")
    checker.count(about.get("points_total"), "/points_total")
    about.setdefault("seed", None)
    about.setdefault("scenario_file", None)
    about["wall_s"] = wall_seconds(path.with_name("run.json"), about)
    for key in ("notes", "answer"):
        for place, text in enumerate(checker.list(about.setdefault(key, []), f"/{key}")):
            checker.string(text, f"/{key}/{place}")
    for key in ("failed", "points"):
        for where, item in checker.objects(about.setdefault(key, []), f"/{key}"):
            checker.count(item.get("point"), f"{where}/point")
    for where, trace in checker.objects(about.setdefault("traces", []), "/traces"):
        kind = checker.object(trace.setdefault("provenance", {}), f"{where}/provenance").get("kind")
        checker.need(kind in ("measured", "imported", "synthetic"), f"{where}/provenance/kind", "measured, imported or synthetic", kind)
    return about


def wall_seconds(path, about):
    """From run.json; older results have it themselves. None where nobody knows."""
    try:
        return read_json(path, "run the scenario again").get("wall_s")
    except InputError:
        return about.get("wall_s")


def check_same_points(folder, about, rows, again):
    listed = {item["point"] for item in about["points"]}
    written = set(rows["point"])
    if about["points"] and listed != written:
        odd = min(listed ^ written)
        here, there = ("results.json", "results.csv") if odd in listed else ("results.csv", "results.json")
        raise InputError(f"{folder / there}: expected the same points as {here}, which has point {odd} too; {again}")
    if about["points_total"] < len(rows):
        raise InputError(f"{folder / 'results.json'}: /points_total: expected at least the {len(rows)} rows of "
                         f"results.csv, got {about['points_total']}; {again}")


def of_points(runs, read):
    """{(number of the run, point): read(checker, where, item)} of each point of results.json; `where` is the item's JSON pointer."""
    found = {}
    for number, run in enumerate(runs):
        checker = Checker(run.folder / "results.json", how_to_write(run.folder))
        for place, item in enumerate(run.about["points"]):
            found[number, item["point"]] = read(checker, f"/points/{place}", item)
    return found
