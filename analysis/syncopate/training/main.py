"""The command line of train.py: trains a small task as records of dataflow say, and writes loss and accuracy against simulated time.

A record is what `simctl run SCENARIO -o DIR --dataflow` writes: dataflow-<point>.jsonl.gz.
"""

import argparse
import math
import os
import re
from pathlib import Path

from syncopate.common.errors import InputError, OutputError
from syncopate.common.program import Parser, Progress, command_of, exit_code, say, warn
from syncopate.common.schedules import GROUPED
from syncopate.common.sheet import to_bytes
from syncopate.common.writing import write
from syncopate.dataflow.hyper import Hyper, known
from syncopate.dataflow.lines import Evaluation, Gradient
from syncopate.dataflow.record import read_record
from syncopate.results.folder import point_of
from syncopate.training import tasks
from syncopate.training.figures import figures
from syncopate.training.files import as_csv, as_json, factors_as_json
from syncopate.training.page import page
from syncopate.training.study import make_study
from syncopate.training.summary import Target
from syncopate.training.trainer import Trainer

COMMAND = command_of("train")
MANY = 200_000      # operations of a record, which it takes hundreds of megabytes to hold
EXAMPLE = f"""example:
  simctl run scenarios/accuracy/ethernet.json -o out --dataflow
  {COMMAND} out --task digits -o out/accuracy
"""


def arguments(argv):
    parser = Parser(COMMAND, description="Train a small task as records of dataflow say.", epilog=EXAMPLE)
    parser.add_argument("records", nargs="+", metavar="DATAFLOW", type=Path, help="records, or folders of simctl run --dataflow")
    parser.add_argument("--task", required=True, metavar="T", help="; ".join(f"{name}: {row.what}" for name, row in tasks.TASKS.items()))
    parser.add_argument("-o", dest="output", required=True, metavar="DIR", type=Path, help="the folder to write")
    parser.add_argument("--lr", metavar="R,...", type=rates, help="learning rates to try (default: factors of 2, on until the best is not at an end)")
    parser.add_argument("--set", metavar="NAME=VALUE", type=setting, action="append", default=[],
                        help="a hyper-parameter that the records name: a number, or NUMBER*lr")
    parser.add_argument("--seeds", metavar="N", type=count, default=3, help="how many, at the best rate (default: %(default)s)")
    parser.add_argument("--batch", metavar="B", type=count,
                        help="samples of a gradient (default: 8), of the records whose simulated ones have fewest; in proportion of others")
    parser.add_argument("--target", metavar="X", type=target, help="a loss such as 0.3, or an accuracy such as 90%% "
                                                                   "(default: what the synchronous schedule reaches after a quarter of its gradients)")
    parser.add_argument("--evaluations", metavar="N", type=count, default=60, help="of a record (default: %(default)s)")
    parser.add_argument("--of", choices=["mean", "worker"], default="mean",
                        help="evaluate the mean of the models that all workers compute on (default), or one worker's")
    parser.add_argument("--format", choices=["html", "png", "svg", "pdf"], default="html", help="html: a page (default); others: still figures")
    parser.add_argument("--jobs", metavar="N", type=count, default=len(os.sched_getaffinity(0)), help="replays at a time (default: processors)")
    options = parser.parse_args(argv)
    options.set = dict(options.set)
    try:
        tasks.check(options.task)
    except ValueError as error:
        parser.error(f"--task: {error}")
    except InputError:
        pass        # a package is missing, which make() says
    return options


def number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


def rates(text):
    found = [number(part) for part in text.split(",")]
    if not all(0 < rate < math.inf for rate in found) or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f'expected different numbers > 0, such as 0.1,0.2, got "{text}"')
    return found


def setting(text):
    """("gamma_p", (0.5, "lr")) of gamma_p=0.5*lr."""
    name, _, value = text.partition("=")
    first, *factors = value.split("*")
    if not math.isfinite(number(first)) or factors not in ([], ["lr"]):
        raise argparse.ArgumentTypeError(f'expected NAME=NUMBER or NAME=NUMBER*lr, such as mu=0.9 or gamma_p=0.5*lr, got "{text}"')
    if name == "lr":
        raise argparse.ArgumentTypeError(f"the learning rate is given by --lr, as in --lr {first}")
    return name, (number(first), *factors)


def count(text):
    if not re.fullmatch("[0-9]{1,6}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f'expected a whole number from 1 to 999999, got "{text}"')
    return int(text)


def target(text):
    found = Target(number(text.removesuffix("%")) / (100 if text.endswith("%") else 1), text.endswith("%"))
    if not 0 < found.value < math.inf or found.is_accuracy and found.value > 1:
        raise argparse.ArgumentTypeError(f'expected a loss > 0 such as 0.3, or an accuracy up to 100% such as 90%, got "{text}"')
    return found


def main(argv=None):
    options = arguments(argv)
    return exit_code(COMMAND, lambda: make(options))


def make(options):
    tasks.check(options.task)
    records = list(map(read, files(options.records)))
    check_settings(records, options.set)
    make_folder(options.output)
    with Progress(COMMAND, "replays") as progress:
        trainer = Trainer(records, options.task, options.batch, options.set, options.evaluations, options.of == "mean", options.jobs, progress)
        study = make_study(trainer, options.task, options.lr, options.seeds, options.target)
    write(options.output / "training.json", as_json(study))
    write(options.output / "training.csv", as_csv(study))
    write(options.output / "samples_factor.json", factors_as_json(study))
    if options.format == "html":
        write(options.output / "index.html", page(study).encode())
    else:
        for name, figure in figures(study):
            write(options.output / f"{name}.{options.format}", to_bytes(figure, options.format))
    say(options.output / ("index.html" if options.format == "html" else "training.json"))


def files(paths):
    """The records that are named, and those in the folders that are."""
    found = []
    for path in paths:
        inside = sorted(path.glob("dataflow-*.jsonl.gz"), key=point_of) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"{path}: expected records, dataflow-<point>.jsonl.gz, in the folder, got none; write them: simctl run SCENARIO -o {path} --dataflow --force")
        found += inside
    seen = set()
    for path in found:
        if path.resolve() in seen:
            raise InputError(f"{path}: given twice; name each record once")
        seen.add(path.resolve())
    return found


def read(path):
    """A record; says so on stderr where it could be much shorter."""
    record = read_record(path)
    operations, parts = len(record.operations), len(record.header["parts"])
    how = '"grouping": "sync-easgd"' if record.header["schedule"] in GROUPED else 'the schedule "sync-easgd"'
    if operations > MANY and parts > 1:
        whole = sum(isinstance(one, (Gradient, Evaluation)) for one in record.operations)      # of the whole model
        few = whole + (operations - whole) // parts
        warn(COMMAND, f"{path}: {operations} operations, all of which are kept in memory; one group in place of {parts} parts moves the same model in about {few}: {how}")
    return record


def check_settings(records, settings):
    """That every hyper-parameter that is given is one, and every one that must be given is."""
    names = sorted({name for record in records for name in known(record)} - {"lr"})
    for name in settings:
        if name not in names:
            rule = f"one of {', '.join(names)}, which the records name" if names else "nothing, for the records name lr alone"
            raise InputError(f'--set: expected {rule}, got "{name}"')
    for record in records:
        Hyper(record, {"lr": (1.0,)} | settings).values()


def make_folder(path):
    """Before hours of training."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be made: {error.strerror}; choose another place with -o") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: cannot be written: Permission denied; choose another place with -o")
