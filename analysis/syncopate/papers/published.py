"""Published numbers: reading their table, and how far a simulated number is from one.

The table is scenarios/papers/published.csv. Its `value` is a number or several, with spaces between them.
"""

import math
from dataclasses import dataclass

from syncopate.common.errors import InputError
from syncopate.common.reading import named_rows, shown

COLUMNS = ["id", "paper", "place", "quantity", "value", "unit", "configuration", "inputs_given", "kind", "note"]
GIVEN = ("yes", "partly", "no")
# gain: a ratio of speeds; bound: its note begins with "at least" or "at most"; count: follows from a network's file or a definition;
# repeat: another row's number again
KINDS = ("value", "gain", "bound", "input", "count", "repeat")
INPUT = "An input of the scenarios, read back."     # the remark on such a number
CLOSE = 0.1     # a relative difference beyond this needs an explanation


@dataclass(frozen=True)
class Published:
    """One row; `text` is the value as the table writes it, `values` the same as numbers."""

    id: str
    paper: str
    place: str
    quantity: str
    text: str
    values: tuple
    unit: str
    configuration: str
    inputs_given: str
    kind: str
    note: str


def read_published(path):
    """{id: Published}, in the order of the file. Raises InputError."""
    found = {}
    for place, row in named_rows(path, COLUMNS):
        if row["inputs_given"] not in GIVEN:
            raise InputError(f'{place}: inputs_given: expected {", ".join(GIVEN)}, got {shown(row["inputs_given"])}')
        if row["kind"] not in KINDS:
            raise InputError(f'{place}: kind: expected {", ".join(KINDS)}, got {shown(row["kind"])}')
        if row["kind"] == "bound" and not row["note"].startswith(("at least", "at most")):
            raise InputError(f'{place}: note: expected "at least" or "at most" first, got {shown(row["note"])}')
        text = row.pop("value")
        found[row["id"]] = Published(text=text, values=numbers(text, place), **row)
    return found


def numbers(text, place):
    try:
        values = tuple(float(word) for word in text.split())
    except ValueError:
        values = ()
    if not values or not all(map(math.isfinite, values)):
        raise InputError(f"{place}: value: expected a number or several, got {shown(text)}")
    return values


def difference(published, ours, how):
    """How far `ours` (several numbers) is from the published ones; of several differences that of largest size.

    how: "each"      relative; one published number stands for all of ours
         "within"    relative to the nearer of two published bounds, 0 between them
         "at least"  relative to a published lower bound, 0 above it; "at most" likewise
         "shares"    absolute, of shares that sum to 1
    """
    if how == "within":
        low, high = published
        found = [(one - min(max(one, low), high)) / min(max(one, low), high) for one in ours]
    elif how == "at least":
        found = [min(0.0, one / published[0] - 1) for one in ours]
    elif how == "at most":
        found = [max(0.0, one / published[0] - 1) for one in ours]
    else:
        pairs = list(zip(published * len(ours) if len(published) == 1 else published, ours, strict=True))
        found = [one - there if how == "shares" else one / there - 1 for there, one in pairs]
    return max(found, key=abs)
