"""Drawing one panel of a chart: lines over numbers with bands, or bars with whiskers, for rows with `along`, `series`, `y`, `low` and `high`."""

import math

from matplotlib import rcParams
from matplotlib.collections import LineCollection
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from syncopate.common import style
from syncopate.common.sheet import text_width
from syncopate.common.wording import plain, significant
from syncopate.report.measures import NODES

PLAIN = FuncFormatter(lambda value, _: f"{value:g}")
READABLE = FuncFormatter(lambda value, _: plain(value))
PAD = 2 ** 0.3              # beyond the first and the last point of a logarithmic axis
WIDE = 8                    # a horizontal axis is logarithmic from this ratio of its ends on
TALL = 20                   # so is a vertical one
MANY = 12                   # numbers along an axis that not all have labels
TIED = 1.2                  # points of a page: lines that are nearer lie upon each other
DASH = 4.0                  # points of a page: the longest dash of such lines
MARKED = 4.0                # points of a page: between two markers of a line, at least
SPREAD = 15.0               # points of a page: from the first to the last of tied markers
WHISKER = {"ecolor": style.INK, "elinewidth": 0.7, "capsize": 1.6, "capthick": 0.7, "fmt": "none", "zorder": 4}


def line_style(index, count, look_of, scale=1.0):
    """Earlier lines are wider and their markers larger, so that a line upon another leaves both in sight."""
    rest = 1 - index / max(1, count - 1) if count > 1 else 0.5
    return {"color": look_of.color, "linestyle": look_of.dash, "linewidth": scale * (1.2 + 1.0 * rest),
            "marker": look_of.marker, "markersize": scale * (4.3 + 2.0 * rest) * style.MARKER_SCALE.get(look_of.marker, 1),
            "markeredgecolor": "white", "markeredgewidth": 0.4,
            "zorder": 3 + index / max(1, count), "dash_capstyle": "butt"}


def curve_style(index, look_of, scale):
    """Of a line that told_apart() tells from lines under it."""
    return line_style(0, 1, look_of, scale) | {"zorder": 3 + 0.01 * index}


def ideal_of(frame, column, along=None):
    """Linear scaling by row; None where the column has none, and for speedup over another Axis than nodes."""
    if column == "efficiency":
        return frame["workers"] * 0 + 1.0
    return frame["workers"] if column == "speedup" and (along is None or along.pointer == NODES) else None


def finite(values):
    return [float(value) for value in values if math.isfinite(value)]


def range_of(frame, column, along):
    """(low, high, base) of the vertical axis that all panels share; base 0: linear."""
    values = finite([*frame["y"], *frame["low"], *frame["high"]])
    ideal = ideal_of(frame, column, along)
    values += finite(ideal) if ideal is not None else []
    above = [value for value in values if value > 0]
    low, high = min(values), max(values)
    if column == "speedup" and along.pointer == NODES and min(above) >= 0.25:
        return 2 ** (math.log2(min(above)) - 0.3), 2 ** (math.log2(high) + 0.3), 2
    if low > 0 and high / low > TALL and column != "efficiency":
        return low / 1.3, high * 1.3, 10
    return min(0.0, 1.05 * low), 1.05 * high if high > 0 else 1.0, 0


def lines(axes, rows, names, styles, column, along, width, limits, factor=1.0, scale=1.0):
    """A line with a band per series. `width`: of the panel in inches; `limits`: of range_of; `factor`: of what the vertical axis shows."""
    ideal = ideal_of(rows, column, along)
    places = sorted(rows["along"].unique())
    if ideal is not None:
        level = dict(zip(rows["along"], ideal))
        axes.plot(places, [level[place] for place in places], color=style.REFERENCE, linewidth=1, zorder=2, label="linear scaling")
    drawn = []
    for index, name in enumerate(names):
        series = rows[rows["series"] == name].sort_values("along")
        if len(series):
            look_of = curve_style(index, styles[name], scale)
            x, y = list(series["along"]), list(series["y"] * factor)
            drawn.append((axes.plot(x, y, label=name, **look_of)[0], x, y))
            band(axes, x, series["low"] * factor, series["high"] * factor, limits[1] * factor, look_of)
    horizontal(axes, places, along, width)
    vertical(axes, limits, factor)
    axes.set_xlabel(along.label)
    axes.grid()
    told_apart(axes, drawn)


