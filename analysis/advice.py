#!/usr/bin/python3
"""Turns a folder that `simctl advise` writes into a page."""
import sys

from syncopate.advice.main import main

if __name__ == "__main__":
    sys.exit(main())
