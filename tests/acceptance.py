#!/usr/bin/python3
"""Runs the acceptance cases beside the project, where they exist. usage: acceptance.py PATH/TO/simctl"""
import pathlib
import subprocess
import sys

SKIPPED = 77

check = pathlib.Path(__file__).resolve().parents[2] / "shared" / "acceptance" / "check.py"
if not check.exists():
    print("SKIPPED: there are no acceptance cases beside the project")
    sys.exit(SKIPPED)
sys.exit(subprocess.run([sys.executable, check, sys.argv[1]], check=False).returncode)
