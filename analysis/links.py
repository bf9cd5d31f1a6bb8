"""The busiest links that results.json lists of a point, read and checked."""

from dataclasses import dataclass

from results import by_point, is_number, listed

SATURATED = 0.9     # a link that is used more than this while something crosses it has no room left then
EQUAL = 1e-6        # relative difference below which two links are equally busy


@dataclass(frozen=True)
class Link:
    """What one direction of a link carried in the measured window, and which part of its bandwidth that took."""

    name: str
    bandwidth_Bps: float
    bytes: float
    utilisation: float
    utilisation_in_use: float   # of the time in which something crosses it

    @property
    def saturated(self):
        return self.utilisation_in_use > SATURATED


@dataclass(frozen=True)
class Busy:
    """A row of the results with its links, the busiest first; at least one."""

    row: dict
    links: tuple

    @property
    def busiest(self):
        return self.links[0]

    @property
    def tied(self):
        """Whether other links are as busy as the busiest."""
        return len(self.links) > 1 and self.links[1].utilisation >= self.busiest.utilisation * (1 - EQUAL)


def read_all(runs, frame):
    """The Busy of every row of `frame` whose point has links, in the order of the rows. Raises InputError."""
    found = by_point(runs, read)
    rows = [(row, found.get((row["run"], row["point"]))) for row in frame.to_dict("records")]
    return [Busy(row, links) for row, links in rows if links]


def read(folder, place, item):
    """The links of one point of results.json, the busiest first; none where it lists none."""
    items, need = listed(folder, place, item, "links")
    for number, link in enumerate(items):
        need(isinstance(link, dict), f"/{number}", "an object", link)
        need(isinstance(link.get("name"), str), f"/{number}/name", "a string", link.get("name"))
        need(is_number(link.get("bandwidth_Bps")) and link["bandwidth_Bps"] > 0, f"/{number}/bandwidth_Bps", "a number > 0",
             link.get("bandwidth_Bps"))
        for key in ("bytes", "utilisation", "utilisation_in_use"):
            need(is_number(link.get(key)) and link[key] >= 0, f"/{number}/{key}", "a number >= 0", link.get(key))
    links = [Link(*(link[key] for key in ("name", "bandwidth_Bps", "bytes", "utilisation", "utilisation_in_use"))) for link in items]
    return tuple(sorted(links, key=lambda link: -link.utilisation))
