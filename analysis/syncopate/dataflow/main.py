"""The command line of dataflow.py: checks a record of dataflow and says what is in it."""

from collections import Counter
from pathlib import Path

from syncopate.common.program import Parser, command_of, exit_code, say
from syncopate.common.reading import shown
from syncopate.common.wording import counted
from syncopate.dataflow.lines import Compression, Evaluation, Gradient, Linear, Step
from syncopate.dataflow.record import read_record

COMMAND = command_of("dataflow")


def main(argv=None):
    parser = Parser(COMMAND, description="Check a record of dataflow and say what is in it.", epilog=f"example: {COMMAND} results/dataflow/dataflow-0.jsonl.gz")
    parser.add_argument("file", metavar="FILE", type=Path, help="dataflow-<point>.jsonl.gz, or the same unpacked")
    options = parser.parse_args(argv)
    return exit_code(COMMAND, lambda: say_all(summary(read_record(options.file))))


def say_all(lines):
    for line in lines:
        say(line)


def summary(record):
    """Lines that say what is in a record."""
    header, kinds = record.header, Counter(type(one) for one in record.operations)
    total = sum(part["bytes"] for part in header["parts"])
    labels = ", ".join(f"{pointer} = {shown(value)}" for pointer, value in header["labels"].items())
    functions = f" ({', '.join(sorted(record.functions))})" if record.functions else ""
    return [
        f"point       {header['point']}" + (f": {labels}" if labels else ""),
        f"schedule    {header['schedule']}, optimizer {header['optimizer']}",
        f"workers     {header['workers']}, {header['samples']:g} samples a gradient",
        f"model       {total:g} bytes in {counted(len(header['parts']), 'part')}",
        f"operations  {len(record.operations)}: {kinds[Gradient]} gradients, {kinds[Linear]} combinations, "
        f"{kinds[Step]} steps, {kinds[Compression]} compressions{functions}, {kinds[Evaluation]} places to evaluate",
        f"seconds     {header['end_s']:g} simulated",
        f"hyper       {', '.join(header['hyper']) or 'none'}",
    ]
