"""How the series of style.py look on the page: in a light and a dark theme, with markers as paths of a box from -1 to 1."""

from functools import lru_cache

from syncopate.common import style

PATHS = {
    "o": "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1 -1 0Z",
    "s": "M-.85 -.85H.85V.85H-.85Z",
    "D": "M0 -1.1L1.1 0L0 1.1L-1.1 0Z",
    "^": "M0 -1L1 .9H-1Z",
    "v": "M0 1L1 -.9H-1Z",
    "<": "M-1 0L.9 -1V1Z",
    ">": "M1 0L-.9 -1V1Z",
    "P": "M-.36 -1H.36V-.36H1V.36H.36V1H-.36V.36H-1V-.36H-.36Z",
    "X": "M-.5 -1L0 -.5L.5 -1L1 -.5L.5 0L1 .5L.5 1L0 .5L-.5 1L-1 .5L-.5 0L-1 -.5Z",
    "*": "M0 -1.15L.29 -.38L1.1 -.35L.46 .15L.68 .93L0 .48L-.68 .93L-.46 .15L-1.1 -.35L-.29 -.38Z",
    "p": "M0 -1L.95 -.31L.59 .81H-.59L-.95 -.31Z",
    "h": "M0 -1L.87 -.5V.5L0 1L-.87 .5V-.5Z",
}
HEAT = "#A0D0B8", "#E8D070", "#B84028"      # of what is not used, used to half, used fully
READABLE = 0.17     # luminance: about 4 to 1 on the dark page


def look(one):
    """A style.Style as the page's scripts take it; dashes in widths of the line, none where it is solid."""
    return {**colors(one.color), "path": PATHS[one.marker], "dash": [] if one.dash == style.SOLID else list(one.dash[1])}


def colors(color):
    """The colour on white and on black."""
    return {"color": color.lower(), "dark": on_dark(color)}


@lru_cache(maxsize=None)
def on_dark(color):
    """The colour, as much lighter as it must be to stand out on a dark page; black is white there."""
    if color == style.BLACK:
        return "#ffffff"
    part = next(step for step in range(101) if luminance(style.lighter(color, step / 100)) >= READABLE)
    return style.lighter(color, part / 100)


def luminance(color):
    """From 0 to 1, as WCAG defines it."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in style.rgb(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def heat(part):
    """The colour of what is used to that part: from green over yellow, at half, to red."""
    low, high, along = (*HEAT[:2], 2 * part) if part < 0.5 else (*HEAT[1:], min(1.0, 2 * part - 1))
    return style.mixed(low, high, along)
