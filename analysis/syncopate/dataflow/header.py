"""The first line of a record, checked."""

from syncopate.common.reading import is_number, shown
from syncopate.common.wording import counted
from syncopate.dataflow.hyper import divided

FORMAT = "dataflow/1"
MOST = 1 << 53      # the largest whole number that every JSON reader keeps exact
OPTIMIZERS = ("sgd", "momentum", "nesterov", "adam", "adamw")


class Fault(Exception):
    """A line breaks a rule. The message names the rule and the value."""


def is_count(value, least=0):
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST


def is_text(value):
    return isinstance(value, str)


def is_part(value):
    return isinstance(value, dict) and set(value) == {"name", "bytes"} and is_text(value["name"]) and is_number(value["bytes"]) and value["bytes"] > 0


def are_values(value):
    return isinstance(value, list) and all(map(is_count, value))


KEYS = {
    "format": (f'"{FORMAT}"', lambda value: value == FORMAT),
    "program": ("a text", is_text),
    "point": ("a whole number >= 0", is_count),
    "labels": ("an object", lambda value: isinstance(value, dict)),
    "schedule": ("a text", is_text),
    "optimizer": (f"one of {', '.join(OPTIMIZERS)}", lambda value: value in OPTIMIZERS),
    "workers": ("a whole number >= 1", lambda value: is_count(value, 1)),
    "samples": ("a number > 0", lambda value: is_number(value) and value > 0),
    "parts": ("a list of {name, bytes > 0} that is not empty", lambda value: isinstance(value, list) and value != [] and all(map(is_part, value))),
    "initial": ("a list of values, whole numbers >= 0", are_values),
    "zeros": ("a list of values, whole numbers >= 0", are_values),
    "zero_parts": ("a list of places in parts", are_values),
    "hyper": ("an object", lambda value: isinstance(value, dict)),
    "operations": ("a whole number >= 0", is_count),
    "end_s": ("a number >= 0", lambda value: is_number(value) and value >= 0),
}


def check(header):
    """Raises Fault. Turns the defaults of hyper-parameters into tuples."""
    expect_keys(header, KEYS)
    for key, (rule, holds) in KEYS.items():
        if not holds(header[key]):
            raise Fault(f'"{key}": expected {rule}, got {shown(header[key])}')
    parts = len(header["parts"])
    if len(header["initial"]) != parts:
        raise Fault(f'"initial": expected a value for each of {counted(parts, "part")}, got {len(header["initial"])}')
    if len(header["zero_parts"]) != len(header["zeros"]):
        raise Fault(f'"zero_parts": expected a part for each of {len(header["zeros"])} zeros, got {len(header["zero_parts"])}')
    for part in header["zero_parts"]:
        if part >= parts:
            raise Fault(f'"zero_parts": expected places in {counted(parts, "part")}, got {part}')
    check_hyper(header["hyper"])


def check_hyper(hyper):
    for name, default in hyper.items():
        if default is not None and not (isinstance(default, list) and default and is_number(default[0]) and all(map(is_text, default[1:]))):
            raise Fault(f'"hyper": "{name}": expected null or a list of a number and of names, got {shown(default)}')
        for factor in (default or ())[1:]:
            if divided(factor)[0] not in hyper:
                raise Fault(f'"hyper": "{name}": expected one of {", ".join(hyper)}, got {shown(factor)}')
    for name, default in hyper.items():
        hyper[name] = default and tuple(default)
    for name in hyper:
        if reaches(hyper, name):
            raise Fault(f'"hyper": "{name}": expected a default that does not lead back to it, got {shown(list(hyper[name]))}')


def reaches(hyper, goal):
    """Whether the default of a hyper-parameter depends on itself."""
    open_, seen = [goal], set()
    while open_:
        for factor in (hyper[open_.pop()] or ())[1:]:
            name = divided(factor)[0]
            if name == goal:
                return True
            if name not in seen:
                seen.add(name)
                open_.append(name)
    return False


def expect_keys(found, keys):
    for key in keys:
        if key not in found:
            raise Fault(f'missing key "{key}"')
    for key in found:
        if key not in keys:
            raise Fault(f"unknown key {shown(key)}; known are {', '.join(keys)}")
