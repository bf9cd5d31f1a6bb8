#!/usr/bin/python3
"""Simulates the scenarios of five papers and compares published numbers."""
import sys

from syncopate.papers.main import main

if __name__ == "__main__":
    sys.exit(main())
