"""Replays a record of dataflow/1 with float64 arithmetic, straight from the tables of sim/dataflow/README.md."""

import gzip
import json
import math

import numpy as np

import toy


class Record:
    def __init__(self, path):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            self.header, *self.lines = map(json.loads, file)


def by_part(values):
    """What stands for each part: one value where there is one part."""
    return values if isinstance(values, list) else [values]


def hyper_parameters(entries, told):
    """By name: what is told, or what the header says."""
    known = dict(told)

    def find(name):
        if name not in known:
            if entries[name] is None:
                raise ValueError(f"{name} must be given")
            number, *names = entries[name]
            known[name] = number * product(names, find)
        return known[name]

    return {name: find(name) for name in entries}


def product(names, find):
    return math.prod(1 / find(name[2:]) if name.startswith("1/") else find(name) for name in names)


class Replay:
    """`taken`: {(worker, batch): the model at which that gradient is}; `evaluated`: (line, model) of each E. `functions` of compression
    replace those of the table."""

    def __init__(self, record, problem, functions=None, **told):
        header = record.header
        self.problem, self.cuts = problem, toy.cuts(header["parts"], problem.size)
        self.hyper = hyper_parameters(header["hyper"], told)
        self.values = {value: problem.initial[cut] for value, cut in zip(header["initial"], self.cuts)}
        for value, part in zip(header["zeros"], header["zero_parts"]):
            self.values[value] = np.zeros(self.length(part))
        self.compressions = COMPRESSIONS | (functions or {})
        self.taken, self.evaluated = {}, []
        operations = {"G": self.gradient, "L": self.combination, "S": self.step, "C": self.compression, "E": self.evaluation}
        for line in record.lines:
            operations[line["o"]](line)

    def length(self, part):
        cut = self.cuts[part]
        return cut.stop - cut.start

    def make(self, value, vector):
        if value in self.values:
            raise ValueError(f"value {value} is made twice")
        self.values[value] = vector

    def model(self, values):
        """The model's end comes first."""
        return np.concatenate([self.values[value] for value in reversed(by_part(values))])

    # Operations

    def gradient(self, line):
        model = self.model(line["x"])
        found = self.problem.gradient(model, line["w"], line["k"])
        self.taken[line["w"], line["k"]] = model
        for value, cut in zip(by_part(line["v"]), self.cuts, strict=True):
            self.make(value, found[cut])

    def evaluation(self, line):
        self.evaluated.append((line, self.model(line["x"])))

    def combination(self, line):
        terms = [coefficient * product(names, self.hyper.__getitem__) * self.values[value] for coefficient, value, *names in line["of"]]
        self.make(line["v"], sum(terms[1:], terms[0]))

    def step(self, line):
        made = STEPS[line["f"]](self.hyper, *(self.values[value] for value in line["of"]))
        for value, vector in zip(by_part(line["v"]), made, strict=True):
            self.make(value, vector)

    def compression(self, line):
        sent, residual = (self.values[value] for value in line["of"])
        whole = sent + residual
        message = self.compressions[line["f"]](whole, line, self.problem)
        for value, vector in zip(line["v"], (message, whole - message), strict=True):
            self.make(value, vector)


def momentum(h, x, u, g):
    u = h["mu"] * u + g
    return x - h["lr"] * u, u


def nesterov(h, x, u, g):
    u = h["mu"] * u + g
    return x - h["lr"] * (g + h["mu"] * u), u


def adam(h, x, m, s, n, g):
    n = n + 1
    m = h["beta1"] * m + (1 - h["beta1"]) * g
    s = h["beta2"] * s + (1 - h["beta2"]) * g**2
    return x - h["lr"] * (m / (1 - h["beta1"] ** n)) / (np.sqrt(s / (1 - h["beta2"] ** n)) + h["epsilon"]), m, s, n


def adamw(h, x, m, s, n, g):
    return adam(h, x - h["lr"] * h["weight_decay"] * x, m, s, n, g)


def delay_compensated(h, x, b, g):
    return (x - h["lr"] * (g + h["lambda"] * g * g * (x - b)),)


STEPS = {"momentum": momentum, "nesterov": nesterov, "adam": adam, "adamw": adamw, "delay-compensated": delay_compensated}


def keep(vector, elements):
    result = np.zeros(len(vector))
    result[elements] = vector[elements]
    return result


def share(line, vector):
    return math.ceil(line["k"] * len(vector) - 1e-9)  # 0.07 of 100 are 7


# What needs chance (terngrad, qsgd) is no pure function of the record's batches: tests put one of these in its place.
COMPRESSIONS = {
    "fp16": lambda a, line, problem: a.astype(np.float16).astype(float),
    "sign": lambda a, line, problem: np.abs(a).sum() / max(1, len(a)) * np.where(a >= 0, 1.0, -1.0),
    "top-k": lambda a, line, problem: keep(a, np.argsort(-np.abs(a), kind="stable")[:share(line, a)]),
    "random-k": lambda a, line, problem: keep(a, problem.drawn(line.get("part", 0), line["n"], share(line, a), len(a))),
}
