"""Runs a record of dataflow with real arithmetic: vectors of float64, and a task's gradients.

The result is a function of the record, the task, the seed and the hyper-parameters alone. Gradients whose models are known are computed
together, in an order that the record alone decides.
"""

import heapq

import numpy

from syncopate.dataflow.compressors import COMPRESSORS, Origin
from syncopate.dataflow.hyper import Hyper
from syncopate.dataflow.lines import Compression, Gradient, Linear, Step
from syncopate.dataflow.optimisers import OPTIMISERS
from syncopate.dataflow.record import made

MOST_BYTES = 64 << 20       # of gradients that are computed together
MOST_TOGETHER = 256


class Diverged(Exception):
    """A number of the model is no longer finite."""


class Plan:
    """What does not depend on hyper-parameters: which gradients of a record are computed together, for a model of `size` numbers."""

    def __init__(self, record, size):
        self.record, self.size = record, size
        self.slices = slices(size, [part["bytes"] for part in record.header["parts"]])
        self.batches = batches(record, min(MOST_TOGETHER, max(1, MOST_BYTES // (8 * max(1, size)))))


def slices(size, parts):
    """The slice of the model's vector that each part gets, in proportion to its bytes. The first part is the vector's end."""
    ends = [size - round(size * sum(parts[:place]) / sum(parts)) for place in range(len(parts) + 1)]
    return [slice(start, end) for end, start in zip(ends, ends[1:])]


def batches(record, most):
    """{place of a gradient: places of all gradients that are computed there, itself among them}.

    These are gradients whose models are made by then and that are not computed yet, at most `most`.
    """
    operations = record.operations
    made_at = {value: place for place, one in enumerate(operations) for value in made(one)}
    following = [[] for _ in range(len(operations) + 1)]      # by number of operations: the gradients whose models are whole after these
    for place, one in enumerate(operations):
        if isinstance(one, Gradient):
            following[1 + max(made_at.get(value, -1) for value in one.x)].append(place)
    found, ready, done = {}, list(following[0]), set()
    for place, one in enumerate(operations):
        if isinstance(one, Gradient) and place not in done:
            found[place] = [heapq.heappop(ready) for _ in range(min(most, len(ready)))]
            done.update(found[place])
        for later in following[place + 1]:
            heapq.heappush(ready, later)
    return found


def replay(plan, task, seed, settings, moments, evaluate):
    """Calls evaluate(number, model) for each of the moments, as soon as it is passed. Raises Diverged and InputError.

    A moment is a list of places of E and G; its model is the mean of their x.
    """
    with numpy.errstate(all="ignore"):      # evaluate finds what overflows
        Replay(plan, task, seed, settings, Moments(moments)).run(evaluate)


class Moments:
    """Keeps the models that later evaluations need."""

    def __init__(self, moments):
        self.moments, self.kept = moments, {}
        self.ending, self.until = {}, {}        # by place: the moments that are passed there, and the place up to which its model is kept
        for number, places in enumerate(moments):
            self.ending.setdefault(max(places), []).append(number)
            for place in places:
                self.until[place] = max(self.until.get(place, 0), max(places))

    def pass_by(self, place, x, values):
        """Yields (number, models) of each moment that is passed at this E or G; a model is a list of its parts."""
        if place not in self.until:
            return
        self.kept[place] = [values[value] for value in x]
        for number in self.ending.get(place, ()):
            yield number, [self.kept[one] for one in self.moments[number]]
        if place in self.ending:
            self.kept = {one: values for one, values in self.kept.items() if self.until[one] > place}


class Replay:
    def __init__(self, plan, task, seed, settings, moments):
        self.moments = moments
        self.plan, self.record, self.task, self.seed = plan, plan.record, task, seed
        self.hyper = Hyper(plan.record, settings)
        header, initial = self.record.header, task.initial(seed)
        self.values = {value: initial[part] for value, part in zip(header["initial"], plan.slices)}
        for value, part in zip(header["zeros"], header["zero_parts"]):
            self.values[value] = numpy.zeros(plan.slices[part].stop - plan.slices[part].start)

    def run(self, evaluate):
        functions = {Linear: self.combine, Step: self.step, Compression: self.compress}
        for place, one in enumerate(self.record.operations):
            if type(one) in functions:
                functions[type(one)](one)
            else:
                for number, models in self.moments.pass_by(place, one.x, self.values):
                    evaluate(number, finite(mean(models)))
            if place in self.plan.batches:
                self.differentiate([self.record.operations[other] for other in self.plan.batches[place]])
            for value in self.record.ends[place]:
                del self.values[value]

    def differentiate(self, gradients):
        models = {x: joined([self.values[value] for value in x]) for x in {one.x: None for one in gradients}}
        found = self.task.gradients([models[one.x] for one in gradients], self.seed, [one.w for one in gradients], [one.k for one in gradients])
        for one, gradient in zip(gradients, found):
            for value, part in zip(one.v, self.plan.slices):
                self.values[value] = gradient[part]

    def combine(self, one):
        total = None
        for coefficient, value, factors in one.of:
            coefficient *= self.hyper.product(factors)
            term = self.values[value] if coefficient == 1 else coefficient * self.values[value]
            total = term if total is None else total + term
        self.values[one.v] = total

    def step(self, one):
        self.values.update(zip(one.v, OPTIMISERS[one.f].step(self.hyper, *(self.values[value] for value in one.of))))

    def compress(self, one):
        a = self.values[one.of[0]] + self.values[one.of[1]]
        message = COMPRESSORS[one.f].message(a, one.keys, Origin(self.seed, one.v[0], one.part))
        self.values.update(zip(one.v, (message, a - message)))


def finite(model):
    if not numpy.isfinite(model).all():
        raise Diverged
    return model


def joined(parts):
    """The parts as one vector, whose end is the first part."""
    return parts[0] if len(parts) == 1 else numpy.concatenate(parts[::-1])


def mean(models):
    """The mean of models that are lists of parts. A single model is returned as it is."""
    distinct = list({tuple(map(id, model)): model for model in models}.values())
    if len(distinct) == 1:
        return joined(distinct[0])
    return sum(map(joined, models)) / len(models)
