"""claims.html and claims.json."""

import json
import math

import claim_figure
import style
from claim_verdicts import QUANTITIES, VERDICTS
from notes import distinct
from template import fill
from training_page import lasting
from units import plain

FORMAT = "claims/1"
NONE = "–"


def page(judged, studies):
    """The page as text; it needs nothing from outside."""
    names, about = distinct(one.claim.paper for one in judged), next(iter(studies.read.values()))
    numbered = list(enumerate(judged, 1))
    return fill(
        "claims.html", title="What five papers claim of accuracy, on a small task", task=about["task"], seeds=about["seeds"],
        verdicts=VERDICTS, counts=[tally(judged, name) for name in names] + [tally(judged)], all=tally(judged), denied=[one.claim for one in judged if one.comparison.verdict == VERDICTS[1]],
        margin=f"{100 * QUANTITIES['loss']:g}", tie=f"{100 * QUANTITIES['time']:g}",
        papers=[(name, [(number, one, *cells(one)) for number, one in numbered if one.claim.paper == name], points(judged, name)) for name in names],
        drawing=style.to_bytes(claim_figure.figure(judged), "svg").decode(), kind=VERDICTS.index)


def tally(judged, paper=None):
    """(paper, claims, how many of each verdict)."""
    its = [one.comparison.verdict for one in judged if paper in (None, one.claim.paper)]
    return paper or "all", len(its), *(its.count(verdict) for verdict in VERDICTS)


def cells(one):
    """What was measured of the left and the right point, and their quotient, in words."""
    in_words = (lambda value: plain(value, 3)) if one.claim.quantity == "loss" else (lambda value: f"{value:.0f}") if one.claim.quantity.startswith("samples") else lasting
    return band(one.values[0], in_words), band(one.values[1], in_words), band(one.comparison.quotients, lambda value: f"{plain(value, 3)}×", one.comparison.mean)


def band(values, in_words, mean=None):
    """(mean, "least to largest" where seeds differ)."""
    def word(value):
        return in_words(value) if math.isfinite(value) else NONE
    mean = sum(values) / len(values) if mean is None else mean
    low, high = word(min(values)), word(max(values))
    return word(mean), "" if low == high else f"{low} to {high}"


def points(judged, paper):
    """Rows of what was trained for a paper: (point, trained, final loss, samples to the target, time to the target)."""
    found = {}
    for one in judged:
        if one.claim.paper == paper:
            found |= {one.claim.left: one.left, one.claim.right: one.right}
    for point, trained in sorted(found.items(), key=lambda pair: (pair[0].study, [(len(value), value) for _, value in pair[0].parameters])):
        seconds, samples = zip(*trained.to_target())
        yield (point, trained, band(trained.loss(trained.samples[-1]), lambda value: plain(value, 3)),
               band(samples, lambda value: f"{value:.0f}"), band(seconds, lasting))


def as_json(judged, studies):
    about = next(iter(studies.read.values()))
    found = {"format": FORMAT, "task": about["task"], "seeds": about["seeds"], "claims": [record(one) for one in judged]}
    return (json.dumps(found, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()


def record(one):
    claim = one.claim
    return {"id": claim.id, "paper": claim.paper, "place": claim.place, "quote": claim.quote, "says": claim.says, "quantity": claim.quantity,
            "left": f"{claim.left.study}: {claim.left}", "relation": claim.relation, "right": f"{claim.right.study}: {claim.right}",
            "left_by_seed": list(map(finite, one.values[0])), "right_by_seed": list(map(finite, one.values[1])),
            "quotient_by_seed": list(map(finite, one.comparison.quotients)), "quotient": finite(one.comparison.mean), "verdict": one.comparison.verdict}


def finite(value):
    return value if math.isfinite(value) else None
