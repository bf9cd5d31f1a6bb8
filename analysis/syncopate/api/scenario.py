"""What a call simulates: a scenario by its name, file or content, and keywords that change it, as words of a command line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Mapping

from syncopate.api.options import plain
from syncopate.common.errors import InputError, UsageError

SHORT = {"nodes": "/cluster/nodes", "bandwidth": "/cluster/link/bandwidth"}


def source(given: Any, kind: str, base: Mapping[str, Any]) -> tuple[str, str, dict | None]:
    """(the positional word, stdin, the content where it is known). None is `base`; `kind` names what is expected, for the error."""
    if given is None:
        given = base
    if isinstance(given, Mapping):
        content = plain(given, kind)
        return "-", json.dumps(content, ensure_ascii=False), content
    if isinstance(given, (str, os.PathLike)):
        word = os.fspath(given)
        if word in ("-", ""):
            raise InputError(f'{kind}: expected a name, a file\'s path or a dict, got "{word}"')
        return f"./{word}" if word.startswith("-") else word, "", None
    raise UsageError(f"{kind}: expected a name, a file's path or a dict, got {type(given).__name__}")


def settings(keywords: Mapping[str, Any], pointers: Any, swept: Mapping[str, Any], is_file: bool) -> list[str]:
    """The words POINTER=JSON that keywords and the dict `pointers` of set= amount to.

    A list sweeps its key, all else sets it. A keyword replaces what the scenario sweeps below its key; `swept` is the scenario's sweep. In a
    file's scenario, paths of keywords are made absolute where they are of files, as those of the file itself are relative to it. The sweep is set as
    a whole, for simctl orders single settings by itself.
    """
    if pointers is not None and not isinstance(pointers, Mapping):
        raise UsageError(f'set: expected a dict of JSON pointers, such as {{"/cluster/link/latency": "5us"}}, got {type(pointers).__name__}')
    sweep, found = dict(swept), []

    def write(pointer: str, value: Any) -> None:
        found.append(f"{pointer}={json.dumps(value, ensure_ascii=False)}")

    for name, value in keywords.items():
        pointer = SHORT.get(name, f"/{name.replace('~', '~0').replace('/', '~1')}")
        value = plain(value, name)
        value = located(value) if is_file else value
        for inner in [one for one in sweep if one.startswith(f"{pointer}/") and not (name == "schedule" and one == "/schedule/name" and is_names(value))]:
            del sweep[inner]
        if name == "schedule":
            pointer, value = schedule(value, sweep, write)
        if isinstance(value, list):
            sweep[pointer] = value
        else:
            write(pointer, value)
    for pointer, value in (pointers or {}).items():
        value = plain(value, f"set: {pointer}")
        if not str(pointer).startswith("/"):
            raise UsageError(f'set: expected a JSON pointer that begins with "/", got "{pointer}"; for a key of the scenario: "/{pointer}"')
        if isinstance(value, list):
            sweep[pointer] = value
        else:
            write(pointer, value)
    return found + ([f"/sweep={json.dumps(sweep, ensure_ascii=False)}"] if sweep != swept else [])


def is_names(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def schedule(value: Any, swept: Mapping[str, Any], write: Any) -> tuple[str, Any]:
    """Names stand for schedules without parameters, or for cases of the scenario's sweep."""
    if "/schedule/name" in swept and is_names(value):
        return "/schedule/name", value
    cases = swept.get("/schedule")
    if isinstance(cases, dict) and isinstance(value, str):
        return "/schedule", value
    if isinstance(value, str):
        return "/schedule", {"name": value}
    if isinstance(value, list) and value and is_names(value) and cases is None:
        write("/schedule", {"name": value[0]})
        return "/schedule/name", value
    if isinstance(value, list):
        return "/schedule", [{"name": one} if isinstance(one, str) else one for one in value]
    return "/schedule", value


def located(value: Any) -> Any:
    if isinstance(value, list):
        return [located(one) for one in value]
    if isinstance(value, str) and "." in value and Path(value).is_file():
        return str(Path(value).absolute())
    return value
