"""make soak: goes on where it was cut short, and says which rounds failed."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOAK = pathlib.Path(__file__).resolve().parents[1] / "soak" / "soak.py"
BUILD = pathlib.Path(os.environ["SIMCTL"]).parent


class Soak(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.out = pathlib.Path(scratch.name) / "out"

    def soak(self, count, build=BUILD):
        command = [sys.executable, SOAK, build, "--scenarios", str(count), "--each", "1", "-o", self.out]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    def test_rounds_that_have_ended_stay(self):
        first = self.soak(1)
        self.assertEqual(first.returncode, 0, first.stderr)
        round_1 = (self.out / "round-1.txt").read_text()
        self.assertEqual(round_1.count("OK, passed 1 tests"), int(first.stdout.split()[0]))
        (self.out / "round-2.txt").write_text("broken\nOK, passed 5 tests")
        second = self.soak(int(first.stdout.split()[0]) + 5)
        self.assertEqual((self.out / "round-1.txt").read_text(), round_1)
        self.assertEqual((second.returncode, second.stderr), (1, f"{self.out}/round-2.txt says what failed, and how to see it again\n"))

    def test_programs_of_which_nothing_holds_end_it(self):
        build = self.out.parent / "build"
        build.mkdir()
        for name in ("schedule_tests", "path_tests"):
            (build / name).write_text("#!/bin/sh\necho Falsifiable after 1 test\nexit 1\n")
            (build / name).chmod(0o755)
        done = self.soak(1, build)
        self.assertEqual((done.returncode, done.stderr), (1, f"{self.out}/round-1.txt: not one scenario held; remove it to run its round again\n"))
        self.assertTrue((self.out / "round-1.txt").read_text().startswith("broken\n"))


if __name__ == "__main__":
    unittest.main()