def band(axes, x, low, high, most, look_of):
    """The 95% intervals as a band; as a whisker where neither neighbour has one. An end without bound reaches the edge of the panel."""
    low, high = list(low), [min(value, 10 * most) for value in high]
    known = [not math.isnan(value) for value in low]
    if not any(known):
        return
    axes.fill_between(x, low, high, where=known, color=look_of["color"], alpha=0.25, linewidth=0, zorder=2.5, label="_95%")
    alone = [place for place, here in enumerate(known) if here and not any(known[max(0, place - 1):place] + known[place + 1:place + 2])]
    axes.vlines([x[place] for place in alone], [low[place] for place in alone], [high[place] for place in alone],
                color=look_of["color"], linewidth=0.8, zorder=2.5)


def horizontal(axes, places, along, width):
    """Scale, limits and labels of the numbers along the axis."""
    wide = places[0] > 0 and (along.pointer == NODES or places[-1] / places[0] >= WIDE)
    if wide:
        powers = all(math.log2(place / places[0]).is_integer() for place in places)
        axes.set_xscale("log", base=2 if powers or along.pointer == NODES else 10)
        axes.set_xlim(places[0] / PAD, places[-1] * PAD)
    else:
        pad = 0.06 * (places[-1] - places[0]) or 0.5 * abs(places[0]) or 1.0
        axes.set_xlim(places[0] - pad, places[-1] + pad)
    ticks(axes.xaxis, places, width, along)


def ticks(axis, values, room, along):
    """Labels at `values`, as far as they do not touch in `room` inches; where there are many, at round numbers."""
    ends = axis.axes.get_xlim()
    if len(values) > MANY and axis.get_scale() == "log":
        values = [value for value in values if math.log2(value * along.factor).is_integer()] or values
    elif len(values) > MANY:
        values = [tick / along.factor for tick in MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(*(end * along.factor for end in ends))
                  if ends[0] <= tick / along.factor <= ends[1]]
    where = math.log if axis.get_scale() == "log" else float
    at = {value: room * (where(value) - where(ends[0])) / (where(ends[1]) - where(ends[0])) for value in values}
    half = {value: text_width(along.text(value), rcParams["xtick.labelsize"]) / 2 + 0.035 for value in values}
    for step in range(1, len(values) + 1):
        kept = values[::step]
        if all(at[one] + half[one] <= at[two] - half[two] for one, two in zip(kept, kept[1:])):
            break
    if len(kept) < 3 <= len(values):        # unevenly spread: whatever fits
        kept = []
        for value in values:
            if not kept or at[kept[-1]] + half[kept[-1]] <= at[value] - half[value]:
                kept.append(value)
    axis.set_major_locator(FixedLocator(kept))
    axis.set_major_formatter(FuncFormatter(lambda value, _: along.text(value)))
    axis.set_minor_locator(NullLocator())


def vertical(axes, limits, factor):
    if limits[2]:
        axes.set_yscale("log", base=limits[2])
    axes.yaxis.set_major_locator(FixedLocator(heights(limits, factor)))
    axes.yaxis.set_major_formatter(READABLE)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylim(limits[0] * factor, limits[1] * factor)


def heights(limits, factor):
    """Where the vertical axis has labels."""
    low, high, base = limits[0] * factor, limits[1] * factor, limits[2]
    if base:
        return powers_between(low, high, base)
    return [float(value) for value in MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high) if low <= value <= high]


def label_room(limits, factor):
    """Inches that the labels of the vertical axis take."""
    return max(text_width(plain(value), rcParams["ytick.labelsize"]) for value in heights(limits, factor))


