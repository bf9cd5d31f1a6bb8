"""Reading network-<point>.dot: the network of a point and how much its cables are used, which `simctl explain --format dot` writes."""

import re
from dataclasses import dataclass

from syncopate.common.errors import InputError
from syncopate.common.reading import read_text, shown
from syncopate.results.folder import point_of

MOST = 20_000      # cables of one file
TEXT = r'"((?:[^"\\]|\\.)*)"'
VERTEX = re.compile(rf"(\d+)\[label={TEXT}, shape=(box|point)")
CABLE = re.compile(rf"(\d+)--(\d+) \[tooltip={TEXT}, label={TEXT}")
TITLE = re.compile(rf"graph \[label={TEXT}")


@dataclass(frozen=True)
class Cable:
    ends: tuple         # places in the network's `vertices`
    name: str
    level: str
    bandwidth: str      # in words
    used: float         # part of its bandwidth, of its busier direction, in the measured window


@dataclass(frozen=True)
class NetworkFile:
    row: object         # the point's labelled row
    vertices: tuple     # the name of each node or server; "" for a switch
    cables: tuple


def read_all(runs, frame):
    """Every network of the runs, in the order of their points. Raises InputError."""
    return [read(path, frame[(frame["run"] == number) & (frame["point"] == point_of(path))]) for number, run in enumerate(runs) for path in run.networks]


def read(path, rows):
    again = f"write it again: simctl explain SCENARIO --point {point_of(path)} --format dot > {path}"
    if rows.empty:
        raise InputError(f"{path}: expected a point of results.csv, which has no such row; delete the file or {again}")
    row = rows.iloc[0]
    lines = read_text(path, again).splitlines()
    title = next((found[1] for found in map(TITLE.match, lines) if found), None)
    expected = f"{row['cluster']}: {row['nodes']} nodes, "
    if title is None or not words(title)[0].startswith(expected):
        raise InputError(f"{path}: label of the graph: expected one that begins with {shown(expected)}, as in results.csv, got {shown(title)}; {again}")
    vertices, cables = {}, []
    for number, line in enumerate(lines, 1):
        vertex, cable = VERTEX.match(line), CABLE.match(line)
        if vertex:
            vertices[int(vertex[1])] = words(vertex[2])[0] if vertex[3] == "box" else ""
        elif cable:
            cables.append(read_cable(cable, f"{path}: line {number}", again))
    lost = [end for cable in cables for end in cable.ends if end not in vertices]
    if lost or not cables or len(cables) > MOST or sorted(vertices) != list(range(len(vertices))):
        raise InputError(f"{path}: expected 1 to {MOST} cables between vertices 0, 1, 2, ..., got {len(cables)} between {len(vertices)}; {again}")
    return NetworkFile(row, tuple(vertices[place] for place in range(len(vertices))), tuple(cables))


def read_cable(found, where, again):
    level, *rest = words(found[4])
    used = re.fullmatch(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)%", rest[1]) if len(rest) == 2 else None
    if not used:
        raise InputError(f'{where}: expected a label of level, bandwidth and use, such as "node\\n10 Gb/s\\n69.6%", got {shown(found[4])}; {again}')
    return Cable((int(found[1]), int(found[2])), words(found[3])[0], level, rest[0], float(used[1]) / 100)


def words(text):
    """The lines of a text in quotation marks."""
    return [re.sub(r"\\(.)", r"\1", line) for line in re.split(r"(?<!\\)(?:\\\\)*\\n", text)]
