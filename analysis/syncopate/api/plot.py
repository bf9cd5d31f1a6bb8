"""Figures of results, on matplotlib figures that belong to no window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from syncopate.api.answers import Picture
from syncopate.common import style
from syncopate.common.errors import InputError
from syncopate.common.sheet import look
from syncopate.common.wording import parse, swept_quantity
from syncopate.report import lanes, notes
from syncopate.report import timeline as timelines
from syncopate.results import labels
from syncopate.results.columns import COLUMNS
from syncopate.results.folder import Run, files_of_points, read_run

MOST, MOST_PANELS = 24, 6       # series that can be told apart; fields side by side
WIDE = 4                        # a ratio of largest to least from which on an axis is logarithmic
PLAIN = FuncFormatter(lambda value, _: f"{value:g}")
SIZES = ("nodes", "workers", "/cluster/nodes")


def plot(result: Any, x: str, y: str, axes: Any) -> Picture:
    """Result.plot with columns that there are."""
    table, swept = result.cells
    along, places = numbers(table, x)
    height = numbers(table, y)[0] if y.startswith("/") else table[y]
    if not pandas.api.types.is_numeric_dtype(height):
        raise InputError(f'column "{y}": expected a column of numbers, such as efficiency')
    others = [key for key in swept if not covers(x, key)]
    frame = pandas.DataFrame({"x": along, "y": height, "schedule": table["schedule"], "low": table["iteration_low_s"], "high": table["iteration_high_s"]})
    frame["series"], frame["panel"] = names(table, others), ""
    choices, settings = ([key for key in others if labels.is_choice(key) == is_choice] for is_choice in (True, False))
    if choices and settings and axes is None and len(panels := names(table, settings)) and 1 < len(set(panels)) <= MOST_PANELS:
        frame["series"], frame["panel"] = names(table, choices), panels
    frame = frame[frame["x"].notna() & frame["y"].notna()]
    if frame.empty:
        raise InputError(f'columns "{x}" and "{y}": no point has a value of both; see sim/output/RESULTS.md for what they need')
    frame, cut = fewer(frame)
    title = "\n".join([result.about["scenario"]["name"], *cut])
    with look():
        groups = list(frame.groupby("panel", sort=False))
        looks = style.styles(frame)
        if axes is None:
            columns = {1: 1, 2: 2, 4: 2}.get(len(groups), 3)
            figure = Figure(figsize=((6.4, 3.8) if columns == 1 else (3.1 * columns + 1.2, 3.1 * -(-len(groups) // columns))), layout="constrained")
            fields = list(figure.subplots(-(-len(groups) // columns), columns, sharey=True, squeeze=False).flat)
        else:
            figure, fields = axes.figure, [axes]
        for (panel, rows), field in zip(groups, fields):
            draw(field, rows, looks, bool(places), y)
            scale(field, frame["x"], places, x)
            field.set_xlabel(label(table, x))
            field.set_title(panel or title)
        for field in fields[len(groups):]:
            field.remove()
        if y != "efficiency" and is_wide(frame["y"]):
            fields[0].set_yscale("log")
            for field in fields[:len(groups)]:
                field.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                field.yaxis.set_major_formatter(PLAIN)
                field.yaxis.set_minor_locator(NullLocator())
        else:
            least, most = min(0.0, frame["y"].min()), max(0.0, frame["y"].max())
            fields[0].set_ylim(least, most + 0.05 * (most - least) if most > least else 1.0)
        fields[0].set_ylabel(label(table, y))
        if len(groups) > 1:
            figure.suptitle(title, fontsize=9)
        if len(looks) > 1:
            handles = [Line2D([], [], label=name, color=of.color, marker=of.marker, linestyle="none" if places else of.dash) for name, of in looks.items()]
            fields[min(len(groups), columns if axes is None else 1) - 1].legend(handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return Picture(figure)


def draw(field: Any, frame: pandas.DataFrame, looks: dict, are_places: bool, y: str) -> None:
    """The lines of one panel, with intervals where there are."""
    for name, of in looks.items():
        rows = frame[frame["series"] == name].sort_values("x", kind="stable")
        field.plot(rows["x"], rows["y"], color=of.color, marker=of.marker, linestyle="none" if are_places else of.dash, label=name, linewidth=1.5,
                   markersize=5 * style.MARKER_SCALE.get(of.marker, 1))
        known = rows[rows["low"].notna() & rows["high"].notna()] if y == "iteration_s" else rows.head(0)
        if len(known):
            field.errorbar(known["x"], known["y"], [known["y"] - known["low"], known["high"] - known["y"]], fmt="none", ecolor=of.color, capsize=2)
    field.grid()


def numbers(table: pandas.DataFrame, name: str) -> tuple[pandas.Series, list[str]]:
    """(the column as numbers, no names), or of texts (their places, their names)."""
    column = table[name]
    if pandas.api.types.is_numeric_dtype(column):
        return column, []
    found = [swept_quantity(cell) for cell in column] if name.startswith("/") else [None]
    if all(found) and len({unit for _, unit in found}) == 1:
        return pandas.Series([value for value, _ in found], index=table.index), []
    different = list(dict.fromkeys(column))
    shown = [labels.short(parse(cell)) if name.startswith("/") and isinstance(cell, str) else str(cell) for cell in different]
    return column.map({cell: place for place, cell in enumerate(different)}), shown


def covers(x: str, pointer: str) -> bool:
    """Whether the swept pointer is what varies along x; figures vary over sizes."""
    if x.startswith("/"):
        return pointer == x
    if x in ("model", "cluster", "schedule", "all_reduce", "fidelity", "batch"):
        return pointer in (f"/{x}", f"/{x}/name", "/trace" if x in ("model", "batch") else "")
    return pointer == "/cluster/nodes"


def names(table: pandas.DataFrame, keys: list[str]) -> list[str]:
    """What tells the lines apart: schedules and all-reduces by their names, other keys with their values; the schedule where nothing does."""
    if not keys:
        return list(table["schedule"])
    columns = [[labels.short(parse(cell)) if labels.is_choice(key) and isinstance(cell, str) else labels.name_value(key, parse(cell), keys)
                for cell in table[key]] for key in keys]
    return [", ".join(row) for row in zip(*columns)]


def fewer(frame: pandas.DataFrame) -> tuple[pandas.DataFrame, list[str]]:
    """(the rows of the first MOST series by their median, a line that says so)."""
    found = frame.groupby("series", sort=False)["y"].median().sort_values(kind="stable")
    if len(found) <= MOST:
        return frame, []
    return frame[frame["series"].isin(set(found.index[:MOST]))], [f"the {MOST} lowest of {len(found):,} series"]


def is_wide(values: pandas.Series) -> bool:
    return bool(values.min() > 0 and values.max() >= WIDE * values.min())


def scale(axes: Any, values: pandas.Series, places: list[str], x: str) -> None:
    if places:
        axes.set_xticks(range(len(places)), places, rotation=30 if len(places) > 4 else 0, ha="right" if len(places) > 4 else "center")
        return
    if is_wide(values) or x in SIZES:
        axes.set_xscale("log", base=2 if x in SIZES else 10)
        different = sorted(set(values))
        if len(different) <= 12:
            axes.xaxis.set_major_locator(FixedLocator(different))
            axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(PLAIN)


def label(table: pandas.DataFrame, name: str) -> str:
    if name.startswith("/"):
        units = {found[1] for cell in table[name] if (found := swept_quantity(cell))}
        unit = units.pop() if len(units) == 1 else ""
        return labels.last_word(name) + (f" ({unit})" if unit else "")
    unit = COLUMNS[name].unit if name in COLUMNS else ""
    return f"{name} ({unit})" if unit else name


def timeline(folder: Path, path: Path) -> Figure:
    """The figure of one timeline file, as the report draws it."""
    run = read_run(folder)
    run = Run(run.folder, run.about, run.rows, run.swept, [one for one in files_of_points(folder, "timeline") if one == path], [], [])
    frame = labels.label([run])
    shown, skipped = lanes.read_all([run], frame)
    if not shown:
        raise InputError(f"{path}: {skipped[0]}")
    return timelines.figure(shown, style.styles(frame), (notes.subject([run], frame), []))
