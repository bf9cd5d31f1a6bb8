"""The report as one HTML page that needs nothing from outside: answer first, figures, all rows, glossary."""

import math
import re
from html import escape
from pathlib import Path, PurePath

import notes
from answer import WITHIN, sentences
from columns import COLUMNS
from labels import parse, short
from units import duration, significant

PIXELS_PER_INCH = 140     # the size at which a figure's smallest text still reads like the page's


def page(runs, frame, styles, found, drawings, remarks, links=""):
    """`found` are the winners, `drawings` (title, caption, svg text), `remarks` sentences about files left out, `links` a section."""
    title = ", ".join(notes.distinct(run.name for run in runs))
    css = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    body = [
        f"<h1>{escape(title)}</h1>",
        '<p class="quiet">Simulated data-parallel training, by Syncopate.</p>',
        f'<p class="quiet">{escape(notes.fidelity(frame))}</p>',
        warning_box(runs),
        about(runs, frame),
        "<h2>Which schedule is fastest</h2>" if frame["choice"].nunique() > 1 else "<h2>Result</h2>",
        answer(found, frame, styles),
        *(figure(number, *drawing) for number, drawing in enumerate(drawings, 1)),
        "".join(f'<p class="quiet">{escape(remark)}</p>' for remark in remarks),
        links,
        "<h2>All rows</h2>",
        '<p class="quiet">Numbers are rounded to six significant digits.</p>',
        all_rows(runs, frame),
        "<h2>Columns</h2>",
        glossary(frame),
    ]
    return "\n".join(['<!DOCTYPE html>', '<html lang="en">', "<head>", '<meta charset="utf-8">',
                      '<meta name="viewport" content="width=device-width, initial-scale=1">',
                      f"<title>{escape(title)}</title>", f"<style>\n{css}</style>", "</head>", "<body>", "<main>",
                      *(part for part in body if part), "</main>", "</body>", "</html>", ""])


def warning_box(runs):
    sentences_ = notes.warnings(runs)
    if not sentences_:
        return ""
    errors = [f"<li>point {item['point']}: {escape(str(item.get('error', 'no reason given')))}</li>"
              for run in runs for item in run.about["failed"]]
    lines = "".join(f"<div>{escape(text)}</div>" for text in sentences_)
    return f'<div class="warning" role="note">{lines}{"<ul>" + "".join(errors) + "</ul>" if errors else ""}</div>'


def about(runs, frame):
    """What was simulated, as a definition list."""
    def several(values):
        return escape(", ".join(notes.distinct(str(value) for value in values)))

    traces = []
    for trace in (trace for run in runs for trace in run.about["traces"]):
        origin = trace["provenance"]
        text = f"{notes.trace_text(trace)}: {trace.get('model')}, batch {trace.get('batch')}"
        more = [f"file {PurePath(str(trace['path'])).name}" if trace.get("path") else "",
                str(origin.get("source") or ""), str(origin.get("note") or "")]
        detail = escape("; ".join(part for part in more if part))
        traces.append(f'{escape(text)}<br><span class="quiet">{detail}</span>')
    sizes = sorted(frame["nodes"].unique())
    rows = [
        ("Model", several(f"{model}, batch {batch} per worker"
                          for model, batch in zip(frame["model"], frame["batch"]))),
        ("Trace", "<br>".join(notes.distinct(traces))),
        ("Clusters" if frame["cluster"].nunique() > 1 else "Cluster", several(frame["cluster"])),
        ("Nodes", several(sizes)),
        ("Schedules" if frame["schedule"].nunique() > 1 else "Schedule", several(frame["schedule"])),
        ("All-reduce", several(frame["all_reduce"])),
        ("Scenario", several(PurePath(str(run.about["scenario_file"])).name for run in runs
                             if run.about["scenario_file"])),
        ("Changed", per_run(runs, notes.changed)),
        ("Workers", per_run(runs, notes.disturbed)),
        ("Points", "<br>".join(points(run, len(runs) > 1) for run in runs)),
        ("Seed", several(run.about["seed"] for run in runs if run.about["seed"] is not None)),
        ("Versions", several(f"{name} {version}" for run in runs for name, version in run.about["versions"].items())),
    ]
    return '<dl class="about">' + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows if text) + "</dl>"


def per_run(runs, tell):
    """What `tell` says of each run that it says anything of, on a line of its own, named where there are several."""
    texts = [(run.name, tell(run)) for run in runs]
    return "<br>".join(escape(f"{name}: {text}" if len(runs) > 1 else text) for name, text in texts if text)


def points(run, named):
    wall = run.about["wall_s"]
    took = f", simulated in {duration(wall)}" if isinstance(wall, (int, float)) and 0 < wall < 1e9 else ""
    return escape(f"{run.name}: " if named else "") + f"{len(run.rows)} of {run.about['points_total']}{took}"


