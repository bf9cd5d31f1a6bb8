"""The command line of papers.py: simulates the scenarios of five papers and writes one page, published numbers beside simulated ones.

Runs `simctl run` on every scenario of scenarios/papers/, then reads its results and scenarios/papers/published.csv.
"""

import re
import subprocess
from pathlib import Path

from syncopate.common.errors import Failure, InputError
from syncopate.common.program import ROOT, Parser, command_of, exit_code, say
from syncopate.common.reading import read_text
from syncopate.common.sheet import to_svg
from syncopate.common.writing import write
from syncopate.papers.figures import FIGURES
from syncopate.papers.page import page
from syncopate.papers.published import read_published
from syncopate.papers.quantities import compare, variants
from syncopate.papers.results import Results

COMMAND = command_of("papers")
PAPERS = ROOT / "scenarios" / "papers"
SIMCTL = "build/simctl" if (ROOT / "CMakeLists.txt").exists() else str(ROOT.parents[1] / "bin" / "simctl")      # PREFIX/share/syncopate
# The networks of MG-WFBP's Table 4: the shape of a sample, where it is not the file's.
MODELS = {"googlenet_aux": None, "resnet50": None, "resnet152": None, "densenet161": None, "densenet201": None, "inception_v4": "3x224x224"}


class SimulationError(Failure):
    """A scenario did not run. `code` is simctl's exit code."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def main(argv=None):
    parser = Parser(COMMAND, description="Simulate the scenarios of five papers and compare published numbers.",
                    epilog=f"example: {COMMAND} -o results/papers")
    parser.add_argument("-o", dest="output", metavar="DIR", type=Path, required=True, help="the folder for papers.html and the results")
    parser.add_argument("--simctl", metavar="PROGRAM", default=SIMCTL, help="the simulator (default: %(default)s)")
    options = parser.parse_args(argv)
    return exit_code(COMMAND, lambda: simulate_and_write(options.simctl, options.output))


def simulate_and_write(simctl, output):
    for scenario in scenarios():
        run(simctl, "run", scenario, "-o", output / scenario.parent.name / scenario.stem, "--force", "--quiet", what=scenario)
    for name, shape in MODELS.items():
        words = ("--input", shape) if shape else ()
        write(output / "models" / f"{name}.txt", run(simctl, "show", ROOT / "models" / f"{name}.json", *words).encode())
    path = output / "papers.html"
    write(path, make(output).encode())
    say(path)


def scenarios():
    """The scenario files, each in its paper's folder."""
    return sorted(PAPERS.glob("*/*.json"))


def run(simctl, *words, what=""):
    """What simctl prints. Raises SimulationError, which names `what`."""
    try:
        done = subprocess.run([simctl, *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(f"{simctl}: cannot be run ({error.strerror}); build it with make build, or name it with --simctl") from None
    if done.returncode:
        said = done.stderr.strip().removeprefix("simctl: ") or "simctl failed"
        raise SimulationError(said if str(what) in said else f"{what}: {said}", done.returncode)
    return done.stdout


def make(output, published=PAPERS / "published.csv"):
    """The page, from the results below `output`. Raises InputError."""
    results, numbers = Results(output), read_published(published)
    comparisons = compare(results, numbers)
    drawings = [(one.paper, one.title, one.caption, to_svg(one.draw(results, numbers))) for one in FIGURES]
    runs = [results.run(f"{scenario.parent.name}/{scenario.stem}") for scenario in scenarios()]
    papers = {one.paper for one in numbers.values()}
    return page(comparisons, drawings, runs, {paper: assumption(PAPERS / paper.lower() / "README.md") for paper in papers},
                variants(results, numbers))


def assumption(path):
    """What a paper's README says below "## Assumed"."""
    found = re.search(r"^## Assumed\n+(.*?)\n+^## ", read_text(path, "restore it"), re.M | re.S)
    if not found:
        raise InputError(f'{path}: expected a section "## Assumed"')
    return " ".join(found[1].split())
