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
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)

    def round(self, number):
        (file,) = self.out.glob(f"*-{number}.txt")
        return file

    def test_rounds_that_have_ended_stay(self):
        first = self.soak(1)
        self.assertEqual(first.returncode, 0, first.stderr)
        told = self.round(1).read_text()
        self.assertEqual(told.count("OK, passed 1 tests"), int(first.stdout.split()[0]))
        second = self.round(1).with_name(self.round(1).name.replace("-1.", "-2."))
        second.write_text("broken\nOK, passed 5 tests")
        done = self.soak(int(first.stdout.split()[0]) + 5)
        self.assertEqual(self.round(1).read_text(), told)
        self.assertEqual((done.returncode, done.stderr), (1, f"{second} says what failed, and how to see it again\n"))

    def fake(self, text):
        build = self.out.parent / "build"
        build.mkdir(exist_ok=True)
        for name in ("schedule_tests",):
            (build / name).write_text(f"#!/bin/sh\n{text}\n")
            (build / name).chmod(0o755)
        return build

    def test_what_other_programs_have_found_counts_for_nothing(self):
        self.assertEqual(self.soak(10, self.fake("echo OK, passed 5 tests")).returncode, 0)
        self.assertEqual(self.soak(10, self.fake("echo OK, passed 5 tests; exit 1")).returncode, 1)
        self.assertEqual(self.soak(10, self.fake("echo OK, passed 5 tests")).returncode, 0)

    def test_programs_of_which_nothing_holds_end_it(self):
        done = self.soak(1, self.fake("echo Falsifiable after 1 test; exit 1"))
        self.assertEqual((done.returncode, done.stderr), (1, f"{self.round(1)}: not one scenario held; remove it to run its round again\n"))
        self.assertTrue(self.round(1).read_text().startswith("broken\n"))


if __name__ == "__main__":
    unittest.main()
