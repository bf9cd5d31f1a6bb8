"""Does the example of a new schedule in sim/schedule/ADDING.md build and simulate, as it is written there?"""
import csv
import gzip
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SIMCTL", ROOT / "build/simctl")).resolve().parent


def blocks():
    """The file, then the two lines of the table, as somebody would copy them."""
    found = re.findall(r"^ *```cpp\n(.*?)^ *```$", (ROOT / "sim/schedule/ADDING.md").read_text(), re.M | re.S)
    return [text for text in found if "post_local_sgd" in text]


def compile_command():
    """How the build compiles a schedule, up to the file."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        if entry["file"].endswith("/schedule/schedules.cpp"):
            return re.sub(r" -o \S+ -c \S+$", "", entry["command"]).replace("-O3", "-O0").split()
    raise AssertionError("the build knows no sim/schedule/schedules.cpp")


def link_command():
    commands = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "simctl"], capture_output=True, text=True, check=True).stdout
    link = next(line for line in commands.splitlines() if re.search(r" -o simctl ", line))
    return link.removeprefix(": && ").partition(" && ")[0].split()


class HowTo(unittest.TestCase):
    def test_the_example_is_built_and_simulated(self):
        example, rows = blocks()
        declaration, row = (line.strip() for line in rows.strip().splitlines())
        with tempfile.TemporaryDirectory() as folder:
            scratch = pathlib.Path(folder)
            (scratch / "post_local_sgd.cpp").write_text(example)
            table = (ROOT / "sim/schedule/schedules.cpp").read_text()
            for neighbour, line in (("ScheduleRow sgp();", declaration), ("sgp(),", row)):
                self.assertEqual(table.count(neighbour), 1)
                table = table.replace(neighbour, f"{neighbour}\n{line}")
            (scratch / "schedules.cpp").write_text(table)
            objects = []
            for name in ("post_local_sgd", "schedules"):
                objects.append(scratch / f"{name}.o")
                subprocess.run([*compile_command(), "-o", objects[-1], "-c", scratch / f"{name}.cpp"], cwd=BUILD, check=True)
            link = link_command()
            output = link.index("-o")
            program = scratch / "simctl"
            (scratch / "libsyncopate-actors.so").symlink_to(BUILD / "libsyncopate-actors.so")
            subprocess.run([*link[:output], *objects, "-o", program, *link[output + 2:]], cwd=BUILD, check=True)
            listed = subprocess.run([program, "list", "schedules", "post-local-sgd"], capture_output=True, text=True, check=True).stdout
            self.assertRegex(listed, r"^schedule post-local-sgd: all-reduces in every step, later in every few\n")
            self.assertRegex(listed, r"\ninterval +.* none; paper: 8 +local steps between all-reduces\nsynchronous_steps +.* 0 ")
            self.check_times(program, scratch)

    def check_times(self, program, scratch):
        """Equal workers: an iteration is the compute and an interval's share of an all-reduce."""
        trace = {"format": "trace/1", "provenance": {"kind": "synthetic"}, "model": {"name": "one", "batch": 1}, "update_s": 0.5,
                 "layers": [{"name": "a", "forward_s": 1, "backward_s": 2}], "gradients": [{"name": "a", "layer": "a", "bytes": 8000}]}
        scenario = {"format": "scenario/1", "name": "how to", "trace": trace, "fidelity": "alpha-beta",
                    "cluster": {"format": "cluster/1", "nodes": 4, "link": {"bandwidth": 1000, "latency": 0.25}},
                    "schedule": {"name": "post-local-sgd", "interval": 4, "synchronous_steps": 2}}
        (scratch / "scenario.json").write_text(json.dumps(scenario))
        subprocess.run([program, "run", scratch / "scenario.json", "-o", scratch / "out", "--quiet", "--dataflow"], check=True)
        with open(scratch / "out/results.csv", newline="") as file:
            (result,) = csv.DictReader(file)
        all_reduce = 6 * 0.25 + 2 * 3 / 4 * 8
        self.assertAlmostEqual(float(result["iteration_s"]), 3.5 + all_reduce / 4, places=12)
        self.assertAlmostEqual(float(result["communications_per_iteration"]), 0.25, places=12)
        self.check_models(scratch / "out/dataflow-0.jsonl.gz")

    def check_models(self, path):
        """All models are one when a step begins that an all-reduce has ended before: steps 0, 1, 2 and every fourth one from there on."""
        with gzip.open(path, "rt") as file:
            lines = [json.loads(line) for line in file][1:]
        models = {}
        for line in lines:
            if line["o"] == "G":
                models.setdefault(line["k"], set()).add(line["x"])
        whole = {k: its for k, its in models.items() if sum(line["o"] == "G" and line["k"] == k for line in lines) == 4}
        self.assertGreater(len(whole), 6)
        for k, its in whole.items():
            self.assertEqual(len(its), 1 if k <= 2 or k % 4 == 2 else 4, k)


if __name__ == "__main__":
    unittest.main()
