"""All claims in one figure: by how much the left point is above or below the right one, and what the paper expects."""

import math

from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from syncopate.claims.verdicts import AGREES, DENIES, QUANTITIES, UNCLEAR
from syncopate.common import style
from syncopate.common.sheet import WIDTH, Sheet, look, text_width

ROW, NAMES, SIZE = 0.185, 3.5, 7.0
LEAST, MOST = 0.25, 4.0     # quotients beyond these are drawn there, as arrows
LOOKS = {AGREES: (style.GREEN, "o"), DENIES: (style.VERMILLION, "X"), UNCLEAR: (style.GREY, "s")}


def figure(judged):
    with look():
        sheet = Sheet(WIDTH, ROW * len(judged) + 0.75)
        axes = sheet.axes(NAMES + 0.1, 0.1, WIDTH - NAMES - 0.25, ROW * len(judged))
        for row, one in enumerate(judged):
            color, marker = LOOKS[one.comparison.verdict]
            margin = QUANTITIES[one.claim.quantity]
            axes.fill_betweenx([row - 0.42, row + 0.42], 1 / (1 + margin), 1 + margin, color=style.REFERENCE, alpha=0.2, linewidth=0)
            text = f"{row + 1}  {one.claim.says}"
            sheet.text(NAMES - min(NAMES - 0.1, text_width(text, SIZE)), 0.1 + ROW * (row + 0.5), text, fontsize=SIZE, va="center", color=style.INK)
            if not math.isnan(one.comparison.mean):
                draw(axes, row, one.comparison, color, marker)
        axes.set_xscale("log")
        axes.set_xlim(LEAST / 1.1, MOST * 1.1)
        axes.set_ylim(len(judged) - 0.5, -0.5)
        axes.axvline(1, color=style.INK, linewidth=0.8, zorder=0)
        axes.xaxis.set_major_locator(FixedLocator([LEAST, 0.5, 1, 2, MOST]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_yticks([])
        axes.set_xlabel("first by second point: mean and band of the seeds")
        sheet.legend([Line2D([], [], color=color, marker=marker, linestyle="", label=verdict) for verdict, (color, marker) in LOOKS.items()],
                     0.1 + ROW * len(judged) + 0.45)
        return sheet.figure


def draw(axes, row, comparison, color, marker):
    low, mean, high = (min(max(value, LEAST), MOST) for value in (comparison.low, comparison.mean, comparison.high))
    axes.plot([low, high], [row, row], color=color, linewidth=2.2, solid_capstyle="butt")
    beyond = "<" if comparison.mean < LEAST else ">" if comparison.mean > MOST else marker
    axes.plot([mean], [row], color=color, marker=beyond, markersize=4.5, linestyle="")
