"""The page's table of all points: its columns, with the values of results.csv unrounded."""

import math

from columns import COLUMNS
from labels import parse, short

REPEATED = {"/cluster": "cluster", "/cluster/name": "cluster", "/cluster/nodes": "nodes", "/schedule/name": "schedule",
            "/all_reduce": "all_reduce", "/all_reduce/name": "all_reduce", "/fidelity": "fidelity"}
ALWAYS = {"schedule", "nodes", "iteration_s", "compute_s", "wait_s", "exposed_communication_s", "speedup", "efficiency"}
WHERE_ANY = {"iteration_low_s", "iteration_high_s", "staleness_mean", "total_h"}
WHERE_DIFFERENT = {"model", "cluster", "all_reduce", "fidelity", "batch"}


def columns(runs, frame):
    """A dict per column; `brief`: it stands in the short table, too; of texts, `values` are places in `texts`."""
    swept = [name for name in frame.columns if name.startswith("/") and not repeats(frame, name)]
    found = [column(name, list(frame[name]), "", True, True) for name in swept]
    found += [column(name, list(frame[name]), one.unit, one.kind == "text", is_brief(frame, name))
              for name, one in COLUMNS.items() if name != "point"]
    names = [column("scenario", [runs[run].name for run in frame["run"]], "", True, True)] if len(runs) > 1 else []
    return names + [column("point", list(frame["point"]), "", False, True)] + found


def column(name, values, unit, is_text, brief):
    if not is_text:
        return {"name": name, "unit": unit, "brief": brief, "values": [None if math.isnan(value) else value for value in values]}
    values = [value if isinstance(value, str) else "" for value in values]     # NaN where a row does not sweep what others do
    texts = {text: place for place, text in enumerate(dict.fromkeys(values))}
    return {"name": name, "unit": unit, "brief": brief, "texts": list(texts), "values": [texts[value] for value in values]}


def is_brief(frame, name):
    return name in ALWAYS or name in WHERE_ANY and frame[name].fillna(0).any() or name in WHERE_DIFFERENT and frame[name].nunique() > 1


def repeats(frame, pointer):
    """Whether every cell of a swept pointer says no more than a documented column does."""
    if pointer not in REPEATED:
        return False
    return all(short(parse(cell)) == str(value) for cell, value in zip(frame[pointer], frame[REPEATED[pointer]])
               if isinstance(cell, str))
