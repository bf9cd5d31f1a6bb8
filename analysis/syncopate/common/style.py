"""How series look: one colour, marker and dash for each schedule, for ever.

No two rows of SCHEDULES share a colour, nor marker and dash together. A schedule without a row gets a look that they leave free. The first
eight colours are those of Okabe and Ito, which colour-blind readers can tell apart, without their yellow, which is too pale on white. The
others lie as far from these and from each other as possible, and are neither pale nor garish. What time is spent on has muted colours of its
own, which no schedule has: teal for computing, salmon for communication.
"""

import itertools
import re
import zlib
from dataclasses import dataclass

from syncopate.common.wording import swept_quantity

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
INDIGO, CRIMSON, MINT, BROWN = "#441199", "#BB1144", "#44D080", "#885522"
VIOLET, MOSS, MAGENTA, PETROL = "#8877FF", "#3E5500", "#992299", "#004C66"
WINE, OLIVE, NAVY, ORCHID = "#770022", "#999944", "#2244CC", "#CC55DD"
ROSE, FIR, GRASS, AZURE = "#FF5566", "#007755", "#00AA00", "#1177FF"
NIGHT, PINK, FUCHSIA, LIME = "#220044", "#FF66CC", "#CC3399", "#BBCC00"
FORWARD, COMPUTE, UPDATE, COMMUNICATION, MESSAGE = "#88D0D0", "#408888", "#105840", "#E88870", "#B8A0D0"
WAITING, REFERENCE, QUIET, INK = "#CCCCCC", "#A6A6A6", "#5F6368", "#202124"

SOLID, DASHED, DOTTED, MIXED = "-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.4, 1.2, 1.4))
DASHES, MARKERS = [SOLID, DASHED, MIXED, DOTTED], "osD^vP*X<>ph"
MARKS = list(itertools.product(MARKERS, DASHES))
MARKER_SCALE = {"*": 1.6, "P": 1.2, "X": 1.2, "p": 1.15, "h": 1.1, "D": 0.9}   # to look equally large
HUES = [BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, BLACK, GREY,
        INDIGO, CRIMSON, MINT, BROWN, VIOLET, MOSS, MAGENTA, PETROL, WINE, OLIVE,
        NAVY, ORCHID, ROSE, FIR, GRASS, AZURE, NIGHT, PINK, FUCHSIA, LIME]

SCHEDULES = {
    "s-sgd": (BLACK, "o", SOLID),
    "wfbp": (BLUE, "s", SOLID),
    "sync-easgd": (ORANGE, "^", SOLID),
    "fusion": (GREEN, "v", MIXED),
    "mg-wfbp": (VERMILLION, "D", SOLID),
    "mg-wfbp-optimal": (SKY, "o", DASHED),
    "ps-sgd": (GREY, "s", DASHED),
    "asgd": (PURPLE, "X", SOLID),
    "ssd-sgd": (MOSS, "P", SOLID),
    "downpour": (INDIGO, "v", DOTTED),
    "eamsgd": (BROWN, "<", DASHED),
    "dts": (VIOLET, "D", DASHED),
    "sasgd": (PETROL, "p", DOTTED),
    "local-sgd": (MINT, "h", MIXED),
    "lasgd": (CRIMSON, "*", DASHED),
    "sgp": (MAGENTA, ">", DOTTED),
    "d-psgd": (WINE, "P", DASHED),
    "ad-psgd": (OLIVE, "p", SOLID),
    "horovod": (NAVY, "v", SOLID),
    "dc-asgd": (ORCHID, "X", DASHED),
    "bytescheduler": (FIR, "<", SOLID),
    "p3": (ROSE, ">", SOLID),
    "dear": (GRASS, "h", SOLID),
    "fsdp": (AZURE, "*", SOLID),
    "zero": (NIGHT, "^", DASHED),
    "diloco": (PINK, "s", DOTTED),
    "groups": (FUCHSIA, "D", MIXED),
}

MOST_SHADES = 4
LIGHTEST = 0.6    # of the way to white, the last of a schedule's series

PARTS = {"compute_s": ("compute", COMPUTE), "wait_s": ("waiting or slowed down", WAITING),
         "exposed_communication_s": ("exposed communication", COMMUNICATION)}