def powers_between(low, high, base):
    """Ticks of a logarithmic axis: powers of 2, or 1, 2 and 5 times those of 10, at most a dozen."""
    ends = math.floor(math.log(low, base)), math.ceil(math.log(high, base))
    for parts in ([1, 2, 5], [1, 3], [1]) if base == 10 else ([1],):
        found = [part * float(base) ** power for power in range(ends[0], ends[1] + 1) for part in parts]
        found = [value for value in found if low <= value <= high]
        if len(found) <= 8:
            return found
    return found[::-(-len(found) // 12)] if len(found) > 12 else found


def told_apart(axes, drawn):
    """Where lines lie upon each other, their colours alternate along the line, and their markers stand side by side. Axes have their limits;
    `drawn` has (line, x, y) of each."""
    to_points = axes.transData + axes.figure.dpi_scale_trans.inverted()
    at = [dict(zip(x, (72 * to_points.transform(list(zip(x, y)))).tolist())) for _, x, y in drawn]
    across = sorted({place[0] for places in at for place in places.values()})
    room = min((two - one for one, two in zip(across, across[1:])), default=72)
    dense = room < MARKED          # then not every point has a marker, and none moves
    tied, spot = {}, {}            # {(x, which of the heights there): lines}; {(line, x): that key}
    for x in {x for places in at for x in places}:
        group, last = 0, None
        for height, number in sorted((places[x][1], number) for number, places in enumerate(at) if x in places):
            group += last is not None and height - last > TIED
            last = height
            tied.setdefault((x, group), []).append(number)
            spot[number, x] = x, group
    shared = {}                    # {(one end, the other): (line, place of the segment)}
    for number, (line, x, _) in enumerate(drawn):
        line.set_markevery(slice(number % len(drawn), None, math.ceil(MARKED / room)) if dense else
                           [place for place, one in enumerate(x) if len(tied[spot[number, one]]) == 1])
        for place, (one, two) in enumerate(zip(x, x[1:])):
            shared.setdefault((spot[number, one], spot[number, two]), []).append((number, place))
    alternate(axes, drawn, at, [sorted(members) for members in shared.values() if len(members) > 1])
    if not dense:
        side_by_side(axes, drawn, [(x, sorted(members)) for (x, _), members in tied.items() if len(members) > 1], room)


def alternate(axes, drawn, at, groups):
    """Dashes of all lines of each group of segments that coincide, one after the other."""
    found = {}
    for members in groups:
        for turn, (number, place) in enumerate(members):
            line, x, y = drawn[number]
            length = min(DASH, math.dist(at[number][x[place]], at[number][x[place + 1]]) / (2 * len(members))) / line.get_linewidth()
            found.setdefault(number, []).append((list(zip(x, y))[place:place + 2], (-turn % len(members) * length, (length, (len(members) - 1) * length))))
    for number, parts in sorted(found.items()):
        line = drawn[number][0]       # matplotlib counts dashes in widths
        axes.add_collection(LineCollection([segment for segment, _ in parts], colors=[line.get_color()], linewidths=[line.get_linewidth()],
                                           linestyles=[dash for _, dash in parts], capstyle="butt", zorder=5), autolim=False)


def side_by_side(axes, drawn, groups, room):
    """Markers of the lines of each (x, lines) next to each other. `room`: points of a page from one x to the next."""
    found = {}
    for x, members in groups:
        step = min(0.85 * max(drawn[number][0].get_markersize() for number in members), 0.7 * room / len(members), SPREAD / len(members))
        for turn, number in enumerate(members):
            found.setdefault((number, (turn - (len(members) - 1) / 2) * step), []).append(drawn[number][1].index(x))
    for (number, shift), places in sorted(found.items()):
        line, x, y = drawn[number]
        axes.scatter([x[place] for place in places], [y[place] for place in places], s=line.get_markersize() ** 2, marker=line.get_marker(),
                     color=line.get_color(), edgecolors="white", linewidths=0.4, zorder=6, clip_on=False, label="_tied",
                     transform=axes.transData + ScaledTranslation(shift / 72, 0, axes.figure.dpi_scale_trans))


def cells(rows, names, groups=None):
    """(height, thickness, series, its rows) of bars from top to bottom: a bar per series, or in each of `groups` ({text: along}) one per series."""
    if groups is None:
        return [(place, 0.68, name, rows[rows["series"] == name]) for place, name in enumerate(names)]
    thick = 0.8 / len(names)
    return [(group + (place - (len(names) - 1) / 2) * thick, 0.92 * thick, name, rows[(rows["series"] == name) & (rows["along"] == along)])
            for group, along in enumerate(groups.values()) for place, name in enumerate(names)]


def bars(axes, drawn, looks, frame, column, width, factor=1.0, size=6.5):
    """Bars of cells() with their values. `frame`: the rows of all panels, which share the axis; `width`: of the panel in inches."""
    ideal = ideal_of(frame, column)
    values = finite([*frame["y"], *frame["high"]]) + (finite(ideal) if ideal is not None else [])
    tail = max(text_width(significant(value * factor), size) for value in frame["y"]) + 0.1
    axes.set_xlim(min(0.0, 1.05 * min(values) * factor), (max(values) * factor or 1.0) * width / max(0.4 * width, width - tail))
    levels = set() if ideal is None else {ideal[place] * factor for _, _, _, here in drawn for place in here.index}
    if len(levels) == 1:
        axes.axvline(*levels, color=style.REFERENCE, linewidth=1, zorder=2, label="linear scaling")
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.6} if len(drawn) == len({name for _, _, name, _ in drawn}) else None
    for y, thick, name, here in drawn:
        for value, low, high in zip(here["y"] * factor, here["low"] * factor, here["high"] * factor):
            axes.barh([y], [value], height=thick, color=looks[name].color, label=name, linewidth=0, zorder=3)
            axes.text(max(whisker(axes, value, low, high, y), 0), y, significant(value), va="center_baseline", fontsize=size, zorder=4,
                      transform=axes.transData + ScaledTranslation(0.04, 0, axes.figure.dpi_scale_trans), bbox=behind)
        if len(levels) > 1 and len(here):
            axes.plot(2 * [ideal[here.index[0]] * factor], [y - 0.6 * thick, y + 0.6 * thick], color=style.REFERENCE, linewidth=1, label="linear scaling")
    axes.xaxis.set_major_locator(MaxNLocator(max(2, min(5, int(width / 0.4))), steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(READABLE)
    axes.set_yticks([])
    axes.grid(axis="x")


def whisker(axes, value, low, high, y):
    """The 95% interval at the end of a bar. Returns where bar and whisker end; an end without bound is at the edge of the panel."""
    if math.isnan(low):
        return value
    high = min(high, axes.get_xlim()[1])
    drawn = axes.errorbar([value], [y], xerr=[[max(0, value - low)], [max(0, high - value)]], **WHISKER)
    for part in (*drawn[1], *drawn[2]):
        part.set_path_effects([withStroke(linewidth=1.5, foreground="white")])      # to be seen on a black bar
    return max(value, high)


def name_rows(axes, names, styles, labels, size=7):
    """The series' names left of the axes, each with the colour and marker that it has in the line figures; without, where `styles` lacks it."""
    blend = blended_transform_factory(axes.transAxes, axes.transData)
    for y, name in enumerate(names):
        mark = ScaledTranslation(-0.1, 0, axes.figure.dpi_scale_trans)
        text = ScaledTranslation(-0.19 if name in styles else -0.06, 0, axes.figure.dpi_scale_trans)
        if name in styles:
            axes.plot([0], [y], marker=styles[name].marker, color=styles[name].color, linestyle="none",
                      markersize=4 * style.MARKER_SCALE.get(styles[name].marker, 1), clip_on=False,
                      transform=blend + mark, label="_mark")
        axes.text(0, y, labels.texts[name], ha="right", fontsize=size,
                  va="center" if "\n" in labels.texts[name] else "center_baseline", linespacing=1.1,
                  transform=blend + text)
