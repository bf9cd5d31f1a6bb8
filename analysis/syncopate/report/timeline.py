"""The figure that compares one iteration of schedules on one time axis."""

import matplotlib
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from syncopate.common import style
from syncopate.common.sheet import WIDTH, Names, Sheet, legend_height
from syncopate.common.wording import counted, duration, time_axis
from syncopate.report.chart import name_rows
from syncopate.report.figures import SMALL, TITLE_LINE, Page, heading, notes_height
from syncopate.report.lanes import PHASES

CHANNEL = (style.MESSAGE, "#8E74AC")   # successive messages alternate
OTHER = "#E3DCE1"                     # a message of another iteration


def figure(lanes, styles, notes, page=Page()):
    """A panel per setting and size; in it, per schedule, a compute lane above a communication lane."""
    with page.look():
        full = page.width or WIDTH
        groups = grouped(lanes, styles)
        names = Names([one.series for one in lanes], 7, page.names(full))
        left = names.width + 0.38
        handles = legend_handles(lanes)
        lane = max(0.34, names.row)
        titles = {(panel, nodes): page.title_lines(f"{panel}, {counted(nodes, 'node')}{shown_worker(group)}", full - left - 0.1)
                  for (panel, nodes), group in groups.items()}
        pitches = [lane * len(group) + 0.08 + 0.66 for group in groups.values()]
        above = sum(TITLE_LINE * (len(title) - 1) for title in titles.values())
        size = matplotlib.rcParams["legend.fontsize"]
        below = 0.08 + sum(pitches) + above + legend_height(handles, full, size) + 0.1
        sheet = Sheet(full, below + notes_height(notes, full, page))
        top = 0.08
        for key, pitch in zip(groups, pitches):
            top += TITLE_LINE * (len(titles[key]) - 1)
            axes = sheet.axes(left, top + 0.22, full - left - 0.75, pitch - 0.66)
            draw(axes, groups[key], styles, names)
            axes.set_title("\n".join(titles[key]))
            top += pitch
        sheet.legend(handles, top, size)
        if page.notes:
            heading(sheet, notes, 0.1, below, SMALL)
        return sheet.figure


def end_label(one):
    """The iteration's length; and the mean where the one that is drawn is not like it, for not every step communicates."""
    unlike = one.mean and abs(one.length / one.mean - 1) > 0.05
    return duration(one.length) + (f"\nmean {duration(one.mean)}" if unlike else "")


def shown_worker(lanes):
    """Which worker a panel shows, as the end of its title; "" where one stands for all."""
    ranks = sorted({one.rank for one in lanes if not one.alone})
    return f", worker {' or '.join(map(str, ranks))}" if ranks else ""


def grouped(lanes, styles):
    """{(panel, nodes): lanes in the order of the legend}."""
    order = {name: place for place, name in enumerate(styles)}
    groups = {}
    for one in lanes:
        groups.setdefault((one.panel, one.nodes), []).append(one)
    return {key: sorted(group, key=lambda one: order[one.series]) for key, group in groups.items()}


def legend_handles(lanes):
    used = {part.kind for one in lanes for part in one.compute}
    handles = [Patch(facecolor=color, label=text) for kind, (text, color) in PHASES.items() if kind in used]
    if any(part.own for one in lanes for part in one.channel):
        handles.append(Patch(facecolor=CHANNEL[0], label="messages (lower lane)"))
    if any(not part.own for one in lanes for part in one.channel):
        handles.append(Patch(facecolor=OTHER, label="messages of another iteration"))
    return handles


def room_for(axes):
    """How many labels the time axis has room for."""
    return max(2, min(8, int(axes.get_position().width * axes.figure.get_figwidth() / 0.4)))


def draw(axes, lanes, styles, names, size=7):
    """Lanes from top to bottom on one time axis that starts with the iteration."""
    longest = max(one.length for one in lanes)
    factor, unit = time_axis(longest)
    for place, one in enumerate(lanes):
        spans = [(part.start * factor, (part.end - part.start) * factor) for part in one.compute]
        axes.broken_barh(spans, (place - 0.4, 0.46), facecolors=[PHASES[part.kind][1] for part in one.compute],
                         linewidth=0)
        spans = [(part.start * factor, (part.end - part.start) * factor) for part in one.channel]
        colors = [CHANNEL[index % 2] if part.own else OTHER for index, part in enumerate(one.channel)]
        axes.broken_barh(spans, (place + 0.1, 0.24), facecolors=colors, linewidth=0)
        axes.plot([one.length * factor] * 2, [place - 0.43, place + 0.38], color=style.INK, linewidth=0.9,
                  label="_end", solid_capstyle="butt", clip_on=False)
        axes.annotate(end_label(one), (one.length * factor, place - 0.03), (4, 0), fontsize=size,
                      textcoords="offset points", va="center", annotation_clip=False)
    axes.set_xlim(0, longest * factor)
    axes.set_ylim(len(lanes) - 0.5, -0.55)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(room_for(axes), steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel(f"time since the start of the iteration ({unit})")
    axes.grid(axis="x")
    name_rows(axes, [one.series for one in lanes], styles, names, size)
