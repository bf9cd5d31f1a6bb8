"""The page that shows published numbers beside simulated ones. It needs nothing from outside."""

import re
from dataclasses import dataclass

from syncopate.common.wording import distinct, significant
from syncopate.papers.published import CLOSE
from syncopate.papers.quantities import CHOSEN, UNEXPLAINED
from syncopate.web.template import fill


@dataclass(frozen=True)
class Count:
    """How one paper's numbers, or all, come out."""

    paper: str
    numbers: int
    others: int         # inputs, counts and repeats
    missing: int        # that the simulator cannot give
    bounds: int
    bounds_held: int
    predicted: int      # without bounds
    close: int          # none with a wrong sign
    wrong: int          # signs of gains
    explained: int      # other far ones, whose reason is known
    calibrated: int     # predicted with one input chosen
    calibrated_close: int
    calibrated_wrong: int


def page(comparisons, drawings, runs, assumptions, variants=None):
    """`drawings` are (paper, title, caption, svg text), `assumptions` {paper: paragraphs in plain words}, `variants` those of quantities.py."""
    names = distinct(one.published.paper for one in comparisons)
    found = traces(runs)
    tables = {name: [line(one) for one in comparisons if one.published.paper == name] for name in names}
    return fill(
        "papers.html", title="Published numbers, simulated", limit=f"{100 * CLOSE:g}", counts=[count(name, comparisons) for name in names],
        all=count("", comparisons), given=by_inputs(comparisons), chosen=len(CHOSEN), traces=found, synthetic=sum(kind == "synthetic" for _, kind, _ in found),
        papers=[(name, prose(assumptions[name]), choice(name, comparisons), tables[name],
                 [(words, [line(one) for one in its]) for words, its in (variants or {}).get(name, [])]) for name in names],
        drawings=list(enumerate((one for name in names for one in drawings if one[0] == name), 1)))


def count(paper, comparisons):
    """Of one paper; of all without a name."""
    its = [one for one in comparisons if paper in ("", one.published.paper)]
    predicted = [one for one in its if one.predicted]
    calibrated = [best for best in (one.calibrated or one for one in predicted) if best.predicted]
    bounds = [one for one in its if one.bound and one.ours is not None]
    return Count(paper or "all", len(its), sum(not one.predicted and not one.bound and one.ours is not None for one in its),
                 sum(one.ours is None for one in its), len(bounds), sum(one.close for one in bounds),
                 len(predicted), sum(one.close for one in predicted), sum(one.wrong_sign for one in predicted),
                 sum(not one.close and one.published.id not in UNEXPLAINED for one in predicted), len(calibrated), sum(one.close for one in calibrated),
                 sum(one.wrong_sign for one in calibrated))


def choice(paper, comparisons):
    """What has been chosen in the paper's calibrated scenarios, and on which numbers."""
    return "; ".join(f"{CHOSEN[one.published.id]}, chosen on {one.published.quantity} ({one.published.place})"
                     for one in comparisons if one.published.id in CHOSEN and one.published.paper == paper)


def by_inputs(comparisons):
    """How many numbers are close, by how much of their input the papers give."""
    predicted = [one for one in comparisons if one.predicted]
    for given, words in (("yes", "given"), ("partly", "partly given"), ("no", "not given")):
        group = [one for one in predicted if one.published.inputs_given == given]
        yield f"{sum(one.close for one in group)} of {len(group)} whose inputs are {words}"


def line(one):
    """(comparison, ours, difference, gains, calibrated, its difference)."""
    calibrated = one.calibrated
    return one, ours(one), gap(one), gains(one), ours(calibrated) if calibrated else "", \
        "" if not calibrated else "chosen on it" if calibrated.chosen else gap(calibrated) + sign_words(calibrated)


def traces(runs):
    """(name, kind, source) of every trace, synthetic ones first."""
    found = distinct((f"{trace.get('model')}, batch {trace.get('batch')}, {trace.get('device') or 'no device'}",
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


def gains(one):
    """The gains of a ratio of speeds, where one number stands against one: theirs, and ours."""
    if not one.gains:
        return "wrong sign" if one.wrong_sign else ""
    there, here = max(one.gains, key=lambda pair: abs(pair[1] - pair[0]))
    return f"gain {100 * there:+.1f} %, ours {100 * here:+.1f} %{sign_words(one)}"


def sign_words(one):
    return ", wrong sign" if one.wrong_sign else ""


def prose(text):
    """The Markdown of a README: plain text and what it marks as `code`, in turn."""
    return re.split("`([^`]+)`", text)
