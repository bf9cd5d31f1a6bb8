"""What became of a record in training: its sweep of learning rates, the rates that come into question, and the curves of the best."""

import math
from dataclasses import dataclass, field

MOST_RATES = 14     # of a record; a sweep whose best lies at its end goes on so far
AS_GOOD = 0.1       # a final loss that is larger by no more than this part is practically as good
TRAINED = 0.9       # the part of the initial loss below which a rate has trained at all
LAST = 0.1          # the part of the moments whose mean is a final loss


def last(count):
    return max(1, round(LAST * count))


@dataclass
class Curve:
    """Of one seed, by moment; NaN from where it has diverged, and where it was not evaluated."""

    losses: list
    accuracies: list

    @property
    def has_diverged(self):
        return not math.isfinite(self.losses[-1])

    def final(self, values=None):
        """The mean over the last moments; infinite where it has diverged."""
        values = self.losses if values is None else values
        return math.inf if self.has_diverged else sum(values[-last(len(values)):]) / last(len(values))


@dataclass
class Trained:
    moments: list                               # that are evaluated
    start: list                                 # (loss, accuracy) of the initial model, by seed
    sweep: dict = field(default_factory=dict)   # {rate: final loss on the first seed}
    finals: dict = field(default_factory=dict)  # {rate: curves by seed}, of those that come into question

    def leading(self):
        """The rate with the least loss in the sweep, of those that train at all where any does."""
        return min(self.training() or self.sweep, key=lambda rate: (self.sweep[rate], rate))

    def training(self):
        return [rate for rate, loss in self.sweep.items() if loss < TRAINED * self.start[0][0]]

    def further(self):
        """The rates to try next: beyond the ends at which one in question is, and below all where none trains."""
        if len(self.sweep) >= MOST_RATES:
            return []
        lowest, highest = min(self.sweep), max(self.sweep)
        if not self.training():
            return [lowest / 2]
        return [lowest / 2] * (lowest in self.in_question()) + [highest * 2] * (highest in self.in_question())

    def in_question(self):
        """The leading rate, those that are practically as good, and the next smaller one: on one seed, one at the edge of stability may lead, and by far."""
        leading = self.leading()
        as_good = {rate for rate in self.training() if self.sweep[rate] <= (1 + AS_GOOD) * self.sweep[leading]}
        smaller = sorted(rate for rate in self.training() if rate < leading)
        return sorted({leading} | as_good | set(smaller[-1:]))

    @property
    def best(self):
        """Of the rates in question the smallest that is practically as good, in the mean of all seeds, as the best of them."""
        losses = {rate: sum(curve.final() for curve in curves) for rate, curves in self.finals.items()}
        return min(rate for rate, loss in losses.items() if loss <= (1 + AS_GOOD) * min(losses.values()))

    @property
    def best_is_at_an_end(self):
        return len(self.sweep) > 1 and self.best in (min(self.sweep), max(self.sweep))

    @property
    def curves(self):
        """By seed, at the best rate."""
        return self.finals[self.best]
