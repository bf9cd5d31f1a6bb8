"""Runs simctl, and says how much is drawn at random: some, all with SYNCOPATE_SLOW=1, little with SYNCOPATE_QUICK=1."""

import json
import math
import os
import random

from support import Case

SLOW, QUICK = (bool(os.environ.get(f"SYNCOPATE_{name}")) for name in ("SLOW", "QUICK"))
MOST_DRAWS = math.inf if SLOW else 1 if QUICK else 2  # of those that a test lists
MOST_POINTS = math.inf if SLOW else 3 if QUICK else 8  # of a scenario drawn at random


def draws(listed, kind=None):
    """Some of what a test lists, (seed, value) or seeds: one of each stretch of the list, always the same. `kind`: one of several kinds
    that are drawn from the same list, each of which gets one."""
    listed = list(listed)
    count = min(len(listed), MOST_DRAWS if SLOW or not kind else 1)
    first = listed[0][0] if isinstance(listed[0], tuple) else listed[0]
    rng = random.Random(f"{first} {kind}")
    return [rng.choice(listed[len(listed) * index // count:len(listed) * (index + 1) // count]) for index in range(count)]


def thinned(content, *kept):
    """The scenario without some values of its sweep, always the same ones. `kept`: pointers that keep all values."""
    sweep = {key: list(values) for key, values in content["sweep"].items()}
    rng = random.Random(json.dumps(sweep))
    while math.prod(map(len, sweep.values())) > MOST_POINTS:
        several = [values for key, values in sweep.items() if len(values) > 1 and key not in kept]
        if not several:
            break
        values = rng.choice(several)
        del values[rng.randrange(len(values))]
    return {**content, "sweep": sweep}


class Running(Case):
    """Takes results from stdout: a folder of results costs a process 50 ms more."""

    def run_scenario(self, content, *arguments, **options):
        """Returns the finished process. `points` is what results.json says of each point."""
        self.write("scenario.json", content)
        done = self.simctl("run", "scenario.json", "-o", "-", "--format", "json", "--quiet", *arguments, **options)
        self.points = json.loads(done.stdout)["points"] if done.returncode == 0 else []
        return done

    def run_well(self, content, *arguments):
        done = self.run_scenario(content, *arguments)
        self.assertEqual(done.returncode, 0, f"... {done.stderr[-1000:]}")

    def rows(self):
        """The columns of each point, and what the sweep made of it, by pointer."""
        return [{**{key: value for key, value in point.items() if not isinstance(value, (dict, list))}, **point["sweep"]} for point in self.points]


def swept(row):
    """For a message."""
    return {key: str(value)[:200] for key, value in row.items() if key.startswith("/")}
