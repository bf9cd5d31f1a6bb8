"""Runs the unittests of a folder whose files match a pattern, for CTest: 77, which is SKIPPED, where every one of them was skipped. Says which took
longest."""
import os
import sys
import time
import unittest

SKIPPED = 77
SHOWN = 5


class Timed(unittest.TextTestResult):
    """By test, seconds of the processor, with those of programs that it ran, and of the clock."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.times = []

    def startTest(self, test):
        super().startTest(test)
        self.begun = used(), time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self.times.append((used() - self.begun[0], time.monotonic() - self.begun[1], test.id()))


def used():
    return sum(os.times()[:4])


def main(folder, pattern):
    suite = unittest.defaultTestLoader.discover(folder, pattern)
    result = unittest.TextTestRunner(resultclass=Timed).run(suite)
    for busy, passed, name in sorted(result.times, reverse=True)[:SHOWN]:
        print(f"{busy:6.1f} s of processor in {passed:6.1f} s: {name}")
    if not result.testsRun or not result.wasSuccessful():
        return 1
    return SKIPPED if len(result.skipped) == result.testsRun else 0


sys.exit(main(*sys.argv[1:]))
