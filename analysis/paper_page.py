"""The page that shows published numbers beside simulated ones. It needs nothing from outside."""

import re

import notes
from paper_remarks import INPUT
from published import CLOSE
from template import fill
from units import significant


def page(comparisons, drawings, runs, assumptions):
    """`drawings` are (paper, title, caption, svg text), `assumptions` {paper: paragraphs in plain words}."""
    compared = [one for one in comparisons if one.ours and one.remark != INPUT]
    papers = notes.distinct(one.published.paper for one in comparisons)
    found = traces(runs)
    return fill(
        "papers.html", title="Published numbers, simulated", numbers=[(one, ours(one), gap(one)) for one in comparisons],
        predicted=len(compared), close=sum(one.close for one in compared), limit=f"{100 * CLOSE:g}", given=by_inputs(compared),
        read_back=sum(one.remark == INPUT for one in comparisons), traces=found, synthetic=sum(kind == "synthetic" for _, kind, _ in found),
        papers=[(name, prose(assumptions[name])) for name in papers],
        drawings=list(enumerate((one for name in papers for one in drawings if one[0] == name), 1)))


def by_inputs(compared):
    """How many numbers are close, by how much of their input the papers give."""
    for given, words in (("yes", "given"), ("partly", "partly given"), ("no", "not given")):
        group = [one for one in compared if one.published.inputs_given == given]
        yield f"{sum(one.close for one in group)} of {len(group)} whose inputs are {words}"


def traces(runs):
    """(name, kind, source) of every trace, synthetic ones first."""
    found = notes.distinct((f"{trace.get('model')}, batch {trace.get('batch')}, {trace.get('device') or 'no device'}",
                            trace["provenance"]["kind"], trace["provenance"].get("source", ""))
                           for run in runs for trace in run.about["traces"])
    return sorted(found, key=lambda one: one[1] != "synthetic")


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


def prose(text):
    """The Markdown of a README: plain text and what it marks as `code`, in turn."""
    return re.split("`([^`]+)`", text)
