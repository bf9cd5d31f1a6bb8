"""Each published number, computed from the results of the papers' scenarios, and why it differs where it does.

A paper's module has these tables by the ids of scenarios/papers/published.csv:
QUANTITIES: a formula over Results, or None where the simulator cannot give the number; it yields a number or a list.
CHOSEN: {id: an input that the paper does not give, chosen so that this number comes out as published, or as near as one of a few choices brings it}.
CALIBRATED: ids that are computed again from scenarios with the chosen inputs.
VARIANTS: (what else is different in words, {id: formula}), of numbers computed again from documented inputs; they are shown and not counted.
REMARKS: why ours differs by more than 10 %, or cannot be compared: a sentence or two.
UNEXPLAINED: ids of those whose remark cannot say why, or only a part of it.
"""

import math
from dataclasses import dataclass
from typing import Optional

from syncopate.common.errors import InputError
from syncopate.papers import dts, lasgd, mg_wfbp, sasgd, ssd_sgd
from syncopate.papers.published import CLOSE, Published, difference

MODULES = {"MG-WFBP": mg_wfbp, "SSD-SGD": ssd_sgd, "DTS": dts, "LASGD": lasgd,
           "SASGD": sasgd}


def merged(table):
    return {key: value for module in MODULES.values() for key, value in getattr(module, table).items()}


QUANTITIES, REMARKS = merged("QUANTITIES"), merged("REMARKS")
CALIBRATED, UNEXPLAINED = (set().union(*(getattr(module, name) for module in MODULES.values())) for name in ("CALIBRATED", "UNEXPLAINED"))
CHOSEN = merged("CHOSEN")      # id: which input has been chosen on it
HOW = {"mg-sim-crossing": "within", "lasgd-histogram": "shares", "lasgd-unfinished": "shares", "ssd-push-share": "shares"}
EVEN = 0.005    # a gain below this is none


@dataclass(frozen=True)
class Comparison:
    """A published number beside ours; `ours` is a list, and like `difference` None where nothing can be compared."""

    published: Published
    ours: Optional[list]
    difference: Optional[float]
    how: str
    remark: str
    calibrated: Optional["Comparison"] = None
    chosen: str = ""        # of a calibrated one: what has been chosen on this very number

    @property
    def close(self):
        """A number within 10 % and with the right sign; a bound that holds."""
        return self.difference is not None and abs(self.difference) <= (EVEN if self.bound else CLOSE) and not self.wrong_sign

    @property
    def bound(self):
        return self.published.kind == "bound"

    @property
    def predicted(self):
        """A bound is not: ours may be anywhere beyond it."""
        return self.ours is not None and self.published.kind in ("value", "gain") and not self.chosen

    @property
    def reversed(self):
        """Who is said to be at least as fast is slower in ours."""
        return self.how == "at least" and self.published.values == (1.0,) and self.ours is not None and bool(min(self.ours) < 1 - EVEN)

    @property
    def gains(self):
        """Pairs (published, ours) of gains, ratio - 1; none where the number is no gain."""
        if self.ours is None or self.published.kind != "gain":
            return []
        there = self.published.values * len(self.ours) if len(self.published.values) == 1 else self.published.values
        return [(one - 1, float(other) - 1) for one, other in zip(there, self.ours)]

    @property
    def wrong_sign(self):
        """A gain that is none or a loss in ours, or the other way round; or an order that is reversed."""
        return self.reversed or any(sign(there) != sign(here) for there, here in self.gains)


def sign(gain):
    return 0 if abs(gain) <= EVEN else math.copysign(1, gain)


def compare(results, published):
    """A Comparison for every published number, in their order. Raises InputError."""
    for ids, known, where in ((published, QUANTITIES, "QUANTITIES in analysis/syncopate/papers/"), (QUANTITIES, published, "published.csv")):
        unknown = [row for row in ids if row not in known]
        if unknown:
            raise InputError(f"{where}: no row for {', '.join(unknown)}; add it")
    return [compare_one(results, row) for row in published.values()]


def compare_one(results, row):
    calibrated = computed(results.calibrated(), row, chosen=CHOSEN.get(row.id, "")) if row.id in CALIBRATED else None
    return computed(results, row, calibrated=calibrated)


def variants(results, published):
    """{paper: [(words, Comparisons)]}."""
    return {paper: [(words, [computed(results, published[row], formula) for row, formula in formulas.items()]) for words, formulas in module.VARIANTS]
            for paper, module in MODULES.items()}


def computed(results, row, formula=None, **more):
    formula, how, remark = formula or QUANTITIES[row.id], how_to_compare(row), REMARKS.get(row.id, "")
    if formula is None:
        return Comparison(row, None, None, how, remark, **more)
    ours = formula(results)
    ours = list(ours) if isinstance(ours, (list, tuple)) else [ours]
    return Comparison(row, ours, difference(row.values, ours, how), how, remark, **more)


def how_to_compare(row):
    for bound in ("at least", "at most"):
        if row.kind != "gain" and row.note.startswith(bound):
            return bound
    return HOW.get(row.id, "each")
