#!/usr/bin/python3
"""Writes one page: what five papers claim of accuracy, beside what the same schedules do to a small task.

Reads scenarios/papers/claims.csv, and the training.json files that `make claims` has train.py write, in a folder for each study. README.md,
"The papers' claims of accuracy", says how a claim is judged. Exit codes: 0 done, 2 usage, 3 bad input, 5 cannot write.
"""

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import claim_page  # noqa: E402
from claim_points import AGAIN, Studies, Trained, measured  # noqa: E402
from claim_table import Claim, read_claims  # noqa: E402
from claim_verdicts import Comparison, compare  # noqa: E402
from errors import InputError, OutputError, printable  # noqa: E402
from output import write  # noqa: E402
from program import Parser, command_of, say  # noqa: E402

COMMAND = command_of(__file__)
NAME = Path(COMMAND).name
TABLE = Path(__file__).resolve().parents[1] / "scenarios" / "papers" / "claims.csv"


@dataclass(frozen=True)
class Judged:
    """A claim, both trained points, their values by seed, and how they compare."""

    claim: Claim
    left: Trained
    right: Trained
    values: tuple
    comparison: Comparison

    @property
    def texts(self):
        """What both sides are called, with their studies where these differ."""
        sides = self.claim.left, self.claim.right
        return [f"{side.study}: {side}" if sides[0].study != sides[1].study else str(side) for side in sides]


def arguments(argv):
    parser = Parser(prog=NAME, description="Judge what five papers claim of accuracy on a small task.",
                    epilog=f"example: make claims, or of what it has trained: {COMMAND} results/claims -o results/claims", allow_abbrev=False)
    parser.add_argument("studies", metavar="DIR", type=Path, help="the folder whose folders have a training.json for each study of the table")
    parser.add_argument("-o", dest="output", metavar="DIR", type=Path, required=True, help="the folder for claims.html and claims.json")
    parser.add_argument("--table", metavar="FILE", type=Path, default=TABLE, help="the claims (default: %(default)s)")
    return parser.parse_args(argv)


def main(argv=None):
    options = arguments(argv)
    warnings.filterwarnings("ignore", message="Glyph")
    try:
        studies = Studies(options.studies)
        judged = [judge(claim, studies) for claim in read_claims(options.table)]
        write(options.output / "claims.json", claim_page.as_json(judged, studies))
        path = options.output / "claims.html"
        write(path, claim_page.page(judged, studies).encode())
        say(str(path), sys.stdout)
    except (InputError, OutputError) as error:
        print(printable(f"{NAME}: {error}"), file=sys.stderr)
        return 3 if isinstance(error, InputError) else 5
    return 0


def judge(claim, studies):
    left, right = studies.point(claim.left), studies.point(claim.right)
    if claim.quantity.endswith("target") and left.target != right.target:
        raise InputError(f"{studies.path(claim.left.study)}: targets: expected {right.target}, as in {studies.path(claim.right.study)}, got {left.target}; {AGAIN}")
    values = measured(claim.quantity, left, right)
    return Judged(claim, left, right, values, compare(*values, claim.relation, claim.quantity))


if __name__ == "__main__":
    sys.exit(main())
