#!/usr/bin/python3
"""Simulates the scenarios of five papers and writes one page: published numbers beside simulated ones.

Runs `simctl run` on every scenario of scenarios/papers/, then reads its results and scenarios/papers/published.csv.
Exit codes: 0 done, 2 usage, 3 bad input, 4 a simulation failed, 5 cannot write.
"""

import re
import subprocess
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import paper_figures  # noqa: E402
import paper_page  # noqa: E402
import style  # noqa: E402
from errors import InputError, OutputError, printable  # noqa: E402
from output import write  # noqa: E402
from paper_quantities import compare  # noqa: E402
from paper_results import Results  # noqa: E402
from published import read_published  # noqa: E402
from program import Parser, command_of, say  # noqa: E402
from results import read_text  # noqa: E402

COMMAND = command_of(__file__)
NAME = Path(COMMAND).name

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ROOT / "scenarios" / "papers"
SIMCTL = "build/simctl" if (ROOT / "CMakeLists.txt").exists() else str(ROOT.parents[1] / "bin" / "simctl")      # PREFIX/share/syncopate


class SimulationError(Exception):
    """A scenario did not run. `code` is simctl's exit code."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def arguments(argv):
    parser = Parser(prog=NAME, description="Simulate the scenarios of five papers and compare published numbers.",
                                     epilog=f"example: {COMMAND} -o results/papers", allow_abbrev=False)
    parser.add_argument("-o", dest="output", metavar="DIR", required=True, help="the folder for papers.html and the results")
    parser.add_argument("--simctl", metavar="PROGRAM", default=SIMCTL, help="the simulator (default: %(default)s)")
    return parser.parse_args(argv)


def main(argv=None):
    options = arguments(argv)
    warnings.filterwarnings("ignore", message="Glyph")
    output = Path(options.output)
    try:
        simulate(options.simctl, output)
        describe_models(options.simctl, output)
        path = output / "papers.html"
        write(path, make(output).encode())
        say(str(path), sys.stdout)
    except (InputError, SimulationError, OutputError) as error:
        print(printable(f"{NAME}: {error}"), file=sys.stderr)
        return {InputError: 3, OutputError: 5}.get(type(error)) or error.code
    return 0


def scenarios():
    """The scenario files, each in its paper's folder."""
    return sorted(PAPERS.glob("*/*.json"))


def simulate(simctl, output):
    """Runs every scenario into OUTPUT/PAPER/SCENARIO. Raises SimulationError."""
    for scenario in scenarios():
        folder = output / scenario.parent.name / scenario.stem
        try:
            done = subprocess.run([simctl, "run", scenario, "-o", folder, "--force", "--quiet"], stderr=subprocess.PIPE, text=True, check=False)
        except OSError as error:
            raise InputError(f"{simctl}: cannot be run ({error.strerror}); build it with make build, or name it with --simctl") from None
        if done.returncode:
            said = done.stderr.strip().removeprefix("simctl: ") or "simctl failed"
            raise SimulationError(said if str(scenario) in said else f"{scenario}: {said}", done.returncode)


# The networks of MG-WFBP's Table 4: the shape of a sample, where it is not the file's.
MODELS = {"googlenet_aux": None, "resnet50": None, "resnet152": None, "densenet161": None, "densenet201": None, "inception_v4": "3x224x224"}


def describe_models(simctl, output):
    """`simctl show` of every network of MODELS, in OUTPUT/models. Raises SimulationError."""
    for name, shape in MODELS.items():
        words = [simctl, "show", str(ROOT / "models" / f"{name}.json")] + (["--input", shape] if shape else [])
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SimulationError(done.stderr.strip().removeprefix("simctl: ") or "simctl failed", done.returncode)
        (output / "models").mkdir(parents=True, exist_ok=True)
        write(output / "models" / f"{name}.txt", done.stdout.encode())


def make(output, published=PAPERS / "published.csv"):
    """The page, from the results below `output`. Raises InputError."""
    results, numbers = Results(output), read_published(published)
    comparisons = compare(results, numbers)
    drawings = [(one.paper, one.title, one.caption, style.to_bytes(one.draw(results, numbers), "svg").decode())
                for one in paper_figures.FIGURES]
    runs = [results.run(f"{scenario.parent.name}/{scenario.stem}") for scenario in scenarios()]
    papers = {one.paper for one in numbers.values()}
    return paper_page.page(comparisons, drawings, runs, {paper: assumption(PAPERS / paper.lower() / "README.md") for paper in papers})


def assumption(path):
    """What a paper's README says below "## Assumed"."""
    found = re.search(r"^## Assumed\n+(.*?)\n+^## ", read_text(path, "restore it"), re.M | re.S)
    if not found:
        raise InputError(f'{path}: expected a section "## Assumed"')
    return " ".join(found[1].split())


if __name__ == "__main__":
    sys.exit(main())
