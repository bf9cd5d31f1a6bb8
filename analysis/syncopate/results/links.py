"""The busiest links that results.json lists of a point."""

from dataclasses import dataclass

from syncopate.results.folder import of_points
from syncopate.results.labels import records

SHOWN = ("run", "point", "setting", "choice", "nodes", "fidelity")     # of a row

SATURATED = 0.9     # a link that is used more than this while something crosses it has no room left then
EQUAL = 1e-6        # relative difference below which two links are equally busy


@dataclass(frozen=True)
class Link:
    """One direction of a link in the measured window."""

    name: str
    bandwidth_Bps: float
    bytes: float
    utilisation: float
    utilisation_in_use: float   # of the time in which something crosses it

    @property
    def saturated(self):
        return self.utilisation_in_use > SATURATED

    @property
    def saturated_share(self):
        """The share of the window in which something crosses a saturated link."""
        return min(1.0, self.utilisation / self.utilisation_in_use)


@dataclass(frozen=True)
class Busy:
    """A row of the results with its links, at least one, the busiest first."""

    row: dict
    links: tuple

    @property
    def busiest(self):
        return self.links[0]

    @property
    def tied(self):
        """Whether another link is as busy as the busiest."""
        return len(self.links) > 1 and self.links[1].utilisation >= self.busiest.utilisation * (1 - EQUAL)


def read_all(runs, frame):
    """The Busy of every row of `frame` whose point has links, in the order of the rows. Raises InputError."""
    found = of_points(runs, read)
    return [Busy(row, links) for row in records(frame, SHOWN) if (links := found.get((row["run"], row["point"])))]


def read(checker, where, item):
    links = []
    for place, link in checker.objects(item.get("links", []), f"{where}/links"):
        links.append(Link(checker.string(link.get("name"), f"{place}/name"), checker.positive(link.get("bandwidth_Bps"), f"{place}/bandwidth_Bps"),
                          *(checker.not_negative(link.get(key), f"{place}/{key}") for key in ("bytes", "utilisation", "utilisation_in_use"))))
    return tuple(sorted(links, key=lambda link: -link.utilisation))
