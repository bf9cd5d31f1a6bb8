"""Keywords as words of a command line. What options a command has, its own --help says, so that no table here repeats it."""

from __future__ import annotations

import functools
import json
import os
import re
from pathlib import Path
from typing import Any, Mapping, NamedTuple

from syncopate.api import simctl
from syncopate.common.errors import UsageError

PYTHONS_OWN = ("for", "from")          # no keywords in Python: for_, from_
SCENARIOS_OWN = ("trace", "cluster", "schedule", "bandwidth", "nodes")  # keys of the scenario, which take dicts and lists: see settings()
OURS = ("help", "format", "quiet")     # how results come back is the package's own affair


class Option(NamedTuple):
    """`word` is what the command line has; a flag takes no value, a repeated option one value each time."""

    word: str
    is_flag: bool
    is_repeated: bool


def options_of(command: tuple[str, ...]) -> dict[str, Option]:
    """{keyword: Option} of a command such as ("trace", "import")."""
    program = simctl.find()
    return options_in_help(command, str(program), program.stat().st_mtime_ns)


@functools.cache
def options_in_help(command: tuple[str, ...], _program: str, _changed: int) -> dict[str, Option]:
    """Asked once of each program; one that is built again is another."""
    said = simctl.call([*command, "--help"])
    if said.code:
        simctl.fail(said)
    found = {}
    for short, long, value in re.findall(r"^  (?:(-\w),?)?(--[\w-]+)?((?: [A-Z]{2,}\S*)?(?: \.\.\.)?)", said.out, re.M):
        if short or long:
            word = long or short
            name = "output" if word == "-o" else long.removeprefix("--").replace("-", "_")
            found[f"{name}_" if name in PYTHONS_OWN else name] = Option(word, not value, value.endswith("..."))
    return {name: option for name, option in found.items() if name not in OURS + SCENARIOS_OWN}


def split(command: tuple[str, ...], keywords: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(options of the command, all else). Raises UsageError for those that belong to the package, and for for= or from= in a dict."""
    known = options_of(command)
    for name in OURS:
        if name in keywords:
            raise UsageError(f"{name}: no keyword of the package, which reads what simctl writes; leave it out")
    return ({name: value for name, value in keywords.items() if name in known}, {name: value for name, value in keywords.items() if name not in known})


def words_of(command: tuple[str, ...], options: Mapping[str, Any]) -> list[str]:
    """The command line of options: True is the option alone, None and False leave it out; a dict is KEY:VALUE,...; a list is joined by commas, or
    repeats the option where that can be. Raises UsageError."""
    words = []
    for name, given in options.items():
        option, value = options_of(command)[name], plain(given, name)
        if value is None or value is False:
            continue
        if value is True:
            words.append(option.word)
        elif option.is_flag:
            raise UsageError(f"{name}: expected True or False, got {value!r}")
        elif option.is_repeated:
            for one in value if isinstance(value, list) else [value]:
                words += [option.word, text(one, name)]
        elif isinstance(value, dict):
            words += [option.word, ",".join(f"{key}:{text(one, name)}" for key, one in value.items())]
        elif isinstance(value, list):
            words += [option.word, ",".join(text(one, name) for one in value)]
        else:
            words += [option.word, text(value, name)]
    return words


def text(value: Any, name: str) -> str:
    if isinstance(value, (dict, list)) or value is None:
        raise UsageError(f'{name}: expected a text or a number, got {value!r}; for a scenario\'s key of this name: set={{"/{name}": ...}}')
    return value if isinstance(value, str) else json.dumps(value)


def plain(value: Any, where: str) -> Any:
    """The value as JSON has it: of numpy and pandas as Python's own, a path as its text. Raises UsageError for what JSON has not, such as NaN."""
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, float):
        if value != value or abs(value) == float("inf"):
            raise UsageError(f"{where}: expected a number, got {value}; leave it out, or give one")
        return value
    if isinstance(value, Path):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one, f"{where}: {key}") for key, one in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(one, where) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist(), where)
    raise UsageError(f"{where}: expected what JSON can hold (text, number, list, dict), got {type(value).__name__}")
