"""The page's section of iteration times by how many times the samples each schedule needs, where somebody has measured that."""

import json
from pathlib import Path

from errors import InputError
from results import read_json
from training_names import SYNCHRONOUS

AGAIN = "write it by train.py, or by hand as {\"asgd\": 1.3}"
OTHERWISE = ("accumulate", "compression")      # parameters with which a synchronous schedule trains otherwise


def read_factors(path):
    """{schedule, or schedule with parameters: how many times the samples it needs}."""
    factors = read_json(Path(path), AGAIN)
    for name, factor in factors.items():
        if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor <= 1e6:
            raise InputError(f"{path}: /{name}: expected a number > 0 and <= 1000000, got {json.dumps(factor)}; {AGAIN}")
    return factors


def section(runs, frame, factors):
    """Rows of (row of `frame`, factor, product), in each setting and size the least product first, and which rows are left out.

    None where no row has a factor but the synchronous ones.
    """
    known = [(row, factor_of(runs[row["run"]], row, factors)) for row in frame.to_dict("records")]
    if all(factor is None or is_synchronous(runs[row["run"]], row) for row, factor in known):
        return None
    rows = [(row, factor, factor * row["iteration_s"]) for row, factor in known if factor is not None]
    places = {}
    for row, factor, product in rows:
        places.setdefault((row["setting"], row["nodes"]), []).append((row, factor, product))
    ordered = [one for found in places.values() for one in sorted(found, key=lambda one: one[2])]
    left_out = sorted({row["choice"] for row, factor in known if factor is None})
    return {"rows": [(row, factor, product, product == min(one[2] for one in places[row["setting"], row["nodes"]])) for row, factor, product in ordered],
            "left_out": left_out, "columns": [name for name in ("setting", "nodes") if frame[name].nunique() > 1]}


def factor_of(run, row, factors):
    for name in (row["choice"], row["schedule"]):
        if name in factors:
            return factors[name]
    return 1.0 if is_synchronous(run, row) else None


def is_synchronous(run, row):
    """Step by step what one worker with all samples would do, as far as names tell."""
    told = json.dumps(run.about["scenario"].get("schedule", "")) if "/schedule" not in row else ""
    told += "".join(f"{name} {cell}" for name, cell in row.items() if name.startswith("/schedule") and isinstance(cell, str))
    return row["schedule"] in SYNCHRONOUS and not any(word in told for word in OTHERWISE)
