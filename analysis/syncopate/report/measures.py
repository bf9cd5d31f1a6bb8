"""What a figure has along its axes: a swept key, and a column of the results with its unit and 95% intervals."""

import difflib
import math
from dataclasses import dataclass

from syncopate.common.errors import InputError
from syncopate.common.wording import plain, scaled
from syncopate.results import labels
from syncopate.results.columns import COLUMNS
from syncopate.results.labels import NODES

ENDINGS = {"s": "_s", "h": "_h", "bytes": "_bytes", "bytes/s": "_Bps", "samples/s": "_samples_per_s"}
WORDS = {"iteration_s": "iteration time", "speedup": "speedup over one worker", "efficiency": "efficiency (speedup / workers)",
         "total_h": "total time", "epoch_s": "time of an epoch"}
BOUNDS = {"iteration_s": ("iteration_low_s", "iteration_high_s"), "total_h": ("total_low_h", "total_high_h"),
          "effective_time_ratio": ("effective_time_ratio_low", "effective_time_ratio_high")}
INVERSE = {"throughput_samples_per_s", "speedup", "efficiency"}      # a constant / iteration_s
LINEAR = {"epoch_s"}                                                 # a constant x iteration_s
INTERVALS = "Bands and whiskers are 95% intervals of the mean."
USUAL = "Bands and whiskers reach from the faster to the slower quartile of usual networks"
SEED = "/seed"
LONG = 4        # digits from which on numbers with units are not given in a common one


@dataclass(frozen=True)
class Axis:
    """The horizontal axis: a swept pointer. A number along it times `factor` is in `unit`, which `label` names; where `mixed`, each number
    has the prefix that suits it."""

    pointer: str
    label: str
    factor: float
    unit: str
    numeric: bool
    mixed: bool = False

    def text(self, value):
        if not self.numeric:
            return str(value)
        factor, unit = scaled([value], self.unit) if self.mixed else (self.factor, "")
        return f"{plain(value * factor)} {unit}".strip()


def axis(runs, frame, pointer):
    """The Axis of a pointer, for a frame of labels.label_by."""
    if pointer == NODES:
        each = set(frame["workers"] / frame["nodes"])
        return Axis(pointer, "nodes" if each == {1} or len(each) > 1 else f"nodes ({next(iter(each)):g} workers each)", 1.0, "", True)
    cells = [cell for run in runs if pointer in run.rows for cell in run.rows[pointer]]
    name = labels.last_word(pointer).replace("_", " ")
    if not labels.is_numeric(cells):
        return Axis(pointer, name, 1.0, "", False)
    unit = next(found[1] for cell in cells if (found := labels.swept_quantity(cell)))
    along = sorted(set(frame["along"]))
    factor, shown = scaled(along, unit)
    if unit and any(len(plain(value * factor)) > LONG for value in along):
        return Axis(pointer, name, 1.0, unit, True, True)
    return Axis(pointer, f"{name} ({shown})" if shown else name, factor, shown, True)


def default_axis(runs, frame, series=None):
    """The nodes where their number varies, else the first swept number that does; not what makes the series."""
    if frame["nodes"].nunique() > 1 and series != NODES:
        return NODES
    return next((name for name in pointers(runs) if name not in (NODES, SEED, series) and name in frame and frame[name].nunique() > 1
                 and labels.is_numeric(frame[name])), NODES)


def pointers(runs):
    return list(dict.fromkeys(name for run in runs for name in run.swept))


def known_pointer(runs, option, pointer):
    """The pointer. Raises InputError where nothing swept it."""
    swept = pointers(runs)
    if pointer not in swept and pointer != NODES:
        raise InputError(f'{option}: expected a swept key, got "{pointer}"; {nearest(pointer, swept + [NODES] * (NODES not in swept))}')
    return pointer


def known_column(runs, column):
    """The column. Raises InputError where results.csv has none of that name, or no number in it."""
    numbers = [name for name, what in COLUMNS.items() if what.kind not in ("text", "index")]
    if column not in numbers:
        raise InputError(f'--y: expected a column of results.csv with numbers, got "{column}"; {nearest(column, numbers)}')
    if all(run.rows[column].isna().all() for run in runs):
        raise InputError(f'{runs[0].folder / "results.csv"}: column "{column}": empty at every point; it is: {COLUMNS[column].meaning}')
    return column


def nearest(word, known):
    """The known names that look most like a word, as advice."""
    inside = [name for name in known if word.strip("/") and word.strip("/") in name]
    found = (inside or difflib.get_close_matches(word, known, 3, 0.5))[:3] or known[:8]
    return f"the nearest: {', '.join(found)}"


def with_values(frame, column):
    """The rows that have a number in `column`, with the columns `y`, `low` and `high`: the number and its range over usual networks, or else
    its 95% interval, NaN where there is none. `usual`: whether it is that range."""
    frame = frame[frame[column].notna()]
    usual = frame["iteration_fast_s"].notna() & (column == "iteration_s" or column in INVERSE | LINEAR)
    ends = [frame[name].where(usual, frame[other]) for name, other in zip(("iteration_fast_s", "iteration_slow_s"), BOUNDS["iteration_s"])]
    if column == "iteration_s":
        low, high = ends
    elif column in BOUNDS:
        low, high = (frame[name] for name in BOUNDS[column])
    elif column in INVERSE:
        low, high = (frame[column] * (frame["iteration_s"] / end) for end in reversed(ends))
    elif column in LINEAR:
        low, high = (frame[column] / (frame["iteration_s"] / end) for end in ends)
    else:
        low = high = math.nan
    return frame.assign(y=frame[column], low=low, high=high, usual=usual)


def band_remarks(rows):
    """What the bands and whiskers of these rows are, of with_values(); a list of a sentence, or empty where there are none."""
    known = rows["low"].notna()
    if (rows["usual"] & known).any():
        return [USUAL + ("; where these are not known, they are 95% intervals of the mean." if (known & ~rows["usual"]).any() else ".")]
    return [INTERVALS] * bool(known.any())


def measure(column, values):
    """(label, factor) of the vertical axis, for numbers of that column."""
    unit, most = COLUMNS[column].unit, max(map(abs, values))
    name = WORDS.get(column) or column.removesuffix(ENDINGS.get(unit, "_" + unit)).replace("_", " ")
    if unit == "s":
        factor, shown = (1e6, "µs") if most < 2e-3 else (1e3, "ms") if most < 2 else (1.0, "s")
    elif unit in ("bytes", "bytes/s"):
        power = min(4, max(0, int(math.log10(most) / 3))) if most else 0
        factor, shown = 1000.0 ** -power, ("", "k", "M", "G", "T")[power] + unit.replace("bytes", "B")
    else:
        factor, shown = (1e-3, f"thousand {unit}") if unit == "samples/s" and most >= 2e4 else (1.0, unit)
    return (f"{name} ({shown})" if shown else name), factor
