#!/usr/bin/python3
"""Turns result folders, which `simctl run` writes, into a report or into figures."""
import sys

from syncopate.report.main import main

if __name__ == "__main__":
    sys.exit(main())
