"""The command line of advice.py: turns the folder that `simctl advise ADVICE.json -o DIR` writes into one HTML page."""

from pathlib import Path

from syncopate.advice.page import page
from syncopate.advice.result import read
from syncopate.common.program import Parser, command_of, exit_code
from syncopate.common.writing import write

COMMAND = command_of("advice")


def main(argv=None):
    parser = Parser(COMMAND, description="Turn what simctl advise has found into a page.")
    parser.add_argument("folder", metavar="DIR", type=Path, help="a folder that simctl advise wrote")
    parser.add_argument("-o", dest="output", metavar="PAGE", type=Path, required=True, help="the page to write, - for stdout")
    options = parser.parse_args(argv)
    return exit_code(COMMAND, lambda: write(options.output, page(read(options.folder)).encode()))
