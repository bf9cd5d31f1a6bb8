"""What papers claim of accuracy: scenarios/papers/claims.csv, read and checked.

A row is one claim: a quote of the paper and where it stands, and two trained points with the relation that the paper expects between them.
"""

import re
from dataclasses import dataclass

from syncopate.claims.verdicts import QUANTITIES, RELATIONS
from syncopate.common.errors import InputError
from syncopate.common.reading import named_rows, shown

COLUMNS = ["id", "paper", "place", "quote", "says", "quantity", "left", "relation", "right", "note"]
POINT = re.compile(r"([\w-]+): ([\w-]+)((?: \w+=\S+)*)")


@dataclass(frozen=True)
class Point:
    """What is compared: a study is a folder with training.json; parameters are texts."""

    study: str
    schedule: str
    parameters: tuple   # of (name, value)

    def __str__(self):
        return " ".join([self.schedule, *(f"{name}={value}" for name, value in self.parameters)])


@dataclass(frozen=True)
class Claim:
    """One row; `says` is the claim in a few words."""

    id: str
    paper: str
    place: str
    quote: str
    says: str
    quantity: str
    left: Point
    relation: str
    right: Point
    note: str


def read_claims(path):
    """A list of Claim, in the order of the file. Raises InputError."""
    found = {}
    for place, row in named_rows(path, COLUMNS):
        for column, known in (("quantity", QUANTITIES), ("relation", RELATIONS)):
            if row[column] not in known:
                raise InputError(f'{place}: {column}: expected {", ".join(known)}, got {shown(row[column])}')
        for column in ("paper", "place", "quote", "says"):
            if not row[column].strip():
                raise InputError(f"{place}: {column}: expected a text, got none")
        sides = {column: point(row[column], f"{place}: {column}") for column in ("left", "right")}
        found[row["id"]] = Claim(**(row | sides))
    if not found:
        raise InputError(f"{path}: expected claims below its header, got none")
    return list(found.values())


def point(text, place):
    found = POINT.fullmatch(text)
    if not found:
        raise InputError(f'{place}: expected STUDY: SCHEDULE NAME=VALUE ..., such as "dts: dts delay=4 period=1", got {shown(text)}')
    return Point(found[1], found[2], tuple(tuple(one.split("=", 1)) for one in found[3].split()))
