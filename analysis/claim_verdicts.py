"""Whether two trained points relate as a paper says: seeds are compared one by one, for a seed is the same initial model and the same batches."""

import math
from dataclasses import dataclass

AGREES, DENIES, UNCLEAR = "agrees", "does not agree", "cannot be told apart"
VERDICTS = (AGREES, DENIES, UNCLEAR)
SAME = 1e-9     # relative: sums in another order are the same model

# What is compared, and by how much it differs where that is practically nothing: a tenth, as where train.py looks for the best rate; of
# simulated times, which no seed moves, what simctl calls a tie.
QUANTITIES = {"loss": 0.1, "samples to target": 0.1, "time to target": 0.1, "time": 0.005}

# By what is expected: the outcomes that agree, and those that deny.
RELATIONS = {"less": ({"less"}, {"more"}), "more": ({"more"}, {"less"}), "no more": ({"less", "alike"}, {"more"}), "as good as": ({"alike"}, {"less", "more"}),
             "the same": None}


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
    agreeing, denying = RELATIONS[relation]
    found = outcome(quotients, mean, margin)
    return AGREES if found in agreeing else DENIES if found in denying else UNCLEAR


def outcome(quotients, mean, margin):
    """"less" or "more": so on every seed, and by more than the margin in their mean. "alike": within the margin on every seed."""
    if any(map(math.isnan, quotients)):
        return "unclear"
    if all(1 / (1 + margin) <= one <= 1 + margin for one in quotients):
        return "alike"
    if max(quotients) < 1 and mean < 1 / (1 + margin):
        return "less"
    if min(quotients) > 1 and mean > 1 + margin:
        return "more"
    return "unclear"
