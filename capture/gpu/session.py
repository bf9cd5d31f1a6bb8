"""Learns what a simulation wants to know of the GPU at hand, in minutes, into one folder that can be carried away.

Builds capture, proves it on the GPU, captures the papers' networks and others, profiles them with PyTorch and compares, measures the node
and fits a device profile: the most valuable first, each whether or not others fail. capture/gpu/README.md has it step by step."""

import argparse
import collections
import fnmatch
import re
import sys
import tarfile
import time
from pathlib import Path

import machine
import results
import steps
from running import CLOSING_S, Interrupted, Session

USAGE, BAD_INPUT, CANNOT, INTERRUPTED = 2, 3, 5, 130
ARCHIVED = ["traces", "imported", "devices"]


def fail(code, message):
    print(f"on_gpu: {message}", file=sys.stderr)
    sys.exit(code)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        fail(USAGE, f"{message}; \"capture/on_gpu.sh --help\" has an example")


def parse(words):
    parser = Parser(prog="on_gpu.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
                    epilog="exit codes: 0 done as far as it can be here, 1 a step failed, 2 usage, 3 bad input, 5 cannot write, 130 interrupted\n"
                           "example: capture/on_gpu.sh results/gpu --only 'capture:resnet50*' --only fit:fp32")
    parser.add_argument("out", metavar="FOLDER", help="for the results; at most 8 files below 16 MiB")
    parser.add_argument("--minutes", type=float, default=9, help="that all of it may take [9]")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N, or cpu to rehearse with two small networks [cuda]")
    parser.add_argument("--only", metavar="PATTERN", action="append", help="steps to do besides machine and build, such as 'capture:*-bf16'")
    parser.add_argument("--after", metavar="REPORT", help="report.json of an earlier session, whose done steps are not done again")
    parser.add_argument("--programs", metavar="FOLDER", help="of programs that are built already")
    parser.add_argument("--list", action="store_true", help="print the names of the steps in their order, and stop")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    options = parser.parse_args(words)
    if not re.fullmatch(r"cpu|cuda(:\d+)?", options.device):
        parser.error(f"--device {options.device}: expected cuda, cuda:N or cpu")
    if not 0 < options.minutes <= 1440:
        parser.error(f"--minutes {options.minutes:g}: expected more than 0 and at most 1440")
    return options


def go_on(session, path):
    """Takes over the results of an earlier session. Returns the names of its done steps."""
    if path is None:
        return set()
    try:
        report = results.load(path)
        if report["format"] != "gpu-report/1":
            raise ValueError("no gpu-report/1")
        done = {step["name"] for step in report["steps"] if step["state"] == "done"} | set(report.get("done_before", []))
        for key in ("captures", "profiles", "comparisons", "node", "devices"):
            session.report[key] = dict(report[key])
        session.report["done_before"] = sorted(done)
        for folder in ARCHIVED:
            results.unpack(Path(path).with_name(f"{folder}.tar.gz"), session.folder(folder))
        return done
    except (OSError, tarfile.TarError) as error:
        if isinstance(error, tarfile.TarError):
            fail(BAD_INPUT, f"--after {path}: an archive beside it cannot be read: {error}")
        fail(BAD_INPUT, f"--after {path}: {error.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fail(BAD_INPUT, f"--after {path}: not the report.json of a session ({error})")


def chosen(planned, options, before):
    """The planned steps that the options select. The first two always run. Closing steps run again even if done before."""
    def wanted(name, again=False):
        return (again or name not in before) and (not options.only or any(fnmatch.fnmatch(name, pattern) for pattern in options.only))

    main, closing = planned
    for pattern in options.only or []:
        if not fnmatch.filter([name for name, _ in main + closing], pattern):
            fail(USAGE, f"--only {pattern}: no step is called so; --list has their names")
    return main[:2] + [step for step in main[2:] if wanted(step[0])], [step for step in closing if wanted(step[0], again=True)]


def open_folder(session):
    try:
        session.out.mkdir(parents=True, exist_ok=True)
        results.tidy(session.out)
        if not session.options.after:
            return results.write(session.out / "log.txt", b"")
        node = Path(session.options.after).with_name("node.json")
        if node.exists():
            results.write(session.out / node.name, node.read_bytes())
        for folder in ARCHIVED:
            if any(session.folder(folder).iterdir()):
                session.pack(folder)
    except OSError as error:
        fail(CANNOT, f"{session.out}: {error.strerror}; name a folder that can be written")


def run(session, main, closing):
    for name, function in main:
        session.do(name, function)
    session.end = max(session.end, time.monotonic()) + CLOSING_S
    for name, function in closing:
        session.do(name, function)


def print_result(session):
    states = collections.Counter(step["state"] for step in session.report["steps"])
    session.say(", ".join(f"{count} {state}" for state, count in states.items()) + f"; the report is in {session.out / 'report.txt'}")
    if states["no time"]:
        session.say(f"for the rest: capture/on_gpu.sh ANOTHER_FOLDER --after {session.out / 'report.json'}")
    return 1 if states["failed"] else 0


def main(words):
    options = parse(words)
    machine.put_cuda_in_path()
    session = Session(options, steps.ROOT)
    try:
        before = go_on(session, options.after)
        planned = steps.plan(session)
        if options.list:
            print("\n".join(name for name, _ in planned[0] + planned[1]))
            return 0
        chosen_steps = chosen(planned, options, before)
        open_folder(session)
        session.signals.listen()
        run(session, *chosen_steps)
        return print_result(session)
    except Interrupted:
        session.say(f"interrupted; what was done is in {session.out}")
        return INTERRUPTED
    except OSError as error:
        fail(CANNOT, f"{session.out}: {error.strerror}")
    finally:
        session.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
