"""The report as one HTML page that needs nothing from outside: answer first, figures, all rows, glossary."""

import math
from pathlib import PurePath

import notes
import style
from answer import sentences
from columns import COLUMNS
from labels import parse, short
from template import fill
from units import duration


def page(runs, frame, styles, found, drawings, remarks, links, whole):
    """`found` are the winners, `drawings` (title, caption, svg text), `remarks` sentences about files left out, `whole`: every row is shown.

    `links` is what links_table.section returns.
    """
    spoken = sentences(found)
    lead = [(run.name if len(runs) > 1 else "", text) for run in runs for text in run.about["answer"]] if whole else []
    compared = [max(other.compared for other in found if other.setting == one.setting) for one in found]
    return fill(
        "report.html",
        title=", ".join(notes.distinct(run.name for run in runs)), fidelity=notes.fidelity(frame), about=about(runs, frame),
        warnings=notes.warnings(runs), failed=[item for run in runs for item in run.about["failed"]],
        several_choices=frame["choice"].nunique() > 1, several_settings=frame["setting"].nunique() > 1,
        lead=lead, sentences=spoken if len(spoken) <= 8 and (len(spoken) > 1 or not lead) else [],
        winners=[(one, one.compared < most) for one, most in zip(found, compared)],
        shown={"workers": any(one.workers != one.nodes for one in found), "runner_up": any(one.compared > 1 for one in found),
               "wfbp": any(one.over_wfbp for one in found)},
        colors={choice: styles[series].color for choice, series in zip(frame["choice"], frame["series"])}, palette=style,
        drawings=drawings, remarks=remarks, links=links, all_rows=all_rows(runs, frame), glossary=glossary(frame))


def about(runs, frame):
    """What was simulated, as (name, lines); a line is (text, detail or None)."""
    def listed(values):
        text = ", ".join(notes.distinct(str(value) for value in values))
        return [(text, None)] * bool(text)

    def per_run(tell):
        """What `tell` says of each run that it says anything of, on a line of its own, named where there are several."""
        texts = [(run.name, tell(run)) for run in runs]
        return [(f"{name}: {text}" if len(runs) > 1 else text, None) for name, text in texts if text]

    return [
        ("Model", listed(f"{model}, batch {batch} per worker" for model, batch in zip(frame["model"], frame["batch"]))),
        ("Trace", notes.distinct(trace_line(trace) for run in runs for trace in run.about["traces"])),
        ("Clusters" if frame["cluster"].nunique() > 1 else "Cluster", listed(frame["cluster"])),
        ("Nodes", listed(sorted(frame["nodes"].unique()))),
        ("Schedules" if frame["schedule"].nunique() > 1 else "Schedule", listed(frame["schedule"])),
        ("All-reduce", listed(frame["all_reduce"])),
        ("Scenario", listed(PurePath(str(run.about["scenario_file"])).name for run in runs if run.about["scenario_file"])),
        ("Changed", per_run(notes.changed)),
        ("Workers", per_run(notes.disturbed)),
        ("Points", per_run(points)),
        ("Seed", listed(run.about["seed"] for run in runs if run.about["seed"] is not None)),
        ("Versions", listed(f"{name} {version}" for run in runs for name, version in run.about["versions"].items())),
    ]


def trace_line(trace):
    origin = trace["provenance"]
    details = [f"file {PurePath(str(trace['path'])).name}" if trace.get("path") else "", str(origin.get("source") or ""),
               str(origin.get("note") or "")]
    return f"{notes.trace_text(trace)}: {trace.get('model')}, batch {trace.get('batch')}", "; ".join(filter(None, details))


def points(run):
    wall = run.about["wall_s"]
    took = f", simulated in {duration(wall)}" if isinstance(wall, (int, float)) and 0 < wall < 1e9 else ""
    return f"{len(run.rows)} of {run.about['points_total']}{took}"


def all_rows(runs, frame):
    """The head, then a row per point; a cell is (text, its class)."""
    names = [name for name in frame.columns if name.startswith("/") and not repeats(frame, name)]
    names = ["point"] + names + [name for name in COLUMNS if name != "point"]
    kinds = ["text" if name.startswith("/") or COLUMNS[name].kind == "text" else "" for name in names]
    lines = [names] + [[written(row[name]) for name in names] for row in frame.to_dict("records")]
    if len(runs) > 1:
        kinds = ["text"] + kinds
        scenarios = ["scenario"] + [runs[run].name for run in frame["run"]]
        lines = [[scenario] + line for scenario, line in zip(scenarios, lines)]
    return [list(zip(line, kinds)) for line in lines]


def written(value):
    """A cell's value; pandas holds NaN where a row does not sweep what others do."""
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return ""
    return f"{value:.0f}" if value == int(value) else f"{value:.6g}"


REPEATED = {"/cluster": "cluster", "/cluster/name": "cluster", "/cluster/nodes": "nodes", "/schedule/name": "schedule",
            "/all_reduce": "all_reduce", "/all_reduce/name": "all_reduce", "/fidelity": "fidelity"}


def repeats(frame, pointer):
    """Whether every cell of a swept pointer says no more than a documented column does."""
    if pointer not in REPEATED:
        return False
    return all(short(parse(cell)) == str(value) for cell, value in zip(frame[pointer], frame[REPEATED[pointer]])
               if isinstance(cell, str))


def glossary(frame):
    """(name, unit, meaning) of every column."""
    swept = [("/...", "", "a key of the scenario that was swept, by its JSON pointer")]
    return swept * any(name.startswith("/") for name in frame.columns) + \
        [(name, column.unit, column.meaning) for name, column in COLUMNS.items()]
