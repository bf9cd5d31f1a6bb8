"""Small charts with published points beside simulated lines or bars, as a function from panels to a Figure."""

from dataclasses import dataclass, field

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from syncopate.common import style
from syncopate.common.sheet import NARROW, WIDTH, Sheet, legend_height, look, wrap
from syncopate.common.wording import of_two, plain
from syncopate.report import figures
from syncopate.report.chart import PLAIN, line_style

HEIGHT = 2.1    # inches of a panel


@dataclass(frozen=True)
class Series:
    """A simulated line (or the bars of one colour); `published` are (x, y) of published points in the same look."""

    name: str
    look: style.Style
    x: list
    y: list
    published: list = field(default_factory=list)


@dataclass(frozen=True)
class Panel:
    """Lines over numbers, or with `bars` grouped bars over names."""

    title: str
    xlabel: str
    ylabel: str
    series: list
    log: str = ""           # which axes are logarithmic: "x", "y", "xy"
    bars: bool = False
    points: bool = False    # markers without lines
    ticks: list = field(default_factory=list)     # of x; default: matplotlib's


def chart(panels, notes):
    """Panels side by side below their warnings, one legend for all."""
    with look():
        full = NARROW if len(panels) == 1 else WIDTH
        left, gap = 0.6, 0.62
        width = (full - left - 0.15 - gap * (len(panels) - 1)) / len(panels)
        titles = [wrap(panel.title, 8.5, width, "bold") for panel in panels]
        above = figures.TITLE_LINE * (max(map(len, titles)) - 1)
        handles = list({handle.get_label(): handle for panel in panels for handle in legend(panel)}.values())
        top = figures.heading_height(notes, full) + 0.22 + above
        below = 0.5 if any(panel.xlabel for panel in panels) else 0.3
        sheet = Sheet(full, top + HEIGHT + below + legend_height(handles, full) + 0.15)
        figures.heading(sheet, notes)
        for place, (panel, title) in enumerate(zip(panels, titles)):
            axes = sheet.axes(left + place * (width + gap), top, width, HEIGHT)
            (bars if panel.bars else lines)(axes, panel)
            axes.set_title("\n".join(title))
            axes.set_xlabel(panel.xlabel)
            axes.set_ylabel(panel.ylabel)
        sheet.legend(handles, top + HEIGHT + below)
        return sheet.figure


def lines(axes, panel):
    count = len(panel.series)
    if "x" in panel.log:
        axes.set_xscale("log")
    for index, series in enumerate(panel.series):
        marks = line_style(index, count, series.look) | ({"linestyle": ""} if panel.points else {})
        axes.plot(series.x, series.y, label=series.name, **marks)
        if series.published:
            axes.plot(*zip(*series.published), **published_style(series.look))
    if panel.ticks:
        axes.xaxis.set_major_locator(FixedLocator(panel.ticks))
        axes.xaxis.set_major_formatter(FixedFormatter([of_two(tick) if panel.xlabel == "bytes" else plain(tick) for tick in panel.ticks]))
        axes.xaxis.set_minor_locator(NullLocator())
    vertical(axes, panel)
    axes.grid()


def vertical(axes, panel):
    if "y" in panel.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(PLAIN)
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(0, 1.06 * max(value for series in panel.series for value in series.y + [y for _, y in series.published]))


def bars(axes, panel):
    """Bars side by side over each name; a published value is a diamond on its bar."""
    names = list(dict.fromkeys(name for series in panel.series for name in series.x))
    width = 0.8 / len(panel.series)
    for index, series in enumerate(panel.series):
        shift = (index - (len(panel.series) - 1) / 2) * width
        place = {name: names.index(name) + shift for name in names}
        axes.bar([place[name] for name in series.x], series.y, width * 0.94, color=series.look.color, label=series.name, linewidth=0)
        for name, value in series.published:
            axes.plot([place[name]], [value], **published_style(series.look, bars=True))
    vertical(axes, panel)
    axes.set_xticks(range(len(names)), names)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y")


def published_style(look_of, bars=False):
    return {"linestyle": "none", "marker": "D" if bars else look_of.marker, "markersize": 5.2 if bars else 7.5, "zorder": 9,
            "markerfacecolor": "white" if bars else "none", "markeredgewidth": 1.3,
            "markeredgecolor": style.INK if bars else look_of.color, "clip_on": False, "label": "_published"}


def legend(panel):
    for index, series in enumerate(panel.series):
        if panel.bars:
            yield Patch(facecolor=series.look.color, label=series.name)
        else:
            yield Line2D([], [], label=series.name, **line_style(index, len(panel.series), series.look))
    if any(series.published for series in panel.series):
        shown = style.Style(style.INK, "D" if panel.bars else "o", style.SOLID)
        yield Line2D([], [], **{**published_style(shown, panel.bars), "label": "published"})
