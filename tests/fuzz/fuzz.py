#!/usr/bin/python3
"""Fuzzes the readers of files, from the project's own files on: fuzz.py build/fuzz --seconds 60 -o results/fuzz
With --inputs N each reader gets the same N inputs every time, so that a change that broke nothing passes."""
import argparse
import concurrent.futures
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
SEEDS = {
    "scenario": ["scenarios/*.json", "scenarios/papers/*/*.json"],
    "cluster": ["scenarios/clusters/*.json"],
    "trace": ["traces/*.json"],
    "model": ["models/*.json"],
    "device": ["models/devices/*.json"],
    "profile": ["traces/profiles/*.json"],
    "sizes": ["models/alexnet*.json"],
    "benchmark": [],
    "topology": [],
    "advice": ["scenarios/advice/*.json"],
}
MOST_BYTES = 80_000


def seeds(reader):
    """(name, content) of the files that it starts from: of the project's, those that are small; and what there is for this alone."""
    for pattern in SEEDS[reader]:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and path.stat().st_size <= MOST_BYTES:
                yield path.name, path.read_bytes()
    if reader == "profile":
        yield "compressed", gzip.compress((ROOT / "traces/profiles/generated.pt.trace.json").read_bytes(), mtime=0)
    for path in sorted(CORPUS.glob(f"{reader}-*")):
        yield path.name, path.read_bytes()


def fuzz(binary, reader, limits, folder):
    """Whether it holds; what breaks it stays in `folder`. `limits`: libFuzzer's options for how long."""
    corpus, start = folder / reader, folder / "seeds" / reader
    for place in (corpus, start):
        place.mkdir(parents=True, exist_ok=True)
    for old in start.iterdir():
        old.unlink()
    for number, (name, content) in enumerate(seeds(reader)):
        (start / f"{number:03}-{name}").write_bytes(content)
    command = [binary, f"--reader={reader}", corpus, start, *limits, "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1",
               "-close_fd_mask=1", f"-max_len={MOST_BYTES}", f"-artifact_prefix={folder}/{reader}-"]
    began = time.monotonic()
    done = subprocess.run(command, cwd=ROOT / "scenarios", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    told = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        print(told[-6000:], f"\n{reader}: broken, exit code {done.returncode}; what it was reading is {folder}/{reader}-*, if it got that far", file=sys.stderr)
        return False
    runs = next((line.split()[-1] for line in told.splitlines() if "number_of_executed_units" in line), "?")
    print(f"{reader}: {runs} inputs in {time.monotonic() - began:.1f} s", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--reader", action="append", dest="readers", choices=list(SEEDS), help="this one, or several; default: all")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=int, default=60, help="for each reader, with other inputs every time")
    length.add_argument("--inputs", type=int, help="for each reader, the same every time")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="readers at a time")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="keeps what is found there, and goes on from it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.output or pathlib.Path(scratch)).resolve()
        limits = [f"-runs={options.inputs}", "-seed=1"] if options.inputs else [f"-max_total_time={options.seconds}"]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            holds = list(pool.map(lambda reader: fuzz(options.binary.resolve(), reader, limits, folder), options.readers or SEEDS))
        if all(holds):
            return 0
        if not options.output:
            for path in folder.glob("*-*"):
                if path.is_file():
                    kept = pathlib.Path(os.getcwd()) / f"fuzz-{path.name}"
                    kept.write_bytes(path.read_bytes())
                    print(f"kept as {kept}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
