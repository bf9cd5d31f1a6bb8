"""The functions "C" of a record: the compressed message of a vector a, as sim/dataflow/README.md defines it.

Each takes a, the line's own keys and what its randomness is drawn from; the residual is what the message leaves of a.
"""

import math
from dataclasses import dataclass
from typing import Callable

import numpy

from syncopate.dataflow import draws


@dataclass(frozen=True)
class Origin:
    """What a line draws its random numbers from."""

    seed: int
    value: int      # the first value that the line makes
    part: int


@dataclass(frozen=True)
class Compressor:
    keys: tuple     # of the line
    message: Callable


MESSAGES, CHOICES = 1, 2      # keys of draws.keys(): each kind of draw has one of its own


def fp16(a, keys, origin):
    return a.astype(numpy.float16).astype(float)


def sign(a, keys, origin):
    return numpy.where(a < 0, -1.0, 1.0) * (numpy.abs(a).sum() / max(1, len(a)))


def terngrad(a, keys, origin):
    most = numpy.abs(a).max(initial=0.0)
    is_sent = chances(origin, len(a)) * most < numpy.abs(a)
    return numpy.where(is_sent, most * numpy.sign(a), 0.0)


def qsgd(a, keys, origin):
    steps = max(1, 2 ** (keys["bits"] - 1) - 1)
    starts = numpy.arange(0, len(a), keys["bucket"])
    norms = numpy.sqrt(numpy.add.reduceat(a * a, starts)) if len(a) else a
    norm = numpy.repeat(norms, numpy.diff(numpy.append(starts, len(a))))
    level = steps * numpy.abs(a) / numpy.where(norm > 0, norm, 1.0)
    below = numpy.floor(level)
    level = below + (chances(origin, len(a)) < level - below)
    return numpy.sign(a) * norm * level / steps


def top_k(a, keys, origin):
    return numpy.where(largest(numpy.abs(a), share(keys["k"], len(a))), a, 0.0)


def random_k(a, keys, origin):
    key = draws.keys(origin.seed, CHOICES, origin.part, keys["n"])
    return numpy.where(largest(draws.uniform(key, len(a))[0], share(keys["k"], len(a))), a, 0.0)


def chances(origin, count):
    return draws.uniform(draws.keys(origin.seed, MESSAGES, origin.value), count)[0]


def share(k, count):
    """ceil(k * count), without an element that only the product's rounding would add."""
    return min(count, math.ceil(k * count * (1 - 1e-12)))


def largest(values, count):
    """A mask of the `count` largest values; of equal ones the first are taken."""
    if count >= len(values):
        return numpy.ones(len(values), bool)
    least = numpy.partition(values, len(values) - count)[len(values) - count]
    chosen = values > least
    chosen[numpy.flatnonzero(values == least)[:count - numpy.count_nonzero(chosen)]] = True
    return chosen


COMPRESSORS = {
    "fp16": Compressor((), fp16),
    "sign": Compressor((), sign),
    "terngrad": Compressor((), terngrad),
    "qsgd": Compressor(("bits", "bucket"), qsgd),
    "top-k": Compressor(("k",), top_k),
    "random-k": Compressor(("k", "n"), random_k),
}
