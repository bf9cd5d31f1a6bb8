"""How figures look: one colour, marker and dash per schedule for ever, fonts, layout in inches, deterministic files.

No two rows of SCHEDULES share a colour, nor marker and dash together, and a schedule without a row gets what they leave free. The
first eight colours are those of Okabe and Ito, which stay apart for colour-blind readers (the yellow is left out, for it vanishes on
white); the others lie as far from these and from each other as colours can that are neither pale nor garish.
"""

import io
import itertools
import re
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import matplotlib
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from labels import parse
from units import quantity

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
INDIGO, CRIMSON, MINT, BROWN = "#441199", "#BB1144", "#44D080", "#885522"
VIOLET, MOSS, MAGENTA, PETROL = "#8877FF", "#3E5500", "#992299", "#004C66"
WINE, OLIVE = "#770022", "#999944"
WAITING, REFERENCE, QUIET, INK = "#CCCCCC", "#A6A6A6", "#5F6368", "#202124"

SOLID, DASHED, DOTTED, MIXED = "-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.4, 1.2, 1.4))
DASHES, MARKERS = [SOLID, DASHED, MIXED, DOTTED], "osD^vP*X<>ph"
MARKS = list(itertools.product(MARKERS, DASHES))
MARKER_SCALE = {"*": 1.6, "P": 1.2, "X": 1.2, "p": 1.15, "h": 1.1, "D": 0.9}   # to look equally large
HUES = [BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, BLACK, GREY,
        INDIGO, CRIMSON, MINT, BROWN, VIOLET, MOSS, MAGENTA, PETROL, WINE, OLIVE]

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
}

LIGHTEST = 0.6    # of the way to white, the last of a schedule's series

PARTS = {"compute_s": ("compute", BLUE), "wait_s": ("waiting or slowed down", WAITING),
         "exposed_communication_s": ("exposed communication", ORANGE)}


@dataclass(frozen=True)
class Style:
    color: str
    marker: str
    dash: object


def styles(frame):
    """{series: Style}, in the order of the legend: that of SCHEDULES, then of appearance, of the same parameters that of their numbers.

    Series of one schedule among others (that differ in parameters) keep its hue, get lighter from one to the next, and change marker
    and dash.
    """
    schedule_of = dict(zip(reversed(frame["series"]), reversed(frame["schedule"])))
    order = [*SCHEDULES, *dict.fromkeys(frame["schedule"])]
    kinds = list(dict.fromkeys(map(kind_of, frame["series"])))
    names = sorted(dict.fromkeys(frame["series"]), key=lambda name: (order.index(schedule_of[name]), kinds.index(kind_of(name)), numbers_of(name)))
    members = {schedule: [name for name in names if schedule_of[name] == schedule] for schedule in schedule_of.values()}
    look_of = other_hue if len(members) == 1 else variant
    return {name: look_of(schedule_of[name], members[schedule_of[name]].index(name), members, len(members[schedule_of[name]]))
            for name in names}


def kind_of(name):
    """A series' name without its parameters' values."""
    return re.sub(r"=[^ ,]+", "=", name)


def numbers_of(name):
    """The numbers among a series' parameters, such as (4, 0.8) of "lasgd tau_max=4 participants=0.8"."""
    found = (quantity(parse(text)) for text in re.findall(r"=([^ ,]+)", name))
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
    return to_hex([one + (1 - one) * part for one in to_rgb(color)])


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


