"""The report as one HTML page that needs nothing from outside: answer first, charts, all points, glossary."""

from pathlib import PurePath

from syncopate.common.wording import distinct, duration, listed, parse
from syncopate.report import compared, jobs_table, links_table, notes, weighed
from syncopate.report.answer import sentences, winners
from syncopate.results.columns import COLUMNS
from syncopate.results.labels import NODES, said, short
from syncopate.web import theme
from syncopate.web.template import fill_interactive

SCRIPTS = ("data", "numbers", "elements", "state", "theme", "legend", "key", "scaling", "composition", "use", "messages", "timeline", "explanation", "network", "table", "start")


def page(runs, frame, styles, data, remarks, factors, whole):
    """The page as text.

    `data`: what page_data() returns. `remarks`: sentences about files that were left out. `factors`: the samples that schedules need, by
    name, or None. `whole`: every row is shown.
    """
    found = winners(runs, frame)
    spoken = sentences(found)
    lead = [(name if len(runs) > 1 else "", text) for run, name in zip(runs, run_names(runs)) for text in run.about["answer"]] if whole else []
    rivals = [max(other.compared for other in found if other.setting == one.setting) for one in found]
    return fill_interactive(
        "report.html", SCRIPTS, data,
        title=", ".join(distinct(run.name for run in runs)), subject=subject(runs, frame), fidelity=notes.fidelity(frame), about=about(runs, frame),
        warnings=notes.warnings(runs), failed=[item for run in runs for item in run.about["failed"]],
        several_choices=frame["choice"].nunique() > 1, several_settings=frame["setting"].nunique() > 1,
        lead=lead, compared=compared.section(runs, frame), sentences=spoken if len(spoken) <= 8 and (not lead or len({one.names for one in found}) > 1) else [],
        winners=[(one, one.compared < most) for one, most in zip(found, rivals)],
        shown={"workers": any(one.workers != one.nodes for one in found), "runner_up": any(one.compared > 1 for one in found),
               "wfbp": any(one.over_wfbp for one in found)},
        colors={choice: theme.colors(styles[series].color) for choice, series in zip(frame["choice"], frame["series"])},
        has_timelines=bool(data["timelines"]), has_explanations=bool(data["explanations"]), has_networks=bool(data["networks"]), remarks=remarks, links=links_table.section(runs, frame),
        jobs=jobs_table.section(runs, frame), by_samples=weighed.section(runs, frame, factors) if factors else None, glossary=glossary(frame))


def run_names(runs):
    """The scenarios' names; the folders', too, where two have the same."""
    names = [run.name for run in runs]
    if len(set(names)) == len(names):
        return names
    folders = compared.folder_names([run.folder for run in runs]) if len(runs) == 2 else [str(run.folder) for run in runs]
    return [f"{name}, {folder}" for name, folder in zip(names, folders)]


def subject(runs, frame):
    """One line of what was simulated, with what was changed and swept of the cluster, whose name says nothing of that."""
    values = {}
    for run in runs:
        for pointer, value in run.about["settings"].items():
            values.setdefault(pointer, []).append(short(value))
    for pointer in frame.columns:
        if pointer.startswith("/"):
            values[pointer] = [short(parse(cell)) for cell in frame[pointer] if isinstance(cell, str)]
    names = [pointer for pointer in values if pointer.startswith("/cluster/") and pointer not in (NODES, "/cluster/name")]
    of_cluster = [f"{said(pointer, names)} {listed(distinct(values[pointer])) if len(set(values[pointer])) <= 4 else 'swept'}" for pointer in names]
    return "  ·  ".join([notes.subject(runs, frame), *([f"with {', '.join(of_cluster)}"] if of_cluster else [])])


def about(runs, frame):
    """What was simulated, as (name, lines); a line is (text, detail or None)."""
    def line(values):
        text = ", ".join(distinct(str(value) for value in values))
        return [(text, None)] * bool(text)

    def per_run(tell):
        """What `tell` says of each run that it says anything of, on a line of its own, named where there are several."""
        texts = [(name, tell(run)) for run, name in zip(runs, run_names(runs))]
        return [(f"{name}: {text}" if len(runs) > 1 else text, None) for name, text in texts if text]

    return [
        ("Model", line(f"{model}, batch {batch} per worker" for model, batch in zip(frame["model"], frame["batch"]))),
        ("Trace", distinct(trace_line(trace) for run in runs for trace in run.about["traces"])),
        ("Clusters" if frame["cluster"].nunique() > 1 else "Cluster", line(frame["cluster"])),
        ("Nodes", line(sorted(frame["nodes"].unique()))),
        ("Schedules" if frame["schedule"].nunique() > 1 else "Schedule", line(frame["schedule"])),
        ("All-reduce", line(name for name in frame["all_reduce"] if name)),
        ("Scenario", line(PurePath(str(run.about["scenario_file"])).name for run in runs if run.about["scenario_file"])),
        ("Changed", per_run(notes.changed)),
        ("Workers", per_run(notes.disturbed)),
        ("Points", per_run(points)),
        ("Seed", line(run.about["seed"] for run in runs if run.about["seed"] is not None)),
        ("Versions", line(f"{name} {version}" for run in runs for name, version in run.about["versions"].items())),
    ]


def trace_line(trace):
    origin = trace["provenance"]
    file = trace.get("file") or trace.get("path")  # the latter in older results
    details = [f"file {PurePath(str(file)).name}" if file else "", str(origin.get("source") or ""), str(origin.get("note") or "")]
    return f"{notes.trace_text(trace)}: {trace.get('model')}, batch {trace.get('batch')}", "; ".join(filter(None, details))


def points(run):
    wall = run.about["wall_s"]
    took = f", simulated in {duration(wall)}" if isinstance(wall, (int, float)) and 0 < wall < 1e9 else ""
    return f"{len(run.rows)} of {run.about['points_total']}{took}"


def glossary(frame):
    """(name, unit, meaning) of every column."""
    swept = [("/...", "", "a key of the scenario that was swept, by its JSON pointer")]
    return swept * any(name.startswith("/") for name in frame.columns) + \
        [(name, column.unit, column.meaning) for name, column in COLUMNS.items()]
