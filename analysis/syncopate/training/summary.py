"""What training says: the mean of seeds and their band, the target, and how long each schedule takes to reach it."""

import math
from dataclasses import dataclass
from statistics import median

from syncopate.training.names import baseline

REACHED = 0.25      # the part of its gradients after which the baseline's loss is the target
AROUND = 2          # places on either side of one whose median is what a curve is read as
ROUNDING = 1e-9     # of a target: sums in another order are the same curve


@dataclass(frozen=True)
class Target:
    value: float
    is_accuracy: bool = False

    def __str__(self):
        return f"{100 * self.value:g}%" if self.is_accuracy else f"{self.value:.4g}"


@dataclass
class Summary:
    """Of a record. Lists are by moment, the initial model first; None where a seed has diverged or the target is not reached."""

    seconds: list
    gradients: list
    losses: dict            # mean, low, high
    accuracies: dict
    final_loss: float
    final_accuracy: float
    diverged: int           # seeds
    batch: int = 1          # samples of a gradient
    time_to_target: float = None
    gradients_to_target: float = None
    samples_to_target: float = None
    samples_factor: float = None

    @property
    def samples(self):
        """By moment, as the gradients."""
        return [count * self.batch for count in self.gradients]


def summarise(trained, batch):
    curves = trained.curves

    def final(values):
        finals = [curve.final(values(curve)) for curve in curves]
        return sum(finals) / len(finals) if all(map(math.isfinite, finals)) else None

    return Summary([0.0] + [one.seconds for one in trained.moments], [0] + [one.gradients for one in trained.moments],
                   band([[start[0]] + curve.losses for start, curve in zip(trained.start, curves)]),
                   band([[start[1]] + curve.accuracies for start, curve in zip(trained.start, curves)]),
                   final(lambda curve: curve.losses), final(lambda curve: curve.accuracies), sum(curve.has_diverged for curve in curves), batch)


def band(curves):
    """{"mean", "low", "high"} of the seeds, by moment; None where one of them has diverged."""
    rows = [row if all(map(math.isfinite, row)) else None for row in zip(*curves)]
    return {name: [row and how(row) for row in rows] for name, how in (("mean", lambda row: sum(row) / len(row)), ("low", min), ("high", max))}


def steady(values):
    """The running median of five places, fewer at the ends, so that one lucky place reaches nothing; what only falls stays as it is."""
    found = []
    for place, value in enumerate(values):
        around = min(AROUND, place, len(values) - 1 - place)
        window = values[place - around:place + around + 1]
        found.append(None if value is None or None in window else median(window))
    return found


def crossing(one, target):
    """(seconds, gradients) at which the steady mean of the seeds first reaches the target, between two moments on a straight line; None where it does not, or
    where a seed diverges."""
    if one.diverged:
        return None
    values = steady((one.accuracies if target.is_accuracy else one.losses)["mean"])
    missing = [None if value is None else (target.value - value if target.is_accuracy else value - target.value) - ROUNDING * target.value for value in values]
    for place, short in enumerate(missing):
        if short is not None and short <= 0:
            before = missing[place - 1] if place else None
            part = 1 if before is None else before / (before - short)
            return tuple(axis[max(0, place - 1)] + part * (axis[place] - axis[max(0, place - 1)]) for axis in (one.seconds, one.gradients))
    return None


def default_target(entries):
    """Of the entries of a setting: the baseline's loss after a quarter of its gradients; without a baseline the least loss that all reach."""
    base = baseline(entries)
    if base and not base.summary.diverged:
        one = base.summary
        quarter = next(place for place, count in enumerate(one.gradients) if count >= REACHED * one.gradients[-1])
        return Target(steady(one.losses["mean"])[quarter])
    summaries = [one.summary for one in entries]
    finite = [one for one in summaries if not one.diverged] or summaries
    return Target(max(min(value for value in steady(one.losses["mean"]) if value is not None) for one in finite))


def reach(entries, target):
    """Fills in when each entry of a setting reaches the target, and how many times the baseline's samples that takes."""
    summaries, base = [one.summary for one in entries], baseline(entries)
    for one in summaries:
        one.time_to_target, one.gradients_to_target = crossing(one, target) or (None, None)
        one.samples_to_target = None if one.gradients_to_target is None else one.gradients_to_target * one.batch
    needed = base.summary.samples_to_target if base else None
    for one in summaries:
        if needed and one.samples_to_target is not None:
            one.samples_factor = one.samples_to_target / needed
