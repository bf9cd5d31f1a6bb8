"""The points that claims compare, of the training.json files of studies, and what was measured of them."""

import math
from dataclasses import dataclass

from syncopate.common.errors import InputError
from syncopate.common.reading import read_json, shown
from syncopate.training.files import FORMAT
from syncopate.training.summary import Summary, Target, crossing

LAST = 0.1      # the part of the samples over which a loss is a mean
AGAIN = "make claims writes it"


@dataclass(frozen=True)
class Trained:
    """One record of a training.json."""

    name: str
    seconds: list       # by moment, as are the samples, and losses and accuracies of every seed, None where it has diverged
    samples: list
    seeds: list         # of (losses, accuracies)
    target: Target
    rate: float
    rate_is_at_an_end: bool
    accuracy: float     # final, in the mean of the seeds; None where one diverges

    def loss(self, samples):
        """By seed: the mean over the last tenth of that many samples, in the units of the curve; infinite where it has diverged by then."""
        places = [place for place, count in enumerate(self.samples) if (1 - LAST) * samples < count <= samples]
        places = places or [max(place for place, count in enumerate(self.samples) if count <= samples)]
        return [mean([losses[place] for place in places]) for losses, _ in self.seeds]

    def time(self, samples):
        """Seconds, on a straight line between two moments."""
        place = next((at for at, count in enumerate(self.samples) if count >= samples), len(self.samples) - 1)
        before = max(0, place - 1)
        span = self.samples[place] - self.samples[before]
        part = (samples - self.samples[before]) / span if span else 0
        return self.seconds[before] + part * (self.seconds[place] - self.seconds[before])

    def to_target(self):
        """(seconds, samples) by seed, infinite where it is not reached."""
        found = []
        for losses, accuracies in self.seeds:
            has_diverged = int(losses[-1] is None)
            one = Summary(self.seconds, self.samples, {"mean": losses}, {"mean": accuracies}, None, None, has_diverged)
            found.append(crossing(one, self.target) or (math.inf, math.inf))
        return found


def mean(values):
    return math.inf if None in values else sum(values) / len(values)


def measured(quantity, left, right):
    """Of both, the values by seed. Losses and times are those after as many samples as both have seen."""
    samples = min(left.samples[-1], right.samples[-1])
    if quantity == "loss":
        return left.loss(samples), right.loss(samples)
    if quantity == "time":
        return [left.time(samples)], [right.time(samples)]
    place = ("time to target", "samples to target").index(quantity)
    return [one[place] for one in left.to_target()], [one[place] for one in right.to_target()]


class Studies:
    """The training.json files in the folders below one, read when a claim asks for them."""

    def __init__(self, folder):
        self.folder, self.read, self.points = folder, {}, {}

    def first(self):
        return next(iter(self.read.values()))

    def point(self, wanted):
        """The Trained of a claim_table.Point. Raises InputError."""
        if wanted not in self.points:
            path, about = self.path(wanted.study), self.about(wanted.study)
            found = [record for record in about["records"] if fits(record, wanted)]
            if len(found) != 1:
                raise InputError(f'{path}: records: expected one of "{wanted}", got {len(found) or "none"}; {AGAIN}')
            self.points[wanted] = trained(found[0], about)
        return self.points[wanted]

    def path(self, study):
        return self.folder / study / "training.json"

    def about(self, study):
        if study not in self.read:
            path = self.path(study)
            about = read_json(path, AGAIN)
            if about.get("format") != FORMAT:
                raise InputError(f'{path}: format: expected "{FORMAT}", got {shown(about.get("format"))}; {AGAIN}')
            check(about, path)
            for key in ("task", "seeds"):
                for other, known in self.read.items():
                    if known[key] != about[key]:
                        raise InputError(f"{path}: {key}: expected {shown(known[key])}, as in {self.path(other)}, got {shown(about[key])}; {AGAIN}")
            self.read[study] = about
        return self.read[study]


def check(about, path):
    """That it has what is read of it, by reading all of it."""
    try:
        for number, record in enumerate(about["records"]):
            one, where = trained(record, about), f"records/{number}"
            lengths = {len(one.seconds), len(one.samples), *(len(curve) for pair in one.seeds for curve in pair)}
            if len(lengths) != 1 or len(one.seconds) < 2 or len(one.seeds) != about["seeds"]:
                raise InputError(f'{path}: {where}: expected curves of as many moments, of {about["seeds"]} seeds, got others; {AGAIN}')
            if not all(a <= b for axis in (one.seconds, one.samples) for a, b in zip(axis, axis[1:])):
                raise InputError(f"{path}: {where}/curve: expected seconds and samples that do not fall; {AGAIN}")
            flat(record)
        if not isinstance(about["task"], str):
            raise TypeError("task")
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise InputError(f"{path}: expected what train.py writes, got something else ({type(error).__name__}: {error}); {AGAIN}") from None


def trained(record, about):
    curve = record["curve"]
    (kind, value), = about["targets"][record["setting"]].items()
    seeds = [([number_or_none(one) for one in seed["loss"]], [number_or_none(one) for one in seed["accuracy"]]) for seed in record["by_seed"]]
    return Trained(record["schedule"], list(map(float, curve["seconds"])), list(map(float, curve["samples"])), seeds,
                   Target(float(value), kind == "accuracy"), float(record["lr"]), bool(record["lr_is_at_an_end"]), number_or_none(record["final_accuracy"]))


def number_or_none(value):
    return None if value is None else float(value)


def fits(record, wanted):
    labels = flat(record)
    return record["schedule"].split(" ")[0] == wanted.schedule and all(labels.get(name) == value for name, value in wanted.parameters)


def flat(record):
    """{parameter: text} of what was swept: of /schedule its parameters, of other pointers their last part."""
    found = {}
    for pointer, value in record["labels"].items():
        found.update(value if isinstance(value, dict) else {pointer.rsplit("/", 1)[-1]: value})
    return {name: value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, (int, float)) else ""
            for name, value in found.items()}
