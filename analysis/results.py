"""Reading result folders: results.csv and results.json, checked once, so that what follows may trust them."""

import csv
import gzip
import io
import json
import math
import re
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path

import pandas

from columns import COLUMNS
from errors import InputError

MOST_BYTES = 256 << 20      # of a text that is read, as simctl has it
SPLIT = ["compute_s", "wait_s", "exposed_communication_s"]


@dataclass
class Run:
    """One result folder. `about` is results.json, `rows` results.csv with numbers as numbers, `swept` its pointers; the others are files."""

    folder: Path
    about: dict
    rows: pandas.DataFrame
    swept: list
    timelines: list
    explanations: list

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


def read_run(folder):
    again = f"run the scenario again: simctl run SCENARIO -o {folder}"
    if folder.is_file():
        raise InputError(f"{folder}: is a file; name its folder, {folder.parent}")
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; make it with: simctl run SCENARIO -o {folder}")
    rows, swept = read_table(folder / "results.csv", again)
    about = read_about(folder / "results.json", again)
    check_same_points(folder, about, rows, again)
    return Run(folder, about, rows, swept, files_of_points(folder, "timeline"), files_of_points(folder, "explanation"))


def files_of_points(folder, kind):
    """The files KIND-<point>.json, or .json.gz, of the folder, in the order of their points."""
    return sorted((path for path in folder.iterdir() if re.fullmatch(rf"{kind}-\d+\.json(\.gz)?", path.name)), key=point_of)


def point_of(path):
    """The point that a file such as timeline-7.json tells of."""
    return int(re.match(r"[a-z]+-(\d+)\.", path.name)[1])


def read_text(path, again):
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: expected a regular file; {again}")
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InputError(f"{path}: too large: a text of more than {MOST_BYTES >> 20} MiB; move it away, or {again}")
        return content.decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: expected a whole gzip file ({error}); {again}") from None
    except FileNotFoundError:
        raise InputError(f"{path}: missing; {again}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start}: expected UTF-8 text; {again}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None


def read_json(path, again):
    try:
        value = json.loads(read_text(path, again))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: line {error.lineno}, column {error.colno}: expected JSON ({error.msg}); {again}") \
            from None
    except (RecursionError, ValueError):
        raise InputError(f"{path}: expected JSON of reasonable depth and numbers; {again}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected a JSON object, got {shown(value)}; {again}")
    return value


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
    cells = {name: [as_text(line[place]) for line in body] for place, name in enumerate(header)}
    for name, column in COLUMNS.items():
        if column.kind != "text":
            cells[name] = [number_in(path, row, name, cell, again) for row, cell in enumerate(cells[name], 1)]
    rows = pandas.DataFrame(cells, columns=header)
    check_rows(path, rows, again)
    return rows, [name for name in header if name.startswith("/")]


def as_text(cell):
    """Without the apostrophe that keeps spreadsheets from taking a text for a formula: see sim/output/RESULTS.md."""
    return cell[1:] if re.match("'[=+\\-@\t\r']", cell) else cell


RULES = {
    "index": ("an integer >= 0", lambda value: value >= 0 and value == int(value)),
    "count": ("an integer >= 1", lambda value: value >= 1 and value == int(value)),
    "positive": ("a number > 0", lambda value: value > 0),
    "signed": ("a number", lambda value: True),
    "optional": ("a number >= 0 or nothing", lambda value: value >= 0),
    "number": ("a number >= 0", lambda value: value >= -1e-9),  # a difference of equal times may round below 0
}


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
    for number, row in enumerate(rows.to_dict("records"), 1):
        total = sum(row[name] for name in SPLIT)
        if abs(total - row["iteration_s"]) > 1e-3 * row["iteration_s"]:
            raise InputError(f"{path}: row {number}: compute_s + wait_s + exposed_communication_s must equal "
                             f"iteration_s {row['iteration_s']:.9g}, got {total:.9g}; {again}")
    repeated = rows["point"][rows["point"].duplicated()]
    if len(repeated):
        raise InputError(f'{path}: row {repeated.index[0] + 1}, column "point": expected each point once, '
                         f"got {repeated.iloc[0]} again; {again}")


def wall_seconds(path, about):
    """From run.json, or, of results that are older, from themselves; null where nobody knows."""
    try:
        return read_json(path, "run the scenario again").get("wall_s")
    except InputError:
        return about.get("wall_s")


def read_about(path, again):
    about = read_json(path, again)

    def need(place, holds, rule, value):
        if not holds:
            raise InputError(f"{path}: {place}: expected {rule}, got {shown(value)}; {again}")

    def is_count(value):
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0

    need("/format", about.get("format") == "results/1", '"results/1"', about.get("format"))
    scenario = about.get("scenario")
    need("/scenario", isinstance(scenario, dict), "an object", scenario)
    need("/scenario/name", isinstance(scenario.get("name"), str), "a string", scenario.get("name"))
    for key in ("versions", "seed", "scenario_file"):
        about.setdefault(key, {} if key == "versions" else None)
    about["wall_s"] = wall_seconds(path.with_name("run.json"), about)
    need("/versions", isinstance(about["versions"], dict), "an object", about["versions"])
    total = about.get("points_total")
    need("/points_total", is_count(total), "an integer >= 0", total)
    need("/settings", isinstance(about.setdefault("settings", {}), dict), "an object", about["settings"])
    for key in ("notes", "answer"):
        need(f"/{key}", isinstance(about.setdefault(key, []), list), "a list", about[key])
        for place, text in enumerate(about[key]):
            need(f"/{key}/{place}", isinstance(text, str), "a string", text)
    for key in ("traces", "failed", "points"):
        need(f"/{key}", isinstance(about.setdefault(key, []), list), "a list", about[key])
        for place, item in enumerate(about[key]):
            need(f"/{key}/{place}", isinstance(item, dict), "an object", item)
    for key in ("failed", "points"):
        for place, item in enumerate(about[key]):
            need(f"/{key}/{place}/point", is_count(item.get("point")), "an integer >= 0", item.get("point"))
    for place, trace in enumerate(about["traces"]):
        origin = trace.setdefault("provenance", {})
        need(f"/traces/{place}/provenance", isinstance(origin, dict), "an object", origin)
        kind = origin.get("kind")
        need(f"/traces/{place}/provenance/kind", kind in ("measured", "imported", "synthetic"),
             "measured, imported or synthetic", kind)
    return about


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


def by_point(runs, read):
    """What `read(folder, place, item)` says of every point of results.json, by the numbers of its run and of itself."""
    return {(number, item["point"]): read(run.folder, place, item) for number, run in enumerate(runs) for place, item in enumerate(run.about["points"])}


def listed(folder, place, item, key):
    """What a point of results.json lists under `key`, nothing where it has none; and need(holds, where, rule, value), which raises InputError unless
    what is there holds. Raises InputError where it is no list."""
    path, again = folder / "results.json", f"run the scenario again: simctl run SCENARIO -o {folder}"

    def need(holds, where, rule, value):
        if not holds:
            raise InputError(f"{path}: /points/{place}/{key}{where}: expected {rule}, got {shown(value)}; {again}")

    items = item.get(key, [])
    need(isinstance(items, list), "", "a list", items)
    return items, need


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def shown(value):
    """A value as an error message quotes it: JSON, cut where it grows long."""
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
