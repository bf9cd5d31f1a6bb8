"""What holds of any record, whatever the schedule: form, order, and the coefficients of the initial model and of gradients."""

import collections

import numpy as np

from replayer import by_part, hyper_parameters, product

KEYS = ["format", "program", "point", "labels", "schedule", "optimizer", "workers", "samples", "parts", "initial", "zeros", "zero_parts",
        "hyper", "operations", "end_s"]
HYPER = {"lr", "mu", "beta1", "beta2", "epsilon", "weight_decay", "alpha", "beta", "lr_loc", "wd", "gamma_p", "rho", "lambda"}
LINES = {"G": ({"o", "v", "x", "w", "k", "t"}, set()), "L": ({"o", "v", "of"}, {"part"}), "S": ({"o", "v", "f", "of"}, {"part"}),
         "C": ({"o", "v", "f", "of"}, {"part"}), "E": ({"o", "x", "w", "t", "n"}, set())}
STEPS = {"momentum": (3, 2, {"lr", "mu"}), "nesterov": (3, 2, {"lr", "mu"}), "adam": (5, 4, {"lr", "beta1", "beta2", "epsilon"}),
         "adamw": (5, 4, {"lr", "beta1", "beta2", "epsilon", "weight_decay"}), "delay-compensated": (3, 1, {"lr", "lambda"})}
COMPRESSIONS = {"fp16": set(), "sign": set(), "terngrad": set(), "qsgd": {"bits", "bucket"}, "top-k": {"k"}, "random-k": {"k", "n"}}


def faults(record):
    """What is wrong with a record, in words."""
    return [*header_faults(record), *value_faults(record), *order_faults(record)]


def header_faults(record):
    header = record.header
    if set(header) != set(KEYS):
        yield f"the header has {sorted(set(header) ^ set(KEYS))} too many or too few"
    if header["format"] != "dataflow/1":
        yield f"format {header['format']}"
    if header["operations"] != len(record.lines):
        yield f"{header['operations']} operations are said, there are {len(record.lines)}"
    if len(header["initial"]) != len(header["parts"]) or len(header["zeros"]) != len(header["zero_parts"]):
        yield "initial values and parts, or zeros and their parts, are not as many"
    times = [line["t"] for line in record.lines if "t" in line]
    if header["end_s"] < max(times, default=0.0):
        yield f"end_s {header['end_s']}, but something is at {max(times)}"
    if not set(header["hyper"]) <= HYPER:
        yield f"hyper-parameters {sorted(set(header['hyper']) - HYPER)}"
    if header["hyper"].get("lr", None) is not None:
        yield "lr need not be given"
    named = set()
    for line in record.lines:
        if line["o"] == "L":
            named |= {name.removeprefix("1/") for term in line["of"] for name in term[2:]}
        elif line["o"] == "S":
            named |= STEPS[line["f"]][2]
    defaults = {name for entry in header["hyper"].values() if entry for name in entry[1:]}
    if not named | defaults <= set(header["hyper"]):
        yield f"the header does not have {sorted((named | defaults) - set(header['hyper']))}"


def value_faults(record):
    """Is each value made once and before it is used, and of one part?"""
    header, several = record.header, len(record.header["parts"]) > 1
    parts = dict(zip(header["initial"], range(len(header["parts"]))))  # of each value
    for value, part in zip(header["zeros"], header["zero_parts"]):
        if value in parts:
            yield f"value {value} is there twice from the begin"
        parts[value] = part

    def make(values, of):
        for value, part in zip(values, of, strict=True):
            if value in parts:
                yield f"value {value} is made twice"
            parts[value] = part

    def use(values, of):
        for value, part in zip(values, of, strict=True):
            if parts.get(value) != part:
                yield f"value {value} is used before it is made" if value not in parts else f"value {value} is of part {parts[value]}, not {part}"

    everything = range(len(header["parts"]))
    for index, line in enumerate(record.lines):
        kind = line["o"]
        must, may = LINES[kind]
        must = must | (may if several else set()) | (COMPRESSIONS[line["f"]] if kind == "C" else set())
        if not must <= set(line) <= must | may:
            yield f"line {index}: keys {sorted(line)}"
            continue
        if kind in "GE":
            if not 0 <= line["w"] < header["workers"]:
                yield f"line {index}: worker {line['w']}"
            if isinstance(line["x"], list) != several or ("v" in line and isinstance(line["v"], list) != several):
                yield f"line {index}: values {line}, of {len(everything)} parts"
            yield from use(by_part(line["x"]), everything)
            yield from make(by_part(line["v"]), everything) if kind == "G" else ()
            continue
        part = line.get("part", 0)
        used = [term[1] for term in line["of"]] if kind == "L" else line["of"]
        made = by_part(line["v"])
        sizes = {"L": (len(used), 1), "C": (2, 2), "S": STEPS[line["f"]][:2] if kind == "S" else None}[kind]
        if (len(used), len(made)) != sizes or not used:
            yield f"line {index}: {len(used)} values in and {len(made)} out"
        yield from use(used, [part] * len(used))
        yield from make(made, [part] * len(made))


