"""Figures that are laid out in inches, and whose files have the same bytes for the same figure."""

import atexit
import io
import logging
import tempfile
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.textpath import TextPath

from syncopate.common.style import INK

WIDTH, NARROW = 7.16, 4.9   # inches: two columns of a paper, and a figure of one panel
FONTS = ("sans", "serif")
MISPLACED = "\"<>\\^_`{|}~"   # Computer Modern has other glyphs there: a dot for _


@lru_cache(maxsize=None)
def families(font):
    """Font families of one of FONTS: a glyph that the first lacks comes from the next. `serif` is the Computer Modern that matplotlib has."""
    if font == "sans":
        return ["DejaVu Sans"]
    from fontTools.ttLib import TTFont
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    roman = TTFont(Path(matplotlib.get_data_path(), "fonts", "ttf", "cmr10.ttf"), recalcTimestamp=False)
    for table in roman["cmap"].tables:
        table.cmap = {code: glyph for code, glyph in table.cmap.items() if 0x20 <= code < 0x7f and chr(code) not in MISPLACED}
    for entry in roman["name"].names:
        if entry.nameID == 1:
            entry.string = "Syncopate Roman"
    folder = tempfile.TemporaryDirectory(prefix="syncopate-")    # matplotlib takes fonts from files
    atexit.register(folder.cleanup)
    roman.save(Path(folder.name, "roman.ttf"))
    fontManager.addfont(Path(folder.name, "roman.ttf"))
    return ["Syncopate Roman", "STIXGeneral", "DejaVu Sans"]


@contextmanager
def look(font="sans"):
    """Matplotlib's own defaults plus ours, whatever the user's matplotlibrc says, with one of FONTS."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({
            "font.family": families(font), "font.size": 7.5, "text.color": INK, "text.parse_math": False,
            "axes.titlesize": 8.5, "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.titlepad": 5,
            "axes.labelsize": 8, "axes.labelcolor": INK, "axes.edgecolor": "#80868B", "axes.linewidth": 0.7,
            "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
            "xtick.color": INK, "ytick.color": INK, "xtick.labelsize": 7, "ytick.labelsize": 7,
            "xtick.major.width": 0.7, "ytick.major.width": 0.7, "xtick.major.size": 3, "ytick.major.size": 3,
            "grid.color": "#E8EAED", "grid.linewidth": 0.7, "legend.frameon": False, "legend.fontsize": 7.5,
            "pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "syncopate", "figure.dpi": 100,
        })
        yield


def to_bytes(figure, kind, dpi=300, font="sans"):
    """The figure as a png, svg or pdf file: the same bytes for the same figure."""
    quiet = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None},
             "pdf": {"CreationDate": None, "Creator": None, "Producer": None}}
    dpi = min(dpi, 60000 / max(figure.get_size_inches()))    # a png has at most 65535 pixels a side
    stream = io.BytesIO()
    with look(font):
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
        for handle in handles:
            if handle.get_label().startswith("_"):      # matplotlib would leave it out
                handle.set_label(f"\u2009{handle.get_label()}")
        self.figure.legend(
            handles=handles, ncol=legend_columns(handles, self.width - 0.3, size), loc="upper center", fontsize=size,
            bbox_to_anchor=(0.5, 1 - top / self.height), borderaxespad=0, borderpad=0, handlelength=2.6,
            columnspacing=1.6, labelspacing=0.5)


def legend_columns(handles, width, size=7.5):
    """The most columns that fit; matplotlib fills them from top to bottom, each as wide as its widest entry."""
    cells = [max(text_width(line, size) for line in handle.get_label().split("\n")) + 0.074 * size for handle in handles]
    for columns in dict.fromkeys(-(-len(cells) // rows) for rows in range(1, len(cells) + 1)):
        rows = -(-len(cells) // columns)
        long = len(cells) - columns * (rows - 1)      # so many columns have all the rows, the others one less
        ends = [rows * min(place, long) + (rows - 1) * max(0, place - long) for place in range(columns + 1)]
        if sum(max(cells[start:end]) for start, end in zip(ends, ends[1:])) <= width:
            return columns
    return 1


def legend_height(handles, width, size=7.5):
    """Inches that Sheet.legend takes on a sheet of that width."""
    lines = max(handle.get_label().count("\n") + 1 for handle in handles)
    return 0.022 * size * lines * -(-len(handles) // legend_columns(handles, width - 0.3, size))


def text_width(text, size, weight="normal"):
    """Inches, in the font of look()."""
    return width_in(tuple(matplotlib.rcParams["font.family"]), text, size, weight)


@lru_cache(maxsize=None)
def width_in(family, text, size, weight):
    font = FontProperties(family=list(family), size=size, weight=weight)
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


def to_svg(figure):
    return to_bytes(figure, "svg").decode()
