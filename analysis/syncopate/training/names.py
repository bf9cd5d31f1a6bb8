"""Naming records: by the schedule with the parameters that differ, and by the setting, which is everything else that differs."""

from collections import Counter
from dataclasses import dataclass

from syncopate.common.schedules import SYNCHRONOUS
from syncopate.dataflow.lines import Compression
from syncopate.results.labels import differing_keys, is_choice, name_value, schedule_of, short, varying

@dataclass(frozen=True)
class Name:
    setting: str
    series: str         # the schedule, and its parameters where records of the setting differ in them
    schedule: str
    parameters: dict
    is_synchronous: bool


def names(records):
    """A Name for each record, no two of them with the same setting and series."""
    headers = [record.header for record in records]
    parameters = [schedule_of({}, header["labels"]) for header in headers]
    settings = settings_of(records)
    series = []
    for setting, header, own in zip(settings, headers, parameters):
        others = [other for place, other in enumerate(parameters) if settings[place] == setting and headers[place]["schedule"] == header["schedule"]]
        series.append(" ".join([header["schedule"], *(f"{key}={short(own[key])}" for key in own if key in differing_keys(others))]))
    count = Counter(zip(settings, series))
    series = [f"{text} ({record.path})" if count[setting, text] > 1 else text for setting, text, record in zip(settings, series, records)]
    return [Name(setting, text, record.header["schedule"], own, is_synchronous(record, own))
            for setting, text, record, own in zip(settings, series, records, parameters)]


def settings_of(records):
    """The folder, where that tells settings apart. Else also swept values other than the schedule's, and the optimiser, where they differ."""
    headers, folders = [record.header for record in records], folders_of(records)
    pointers = sorted({pointer for header in headers for pointer in header["labels"] if not is_choice(pointer) or pointer.startswith("/all_reduce")})
    parts = [(folder, *(name_value(pointer, header["labels"][pointer], pointers) for pointer in pointers if pointer in header["labels"]), header["optimizer"])
             for folder, header in zip(folders, headers)]
    if len(set(parts)) == len(set(folders)):
        return folders
    return varying(parts, [", ".join(one) for one in parts])


def folders_of(records):
    """The names of the records' folders, or their paths where two have the same name."""
    paths = [record.path.resolve().parent for record in records]
    return [path.name if len({other for other in paths if other.name == path.name}) == 1 else str(path) for path in paths]


def is_synchronous(record, parameters):
    return record.header["schedule"] in SYNCHRONOUS and parameters.get("accumulate", 1) == 1 and \
        not any(isinstance(one, Compression) for one in record.operations)


def baseline(entries):
    """The entry of a setting that the others are compared with, or None."""
    found = [one for one in entries if one.name.is_synchronous]
    return min(found, key=lambda one: SYNCHRONOUS.index(one.name.schedule), default=None)
