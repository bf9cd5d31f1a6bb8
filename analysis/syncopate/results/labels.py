"""Naming rows: what was given (the setting) and what was chosen (the schedule and its parameters).

A report asks which choice is fastest in each setting. Pointers below /schedule and /all_reduce are choices; a cluster,
a model and every other swept key belong to the setting.
"""

import functools
import json
import math
import re
from pathlib import PurePath

import pandas

from syncopate.common.wording import counted, parse, plain, scaled, swept_quantity

NODES = "/cluster/nodes"
SHOWN_BY_COLUMNS = {"/cluster", "/cluster/name", "/cluster/nodes", "/trace", "/schedule", "/schedule/name"}
NAMES_OF_SCHEDULES = {"/schedule", "/schedule/name"}
ADDED = ["run", "along", "place", "setting", "choice", "panel", "series"]


def label(runs, axis=NODES):
    """All rows of all runs that have a number at the swept pointer `axis`, with the columns of ADDED in front.

    `along` is that number, which no name holds, for charts have it along their axis; `place` is model and cluster, and for other axes
    than nodes their number; `setting` adds the swept keys that are no choice; `choice` is the schedule with what
    tells it apart. Figures have one panel per `panel` and one line or bar per `series`: setting and choice, or, where
    there is but one choice, place and the swept values; these leave out what all rows share.
    """
    frame = pandas.concat([run.rows.assign(run=number) for number, run in enumerate(runs)], ignore_index=True)
    frame["along"] = frame["nodes"] if axis == NODES else [number(cell) for cell in frame[axis]]
    frame = without_repeats(frame[frame["along"].notna()]).reset_index(drop=True)
    pointers = [name for name in frame.columns if name.startswith("/") and name != axis]
    values = [{name: parse(cell) for name, cell in row.items() if isinstance(cell, str)} for row in records(frame, pointers)]
    others = [name for name in pointers if name not in SHOWN_BY_COLUMNS and not is_choice(name)]
    place = places(frame, axis != NODES and frame["nodes"].nunique() > 1)
    swept = [[name_value(name, row[name], pointers) for name in others if name in row] for row in values]
    frame["place"] = texts(place)
    frame["choice"] = choices(frame, runs, values, texts([one + two for one, two in zip(place, swept)]))
    frame["setting"] = texts([one + two for one, two in zip(place, swept)])
    tell_apart(frame, runs, values, swept)
    if frame["choice"].nunique() > 1:
        frame["panel"] = varying([one + two for one, two in zip(place, swept)], frame["setting"])
        frame["series"] = frame["choice"]
    else:
        frame["panel"] = varying(place, frame["place"])
        extra = [text or choice for text, choice in zip(texts(swept), frame["choice"])]
        frame["series"] = varying(swept, extra)
    return frame[ADDED + [name for name in frame.columns if name not in ADDED]]


def label_by(runs, axis, series=None):
    """Like label(), for a figure over the swept pointer `axis`, whose values may be no numbers (then `along` has texts), with a series per
    value of the swept pointer `series`, or per choice. What neither tells apart tells panels apart."""
    frame = pandas.concat([run.rows.assign(run=number) for number, run in enumerate(runs)], ignore_index=True)
    pointers = [name for name in frame.columns if name.startswith("/")]
    choosing = [name for name in pointers if is_choice(name)]
    numeric = axis == NODES or is_numeric(frame[axis])
    if numeric and axis not in choosing and (series is None or [series] == choosing):
        return label(runs, axis)
    if axis in choosing and series is None:
        series = next((name for name in choosing if name in NAMES_OF_SCHEDULES - {axis}), None)
    apart = axis in choosing or series in choosing      # then every other swept key of a choice stands by itself
    frame = frame[frame["nodes" if axis == NODES else axis].notna()]
    frame = frame.assign(along=frame["nodes"] if axis == NODES else [number(cell) if numeric else value_text(axis, cell) for cell in frame[axis]])
    frame = without_repeats(frame).reset_index(drop=True)
    values = [{name: parse(cell) for name, cell in row.items() if isinstance(cell, str)} for row in records(frame, pointers)]
    place = places(frame, NODES not in (axis, series) and frame["nodes"].nunique() > 1)
    others = [name for name in pointers if name not in (axis, series) and name not in SHOWN_BY_COLUMNS - (NAMES_OF_SCHEDULES if apart else set())
              and (apart or name not in choosing)]
    swept = [[short(row[name]) if name in NAMES_OF_SCHEDULES else name_value(name, row[name], pointers) for name in others if name in row]
             for row in values]
    parts = [one + two for one, two in zip(place, swept)]
    chosen = [""] * len(frame) if apart else choices(frame, runs, values, texts(parts))
    if series:
        frame["series"] = [counted(nodes, "node") for nodes in frame["nodes"]] if series == NODES else [value_text(series, cell) for cell in frame[series]]
        parts = [one + [choice] * bool(choice) for one, choice in zip(parts, chosen)]
    else:
        frame["series"] = ["" if axis in NAMES_OF_SCHEDULES else choice or schedule for choice, schedule in zip(chosen, frame["schedule"])]
    frame["place"], frame["setting"], frame["choice"] = texts(place), texts(parts), frame["series"]
    tell_apart(frame, runs, values, parts)
    frame["panel"] = varying(parts, texts(parts)) if len(set(texts(parts))) > 1 else frame["place"]
    return frame[ADDED + [name for name in frame.columns if name not in ADDED]]


