"""The command line of claims.py: what five papers claim of accuracy, beside what the same schedules do to a small task, on one page.

Reads scenarios/papers/claims.csv, and the training.json files that `make claims` has train.py write, in a folder for each study.
analysis/README.md says how a claim is judged.
"""

from pathlib import Path

from syncopate.claims import page
from syncopate.claims.points import Studies
from syncopate.claims.table import read_claims
from syncopate.claims.verdicts import judge
from syncopate.common.program import ROOT, Parser, command_of, exit_code, say
from syncopate.common.writing import write

COMMAND = command_of("claims")
TABLE = ROOT / "scenarios" / "papers" / "claims.csv"


def main(argv=None):
    parser = Parser(COMMAND, description="Judge what five papers claim of accuracy on a small task.",
                    epilog=f"example: make claims, or of what it has trained: {COMMAND} results/claims -o results/claims")
    parser.add_argument("studies", metavar="DIR", type=Path, help="the folder whose folders have a training.json for each study of the table")
    parser.add_argument("-o", dest="output", metavar="DIR", type=Path, required=True, help="the folder for claims.html and claims.json")
    parser.add_argument("--table", metavar="FILE", type=Path, default=TABLE, help="the claims (default: %(default)s)")
    options = parser.parse_args(argv)
    return exit_code(COMMAND, lambda: make(options))


def make(options):
    studies = Studies(options.studies)
    judged = [judge(claim, studies) for claim in read_claims(options.table)]
    write(options.output / "claims.json", page.as_json(judged, studies))
    path = options.output / "claims.html"
    write(path, page.page(judged, studies).encode())
    say(path)
