#!/usr/bin/python3
"""Plants the faults of faults.json in the sources, one at a time, and says which tests notice each. usage: plant.py BUILD_FOLDER [NAME...]

The suites must pass without a fault first. A fault that does not compile is an error of the table. Every file is restored.
"""
import json
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAILED = r"^\s+\d+ - (\S+) \((.+)\)"  # CTest's list of suites: name, why
CASES = r"^\s*(?:(?:FAIL|ERROR): (?:test_)?(\w+) \(|TEST CASE:  (.+)$)"  # unittest's and doctest's names of tests


def text_of(fault):
    """The file that the fault is planted in. Exits if what the fault replaces is not there once."""
    path = ROOT / fault["file"]
    count = path.read_text().count(fault["old"]) if path.exists() else 0
    if count != 1:
        sys.exit(f"plant: {fault['name']}: {fault['file']} has \"old\" {count} times, not once: the table must follow the code")
    return path.read_text()


def refuse_changed(faults):
    """Exits if a file has changes that are not committed: a fault that stays would not be seen among them."""
    files = sorted({fault["file"] for fault in faults})
    changed = subprocess.run(["git", "status", "--porcelain", "--", *files], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    if changed:
        sys.exit(f"plant: commit or undo these changes first:\n{changed}")


def build(folder, targets):
    """Returns the compiler's output if it fails, else nothing."""
    if not targets:
        return ""
    done = subprocess.run(["ninja", "-j1", "-C", folder, *targets], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def failed_in(folder, suites):
    """The suites that fail, each with the names of its tests that do, and CTest's output."""
    command = ["ctest", "--test-dir", folder, "-R", suites, "--timeout", "400", "--output-on-failure", "--no-tests=error"]
    output = subprocess.run(command, capture_output=True, text=True).stdout
    _, _, listed = output.partition("The following tests FAILED:")
    failed = [name if why == "Failed" else f"{name} ({why})" for name, why in re.findall(FAILED, listed, re.M)]
    if not failed and "100% tests passed" not in output:
        sys.exit(f"plant: ctest -R '{suites}' has not run:\n{output}")
    cases = list(dict.fromkeys(unittest.replace("_", " ") or doctest.strip() for unittest, doctest in re.findall(CASES, output, re.M)))
    more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
    return ", ".join(failed) + (f": {cases[0]}{more}" if failed and cases else ""), output


def try_out(fault, folder):
    """Plants a fault, builds, runs its suites, restores the file. Returns what has noticed it, and whether that is good."""
    path, text = ROOT / fault["file"], text_of(fault)
    try:
        path.write_text(text.replace(fault["old"], fault["new"]))
        if errors := build(folder, fault["targets"]):
            print(errors)
            return "ERROR: does not compile", False
        noticed, _ = failed_in(folder, fault["suite"])
    finally:
        path.write_text(text)
    return noticed or "NOT NOTICED", bool(noticed)


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # restores the file, as Ctrl-C does
    faults = json.loads(pathlib.Path(__file__).with_name("faults.json").read_text())
    if unknown := set(names) - {fault["name"] for fault in faults}:
        sys.exit(f"plant: not in faults.json: {', '.join(sorted(unknown))}")
    faults = [fault for fault in faults if not names or fault["name"] in names]
    refuse_changed(faults)
    for fault in faults:
        text_of(fault)
    targets = sorted({target for fault in faults for target in fault["targets"]})
    suites = "|".join(sorted({fault["suite"] for fault in faults}))
    if errors := build(folder, targets):
        sys.exit(f"plant: the build fails without a fault:\n{errors}")
    failed, output = failed_in(folder, suites)
    if failed:
        sys.exit(f"plant: these fail without a fault: {failed}\n{output}")
    print(f"no fault: ctest -R '{suites}' passes", flush=True)
    rows = []
    try:
        for fault in faults:
            start = time.perf_counter()
            noticed, is_good = try_out(fault, folder)
            rows.append((fault["name"], noticed, time.perf_counter() - start, is_good))
            print(f"{fault['name']}: {noticed if not is_good else 'noticed by: ' + noticed} ({rows[-1][2]:.0f} s)", flush=True)
    finally:
        build(folder, targets)  # of the restored files
    print("\n| fault | noticed by | s |\n|---|---|---|")
    for name, noticed, seconds, _ in rows:
        print(f"| {name} | {noticed} | {seconds:.0f} |")
    sys.exit(0 if all(is_good for *_, is_good in rows) else 1)


if __name__ == "__main__":
    main()