@dataclass(frozen=True)
class Style:
    color: str
    marker: str
    dash: object


def styles(frame):
    """{series: Style}, in the order of the legend: that of SCHEDULES, then of appearance, of the same parameters that of their numbers.

    Series of one schedule that differ in parameters keep its hue, get lighter from one to the next, and change marker and dash; where it
    is alone, up to MOST_SHADES of them.
    """
    schedule_of = dict(zip(reversed(frame["series"]), reversed(frame["schedule"])))
    order = [*SCHEDULES, *dict.fromkeys(frame["schedule"])]
    kinds = list(dict.fromkeys(map(kind_of, frame["series"])))
    names = sorted(dict.fromkeys(frame["series"]), key=lambda name: (order.index(schedule_of[name]), kinds.index(kind_of(name)), numbers_of(name)))
    members = {schedule: [name for name in names if schedule_of[name] == schedule] for schedule in schedule_of.values()}
    look_of = variant if len(members) > 1 or are_shades(*members.items()) else other_hue
    return {name: look_of(schedule_of[name], members[schedule_of[name]].index(name), members, len(members[schedule_of[name]]))
            for name in names}


def are_shades(one):
    """Whether the series of a schedule that is alone are itself with parameters, and few enough for shades of its colour."""
    schedule, names = one
    return len(names) <= MOST_SHADES and all(name == schedule or name.startswith((f"{schedule} ", f"{schedule}, ")) for name in names)


def kind_of(name):
    """A series' name without its parameters' values."""
    return re.sub(r"=[^ ,]+", "=", name)


def numbers_of(name):
    """The numbers among a series' parameters, such as (4, 0.8) of "lasgd tau_max=4 participants=0.8"."""
    found = (swept_quantity(text) for text in re.findall(r"=([^ ,]+)", name))
    return tuple(one[0] for one in found if one)


def other_hue(schedule, number, beside=(), _count=1):
    """The look of the series of a sweep over something else than schedules: no hue is anybody else's there."""
    first = variant(schedule, 0, beside)
    hues = [first.color] + [color for color in HUES if color != first.color]
    return Style(hues[number % len(hues)], MARKERS[(MARKERS.index(first.marker) + number) % len(MARKERS)],
                 DASHES[number // 8 % len(DASHES)])


def variant(schedule, number, beside=(), count=1):
    """The look of one of `count` series of one schedule that is drawn beside others; the last is the lightest."""
    color, marker, dash = rows({schedule, *beside})[schedule]
    if number:
        color = lighter(color, LIGHTEST * number / max(number, count - 1))
        marker = MARKERS[(MARKERS.index(marker) + number) % len(MARKERS)]
        dash = DASHES[(DASHES.index(dash) + number) % len(DASHES)]
    return Style(color, marker, dash)


def lighter(color, part):
    """The colour with so much of the way to white gone."""
    return mixed(color, "#FFFFFF", part)


def rgb(color):
    """Red, green and blue from 0 to 1 of a colour such as #0072B2."""
    return [int(color[place:place + 2], 16) / 255 for place in (1, 3, 5)]


def mixed(color, other, part):
    """The colour with so much of the way to another one gone."""
    return "#" + "".join(f"{round(255 * (one + (two - one) * part)):02x}" for one, two in zip(rgb(color), rgb(other)))


def rows(schedules):
    """{schedule: (colour, marker, dash)}, by the names alone: its row of SCHEDULES, or what no row and no other of these has."""
    found = {name: SCHEDULES[name] for name in schedules if name in SCHEDULES}
    for name in sorted(set(schedules) - set(found)):
        color = rarest(HUES, name, found, lambda row: row[0])
        found[name] = (color, *rarest(MARKS, name, found, lambda row: row[1:]))
    return found


def rarest(values, name, beside, part):
    """The value that the fewest rows beside have, of equals the one that the fewest of SCHEDULES have, then one by the name."""
    here, ever = ([part(row) for row in table.values()] for table in (beside, SCHEDULES))
    return min(values, key=lambda value: (here.count(value), ever.count(value), zlib.crc32(f"{name} {value}".encode())))
