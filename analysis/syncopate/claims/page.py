"""claims.html and claims.json."""

import json
import math

from syncopate.claims.figure import figure
from syncopate.claims.verdicts import QUANTITIES, VERDICTS
from syncopate.common.sheet import to_svg
from syncopate.common.wording import distinct, lasting, plain
from syncopate.web.template import fill

FORMAT = "claims/1"
NONE = "–"


def page(judged, studies):
    """The page as text; it needs nothing from outside."""
    names, about = distinct(one.claim.paper for one in judged), studies.first()
    numbered = list(enumerate(judged, 1))
    return fill(
        "claims.html", title="What five papers claim of accuracy, on a small task", task=about["task"], seeds=about["seeds"],
        verdicts=VERDICTS, counts=[tally(judged, name) for name in names] + [tally(judged)], all=tally(judged),
        denied=[one.claim for one in judged if one.comparison.verdict == VERDICTS[1]],
        margin=f"{100 * QUANTITIES['loss']:g}", tie=f"{100 * QUANTITIES['time']:g}",
        papers=[(name, [(number, one, *cells(one)) for number, one in numbered if one.claim.paper == name], points(judged, name)) for name in names],
        drawing=to_svg(figure(judged)), kind=VERDICTS.index)


def tally(judged, paper=None):
    """(paper, claims, how many of each verdict); of all papers without a name."""
    verdicts = [one.comparison.verdict for one in judged if paper in (None, one.claim.paper)]
    return paper or "all", len(verdicts), *map(verdicts.count, VERDICTS)


def loss(value):
    return plain(value, 3)


def samples(value):
    return f"{value:.0f}"


WORDS = {"loss": loss, "samples to target": samples, "time to target": lasting, "time": lasting}


def cells(one):
    """What was measured of the left and the right point, and their quotient, in words."""
    words = WORDS[one.claim.quantity]
    return band(one.values[0], words), band(one.values[1], words), band(one.comparison.quotients, lambda value: f"{plain(value, 3)}×", one.comparison.mean)


def band(values, words, mean=None):
    """(mean, "least to largest" where seeds differ)."""
    def word(value):
        return words(value) if math.isfinite(value) else NONE
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
        seconds, counts = zip(*trained.to_target())
        yield point, trained, band(trained.loss(trained.samples[-1]), loss), band(counts, samples), band(seconds, lasting)


def as_json(judged, studies):
    about = studies.first()
    found = {"format": FORMAT, "task": about["task"], "seeds": about["seeds"], "claims": [record(one) for one in judged]}
    return (json.dumps(found, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()


def record(one):
    claim, (left, right), comparison = one.claim, one.values, one.comparison
    return {"id": claim.id, "paper": claim.paper, "place": claim.place, "quote": claim.quote, "says": claim.says, "quantity": claim.quantity,
            "left": f"{claim.left.study}: {claim.left}", "relation": claim.relation, "right": f"{claim.right.study}: {claim.right}",
            "left_by_seed": finite(left), "right_by_seed": finite(right), "quotient_by_seed": finite(comparison.quotients),
            "quotient": finite([comparison.mean])[0], "verdict": comparison.verdict}


def finite(values):
    return [value if math.isfinite(value) else None for value in values]