def is_numeric(cells):
    """Whether all swept cells that there are have numbers of one unit."""
    found = {swept_quantity(cell) for cell in cells if isinstance(cell, str)}
    return bool(found) and None not in found and len({unit for _, unit in found}) == 1


def value_text(pointer, cell):
    """A swept cell as a reader sees it: 25 Gb/s, tau_max=2, ring."""
    if not isinstance(cell, str):
        return "none"
    found = swept_quantity(cell)
    if found is None:
        return short(parse(cell))
    value, unit = found
    factor, unit = scaled([value], unit)
    return f"{plain(value * factor)} {unit}" if unit else f"{last_word(pointer)}={plain(value)}"


def without_repeats(frame):
    """Without a schedule's further rows for other all-reduces, where it has none."""
    swept = [name for name in frame.columns if name.startswith("/all_reduce")]
    same = [name for name in frame.columns if name.startswith("/") and name not in swept] + ["run", "schedule", "along"]
    return frame[~(frame["all_reduce"].eq("") & frame.duplicated(same))] if swept else frame


def records(frame, columns):
    """The rows as dicts of these columns; DataFrame.to_dict takes ten times as long."""
    if not columns:
        return [{} for _ in range(len(frame))]
    return [dict(zip(columns, row)) for row in zip(*(frame[name].tolist() for name in columns))]


def is_choice(pointer):
    return bool(re.match(r"/(schedule|all_reduce)(/|$)", pointer))


def number(cell):
    """What a swept cell says, in its unit; NaN where it is no number."""
    found = swept_quantity(cell)
    return found[0] if found else math.nan


def texts(parts):
    return [", ".join(one) for one in parts]


def varying(parts, whole):
    """The parts of each row that not all rows share; `whole`, the rows' full names, where these tell no rows apart."""
    shared = set.intersection(*map(set, parts))
    short = texts([[part for part in one if part not in shared] for one in parts])
    return short if all(short) and len(set(short)) == len(set(whole)) else list(whole)


def places(frame, sizes):
    """Lists of the cluster's name, after the model and the batch where these differ between rows; before the nodes if `sizes`."""
    models = frame["model"].nunique() > 1
    batches = frame.groupby("model")["batch"].transform("nunique") > 1
    return [([model] if models else []) + ([f"batch {batch}"] if several else []) + [cluster]
            + ([counted(nodes, "node")] if sizes else [])
            for model, batch, cluster, nodes, several
            in zip(frame["model"], frame["batch"], frame["cluster"], frame["nodes"], batches)]


