#!/usr/bin/python3
"""Random scenarios of every schedule in every fidelity, as many as wanted: soak.py build --scenarios 100000 -o results/soak

Goes on where it was cut short: every round that these programs have ended has a file there, which says what it found."""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys

PROGRAMS = ("schedule_tests",)
CASES = "*random scenarios*"


def digest_of(build):
    """Of the programs: what others have found says nothing of these."""
    digest = hashlib.sha256()
    for program in PROGRAMS:
        digest.update((build / program).read_bytes())
    return digest.hexdigest()[:8]


def run(build, number, each):
    """What the programs say of a round, and whether all its scenarios hold. Rounds differ by what rapidcheck draws."""
    environment = {**os.environ, "RC_PARAMS": f"seed={number} max_success={each}"}

    def run_one(program):
        command = [build / program, f"-tc={CASES}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
        return f"RC_PARAMS='{environment['RC_PARAMS']}' {build / program} -tc='{CASES}'\n{done.stdout}{done.stderr}", done.returncode == 0

    with concurrent.futures.ThreadPoolExecutor() as pool:
        told, holds = zip(*pool.map(run_one, PROGRAMS))
    return "".join(told), all(holds)


def scenarios_of(told):
    return sum(int(count) for count in re.findall(r"OK, passed (\d+) tests", told))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--scenarios", type=int, default=100_000)
    parser.add_argument("--each", type=int, default=50, help="of every schedule for each property, in a round")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    build = options.build.resolve()
    digest = digest_of(build)
    simulated, number, broken = 0, 0, []
    while simulated < options.scenarios:
        number += 1
        file = options.output / f"{digest}-{number}.txt"
        if not file.exists():
            told, holds = run(build, number, options.each)
            half = file.with_suffix(".tmp")
            half.write_text(("holds\n" if holds else "broken\n") + told)
            half.rename(file)
        text = file.read_text()
        count = scenarios_of(text)
        if text.startswith("broken"):
            broken.append(str(file))
        if count == 0:
            sys.exit(f"{file}: not one scenario held; remove it to run its round again")
        simulated += count
        print(f"{simulated} scenarios, {len(broken)} rounds with a failure", flush=True)
    for file in broken:
        print(f"{file} says what failed, and how to see it again", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
