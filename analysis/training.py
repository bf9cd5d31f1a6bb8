"""Trains a task as records say: a sweep of learning rates on one seed, then several seeds at each record's best rate."""

import math
import multiprocessing
from bisect import bisect
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

import tasks
from dataflow_lines import Evaluation, Gradient
from errors import InputError
from replay import Diverged, Plan, replay

AROUND = 2          # rates that a sweep begins with, by factors of 2, on either side of the task's own
MOST_RATES = 14     # of a record; a sweep whose best lies at its end goes on so far
AS_GOOD = 0.1       # a final loss that is larger by no more than this part is practically the same
TRAINED = 0.9       # the part of the initial loss below which a rate has trained at all
LAST = 0.1          # the part of the moments whose mean is a final loss


@dataclass(frozen=True)
class Job:
    record: int
    rate: float
    seed: int
    whole: bool     # evaluate everywhere, not only where the final loss comes from


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
    """What became of a record."""

    moments: list                               # that are evaluated
    start: tuple                                # (loss, accuracy) of the initial model, by seed
    sweep: dict = field(default_factory=dict)   # {rate: final loss on the first seed}
    curves: list = field(default_factory=list)  # by seed, at the best rate

    @property
    def best(self):
        """The smallest rate whose final loss is practically the least: what is larger may be stable on this seed alone. Where no rate has trained, the least loss."""
        worth = {rate: loss for rate, loss in self.sweep.items() if loss < TRAINED * self.start[0][0]} or self.sweep
        least = min(worth.values())
        return min(rate for rate, loss in worth.items() if loss <= (1 + AS_GOOD) * least or len(worth) == 1)

    @property
    def best_is_at_an_end(self):
        return len(self.sweep) > 1 and self.best in (min(self.sweep), max(self.sweep))

    def further(self):
        """The rates to try next, beyond an end: at the lower one where no rate has trained, too."""
        lowest, highest = min(self.sweep), max(self.sweep)
        has_trained = min(self.sweep.values()) < TRAINED * self.start[0][0]
        if len(self.sweep) >= MOST_RATES or has_trained and not self.best_is_at_an_end:
            return []
        return [highest * 2] if has_trained and self.best == highest else [lowest / 2]


def last(count):
    return max(1, round(LAST * count))


@dataclass(frozen=True)
class Moment:
    """A time at which models are evaluated, and whose: the places of lines whose x they are."""

    seconds: float
    gradients: int
    places: tuple


def moments(record, most, of_all):
    """About so many of the record, evenly spaced in gradients, each at an E. `of_all` workers: with the model that each other one computes on then, which is
    the x of its next G; where the record ends, some have none, so that the last moment is the last one at which all have."""
    evaluations = sorted((one.n, one.t, place, one.w) for place, one in enumerate(record.operations) if isinstance(one, Evaluation) and one.n > 0)
    if not evaluations:
        raise InputError(f"{record.path}: expected lines of E, places to evaluate, after a gradient, got none; train it for longer, with more iterations in the scenario")
    following = {}
    for place, one in enumerate(record.operations):
        if isinstance(one, Gradient) and of_all:
            following.setdefault(one.w, []).append(place)
    open_ = [one for one in evaluations if all(places[-1] > one[2] for worker, places in following.items() if worker != one[3])] or evaluations
    chosen = {}     # by how many shares of the gradients have passed
    for n, t, place, worker in open_:
        share = most * n // open_[-1][0]
        if share > 0 and share not in chosen:
            others = [places[bisect(places, place)] for other, places in following.items() if other != worker and places[-1] > place]
            chosen[share] = Moment(t, n, (place, *others))
    return list(chosen.values())


class Trainer:
    """Trains records side by side, as many at a time as there are processors to this process."""

    def __init__(self, records, task, batch, settings, evaluations, of_all, workers, progress):
        self.records, self.settings, self.of_all, self.workers, self.progress = records, settings, of_all, workers, progress
        self.task = tasks.make(task, batch)
        self.plans = [Plan(record, self.task.size) for record in records]
        self.moments = [moments(record, evaluations, of_all) for record in records]

    def train(self, rates, seeds):
        """A Trained for each record. `rates`: what is tried, or None: the task's own, and on as long as the best is at an end."""
        global TRAINER
        TRAINER = self      # for the processes, which begin as copies of this one
        starts = [self.task.evaluate(self.task.initial(seed)) for seed in range(seeds)]
        found = [Trained(chosen, starts) for chosen in self.moments]
        with ProcessPoolExecutor(self.workers, multiprocessing.get_context("fork")) as pool:
            self.sweep(pool, found, rates)
            jobs = [Job(place, one.best, seed, True) for place, one in enumerate(found) for seed in range(seeds)]
            for job, curve in zip(jobs, self.run(pool, jobs)):
                found[job.record].curves.append(curve)
        return found

    def sweep(self, pool, found, rates):
        if rates and len(rates) == 1:
            for one in found:
                one.sweep[rates[0]] = math.nan      # nothing to compare it with
            return
        wanted = [rates or around(self.task.rates[record.header["optimizer"]]) for record in self.records]
        while any(wanted):
            jobs = [Job(place, rate, 0, False) for place, some in enumerate(wanted) for rate in some]
            for job, curve in zip(jobs, self.run(pool, jobs)):
                found[job.record].sweep[job.rate] = curve.final()
            wanted = [[] if rates else one.further() for one in found]

    def run(self, pool, jobs):
        self.progress.expect(len(jobs))
        try:
            for curve in pool.map(run_job, jobs):
                self.progress.advance()
                yield curve
        except BrokenProcessPool:
            raise InputError(f"a replay was killed, perhaps for want of memory; use fewer records at a time, a smaller --batch, or --jobs {max(1, self.workers // 2)}") from None

    def curve(self, job):
        chosen, plan = self.moments[job.record], self.plans[job.record]
        first = 0 if job.whole else len(chosen) - last(len(chosen))
        found = [(math.nan, math.nan)] * len(chosen)

        def evaluate(number, model):
            if number >= first:
                pair = self.task.evaluate(model)
                if not math.isfinite(pair[0]):
                    raise Diverged
                found[number] = pair

        try:
            replay(plan, self.task, job.seed, {"lr": (job.rate,)} | self.settings, [one.places for one in chosen], evaluate)
        except Diverged:
            pass
        return Curve(*map(list, zip(*found)))


TRAINER = None


def run_job(job):
    return TRAINER.curve(job)


def around(middle):
    return [middle * 2.0 ** power for power in range(-AROUND, AROUND + 1)]