def choices(frame, runs, values, settings):
    """The schedule's name, its parameters where they were swept or differ, its all-reduce where that differs in one of the settings."""
    schedules = [schedule_of(runs[run].about["scenario"], row) for run, row in zip(frame["run"], values)]
    differing = {name: differing_keys([one for other, one in zip(frame["schedule"], schedules) if other == name])
                 for name in set(frame["schedule"])}
    several = frame.assign(where=settings).groupby(["schedule", "where", "along"])["all_reduce"].transform("nunique").groupby(frame["schedule"]).transform("max") > 1
    labels = []
    for name, schedule, row, reduce, differs in zip(frame["schedule"], schedules, values, frame["all_reduce"], several):
        keys = [key for key in schedule if key in differing[name]]
        if isinstance(row.get("/schedule"), dict) and not keys:
            keys = list(schedule)[:3]
        case = row.get("/schedule")      # the name of one of the scenario's cases
        text = case if isinstance(case, str) else " ".join([name] + [f"{key}={short(schedule[key])}" for key in keys])
        labels.append(f"{text}, {reduce}" if differs else text)
    return labels


def differing_keys(schedules):
    """The parameters that are not the same in all of these schedules."""
    distinct = {json.dumps(one, sort_keys=True): one for one in schedules}.values()
    return {key for schedule in distinct for key in schedule
            if len({json.dumps(other.get(key), sort_keys=True) for other in distinct}) > 1}


def schedule_of(scenario, row):
    """The parameters of the row's schedule, without its name: the scenario's, overlaid with the swept ones."""
    schedule = row.get("/schedule", scenario.get("schedule"))
    schedule = dict(schedule) if isinstance(schedule, dict) else {}
    if "/schedule/name" in row and "/schedule" not in row:
        schedule = {}
    for pointer, value in row.items():
        if pointer.startswith("/schedule/"):
            schedule[pointer[len("/schedule/"):]] = value
    schedule.pop("name", None)
    return schedule


def name_value(pointer, value, pointers):
    """A swept value with its key, short: the last word of the pointer, or all of it where two end alike."""
    alike = [other for other in pointers if last_word(other) == last_word(pointer)]
    return f"{last_word(pointer) if len(alike) == 1 else pointer[1:]}={short(value)}"


def said(pointer, pointers):
    """A swept key as people say it: its last word, before it as many more as no other of `pointers` ends with: bandwidth, or jitter cv."""
    words = [[word.replace("~1", "/").replace("~0", "~") for word in other.split("/") if word and not word.isdigit()] for other in pointers]
    own = words[pointers.index(pointer)]
    count = next((count for count in range(1, len(own) + 1) if sum(other[-count:] == own[-count:] for other in words) == 1), 0)
    return " ".join(own[-count:]).replace("_", " ") if count else pointer


@functools.cache
def last_word(pointer):
    """The key at the end of a pointer, without places in lists."""
    words = [word for word in pointer.split("/") if word and not word.isdigit()]
    return (words[-1] if words else pointer).replace("~1", "/").replace("~0", "~")


def short(value):
    """A swept value as part of a label."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return plain(value) if isinstance(value, float) else str(value)
    if isinstance(value, str):
        return PurePath(value).stem if value.endswith(".json") else value
    if isinstance(value, dict) and "name" in value:
        return " ".join([str(value["name"])] + [f"{key}={short(part)}" for key, part in value.items()
                                                if key != "name"])
    if isinstance(value, dict):
        return "(" + " ".join(f"{key}={short(part)}" for key, part in value.items()) + ")"
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= 120 else text[:119] + "…"


def join(left, right):
    return [f"{one}, {two}" if two else one for one, two in zip(left, right)]


def tell_apart(frame, runs, values, swept):
    """Adds to `setting` what distinguishes rows that would otherwise carry the same name at the same size.

    The lists of `swept` get it too.
    """
    key = ["setting", "choice", "along"]
    candidates = [
        [short(row.get("/cluster", "")) for row in values],
        [short(row.get("/trace", "")) for row in values],
        [runs[run].name for run in frame["run"]],
        [runs[run].folder.name for run in frame["run"]],
        [f"folder {run + 1}" for run in frame["run"]],
        [f"point {point}" for point in frame["point"]],
    ]
    for extra in candidates:
        twins = frame.duplicated(key, keep=False)
        if not twins.any():
            return
        settings = set(frame["setting"][twins])
        trial = [text if setting in settings else "" for text, setting in zip(extra, frame["setting"])]
        if len({(setting, text) for setting, text in zip(frame["setting"], trial) if text}) > len(settings):
            frame["setting"] = join(frame["setting"], trial)
            for parts, text in zip(swept, trial):
                parts += [text] * bool(text)
