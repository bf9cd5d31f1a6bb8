"""The numeric keys that a sweep varies: each can be the horizontal axis of the page's chart, and names its settings and series."""

from syncopate.common import style
from syncopate.common.wording import counted, parse, swept_quantity
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
        "facets": facets(labelled, key, list(zip(frame["run"], frame["point"]))),
    }


def facets(labelled, key, points):
    """The keys that can be spread over panels of the chart along `key`, each with its values as `names` and all other keys' together as
    `rest_names`; `of` and `rest_of` have the places in these of each of `points`.

    Only keys that leave a line to draw in each panel; none where they would not tell all rows apart, nor where one key alone makes the settings.
    """
    columns = place_columns(labelled, key)
    places = list(columns)
    pointers = [name for name in labelled.columns if name.startswith("/")]
    for name in pointers:
        if name != key and name not in labels.SHOWN_BY_COLUMNS and not labels.is_choice(name) and labelled[name].nunique(dropna=False) > 1:
            columns[labels.said(name, pointers)] = [labels.name_value(name, parse(cell), pointers) if isinstance(cell, str) else "none" for cell in labelled[name]]
    several_choices = labelled["choice"].nunique() > 1
    if several_choices and len(columns) < 2:
        return []
    found = [facet(labelled, name, columns, [one for one in (columns if several_choices else places) if one != name], points) for name in columns
             if several_choices or len(columns) > 1 or name not in places]
    return [one for one in found if one]


def place_columns(labelled, key):
    """Model, batch, cluster, number of nodes and scenario of each row, where these differ."""
    columns = {name: list(labelled[name]) for name in ("model", "cluster") if labelled[name].nunique() > 1}
    if labelled["batch"].nunique() > 1:
        columns["batch"] = [f"batch {batch}" for batch in labelled["batch"]]
    if key != NODES and labelled["nodes"].nunique() > 1:
        columns["nodes"] = [counted(nodes, "node") for nodes in labelled["nodes"]]
    return columns


def facet(labelled, name, columns, others, points):
    """One of facets(); None where it would not do."""
    rests = [", ".join(texts) for texts in zip(*(columns[one] for one in others))] if others else [""] * len(labelled)
    lines = list(zip(columns[name], rests, labelled["series"]))
    if len(set(zip(lines, labelled["along"]))) < len(lines):
        return None
    panels = {}
    for (value, rest, _), along in zip(lines, labelled["along"]):
        panels.setdefault(rest, {}).setdefault(value, set()).add(along)
    if any(max(map(len, values.values())) < 2 for values in panels.values()):
        return None
    names, rest_names = numbered(ordered(columns[name])), numbered(rests)
    places = {point: (names[value], rest_names[rest]) for point, value, rest in zip(zip(labelled["run"], labelled["point"]), columns[name], rests)}
    return {"name": name, "names": list(names), "rest_names": list(rest_names), "of": [places.get(point, (-1, -1))[0] for point in points],
            "rest_of": [places.get(point, (-1, -1))[1] for point in points]}


def ordered(texts):
    """By their numbers where all have one, else as they come."""
    found = {text: swept_quantity(text.rpartition("=")[2].split(" node")[0].removeprefix("batch ")) for text in texts}
    return sorted(found, key=lambda text: found[text][0]) if None not in found.values() else list(found)


def numbered(names):
    """{name: its place} of different names, in their order."""
    return {name: place for place, name in enumerate(dict.fromkeys(names))}
