"""The page that shows published numbers beside simulated ones. It needs nothing from outside."""

import re
from html import escape
from pathlib import Path

import notes
from page import figure
from paper_remarks import INPUT
from published import CLOSE
from units import significant

HEAD = [("Paper", "text"), ("Place", "text"), ("Quantity", "text wide"), ("Published", ""), ("Ours", ""), ("Difference", ""),
        ("Inputs given", "text"), ("Remark", "text wide")]
STYLE = """td.wide, th.wide { white-space: normal; min-width: 15em; }
#numbers td { vertical-align: top; }
#numbers td.far { color: #b3261e; font-weight: 600; }
#numbers td.list { white-space: normal; max-width: 11em; }
"""


def page(comparisons, drawings, runs, assumptions):
    """`drawings` are (paper, title, caption, svg text), `assumptions` {paper: paragraphs in plain words}."""
    css = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    title = "Published numbers, simulated"
    body = [
        f"<h1>{title}</h1>",
        '<p class="quiet">What five papers report of the speed of data-parallel training, beside what Syncopate simulates.</p>',
        summary(comparisons),
        traces(runs),
        "<h2>All published numbers</h2>",
        f'<p class="quiet">Differences are ours / published - 1; of several numbers the largest is given. Those beyond {100 * CLOSE:g} % '
        "are red, and the remark says why. <i>Inputs given</i> says whether the paper gives what a simulation of it needs.</p>",
        table(comparisons),
    ]
    number = 0
    for paper in notes.distinct(one.published.paper for one in comparisons):
        body += [f"<h2>{escape(paper)}</h2>", f'<p><b>Assumed, once for all of it:</b> {prose(assumptions[paper])}</p>']
        for _, heading, caption, svg in (drawing for drawing in drawings if drawing[0] == paper):
            number += 1
            body.append(figure(number, heading, caption, svg))
    return "\n".join(['<!DOCTYPE html>', '<html lang="en">', "<head>", '<meta charset="utf-8">',
                      '<meta name="viewport" content="width=device-width, initial-scale=1">', f"<title>{title}</title>",
                      f"<style>\n{css}{STYLE}</style>", "</head>", "<body>", "<main>", *body, "</main>", "</body>", "</html>", ""])


def summary(comparisons):
    """How many numbers are close, by how much of their input the papers give."""
    compared = [one for one in comparisons if one.ours and one.remark != INPUT]
    parts = []
    for given, words in (("yes", "given"), ("partly", "partly given"), ("no", "not given")):
        group = [one for one in compared if one.published.inputs_given == given]
        parts.append(f"{sum(one.close for one in group)} of {len(group)} whose inputs are {words}")
    read_back = sum(one.remark == INPUT for one in comparisons)
    return (f'<p class="answer">Of {len(comparisons)} published numbers {len(compared)} can be predicted, and '
            f"{sum(one.close for one in compared)} of these come out within {100 * CLOSE:g} %: {', '.join(parts)}. "
            f"{read_back} more are inputs that are merely read back.</p>")


def traces(runs):
    """Every trace, synthetic ones first and called so."""
    found = notes.distinct((f"{trace.get('model')}, batch {trace.get('batch')}, {trace.get('device') or 'no device'}",
                            trace["provenance"]["kind"], trace["provenance"].get("source", ""))
                           for run in runs for trace in run.about["traces"])
    items = "".join(f'<li>{escape(name)}: <b>{escape(kind)}</b><br><span class="quiet">{escape(source)}</span></li>'
                    for name, kind, source in sorted(found, key=lambda one: one[1] != "synthetic"))
    synthetic = sum(kind == "synthetic" for _, kind, _ in found)
    return (f'<div class="warning" role="note"><div>{"All" if synthetic == len(found) else synthetic} of the {len(found)} traces are '
            "synthetic: their layer times are modelled, not measured. The papers publish no layer times.</div>"
            f"<details><summary>The traces</summary><ul>{items}</ul></details></div>")


def table(comparisons):
    head = "".join(f'<th class="{kind}">{name}</th>' for name, kind in HEAD)
    rows, last = [], None
    for one in comparisons:
        row = one.published
        quantity = escape(row.quantity) + (f'<br><span class="quiet">{escape(row.configuration)}</span>' if row.configuration else "")
        several = " list" if len(row.values) > 2 else ""
        cells = [("text", escape(row.paper if row.paper != last else "")), ("text", escape(row.place)), ("text wide", quantity),
                 (f"published{several}", f"{escape(row.text)}{unit(row.unit)}"), (f"ours{several}", ours(one)),
                 ("" if one.close or one.ours is None else "far", escape(gap(one))), ("text", row.inputs_given),
                 ("text wide", remark(one))]
        rows.append(('<tr class="first">' if last not in (None, row.paper) else "<tr>")
                    + "".join(f'<td class="{kind}">{text}</td>' for kind, text in cells) + "</tr>")
        last = row.paper
    return f'<div class="scroll"><table id="numbers"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def unit(name):
    return f' <span class="quiet">{escape(name)}</span>' if name not in ("ratio", "share", "count") else ""


def ours(one):
    if one.ours is None:
        return "–"
    return " ".join(str(value) if isinstance(value, int) else significant(float(value), 4) for value in one.ours)


def gap(one):
    if one.ours is None:
        return "not comparable"
    if one.how == "shares":
        return f"{100 * one.difference:+.1f} points"
    percent = f"{100 * one.difference:+.1f} %"
    return "0 %" if percent in ("+0.0 %", "-0.0 %") else percent


def remark(one):
    """Our remark, then the note of the table of published numbers."""
    parts = [escape(one.remark)] * bool(one.remark)
    if one.published.note:
        parts.append(f'<span class="quiet">Of the published number: {escape(one.published.note)}.</span>')
    return " ".join(parts)


def prose(text):
    """Markdown of a README in one line of HTML: only `code` is marked."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