def answer(found, frame, styles):
    """Sentences, then a row per setting and size."""
    several = frame["setting"].nunique() > 1
    spoken = sentences(found)
    lines = "" if len(spoken) > 8 else "".join(
        f'<p class="answer">{f"On <b>{escape(setting)}</b>, " if several else ""}{escape(text)}.</p>'
        for setting, text in spoken)
    compared = any(one.compared > 1 for one in found)
    workers = any(one.workers != one.nodes for one in found)
    wfbp = any(one.over_wfbp for one in found)
    head = [("Setting", "text setting")] * several + [("Nodes", "")] + [("Workers", "more")] * workers + \
        [("Fastest" if compared else "Schedule", "text"), ("Iteration", ""), ("Efficiency", "")] + \
        [("Runner-up", "text more"), ("its time / fastest", "more")] * compared + \
        [("wfbp's time / fastest", "more")] * wfbp
    colors = {choice: styles[series].color for choice, series in zip(frame["choice"], frame["series"])}
    rows, last = [], None
    for one in found:
        cells = [(escape(one.setting), "text setting")] * several + [(str(one.nodes), "")]
        cells += [(str(one.workers), "more")] * workers
        names = dotted(one.names, colors) + (f' <span class="name">({WITHIN})</span>' if len(one.names) > 1 else "")
        if one.compared < max(other.compared for other in found if other.setting == one.setting):
            names += f" (of {one.compared})"      # rows are missing here: the winner had fewer rivals
        cells += [(names, "text win"),
                  (duration(one.iteration_s), ""), (f"{significant(100 * one.efficiency)} %", "")]
        if compared:
            second = (dotted(one.runner_up[0], colors), ratio(one.runner_up[1])) if one.runner_up else ("–", "–")
            cells += [(second[0], "text more"), (second[1], "more")]
        if wfbp:
            cells += [(ratio(one.over_wfbp) if one.over_wfbp else "–", "more")]
        rows.append(('<tr class="first">' if last not in (None, one.setting) else "<tr>")
                    + "".join(f'<td class="{kind}">{text}</td>' for text, kind in cells) + "</tr>")
        last = one.setting
    header = "".join(f'<th class="{kind}">{name}</th>' for name, kind in head)
    return (f'{lines}<div class="scroll{" tall" if len(rows) > 40 else ""}"><table id="answer"><thead><tr>{header}'
            f'</tr></thead><tbody>{"".join(rows)}</tbody></table></div>')


def dotted(names, colors):
    """Names with the dots of their series; a line rather breaks between names than inside one."""
    return " ".join(f'<span class="name"><span class="dot" style="background:{colors[name]}"></span>{escape(name)}'
                    f'{"," if name != names[-1] else ""}</span>' for name in names)


def ratio(value):
    """1.274×; with two digits of the excess over 1 where these would read 1.000."""
    digits = 3 if value >= 1.0005 or value <= 1 else 1 - math.floor(math.log10(value - 1))
    return f"{value:.{digits}f}×"


def figure(number, title, caption, svg):
    return (f'<h2>Figure {number}. {escape(title)}</h2>\n<figure><div class="scroll">'
            f'{inline(svg, f"f{number}-", title)}</div><figcaption>{escape(caption)}</figcaption></figure>')


def inline(svg, prefix, title):
    """An SVG file as an element of the page: no prologue, no metadata, no address; ids of its own."""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.S)
    svg = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", svg)
    svg = svg.replace("xlink:href=", "href=")
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg).replace("url(#", f"url(#{prefix}")
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1]) / 72 * PIXELS_PER_INCH
    element = rf'<svg \1 role="img" aria-label="{escape(title)}" style="width:{width:.0f}px">'
    return re.sub(r'<svg[^>]*?(viewBox="[^"]*")[^>]*>', element, svg, count=1).strip()


def all_rows(runs, frame):
    names = [name for name in frame.columns if name.startswith("/") and not repeats(frame, name)]
    names = ["point"] + names + [name for name in COLUMNS if name != "point"]
    texts = {name for name in names if name.startswith("/") or COLUMNS[name].kind == "text"}
    several = len(runs) > 1
    head = '<th class="text">scenario</th>' * several + \
        "".join(f'<th class="{"text" if name in texts else ""}">{escape(name)}</th>' for name in names)
    lines = []
    for row in frame.to_dict("records"):
        cells = f'<td class="text">{escape(runs[row["run"]].name)}</td>' * several
        for name in names:
            value = row[name]
            if name in texts:
                cells += f'<td class="text">{escape(value) if isinstance(value, str) else ""}</td>'
            else:
                cells += f"<td>{value:.0f}</td>" if value == int(value) else f"<td>{value:.6g}</td>"
        lines.append(f"<tr>{cells}</tr>")
    return (f'<div class="scroll tall" tabindex="0"><table id="rows"><thead><tr>{head}</tr></thead>'
            f'<tbody>{"".join(lines)}</tbody></table></div>')


REPEATED = {"/cluster": "cluster", "/cluster/name": "cluster", "/cluster/nodes": "nodes", "/schedule/name": "schedule",
            "/all_reduce": "all_reduce", "/all_reduce/name": "all_reduce", "/fidelity": "fidelity"}


def repeats(frame, pointer):
    """Whether every cell of a swept pointer says no more than a documented column does."""
    if pointer not in REPEATED:
        return False
    return all(short(parse(cell)) == str(value) for cell, value in zip(frame[pointer], frame[REPEATED[pointer]])
               if isinstance(cell, str))


def glossary(frame):
    items = [("/...", "", "a key of the scenario that was swept, by its JSON pointer")] \
        if any(name.startswith("/") for name in frame.columns) else []
    items += [(name, column.unit, column.meaning) for name, column in COLUMNS.items()]
    return '<dl class="glossary">' + "".join(
        f"<dt>{escape(name)}{f' ({unit})' if unit else ''}</dt><dd>{escape(meaning)}</dd>"
        for name, unit, meaning in items) + "</dl>"
