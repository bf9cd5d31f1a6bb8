"""For tests of runs whose points last."""
import hashlib
import json
import subprocess

from support import SIMCTL, Case, cluster, scenario, wait_until

JITTER = {"jitter": {"distribution": "lognormal", "cv": 0.2}}
FILES = ("results.csv", "results.json")


def seeds(count, **changes):
    return scenario(cluster=cluster(nodes=4), schedule={"name": "wfbp"}, workers=JITTER, sweep={"/seed": list(range(count))}, **changes)


def sealed(key, content):
    """The text of a point's file, as simctl would write it."""
    text = json.dumps(content, separators=(",", ":"))
    return f'{text[:-1]},"sha256":"{hashlib.sha256((key + text).encode()).hexdigest()}"}}\n'


def change_point(path, change):
    """Changes a point's file so that it looks like one that simctl has written."""
    content = json.loads(path.read_text())
    del content["sha256"]
    change(content)
    path.write_text(sealed(path.stem, content))


class LastingCase(Case):
    """Runs scenario.json into folders."""

    def run_into(self, out, *words, **options):
        return self.simctl("run", "scenario.json", "-o", out, "--quiet", *words, **options)

    def start(self, out, *words):
        return subprocess.Popen([SIMCTL, "run", "scenario.json", "-o", out, "--quiet", *words], cwd=self.folder, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def wait_for_points(self, out, count):
        wait_until(lambda: self.points(out) >= count)

    def assert_shared_by(self, points, *command):
        """That a command of other programs does as a single run does."""
        self.write("scenario.json", seeds(points))
        self.run_into("single")
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same("out")

    def points(self, out):
        folder = self.folder / out / "points"
        return sum(path.suffix == ".json" and not path.name.startswith(".") for path in folder.iterdir()) if folder.exists() else 0

    def assert_same(self, out, single="single"):
        for name in FILES:
            self.assertEqual((self.folder / out / name).read_bytes(), (self.folder / single / name).read_bytes(), name)
        self.assertEqual([path.name for path in (self.folder / out / "points").iterdir() if path.suffix != ".json"], [], "halves of files")
