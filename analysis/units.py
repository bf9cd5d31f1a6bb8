"""Numbers as readers see them: significant digits, and the unit that reads best."""

import math


def significant(value, digits=3):
    """A number to some significant digits, never in exponent notation where it can be read without."""
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits - 1}e}"
    exponent = int(f"{abs(value):.{digits - 1}e}".split("e")[1])
    return f"{value:.{max(0, digits - 1 - exponent)}f}"


def rounded(value, digits):
    """A number in a sentence, as `significant` has it, but without zeros after its last decimal: 7 and 0.05."""
    text = significant(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def ratio(value):
    """1.274×; with two digits of the excess over 1 where these would read 1.000."""
    digits = 3 if value >= 1.0005 or value <= 1 else 1 - math.floor(math.log10(value - 1))
    return f"{value:.{digits}f}×"


def duration(seconds):
    """Seconds with the unit that reads best, to three digits: 213 ms, 1.20 s."""
    for limit, scale, unit in ((1e-3, 1e6, "µs"), (1, 1e3, "ms"), (float("inf"), 1, "s")):
        if seconds < limit and float(significant(seconds * scale)) < limit * scale:
            return f"{significant(seconds * scale)} {unit}"
    return f"{significant(seconds)} s"


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
