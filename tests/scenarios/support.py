"""Running the binary on small scenarios."""
import contextlib
import csv
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMCTL = os.environ.get("SIMCTL", str(ROOT / "build" / "simctl"))
MISBEHAVING = os.environ.get("SIMCTL_MISBEHAVING", str(ROOT / "build" / "simctl_misbehaving"))


def parameters():
    """What schedules declare: a dictionary for each row of the table of parameters."""
    lines = subprocess.run([SIMCTL, "list", "schedules", "--markdown"], capture_output=True, text=True, check=True).stdout.split("\n\n")[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines)
    return [dict(zip(head, row)) for row in rows]


def schedules():
    """Their names, in order."""
    lines = subprocess.run([SIMCTL, "list", "schedules"], capture_output=True, text=True, check=True).stdout.split("\n\n")[0].splitlines()
    return [line.split()[0] for line in lines[1:] if not line.startswith("-")]


def trace(**changes):
    """A trace/1 of three layers; forward 3 ms, backward 6 ms."""
    content = {
        "format": "trace/1",
        "provenance": {"kind": "synthetic", "source": "made for a test"},
        "model": {"name": "three", "batch": 4, "dtype": "fp32"},
        "layers": [{"name": f"l{i}", "type": "unknown", "forward_s": 0.001, "backward_s": 0.002} for i in range(3)],
        "gradients": [{"name": f"l{i}.weight", "layer": f"l{i}", "bytes": 1000000 * (i + 1)} for i in reversed(range(3))],
    }
    content.update(changes)
    return content


def cluster(**changes):
    content = {"format": "cluster/1", "name": "small", "nodes": 4, "link": {"bandwidth": "10Gbps", "latency": "50us"}}
    content.update(changes)
    return content


def scenario(**changes):
    content = {
        "format": "scenario/1",
        "name": "test",
        "trace": "trace.json",
        "cluster": "cluster.json",
        "schedule": {"name": "wfbp"},
        "iterations": {"warmup": 1, "measured": 3},
    }
    content.update(changes)
    return content


def simulates(process):
    """Whether a child of a simctl that was started has computed for a while."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            _, parent, *fields = path.read_text().rpartition(")")[2].split()
            if int(parent) == process.pid and int(fields[9]) + int(fields[10]) > 3:  # hundredths of a second
                return True
    return False


def wait_until(is_time, seconds=60):
    deadline = time.monotonic() + seconds
    while not is_time() and time.monotonic() < deadline:
        time.sleep(0.005)


class Case(unittest.TestCase):
    """A temporary folder with trace.json, cluster.json and what a test writes."""

    maxDiff = None

    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.write("trace.json", trace())
        self.write("cluster.json", cluster())

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def simctl(self, *arguments, binary=SIMCTL, cwd=None, **options):
        return subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, cwd=cwd or self.folder, timeout=900, **options)

    def own_command(self):
        """By which a hint names simctl, that no PATH has, in this folder: the shorter way to it."""
        program = pathlib.Path(SIMCTL).resolve()
        return min(os.path.relpath(program, self.folder.resolve()), str(program), key=len)

    def run_scenario(self, content, *arguments, out="out", **options):
        """Runs a scenario into `out`, whatever is there; returns the finished process."""
        self.write("scenario.json", content)
        return self.simctl("run", "scenario.json", "-o", out, "--force", *arguments, **options)

    def results(self, content, *arguments, **options):
        """What a run of a scenario that succeeds would write into results.json. Without a folder it takes a sixth of the time."""
        self.write("scenario.json", content)
        done = self.simctl("run", "scenario.json", "--format", "json", "--quiet", *arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def points(self, content, *arguments, **options):
        return self.results(content, *arguments, **options)["points"]

    def point(self, content, *arguments, **options):
        point, = self.points(content, *arguments, **options)
        return point

    def rows(self, out="out"):
        with open(self.folder / out / "results.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
