"""Numbers and lists as readers see them, and numbers with units as scenarios write them."""

import functools
import json
import re

PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2.0 ** 10, "Mi": 2.0 ** 20, "Gi": 2.0 ** 30, "Ti": 2.0 ** 40}
TIMES = {"s": 1, "ms": 1000, "us": 1000_000, "ns": 1000_000_000}      # parts of a second


def significant(value, digits=3):
    """A number to some significant digits, never in exponent notation where it can be read without."""
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits - 1}e}"
    exponent = int(f"{abs(value):.{digits - 1}e}".split("e")[1])
    return f"{value:.{max(0, digits - 1 - exponent)}f}"


def plain(value, digits=6):
    """A number to at most so many significant digits, without zeros that say nothing, and without exponent where it can be read."""
    text = significant(value, digits)
    if "e" in text:
        return f"{value:.{digits}g}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def distinct(values):
    return list(dict.fromkeys(values))


def listed(names):
    """a, b and c."""
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + [names[-1]])


def counted(count, noun):
    """1 node, 64 nodes."""
    return f"{count} {noun}{'s' if count != 1 else ''}"


def ratio(value):
    """1.27×, 34.2×."""
    return f"{significant(value)}×"


def duration(seconds):
    """Seconds with the unit that reads best, to three digits: 213 ms, 1.20 s."""
    for limit, scale, unit in ((1e-3, 1e6, "µs"), (1, 1e3, "ms"), (float("inf"), 1, "s")):
        if seconds < limit and float(significant(seconds * scale)) < limit * scale:
            return f"{significant(seconds * scale)} {unit}"
    return f"{significant(seconds)} s"


def lasting(seconds):
    """Seconds that may be many: 3.2 h, 12 min, 1.20 s."""
    for least, length, unit in ((7200, 3600, "h"), (120, 60, "min")):
        if seconds >= least:
            return f"{plain(seconds / length, 3)} {unit}"
    return duration(seconds) if seconds else "0 s"


def time_axis(seconds):
    """(factor, unit) for an axis that reaches so many seconds."""
    return (1e3, "ms") if seconds < 2 else (1.0, "s")


def prefixed(value, unit):
    """A number with the decimal prefix that reads best, to three digits: 1.20 GB, 100 Gb/s."""
    for power, prefix in enumerate(("", "k", "M", "G", "T")):
        text = significant(value / 1000 ** power)
        if float(text) < 1000:
            return f"{text} {prefix}{unit}"
    return f"{significant(value / 1e15)} P{unit}"


SCALES = {"b/s": [(10.0 ** -power, f"{prefix}b/s") for power, prefix in ((0, ""), (3, "k"), (6, "M"), (9, "G"), (12, "T"))],
          "B": [(1 / factor, f"{prefix}B") for prefix, factor in PREFIXES.items()],
          "s": [(1e9, "ns"), (1e6, "µs"), (1e3, "ms"), (1.0, "s")]}


def scaled(values, unit):
    """(factor, unit) with which numbers in b/s, B or s are the shortest to read: (1e-9, "Gb/s") for 1e10, 2.5e10 and 1e11."""
    return min(SCALES.get(unit, [(1.0, unit)]), key=lambda scale: sum(len(plain(value * scale[0])) for value in values))


def quantity(value):
    """(number, unit) of what a scenario gives: 5 or "1Gbps" or "50us", in b/s, B or s; None where it is no number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value), ""
    found = re.fullmatch(r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) ?([A-Za-z/]+)", value) if isinstance(value, str) else None
    if not found:
        return None
    number, unit = float(found[1]), found[2]
    if unit in TIMES:
        return number / TIMES[unit], "s"
    for ending, name, factor in (("bps", "b/s", 1), ("Bps", "b/s", 8), ("b/s", "b/s", 1), ("B/s", "b/s", 8), ("B", "B", 1)):
        if unit.endswith(ending) and unit.removesuffix(ending) in PREFIXES:
            return number * PREFIXES[unit.removesuffix(ending)] * factor, name
    return None


def of_two(value):
    """A power of two from 1024 on with its prefix, such as 4 Mi; any other number as it is."""
    power = int(value).bit_length() - 1
    if power < 10 or value != 1 << power:
        return plain(value)
    prefix = min(power // 10, 4)
    return f"{1 << power - 10 * prefix} {' KMGT'[prefix]}i"


@functools.cache
def parse(cell):
    """A swept cell of results.csv: JSON where it is JSON, else the text itself."""
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


@functools.cache
def swept_quantity(cell):
    """The quantity() of a swept cell of results.csv; None where the row has none, or it is no number."""
    return quantity(parse(cell)) if isinstance(cell, str) else None
