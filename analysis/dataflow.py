#!/usr/bin/python3
"""Checks a record of dataflow and says what is in it."""
import sys

from syncopate.dataflow.main import main

if __name__ == "__main__":
    sys.exit(main())
