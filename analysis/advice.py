#!/usr/bin/python3
"""Turns the folder that `simctl advise ADVICE.json -o DIR` writes into one HTML page.

Exit codes: 0 done, 2 usage, 3 bad input, 5 cannot write.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import advice_page  # noqa: E402
import advice_result  # noqa: E402
from errors import InputError, OutputError, printable  # noqa: E402
from output import write  # noqa: E402
from program import Parser, command_of  # noqa: E402

COMMAND = command_of(__file__)
NAME = Path(COMMAND).name


def main(argv=None):
    parser = Parser(prog=NAME, description="Turn what simctl advise has found into a page.", allow_abbrev=False)
    parser.add_argument("folder", metavar="DIR", type=Path, help="a folder that simctl advise wrote")
    parser.add_argument("-o", dest="output", metavar="PAGE", type=Path, required=True, help="the page to write, - for stdout")
    options = parser.parse_args(argv)
    try:
        write(options.output, advice_page.page(advice_result.read(options.folder)).encode())
    except (InputError, OutputError) as error:
        print(printable(f"{NAME}: {error}"), file=sys.stderr)
        return 3 if isinstance(error, InputError) else 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
