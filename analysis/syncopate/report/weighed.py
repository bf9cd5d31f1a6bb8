"""The page's section of iteration times by how many times the samples each schedule needs, where somebody has measured that."""

from pathlib import Path

from syncopate.common.reading import Checker, is_number, read_json
from syncopate.common.schedules import SYNCHRONOUS
from syncopate.results.labels import records

AGAIN = "write it by train.py, or by hand as {\"asgd\": 1.3}"
OTHERWISE = ("accumulate", "compression")      # parameters with which a synchronous schedule trains otherwise


def read_factors(path):
    """{schedule, or schedule with parameters: how many times the samples it needs}."""
    factors, checker = read_json(Path(path), AGAIN), Checker(path, AGAIN)
    for name, factor in factors.items():
        checker.need(is_number(factor) and 0 < factor <= 1e6, f"/{name}", "a number > 0 and <= 1000000", factor)
    return factors


def section(runs, frame, factors):
    """Rows of (row of `frame`, factor, product, whether that is the least of its setting and size), the least first, and which rows are left out.

    None where no row has a factor but the synchronous ones.
    """
    known = [(row, factor_of(runs[row["run"]], row, factors)) for row in records(frame, list(frame.columns))]
    if all(factor is None or is_synchronous(runs[row["run"]], row) for row, factor in known):
        return None
    places = {}
    for row, factor in known:
        if factor is not None:
            places.setdefault((row["setting"], row["nodes"]), []).append((row, factor, factor * row["iteration_s"]))
    rows = []
    for place in places.values():
        least = min(product for _, _, product in place)
        rows += [(*one, one[2] == least) for one in sorted(place, key=lambda one: one[2])]
    return {"rows": rows, "left_out": sorted({row["choice"] for row, factor in known if factor is None}),
            "columns": [name for name in ("setting", "nodes") if frame[name].nunique() > 1]}


def factor_of(run, row, factors):
    for name in (row["choice"], row["schedule"]):
        if name in factors:
            return factors[name]
    return 1.0 if is_synchronous(run, row) else None


def is_synchronous(run, row):
    """Whether it does step by step what one worker with all samples would do, as far as names tell."""
    told = str(run.about["scenario"].get("schedule", "")) if "/schedule" not in row else ""
    told += "".join(f"{name} {cell}" for name, cell in row.items() if name.startswith("/schedule") and isinstance(cell, str))
    return row["schedule"] in SYNCHRONOUS and not any(word in told for word in OTHERWISE)
