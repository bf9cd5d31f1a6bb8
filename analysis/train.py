#!/usr/bin/python3
"""Trains a small task as records of dataflow say."""
import sys

from syncopate.training.main import main

if __name__ == "__main__":
    sys.exit(main())
