#!/usr/bin/python3
"""Judges what five papers claim of accuracy on a small task."""
import sys

from syncopate.claims.main import main

if __name__ == "__main__":
    sys.exit(main())
