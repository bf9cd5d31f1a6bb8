"""Runs the unittests of a folder whose files match a pattern, for CTest: 77, which is SKIPPED, where every one of them was skipped. Prints which took
longest, and the processor time of all.

    run_suite.py tests/scenarios 'test_explain.py'                          all of them
    run_suite.py tests/scenarios 'test_explain.py' --only ClosedForm        those whose names contain a word
    run_suite.py tests/scenarios 'test_explain.py' --except ClosedForm      the others"""
import argparse
import os
import sys
import time
import unittest

SKIPPED = 77
SHOWN = int(os.environ.get("SHOWN", "5"))


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


def tests_in(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_in(test)
        else:
            yield test


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("pattern", help="of the files' names")
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="tests with one of these words in file.Class.test")
    parser.add_argument("--except", nargs="+", default=[], metavar="WORD", dest="left_out", help="tests with none of these")
    options = parser.parse_args()
    begun = used(), time.monotonic()
    found = tests_in(unittest.defaultTestLoader.discover(options.folder, options.pattern))
    chosen = [test for test in found if type(test).__name__ == "_FailedTest" or  # of a file that cannot be loaded
              any(word in test.id() for word in options.only) and not any(word in test.id() for word in options.left_out)]
    result = unittest.TextTestRunner(resultclass=Timed).run(unittest.TestSuite(chosen))
    for busy, passed, name in sorted(result.times, reverse=True)[:SHOWN]:
        print(f"{busy:6.1f} s of processor in {passed:6.1f} s: {name}")
    print(f"{used() - begun[0]:6.1f} s of processor in {time.monotonic() - begun[1]:6.1f} s: all {result.testsRun} tests")
    if not result.testsRun or not result.wasSuccessful():
        return 1
    return SKIPPED if len(result.skipped) == result.testsRun else 0


sys.exit(main())
