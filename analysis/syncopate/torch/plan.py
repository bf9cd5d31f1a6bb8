"""plan/1: which gradients are all-reduced together, by the names of parameters."""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from syncopate.common.errors import InputError
from syncopate.common.reading import Checker, read_json, shown

AGAIN = "write it anew with simctl apply"


class Group(NamedTuple):
    bytes: int
    parameters: list      # names, in the order in which backward makes their gradients ready


class Plan(NamedTuple):
    name: str             # of the file, for messages
    groups: list
    content: dict

    def digest(self):
        """Equal for plans with the same groups of the same parameters in the same order."""
        return hashlib.sha256(json.dumps(self.groups).encode()).hexdigest()


def read_plan(source):
    """The Plan in a plan/1 file, or in a dict that holds one. Raises InputError."""
    name = "plan" if isinstance(source, dict) else str(source)
    content = source if isinstance(source, dict) else read_json(Path(source), AGAIN)
    check = Checker(name, AGAIN)
    check.need(content.get("format") == "plan/1", "/format", '"plan/1"', content.get("format"))
    return Plan(name, read_groups(check, content.get("groups")), content)


def read_groups(check, value, named=True):
    """`named`: whether each must have its parameters."""
    check.need(isinstance(value, list) and value, "/groups", "a list of groups", value)
    groups = []
    for where, group in check.objects(value, "/groups"):
        if not named and "parameters" not in group:
            groups.append(Group(check.count(group.get("bytes"), f"{where}/bytes"), []))
            continue
        names = check.list(group.get("parameters"), f"{where}/parameters")
        check.need(names, f"{where}/parameters", "at least one name", names)
        for place, parameter in enumerate(names):
            check.string(parameter, f"{where}/parameters/{place}")
        groups.append(Group(check.count(group.get("bytes"), f"{where}/bytes"), names))
    return groups


def parameters_of(plan, model):
    """The model's parameters of each group, as lists of (name, parameter). Raises InputError unless the plan names every trainable parameter
    once and each group has the bytes of its parameters."""
    every = dict(model.named_parameters())
    trainable = {name: parameter for name, parameter in every.items() if parameter.requires_grad}
    again = f"a plan is for one model: record this one, simulate, and {AGAIN}"
    places = {}
    for number, group in enumerate(plan.groups):
        for place, name in enumerate(group.parameters):
            where = f"{plan.name}: /groups/{number}/parameters/{place}"
            if name in places:
                raise InputError(f"{where}: parameter {shown(name)} is there twice, first at {places[name]}; each must be in one group; {AGAIN}")
            if name in every and name not in trainable:
                raise InputError(f"{where}: parameter {shown(name)} is frozen in the model (requires_grad is False); {again}")
            if name not in trainable:
                wrapped = "pass the model that is inside DistributedDataParallel, or " if all(other.startswith("module.") for other in every) else ""
                raise InputError(f"{where}: the model has no parameter {shown(name)}; {wrapped}{again}")
            places[name] = f"/groups/{number}/parameters/{place}"
    for name in trainable:
        if name not in places:
            raise InputError(f"{plan.name}: /groups: the model's parameter {shown(name)} is in no group; {again}")
    found = [[(name, trainable[name]) for name in group.parameters] for group in plan.groups]
    for number, (group, members) in enumerate(zip(plan.groups, found)):
        size = sum(parameter.numel() * parameter.element_size() for _, parameter in members)
        if size != group.bytes:
            first, parameter = members[0]
            raise InputError(f"{plan.name}: /groups/{number}/bytes: expected {size}, of {len(members)} parameters from {shown(first)} ({parameter.dtype}) on, "
                             f"got {group.bytes}; shapes or number format differ from the trace's; {again}")
    return found
