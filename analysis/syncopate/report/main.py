"""The command line of report.py: turns result folders into one HTML page or into figures for a paper."""

import sys
from pathlib import Path

from syncopate.common.errors import InputError
from syncopate.common.program import Parser, command_of, exit_code, say, warn
from syncopate.common.style import PARTS, styles
from syncopate.common.wording import distinct
from syncopate.common.writing import is_stdout, write
from syncopate.report import files, lanes, measures, notes, tracks, weighed
from syncopate.report.page import page
from syncopate.report.page_data import page_data
from syncopate.results import explanations, labels, network_file
from syncopate.results.folder import read_runs

COMMAND = command_of("report")
EXAMPLE = f"""example:
  simctl run scenarios/quickstart.json -o out --timeline
  {COMMAND} out -o report.html
  {COMMAND} out --format pdf -o figures/ --picture overview.png
  {COMMAND} out --y iteration_s --x /cluster/nodes --width 3.3in --notes off --font serif -o figure.pdf
"""


def arguments(argv):
    parser = Parser(COMMAND, description="Turn result folders into a report or into figures.", epilog=EXAMPLE)
    parser.add_argument("folders", nargs="+", metavar="DIR", help="a folder that simctl run wrote")
    parser.add_argument("-o", dest="output", metavar="PATH",
                        help="the page to write, - for stdout; for figures, a folder (existing, or ending in /) or a prefix; "
                                                             "for one figure, its name")
    parser.add_argument("--format", choices=["html", *files.KINDS],
                        help="html: one page (default); others: one file per figure, and a csv of what it shows")
    parser.add_argument("--picture", metavar="FILE.png", help="also write speedup, efficiency and one iteration as "
                                                              "one wide png, for a web page 900 pixels wide")
    parser.add_argument("--cluster", metavar="NAME", help="only the rows of this cluster")
    parser.add_argument("--samples-factor", metavar="FILE", dest="factors",
                        help="samples_factor.json of train.py: the page compares iterations by what each schedule needs in samples, too")
    files.add_options(parser)
    options = parser.parse_args(argv)
    if not options.output and not options.picture:
        parser.error("nothing to write: give -o PATH, --picture FILE.png or both")
    if options.output == "":
        parser.error('-o: expected a path, got ""')
    files.check(parser, options)
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


def write_all(made):
    stream = sys.stderr if any(is_stdout(path) for path, _ in made) else sys.stdout
    for path, content in made:
        write(path, content)
    for path, _ in made:
        if not is_stdout(path):
            say(path, stream)


def make(options):
    """Everything that is to be written, as (path, bytes), before anything is."""
    runs = read_runs(options.folders)
    frame = labels.label(runs)
    looks = styles(frame)
    is_page = bool(options.output) and options.format == "html"
    embedded, kinds = [], {}
    shown, remarks = [], []
    if is_page or options.picture or (options.figure or "timeline") == "timeline" and options.y is None:
        points = sum(len(run.timelines) for run in runs)
        most = tracks.most_slices(points), tracks.most_messages(points)
        shown, remarks = lanes.read_all(runs, frame, lambda file: embedded.append(tracks.tracks(file, most[0], kinds, most[1])) if is_page else None)
    explained = explanations.read_all(runs, frame) if is_page else []
    networks = network_file.read_all(runs, frame) if is_page else []
    if options.cluster:
        frame = of_cluster(frame, options.cluster)
        shown = [one for one in shown if one.panel in set(frame["panel"])]
    made = []
    if is_page:
        points = set(zip(frame["run"], frame["point"]))
        embedded = [one for one in embedded if (one["run"], one["point"]) in points]
        explained = [one for one in explained if (one.row["run"], one.row["point"]) in points]
        networks = [one for one in networks if (one.row["run"], one.row["point"]) in points]
        factors = weighed.read_factors(options.factors) if options.factors else None
        text = page(runs, frame, looks, page_data(runs, frame, embedded, kinds, explained, networks), remarks, factors, not options.cluster)
        made.append((Path(options.output), text.encode()))
    if not is_page and options.output:
        made += stills(options, runs, frame, looks, shown)
    if options.picture:
        made.append((Path(options.picture), wide_picture(frame, looks, notes.of_figure(runs, frame), shown)))
    return made


def of_cluster(frame, name):
    """Its rows of a cluster. Raises InputError where there are none."""
    known = distinct(frame["cluster"])
    if name not in known:
        raise InputError(f'--cluster: expected one of {", ".join(known)}, got "{name}"')
    return frame[frame["cluster"] == name]


def stills(options, runs, frame, looks, shown):
    """The files of still figures; matplotlib, which a page does not need, takes most of a second to load."""
    from syncopate.common.sheet import to_bytes
    from syncopate.report import figures, timeline
    paper = figures.Page(options.width, options.notes != "off", options.font or "sans")
    subject, remarks = notes.of_figure(runs, frame)
    asked = [] if options.y is not None else [options.figure] if options.figure else files.FIGURES
    columns = {files.chosen_name(options): measures.known_column(runs, options.y)} if options.y is not None else \
        {name: name for name in ("speedup", "efficiency") if name in asked}
    drawn, missing, tables = {}, [], []
    if "iteration-time" in asked:
        tables.append(figures.fewer(measures.with_values(frame, "iteration_s"))[0])
        drawn["iteration-time"] = figures.iteration_time(frame, looks, (subject, remarks), paper), files.table(tables[-1], looks, list(PARTS))
    rows, along = files.chosen_rows(runs, options) if columns else (frame, None)
    rows = of_cluster(rows, options.cluster) if options.cluster else rows
    its_looks = styles(rows)
    for name, column in columns.items():
        gaps = files.left_out(runs, along.pointer, column)
        missing = distinct(missing + gaps)
        tables.append(figures.fewer(measures.with_values(rows, column))[0])
        if tables[-1].empty:
            raise InputError(f"--y: no point of --cluster {options.cluster} has a number in {column}; leave --cluster out")
        drawn[name] = figures.curves(rows, its_looks, (subject, remarks + gaps), column, along, paper), files.table(tables[-1], its_looks)
    if "timeline" in asked and (shown or options.figure):
        if not shown:
            raise InputError(f"--figure timeline: no timeline in {options.folders[0]}; run the scenario with --timeline")
        drawn["timeline"] = timeline.figure(shown, looks, (subject, remarks), paper), files.table_of_lanes(shown)
    intervals = list(dict.fromkeys(text for rows in tables for text in measures.band_remarks(rows)))
    for text in missing if paper.notes else [f"for the caption: {text}" for text in remarks + missing + intervals]:
        warn(COMMAND, text)
    return [(files.place(options, name, kind), content) for name, (figure, table) in drawn.items()
            for kind, content in ((options.format, to_bytes(figure, options.format, font=paper.font)), ("csv", table))]


def wide_picture(frame, looks, about, shown):
    """The bytes of --picture."""
    from syncopate.common.sheet import to_bytes
    from syncopate.report import figures, picture
    say_which_cluster(frame, picture.chosen(figures.fewer(frame)[0], looks, shown)[0])
    return to_bytes(picture.picture(frame, looks, about, shown), "png", dpi=200)


def say_which_cluster(frame, panel):
    """One line on stderr where the picture leaves clusters out."""
    shown = distinct(frame["cluster"][frame["panel"] == panel])
    others = [name for name in distinct(frame["cluster"]) if name not in shown]
    if others:
        warn(COMMAND, f"--picture shows the cluster {', '.join(shown)}; for another: --cluster {' or '.join(others)}")