@contextmanager
def look():
    """Matplotlib's own defaults plus ours, whatever the user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({
            "font.family": "DejaVu Sans", "font.size": 7.5, "text.color": INK, "text.parse_math": False,
            "axes.titlesize": 8.5, "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.titlepad": 5,
            "axes.labelsize": 8, "axes.labelcolor": INK, "axes.edgecolor": "#80868B", "axes.linewidth": 0.7,
            "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
            "xtick.color": INK, "ytick.color": INK, "xtick.labelsize": 7, "ytick.labelsize": 7,
            "xtick.major.width": 0.7, "ytick.major.width": 0.7, "xtick.major.size": 3, "ytick.major.size": 3,
            "grid.color": "#E8EAED", "grid.linewidth": 0.7, "legend.frameon": False, "legend.fontsize": 7.5,
            "pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "syncopate", "figure.dpi": 100,
        })
        yield


def to_bytes(figure, kind, dpi=300):
    """The figure as a png, svg or pdf file: the same bytes for the same figure."""
    quiet = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None},
             "pdf": {"CreationDate": None, "Creator": None, "Producer": None}}
    dpi = min(dpi, 60000 / max(figure.get_size_inches()))    # a png has at most 65535 pixels a side
    stream = io.BytesIO()
    with look():
        figure.savefig(stream, format=kind, dpi=dpi, metadata=quiet[kind], facecolor="white")
    return stream.getvalue()


class Sheet:
    """A figure laid out in inches, from its top left corner."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width, height))

    def axes(self, left, top, width, height):
        return self.figure.add_axes([left / self.width, 1 - (top + height) / self.height,
                                     width / self.width, height / self.height])

    def text(self, left, top, text, **how):
        how.setdefault("va", "top")
        return self.figure.text(left / self.width, 1 - top / self.height, text, **how)

    def legend(self, handles, top, size=7.5):
        """A legend centred at `top`, in as few rows as fit."""
        self.figure.legend(
            handles=handles, ncol=legend_columns(handles, self.width - 0.3, size), loc="upper center", fontsize=size,
            bbox_to_anchor=(0.5, 1 - top / self.height), borderaxespad=0, borderpad=0, handlelength=2.6,
            columnspacing=1.6, labelspacing=0.5)


def legend_columns(handles, width, size=7.5):
    """The most columns that fit; matplotlib fills them from top to bottom, each as wide as its widest entry."""
    cells = [text_width(handle.get_label(), size) + 0.074 * size for handle in handles]
    for columns in dict.fromkeys(-(-len(cells) // rows) for rows in range(1, len(cells) + 1)):
        rows = -(-len(cells) // columns)
        long = len(cells) - columns * (rows - 1)      # so many columns have all the rows, the others one less
        ends = [rows * min(place, long) + (rows - 1) * max(0, place - long) for place in range(columns + 1)]
        if sum(max(cells[start:end]) for start, end in zip(ends, ends[1:])) <= width:
            return columns
    return 1


def legend_height(handles, width, size=7.5):
    """Inches that Sheet.legend takes on a sheet of that width."""
    return 0.022 * size * -(-len(handles) // legend_columns(handles, width - 0.3, size))


@lru_cache(maxsize=None)
def text_width(text, size, weight="normal"):
    """Inches."""
    font = FontProperties(family="DejaVu Sans", size=size, weight=weight)
    vertices = TextPath((0, 0), text, prop=font).vertices if text.strip() else []
    return float(vertices[:, 0].max()) / 72 if len(vertices) else 0.0


def wrap(text, size, width, weight="normal"):
    """The text as lines that are at most `width` inches wide, broken between words."""
    lines = [""]
    for word in (part for word in text.split() for part in pieces(word, size, width, weight)):
        trial = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(trial, size, weight) > width:
            lines.append(word)
        else:
            lines[-1] = trial
    return lines


def pieces(word, size, width, weight):
    """The word; where it is wider than a line, as pieces that fit."""
    found = [""]
    for letter in word:
        if found[-1] and text_width(found[-1] + letter, size, weight) > width:
            found.append("")
        found[-1] += letter
    return found


class Names:
    """Names that stand left of the rows of a figure, wrapped: their widths and heights in inches."""

    def __init__(self, names, size, limit):
        self.texts = {name: "\n".join(wrap(name, size, limit)) for name in names}
        self.width = max(text_width(line, size) for text in self.texts.values() for line in text.split("\n"))
        self.row = 0.0185 * size * max(text.count("\n") + 1 for text in self.texts.values())
