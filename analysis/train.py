#!/usr/bin/python3
"""Trains a small task as records of dataflow say, and writes loss and accuracy against simulated time and against gradients.

A record is what `simctl run SCENARIO -o DIR --dataflow` writes: dataflow-<point>.jsonl.gz. README.md, "Time to accuracy", says what is
made of it. Exit codes: 0 done, 2 usage, 3 bad input, 5 cannot write.
"""

import argparse
import math
import os
import re
import sys
import warnings
from pathlib import Path

for library in ("OMP", "OPENBLAS"):     # replays run beside each other, and give the same bits however many there are
    os.environ[f"{library}_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parent))

import dataflow  # noqa: E402
import style  # noqa: E402
import tasks  # noqa: E402
import training_figures  # noqa: E402
import training_page  # noqa: E402
from dataflow_lines import Evaluation, Gradient  # noqa: E402
from errors import InputError, OutputError, printable  # noqa: E402
from hyper import Hyper, known  # noqa: E402
from output import write  # noqa: E402
from program import Parser, command_of, say  # noqa: E402
from results import point_of  # noqa: E402
from training import Trainer  # noqa: E402
from training_files import Study, as_csv, as_json, factors_as_json  # noqa: E402
from training_names import names  # noqa: E402
from training_notes import notes  # noqa: E402
from training_progress import Progress  # noqa: E402
from training_summary import Target, default_target, reach, summarise  # noqa: E402

COMMAND = command_of(__file__)
MANY = 200_000      # operations of a record, which it takes hundreds of megabytes to hold
GROUPED = ("ps-sgd", "asgd", "dc-asgd", "ssd-sgd")    # schedules that have "grouping"
NAME = Path(COMMAND).name
EXAMPLE = f"""example:
  simctl run scenarios/accuracy/ethernet.json -o out --dataflow
  {COMMAND} out --task digits -o out/accuracy
"""


def arguments(argv):
    parser = Parser(prog=NAME, description="Train a small task as records of dataflow say.", epilog=EXAMPLE,
                    formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("records", nargs="+", metavar="DATAFLOW", type=Path, help="records, or folders of simctl run --dataflow")
    parser.add_argument("--task", required=True, metavar="T", help="; ".join(f"{name}: {row.what}" for name, row in tasks.TASKS.items()))
    parser.add_argument("-o", dest="output", required=True, metavar="DIR", type=Path, help="the folder to write")
    parser.add_argument("--lr", metavar="R,...", type=rates, help="learning rates to try (default: factors of 2, on until the best is not at an end)")
    parser.add_argument("--set", metavar="NAME=VALUE", type=setting, action="append", default=[], help="a hyper-parameter that the records name: a number, or NUMBER*lr")
    parser.add_argument("--seeds", metavar="N", type=count, default=3, help="how many, at the best rate (default: %(default)s)")
    parser.add_argument("--batch", metavar="B", type=count, help="samples of a gradient (default: 8), of the records whose simulated ones have fewest; in proportion of others")
    parser.add_argument("--target", metavar="X", type=target, help="a loss such as 0.3, or an accuracy such as 90%% "
                                                                   "(default: what the synchronous schedule reaches after a quarter of its gradients)")
    parser.add_argument("--evaluations", metavar="N", type=count, default=60, help="of a record (default: %(default)s)")
    parser.add_argument("--of", choices=["mean", "worker"], default="mean", help="evaluate the mean of the models that all workers compute on (default), or one worker's")
    parser.add_argument("--format", choices=["html", "png", "svg", "pdf"], default="html", help="html: a page (default); others: still figures")
    parser.add_argument("--jobs", metavar="N", type=count, default=len(os.sched_getaffinity(0)), help="replays at a time (default: processors)")
    options = parser.parse_args(argv)
    options.set = dict(options.set)
    try:
        tasks.check(options.task)
    except ValueError as error:
        parser.error(f"--task: {error}")
    except InputError:
        pass        # of a package, which main tells
    return options


def number(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    return value


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
    warnings.filterwarnings("ignore", message="Glyph")      # a name in a script that the figures' font lacks
    try:
        tasks.check(options.task)
        records = list(map(read, files(options.records)))
        check_settings(records, options.set)
        make_folder(options.output)
        study = train(records, options)
        for name, content in made(study, options.format):
            write(options.output / name, content)
        say(str(options.output / ("index.html" if options.format == "html" else "training.json")), sys.stdout)
    except (InputError, OutputError) as error:
        print(printable(f"{NAME}: {error}"), file=sys.stderr)
        return 3 if isinstance(error, InputError) else 5
    return 0


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
    record = dataflow.read(path)
    count, parts = len(record.operations), len(record.header["parts"])
    how = '"grouping": "sync-easgd"' if record.header["schedule"] in GROUPED else 'the schedule "sync-easgd"'
    if count > MANY and parts > 1:
        others = sum(isinstance(one, (Gradient, Evaluation)) for one in record.operations)      # which are of the whole model
        few = others + (count - others) // parts
        print(printable(f"{NAME}: {path}: {count} operations, all of which are kept in memory; one group in place of {parts} parts moves the same model in about {few}: {how}"), file=sys.stderr)
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


def train(records, options):
    """A Study."""
    with Progress(NAME) as progress:
        trainer = Trainer(records, options.task, options.batch, options.set, options.evaluations, options.of == "mean", options.jobs, progress)
        trained = trainer.train(options.lr, options.seeds)
    called, summaries = names(records), list(map(summarise, trained, trainer.batches))
    study = Study(options.task, tasks.TASKS[options.task.partition(":")[0]].what, trainer, options.seeds, called, trained, summaries, {}, not options.target, [])
    for setting in study.settings:
        members = [(called[place], summaries[place]) for place in study.members(setting)]
        study.targets[setting] = options.target or default_target(members)
        reach(members, study.targets[setting])
    study.notes += notes(study)
    return study


def made(study, kind):
    """(name, bytes) of every file."""
    yield "training.json", as_json(study)
    yield "training.csv", as_csv(study)
    yield "samples_factor.json", factors_as_json(study)
    if kind == "html":
        yield "index.html", training_page.page(study).encode()
    else:
        for name, figure in training_figures.figures(study):
            yield f"{name}.{kind}", style.to_bytes(figure, kind)


if __name__ == "__main__":
    sys.exit(main())
