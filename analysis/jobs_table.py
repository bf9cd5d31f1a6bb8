"""The page's section about jobs that share a network: each job of each point, together and alone."""

from dataclasses import dataclass

from results import by_point, is_number, listed

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
    jobs = by_point(runs, read)
    rows = [(row, job) for row in frame.to_dict("records") for job in jobs.get((row["run"], row["point"]), ())]
    if not rows:
        return None
    left_out = f" The first {MOST} of {len(rows)} rows." if len(rows) > MOST else ""
    return {"told": MEANING + left_out, "rows": rows[:MOST], "several_settings": frame["setting"].nunique() > 1}


def read(folder, place, item):
    """The jobs of one point of results.json; none where it lists none."""
    jobs, need = listed(folder, place, item, "jobs")
    for number, job in enumerate(jobs):
        need(isinstance(job, dict), f"/{number}", "an object", job)
        for key in ("name", "schedule", "nodes"):
            need(isinstance(job.get(key), str), f"/{number}/{key}", "a string", job.get(key))
        for key in ("iteration_s", "iteration_alone_s", "slowdown"):
            need(is_number(job.get(key)) and job[key] > 0, f"/{number}/{key}", "a number > 0", job.get(key))
    return [Job(*(job[key] for key in Job.__dataclass_fields__)) for job in jobs]
