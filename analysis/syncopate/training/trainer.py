"""Trains a task as records say: a sweep of learning rates on one seed, then several seeds at the rates that may be the best."""

import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from fractions import Fraction

from syncopate.common.errors import InputError
from syncopate.training import tasks
from syncopate.training.moments import moments
from syncopate.training.replay import Diverged, Plan, replay
from syncopate.training.trained import Curve, Trained, last

AROUND = 2          # a sweep begins with so many rates on either side of the task's own, by factors of 2


@dataclass(frozen=True)
class Job:
    record: int
    rate: float
    seed: int
    whole: bool     # evaluate at all moments, not only at the last ones, whose mean is the final loss


class Trainer:
    """Trains records, `workers` replays at a time."""

    def __init__(self, records, task, batch, settings, evaluations, of_all, workers, progress):
        self.records, self.settings, self.of_all, self.workers, self.progress = records, settings, of_all, workers, progress
        self.task = tasks.make(task, batch)
        self.batches = batches(records, self.task.batch)
        self.tasks = {batch: tasks.make(task, batch) for batch in set(self.batches)}
        self.plans = [Plan(record, self.task.size) for record in records]
        self.moments = [moments(record, evaluations, of_all) for record in records]

    def train(self, rates, seeds):
        """A Trained for each record. `rates`: what is tried; None: factors of 2 around the task's own rate, and further ones while the best is at an end."""
        global TRAINER
        TRAINER = self      # the pool's processes begin as copies of this one
        starts = [self.task.evaluate(self.task.initial(seed)) for seed in range(seeds)]
        found = [Trained(chosen, starts) for chosen in self.moments]
        with ProcessPoolExecutor(self.workers, multiprocessing.get_context("fork")) as pool:
            self.sweep(pool, found, rates)
            jobs = [Job(place, rate, seed, True) for place, one in enumerate(found) for rate in one.in_question() for seed in range(seeds)]
            for job, curve in zip(jobs, self.run(pool, jobs)):
                found[job.record].finals.setdefault(job.rate, []).append(curve)
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
        chosen, plan, task = self.moments[job.record], self.plans[job.record], self.tasks[self.batches[job.record]]
        first = 0 if job.whole else len(chosen) - last(len(chosen))
        found = [(math.nan, math.nan)] * len(chosen)

        def evaluate(number, model):
            if number >= first:
                pair = task.evaluate(model)
                if not math.isfinite(pair[0]):
                    raise Diverged
                found[number] = pair

        try:
            replay(plan, task, job.seed, {"lr": (job.rate,)} | self.settings, [one.places for one in chosen], evaluate)
        except Diverged:
            pass
        return Curve(*map(list, zip(*found)))


TRAINER = None


def run_job(job):
    return TRAINER.curve(job)


def batches(records, batch):
    """The samples of a gradient of each record: `batch` where a simulated gradient has fewest, in proportion where it has more."""
    samples = [Fraction(record.header["samples"]) for record in records]
    shares = [one / min(samples) for one in samples]
    multiple = math.lcm(*(share.denominator for share in shares))
    for record, share in zip(records, shares):
        if (batch * share).denominator > 1:
            raise InputError(f"{record.path}: line 1: \"samples\": a gradient of it would have {float(batch * share):g} samples, where those of the records with fewest have {batch}; "
                             + (f"give a --batch that is a multiple of {multiple}" if multiple < 1e6 else "train it by itself"))
    return [int(batch * share) for share in shares]


def around(middle):
    return [middle * 2.0 ** power for power in range(-AROUND, AROUND + 1)]
