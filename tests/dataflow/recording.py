"""Running simctl with --dataflow, and a record beside a definition."""

import collections
import json
import os

import numpy as np

import definitions
import toy
from replayer import Record, Replay
from support import Case

SLOW, QUICK = (bool(os.environ.get(f"SYNCOPATE_{name}")) for name in ("SLOW", "QUICK"))
AS_SIGN = {"terngrad": lambda a, line, problem: definitions.signs(a, None, 0, 0, problem), "qsgd": lambda a, line, problem: definitions.signs(a, None, 0, 0, problem)}


def trace(count=4, **changes):
    """Layers of a gradient each, of sizes of which every one has its share of a toy's elements."""
    sizes = [700_000, 1_300_000, 900_000, 2_100_000, 1_000_000, 600_000][:count]
    content = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "made for a test"},
               "model": {"name": "toy", "batch": 4, "dtype": "fp32"}, "update_s": 0.0005,
               "layers": [{"name": f"l{i}", "type": "unknown", "forward_s": 0.001 + 0.0002 * i, "backward_s": 0.002 + 0.0001 * i} for i in range(count)],
               "gradients": [{"name": f"l{i}.weight", "layer": f"l{i}", "bytes": sizes[i]} for i in reversed(range(count))]}
    return content | changes


def relative_error(found, right):
    return float(np.max(np.abs(found - right)) / np.max(np.abs(right)))


class Recorded(Case):
    problem = toy.Toy()

    def run_recorded(self, content, *arguments, out="out"):
        done = self.run_scenario(content, "--quiet", "-j", "1", "--dataflow", *arguments, out=out)
        self.assertEqual((done.returncode, done.stderr), (0, ""), json.dumps(content))
        return self.records(out)

    def records(self, out="out"):
        """By point."""
        paths = {int(path.name.split("-")[1].split(".")[0]): path for path in (self.folder / out).glob("dataflow-*.jsonl.gz")}
        return {point: Record(path) for point, path in sorted(paths.items())}

    def replay(self, record, functions=None, problem=None, **told):
        return Replay(record, problem or self.problem, functions, **(toy.HYPER | told))

    def define(self, record, schedule, problem=None, cluster=None, **told):
        """The schedule's own arithmetic, for as many steps as any worker of the record makes."""
        problem = problem or self.problem
        steps = 1 + max(line["k"] for line in record.lines if line["o"] == "G")
        return definitions.define(problem, schedule, record.header["workers"], steps, record.header["optimizer"], toy.HYPER | told,
                                  toy.cuts(record.header["parts"], problem.size), cluster)

    def assert_agrees(self, record, training, tolerance=1e-12, replay=None, what=""):
        """Every model at which a gradient is taken, and every one that is evaluated."""
        replay = replay or self.replay(record, AS_SIGN)
        self.assertGreater(len(replay.taken), 0, what)
        self.assertGreater(len(replay.evaluated), 0, what)
        for (worker, number), model in replay.taken.items():
            self.assert_same(model, training.taken[worker, number], tolerance, f"{what} the model of worker {worker}'s gradient {number}")
        done, evaluations = collections.Counter(), iter(replay.evaluated)
        for line in record.lines:
            if line["o"] == "G":
                done[line["w"]] += 1
            if line["o"] == "E":
                worker = line["w"]
                right = training.after[worker, done[worker]] if done[worker] else self.problem.initial
                self.assert_same(next(evaluations)[1], right, tolerance, f"{what} worker {worker}'s model after {done[worker]} steps")

    def assert_same(self, found, right, tolerance, what):
        error = relative_error(found, right)
        if not error <= tolerance:
            self.fail(f"{what} is {error:.3g} off")
