"""The command line of report.py: turns result folders into one HTML page or into figures for a paper."""

import sys
from pathlib import Path

from syncopate.common.errors import InputError
from syncopate.common.program import Parser, command_of, exit_code, say, warn
from syncopate.common.style import styles
from syncopate.common.wording import distinct
from syncopate.common.writing import is_stdout, write
from syncopate.report import lanes, notes, tracks, weighed
from syncopate.report.page import page
from syncopate.report.page_data import page_data
from syncopate.results import explanations, labels, network_file
from syncopate.results.folder import read_runs

COMMAND = command_of("report")
EXAMPLE = f"""example:
  simctl run scenarios/quickstart.json -o out --timeline
  {COMMAND} out -o report.html
  {COMMAND} out --format pdf -o figures/ --picture overview.png
"""


def arguments(argv):
    parser = Parser(COMMAND, description="Turn result folders into a report or into figures.", epilog=EXAMPLE)
    parser.add_argument("folders", nargs="+", metavar="DIR", help="a folder that simctl run wrote")
    parser.add_argument("-o", dest="output", metavar="PATH",
                        help="the page to write, - for stdout; for figures, a folder (existing, or ending in /) or a prefix")
    parser.add_argument("--format", choices=["html", "png", "svg", "pdf"], default="html",
                        help="html: one page (default); others: one file per figure")
    parser.add_argument("--picture", metavar="FILE.png", help="also write speedup, efficiency and one iteration as "
                                                              "one wide png, for a web page 900 pixels wide")
    parser.add_argument("--cluster", metavar="NAME", help="only the rows of this cluster")
    parser.add_argument("--samples-factor", metavar="FILE", dest="factors",
                        help="samples_factor.json of train.py: the page compares iterations by what each schedule needs in samples, too")
    options = parser.parse_args(argv)
    if not options.output and not options.picture:
        parser.error("nothing to write: give -o PATH, --picture FILE.png or both")
    if options.output == "":
        parser.error('-o: expected a path, got ""')
    if options.factors and options.format != "html":
        parser.error("--samples-factor: figures do not show it; leave --format out")
    if options.output == "-" and options.format != "html":
        parser.error("-o -: figures are several files; name a folder, or --format html")
    if options.picture and not options.picture.endswith(".png"):
        parser.error(f'--picture: expected a name that ends in .png, got "{options.picture}"')
    return options


def main(argv=None):
    options = arguments(argv)
    return exit_code(COMMAND, lambda: write_all(make(options)))


def write_all(files):
    stream = sys.stderr if any(is_stdout(path) for path, _ in files) else sys.stdout
    for path, content in files:
        write(path, content)
    for path, _ in files:
        if not is_stdout(path):
            say(path, stream)


def make(options):
    """Everything that is to be written, as (path, bytes), before anything is."""
    runs = read_runs(options.folders)
    frame = labels.label(runs)
    looks = styles(frame)
    is_page = bool(options.output) and options.format == "html"
    embedded, kinds = [], {}
    most = tracks.most_slices(sum(len(run.timelines) for run in runs))
    shown, remarks = lanes.read_all(runs, frame, lambda file: embedded.append(tracks.tracks(file, most, kinds)) if is_page else None)
    explained = explanations.read_all(runs, frame) if is_page else []
    networks = network_file.read_all(runs, frame) if is_page else []
    if options.cluster:
        known = distinct(frame["cluster"])
        frame = frame[frame["cluster"] == options.cluster]
        if frame.empty:
            raise InputError(f'--cluster: expected one of {", ".join(known)}, got "{options.cluster}"')
        shown = [one for one in shown if one.panel in set(frame["panel"])]
    files = []
    if is_page:
        points = set(zip(frame["run"], frame["point"]))
        embedded = [one for one in embedded if (one["run"], one["point"]) in points]
        explained = [one for one in explained if (one.row["run"], one.row["point"]) in points]
        networks = [one for one in networks if (one.row["run"], one.row["point"]) in points]
        factors = weighed.read_factors(options.factors) if options.factors else None
        text = page(runs, frame, looks, page_data(runs, frame, embedded, kinds, explained, networks), remarks, factors, not options.cluster)
        files.append((Path(options.output), text.encode()))
    if options.picture or not is_page:
        files += draw(options, frame, looks, (notes.subject(runs, frame), notes.warnings(runs)), shown, is_page)
    return files


def draw(options, frame, looks, about, shown, is_page):
    """The files of still figures; matplotlib, which a page does not need, takes most of a second to load."""
    from syncopate.common.sheet import to_bytes
    from syncopate.report import figures, picture, timeline
    files = []
    if not is_page and options.output:
        made = {"iteration-time": figures.iteration_time(frame, looks, about), "speedup": figures.speedup(frame, looks, about),
                "efficiency": figures.efficiency(frame, looks, about)}
        if shown:
            made["timeline"] = timeline.figure(shown, looks, about)
        files += [(place(options.output, f"{name}.{options.format}"), to_bytes(figure, options.format)) for name, figure in made.items()]
    if options.picture:
        say_which_cluster(frame, picture.chosen(figures.fewer(frame)[0], looks, shown)[0])
        files.append((Path(options.picture), to_bytes(picture.picture(frame, looks, about, shown), "png", dpi=200)))
    return files


def say_which_cluster(frame, panel):
    """One line on stderr where the picture leaves clusters out."""
    shown = distinct(frame["cluster"][frame["panel"] == panel])
    others = [name for name in distinct(frame["cluster"]) if name not in shown]
    if others:
        warn(COMMAND, f"--picture shows the cluster {', '.join(shown)}; for another: --cluster {' or '.join(others)}")


def place(output, name):
    """FOLDER/name for a folder, PREFIX-name otherwise."""
    if output.endswith("/") or Path(output).is_dir():
        return Path(output) / name
    return Path(f"{output}-{name}")
