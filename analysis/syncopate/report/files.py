"""The options that say which figures report.py draws and how, and the files of each: the figure, and a table of what it shows."""

import csv
import io
import math
import re
from pathlib import Path

from syncopate.common.errors import InputError
from syncopate.common.wording import counted
from syncopate.report import measures
from syncopate.report.measures import NODES
from syncopate.results import labels

FIGURES = ("iteration-time", "speedup", "efficiency", "timeline")
KINDS = ("png", "svg", "pdf")
INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
NARROWEST, WIDEST = 2.0, 30.0       # inches
OPTIONS = ("figure", "x", "series", "y", "width", "notes", "font")
COLUMNS = ["x", "series", "y", "low", "high", "panel"]


def add_options(parser):
    group = parser.add_argument_group("Figures")
    group.add_argument("--figure", choices=FIGURES, help="only this one (default: all)")
    group.add_argument("--y", metavar="COLUMN", help="instead, one figure of this column of results.csv (with --x or --series: iteration_s)")
    group.add_argument("--x", metavar="POINTER", help="over this swept key (default: nodes, else the first swept number): lines over numbers, else bars")
    group.add_argument("--series", metavar="POINTER", help="a line for each value of this swept key (default: for each schedule)")
    group.add_argument("--width", metavar="LENGTH", help="exact width, such as 3.3in, 84mm, 8.4cm or 240pt (1/72 in)")
    group.add_argument("--notes", choices=["below", "off"], help="what the data are, below the figure (default), or on stderr only")
    group.add_argument("--font", choices=["sans", "serif"], help="sans (default), or Computer Modern")


def check(parser, options):
    """Sets what follows from other options, and `width` in inches; exits with 2 where they do not go together."""
    given = [name for name in OPTIONS if getattr(options, name) is not None]
    ending = Path(options.output or "").suffix[1:]
    if options.format is None:
        options.format = "html" if not given else ending if ending in KINDS else "pdf"
    if given and (options.format == "html" or not options.output):
        parser.error(f"--{given[0]}: a page has none; write figures with -o PATH, --format pdf, png or svg" if options.output else
                     f"--{given[0]}: nothing to draw; name the figure with -o PATH")
    if options.width is not None:
        options.width = inches(parser, options.width)
    own = [name for name in ("y", "x", "series") if getattr(options, name) is not None]
    if options.y is not None and options.figure:
        parser.error("--figure, --y: choose one of them")
    if own and options.figure in ("iteration-time", "timeline"):
        parser.error(f"--{own[0]}: --figure {options.figure} has bars for each schedule; use --y COLUMN instead of --figure")
    several = options.format != "html" and not own and not options.figure
    if several and options.output.endswith(f".{options.format}") and not Path(options.output).is_dir():
        parser.error(f"-o {options.output}: several figures; name one with --figure or --y, or a folder ({options.output}/)")
    if own and not options.figure and options.y is None:
        options.y = "iteration_s"


def inches(parser, text):
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9}) ?(in|cm|mm|pt)", text)
    width = float(found[1]) * INCHES[found[2]] if found else 0.0
    if not NARROWEST <= width <= WIDEST:
        parser.error(f'--width: expected a length such as 3.3in, 84mm, 8.4cm or 240pt, from {NARROWEST:g}in to {WIDEST:g}in, got "{text}"')
    return width


def place(options, name, kind):
    """Where a figure or its table goes: FOLDER/name.kind for a folder, what -o names if that is one figure's name, PREFIX-name.kind otherwise."""
    output = options.output
    if output.endswith("/") or Path(output).is_dir():
        return Path(output) / f"{name}.{kind}"
    if output.endswith(f".{options.format}") and (options.figure or options.y is not None):
        return Path(output).with_suffix(f".{kind}")
    return Path(f"{output}-{name}.{kind}")


def chosen_name(options):
    """The name of the figure of --y."""
    over = f"-over-{re.sub('[^A-Za-z0-9_-]', '-', labels.last_word(options.x))}" if options.x else ""
    return f"{options.y}{over}"


def chosen_rows(runs, options):
    """(rows, Axis) of a figure of a column over a swept key, with names by --x and --series."""
    series = options.series if options.series is None else measures.known_pointer(runs, "--series", options.series)
    pointer = measures.known_pointer(runs, "--x", options.x) if options.x is not None else measures.default_axis(runs, labels.label(runs), series)
    if pointer == series:
        raise InputError(f'--x, --series: expected different keys, got "{series}" for both')
    frame = labels.label_by(runs, pointer, series)
    return frame, measures.axis(runs, frame, pointer)


def left_out(runs, pointer, column):
    """Sentences about points that a figure over the pointer cannot show."""
    found = []
    for name, what in ((pointer, "value"), (column, "number")):
        count = sum(int(run.rows[name].isna().sum()) if name in run.rows else 0 if name == NODES else len(run.rows) for run in runs)
        if count:
            found.append(f"Left out: {counted(count, 'point')} without a {what} at {name}.")
    return found


def table(rows, names, more=()):
    """A figure's table as bytes: x in b/s, B or s where it has a unit, y and its 95% interval as in results.csv, then the columns `more`. Rows are
    in the order of the legend."""
    order = {name: number for number, name in enumerate(names)}
    panels = {name: number for number, name in enumerate(dict.fromkeys(rows["panel"]))}
    body = sorted(zip(*(rows[name] for name in ("along", *COLUMNS[1:], *more))),
                  key=lambda row: (panels[row[5]], order[row[1]], row[0] if isinstance(row[0], (int, float)) else 0))
    return written([[*COLUMNS, *more], *body])


def table_of_lanes(lanes):
    """That of the timeline: every slice."""
    rows = [[part.start, part.end, one.series, f"{track} {part.kind}", f"{one.panel}, {counted(one.nodes, 'node')}"]
            for one in lanes for track, parts in (("compute", one.compute), ("channel", one.channel)) for part in parts]
    return written([["start_s", "end_s", "series", "what", "panel"], *rows])


def written(rows):
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([cell(value) for value in row] for row in rows)
    return stream.getvalue().encode()


def cell(value):
    """As results.csv has it: the shortest text of a number, nothing where there is none, and no text that a spreadsheet runs."""
    if isinstance(value, str):
        return f"'{value}" if value[:1] in tuple("=+-@\t\r'") else value
    if isinstance(value, float):
        return "" if math.isnan(value) else str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)
