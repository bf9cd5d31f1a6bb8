"""Whether two trained points relate as a paper says: seeds are compared one by one, for a seed is the same initial model and the same batches."""

import math
from dataclasses import dataclass

from syncopate.claims.points import AGAIN, measured
from syncopate.common.errors import InputError

AGREES, DENIES, UNCLEAR = "agrees", "does not agree", "cannot be told apart"
VERDICTS = (AGREES, DENIES, UNCLEAR)
SAME = 1e-9     # relative: sums in another order are the same model

# What is compared, and by how much it differs where that is practically nothing: a tenth, as where train.py looks for the best rate; of
# simulated times, which no seed moves, what simctl calls a tie.
QUANTITIES = {"loss": 0.1, "samples to target": 0.1, "time to target": 0.1, "time": 0.005}

RELATIONS = ("less", "more", "no more", "as good as", "the same")


@dataclass(frozen=True)
class Comparison:
    """Left by right: of every seed, and their geometric mean."""

    quotients: tuple
    mean: float
    verdict: str

    @property
    def low(self):
        return min(self.quotients)

    @property
    def high(self):
        return max(self.quotients)


@dataclass(frozen=True)
class Judged:
    claim: object           # a table.Claim
    left: object            # points.Trained, as is `right`
    right: object
    values: tuple           # of left and right, by seed
    comparison: Comparison

    @property
    def texts(self):
        """What both sides are called, with their studies where these differ."""
        sides = self.claim.left, self.claim.right
        return [f"{side.study}: {side}" if sides[0].study != sides[1].study else str(side) for side in sides]


def judge(claim, studies):
    """A Judged. Raises InputError."""
    left, right = studies.point(claim.left), studies.point(claim.right)
    if claim.quantity.endswith("target") and left.target != right.target:
        raise InputError(f"{studies.path(claim.left.study)}: targets: expected {right.target}, as in {studies.path(claim.right.study)}, got {left.target}; {AGAIN}")
    values = measured(claim.quantity, left, right)
    return Judged(claim, left, right, values, compare(*values, claim.relation, claim.quantity))


def compare(left, right, relation, quantity):
    """Two lists of values by seed; infinite where a seed diverges or does not reach the target."""
    quotients = tuple(map(quotient, left, right))
    mean = geometric_mean(quotients)
    return Comparison(quotients, mean, verdict(quotients, mean, relation, QUANTITIES[quantity]))


def quotient(left, right):
    """NaN where both are infinite: neither is the better."""
    if left == right and math.isfinite(left):
        return 1.0
    return left / right if right else math.inf


def geometric_mean(values):
    if any(map(math.isnan, values)):
        return math.nan
    if 0 in values:
        return math.nan if math.inf in values else 0.0
    return math.exp(sum(map(math.log, values)) / len(values))


def verdict(quotients, mean, relation, margin):
    if relation == "the same":
        return AGREES if all(abs(one - 1) <= SAME for one in quotients) else DENIES
    if any(map(math.isnan, quotients)):
        return UNCLEAR
    is_less = max(quotients) < 1 and mean < 1 / (1 + margin)
    is_more = min(quotients) > 1 and mean > 1 + margin
    is_no_less, is_no_more = min(quotients) >= 1 / (1 + margin), max(quotients) <= 1 + margin
    agrees, denies = {"less": (is_less, is_more), "more": (is_more, is_less), "no more": (is_no_more, is_more),
                      "as good as": (is_no_less and is_no_more, is_less or is_more)}[relation]
    return AGREES if agrees else DENIES if denies else UNCLEAR
