"""The page's section about jobs that share a network: each job of each point, together and alone."""

from dataclasses import dataclass

from syncopate.results.folder import of_points
from syncopate.results.labels import records

MOST = 60       # rows
MEANING = ("Slowdown = an iteration beside the other jobs / one alone on the same nodes. Figures elsewhere on this page are those of "
           "each point's first job.")


@dataclass(frozen=True)
class Job:
    name: str
    schedule: str
    nodes: str
    iteration_s: float
    iteration_alone_s: float
    slowdown: float


def section(runs, frame):
    """What the section tells, and rows of (row of `frame`, job). None where no point has several jobs. Raises InputError."""
    jobs = of_points(runs, read)
    rows = [(row, job) for row in records(frame, ["run", "point", "setting"]) for job in jobs.get((row["run"], row["point"]), ())]
    if not rows:
        return None
    left_out = f" The first {MOST} of {len(rows)} rows." if len(rows) > MOST else ""
    return {"told": MEANING + left_out, "rows": rows[:MOST], "several_settings": frame["setting"].nunique() > 1}


def read(checker, where, item):
    return [Job(*(checker.string(job.get(key), f"{place}/{key}") for key in ("name", "schedule", "nodes")),
                *(checker.positive(job.get(key), f"{place}/{key}") for key in ("iteration_s", "iteration_alone_s", "slowdown")))
            for place, job in checker.objects(item.get("jobs", []), f"{where}/jobs")]
