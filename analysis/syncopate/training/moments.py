"""When models are evaluated, and whose."""

from bisect import bisect
from dataclasses import dataclass

from syncopate.common.errors import InputError
from syncopate.dataflow.lines import Evaluation, Gradient


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
