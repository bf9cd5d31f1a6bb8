"""Random numbers as pure functions of keys: without order or state, and the same on every machine.

SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA'14), keyed by whole numbers.
"""

import numpy

GOLDEN = numpy.uint64(0x9E3779B97F4A7C15)


def keys(*columns):
    """A key for each row of the columns, which are whole numbers or arrays of them, as an array of uint64."""
    found = numpy.zeros(1, numpy.uint64)
    for column in columns:
        found = mixed((found + GOLDEN) ^ mixed(numpy.atleast_1d(numpy.asarray(column, numpy.uint64))))
    return found


def uniform(key, count):
    """`count` numbers in [0, 1) for each of n keys: an array of n x count."""
    return (stream(key, count) >> numpy.uint64(11)) * 2.0 ** -53


def stream(key, count):
    return mixed(key[:, None] + GOLDEN * numpy.arange(1, count + 1, dtype=numpy.uint64))


def mixed(bits):
    bits = (bits ^ (bits >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> numpy.uint64(31))