def order_faults(record):
    batches, times, count = collections.Counter(), collections.defaultdict(float), 0
    for index, line in enumerate(record.lines):
        if line["o"] == "G":
            if line["k"] != batches[line["w"]]:
                yield f"line {index}: worker {line['w']}'s batch {line['k']} after {batches[line['w']]} of them"
            batches[line["w"]] += 1
            count += 1
        if line["o"] == "E" and line["n"] != count:
            yield f"line {index}: n is {line['n']}, {count} gradients came before"
        if "t" in line:
            if line["t"] < times[line["w"]]:
                yield f"line {index}: worker {line['w']} is at {line['t']}, was at {times[line['w']]}"
            times[line["w"]] = line["t"]
    first = [line for line in record.lines if line.get("w") == 0]
    kinds, whole = "".join(line["o"] for line in first), "EG" * batches[0]
    if kinds not in (whole, whole + "E"):  # the run may be over before its last step is
        yield f"worker 0's lines are {kinds}, not an evaluation before each gradient and at the end"
    if any(after["o"] == "G" and after["x"] != before["x"] for before, after in zip(first, first[1:])):
        yield "worker 0 takes a gradient elsewhere than where it is evaluated"
    if any(line["o"] == "E" and line["w"] for line in record.lines):
        yield "others than worker 0 are evaluated"
    if set(batches) != set(range(record.header["workers"])):
        yield f"workers {sorted(set(range(record.header['workers'])) - set(batches))} have no gradient"


class Expansion:
    """Every value as a combination of the initial model (column 0), gradients (the columns from 1 on, in the order of their lines)
    and whatever is no combination of these: messages, and steps of adam."""

    def __init__(self, record, **told):
        self.hyper = hyper_parameters(record.header["hyper"], told)
        self.columns = 1 + sum(line["o"] in "GCS" for line in record.lines)
        self.gradients = {}  # (worker, batch): column
        self.values = dict.fromkeys(record.header["initial"], self.unit(0)) | dict.fromkeys(record.header["zeros"], np.zeros(self.columns))
        self.next = 1 + sum(line["o"] == "G" for line in record.lines)
        for line in record.lines:
            {"G": self.gradient, "L": self.combination, "S": self.step, "C": self.compression, "E": lambda line: None}[line["o"]](line)

    def unit(self, column):
        result = np.zeros(self.columns)
        result[column] = 1.0
        return result

    def new(self):
        self.next += 1
        return self.unit(self.next - 1)

    def gradient(self, line):
        column = self.gradients[line["w"], line["k"]] = 1 + len(self.gradients)
        self.values |= dict.fromkeys(by_part(line["v"]), self.unit(column))

    def combination(self, line):
        self.values[line["v"]] = sum(coefficient * product(names, self.hyper.__getitem__) * self.values[value]
                                     for coefficient, value, *names in line["of"])

    def step(self, line):
        made, (x, *state) = by_part(line["v"]), [self.values[value] for value in line["of"]]
        self.values |= dict.fromkeys(made, np.zeros(self.columns))
        if line["f"] in ("momentum", "nesterov"):
            g = state.pop()
            u = self.hyper["mu"] * state[0] + g
            self.values[made[1]], moved = u, u if line["f"] == "momentum" else g + self.hyper["mu"] * u
        else:
            moved = self.new()
        kept = 1 - self.hyper["lr"] * self.hyper["weight_decay"] if line["f"] == "adamw" else 1.0
        self.values[made[0]] = kept * x - self.hyper["lr"] * moved

    def compression(self, line):
        message = self.new()
        self.values[line["v"][0]], self.values[line["v"][1]] = message, sum(self.values[value] for value in line["of"]) - message

    def parts(self, values):
        return [self.values[value] for value in by_part(values)]
