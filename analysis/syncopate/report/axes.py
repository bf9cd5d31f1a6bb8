"""The numeric keys that a sweep varies: each can be the horizontal axis of the page's chart, and names its settings and series."""

from syncopate.common import style
from syncopate.common.wording import swept_quantity
from syncopate.results import labels
from syncopate.results.labels import NODES
from syncopate.web import theme


def axes(runs, frame):
    """One axis per numeric key that varies, nodes first; nodes alone where none does.

    `values`, `settings` and `series_of` have an entry per row of `frame`: the number along the axis (None where the row has none) and
    the places in `setting_names` and `series`.
    """
    keys = [NODES] * (frame["nodes"].nunique() > 1) + [name for name in frame.columns if name.startswith("/") and varies(frame, name)]
    return [axis(runs, frame, key) for key in keys or [NODES]]


def varies(frame, pointer):
    """Whether a swept key other than the nodes has different numbers of one unit."""
    found = {swept_quantity(cell) for cell in frame[pointer] if isinstance(cell, str)}
    return pointer != NODES and None not in found and len(found) > 1 and len({unit for _, unit in found}) == 1


def axis(runs, frame, key):
    labelled = labels.label(runs, key)
    rows = {(row["run"], row["point"]): row for row in labels.records(labelled, ["run", "point", "along", "panel", "series"])}
    here = [rows.get(name) for name in zip(frame["run"], frame["point"])]
    looks = style.styles(labelled)
    shown = {row["series"] for row in here if row}
    series = numbered(name for name in looks if name in shown)
    settings = numbered(row["panel"] for row in here if row)
    units = {swept_quantity(cell)[1] for cell in frame[key] if isinstance(cell, str)} if key in frame and key != NODES else {""}
    return {
        "name": "nodes" if key == NODES else labels.said(key, [name for name in frame.columns if name.startswith("/")]), "unit": units.pop(),
        "values": [row["along"] if row else None for row in here],
        "setting_names": list(settings), "settings": [settings[row["panel"]] if row else -1 for row in here],
        "series": [{"name": name, **theme.look(looks[name])} for name in series],
        "series_of": [series[row["series"]] if row else -1 for row in here],
    }


def numbered(names):
    """{name: its place} of different names, in their order."""
    return {name: place for place, name in enumerate(dict.fromkeys(names))}
