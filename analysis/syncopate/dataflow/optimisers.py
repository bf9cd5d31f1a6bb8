"""The functions "S" of a record: steps of optimisers. `of` has the values of hyper-parameters by name.

sim/dataflow/README.md defines them. Each takes arrays of one length, which it leaves as they are, and returns as many as it makes.
"""

from dataclasses import dataclass
from typing import Callable

import numpy


@dataclass(frozen=True)
class Optimiser:
    takes: int      # how many values: parameters, state and gradient
    makes: int
    step: Callable
    hyper: tuple    # the hyper-parameters that it asks for


def momentum(of, x, u, g):
    u = of["mu"] * u + g
    return x - of["lr"] * u, u


def nesterov(of, x, u, g):
    u = of["mu"] * u + g
    return x - of["lr"] * (g + of["mu"] * u), u


def adam(of, x, m, s, n, g):
    n = n + 1
    m = of["beta1"] * m + (1 - of["beta1"]) * g
    s = of["beta2"] * s + (1 - of["beta2"]) * g * g
    step = n[:1]      # all elements of n are equal
    mean, square = m / (1 - of["beta1"] ** step), s / (1 - of["beta2"] ** step)
    return x - of["lr"] * mean / (numpy.sqrt(square) + of["epsilon"]), m, s, n


def adamw(of, x, m, s, n, g):
    return adam(of, x - of["lr"] * of["weight_decay"] * x, m, s, n, g)


def delay_compensated(of, x, b, g):
    return (x - of["lr"] * (g + of["lambda"] * g * g * (x - b)),)


ADAM = ("lr", "beta1", "beta2", "epsilon")

OPTIMISERS = {
    "momentum": Optimiser(3, 2, momentum, ("lr", "mu")),
    "nesterov": Optimiser(3, 2, nesterov, ("lr", "mu")),
    "adam": Optimiser(5, 4, adam, ADAM),
    "adamw": Optimiser(5, 4, adamw, (*ADAM, "weight_decay")),
    "delay-compensated": Optimiser(3, 1, delay_compensated, ("lr", "lambda")),
}
