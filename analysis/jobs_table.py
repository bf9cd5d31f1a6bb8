"""The page's section about jobs that share a network: each job of each point, together and alone."""

from dataclasses import dataclass

from errors import InputError
from results import is_number, shown

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
    jobs = {(number, item["point"]): read(run.folder, place, item)
            for number, run in enumerate(runs) for place, item in enumerate(run.about["points"])}
    rows = [(row, job) for row in frame.to_dict("records") for job in jobs.get((row["run"], row["point"]), ())]
    if not rows:
        return None
    left_out = f" The first {MOST} of {len(rows)} rows." if len(rows) > MOST else ""
    return {"told": MEANING + left_out, "rows": rows[:MOST], "several_settings": frame["setting"].nunique() > 1}


def read(folder, place, item):
    """The jobs of one point of results.json; none where it lists none."""
    path, again = folder / "results.json", f"run the scenario again: simctl run SCENARIO -o {folder}"

    def need(holds, where, rule, value):
        if not holds:
            raise InputError(f"{path}: /points/{place}/jobs{where}: expected {rule}, got {shown(value)}; {again}")

    listed = item.get("jobs", [])
    need(isinstance(listed, list), "", "a list", listed)
    for number, job in enumerate(listed):
        need(isinstance(job, dict), f"/{number}", "an object", job)
        for key in ("name", "schedule", "nodes"):
            need(isinstance(job.get(key), str), f"/{number}/{key}", "a string", job.get(key))
        for key in ("iteration_s", "iteration_alone_s", "slowdown"):
            need(is_number(job.get(key)) and job[key] > 0, f"/{number}/{key}", "a number > 0", job.get(key))
    return [Job(*(job[key] for key in Job.__dataclass_fields__)) for job in listed]
