#!/usr/bin/python3
"""Turns result folders into a report (one HTML page) or into figures for a paper.

Reads only what `simctl run SCENARIO -o DIR` writes: results.csv, results.json, timeline-<point>.json and explanation-<point>.json.
Exit codes: 0 done, 2 usage, 3 bad input, 5 cannot write.
"""

import argparse
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import explanations  # noqa: E402
import figures  # noqa: E402
import labels  # noqa: E402
import jobs_table  # noqa: E402
import links  # noqa: E402
import links_table  # noqa: E402
import notes  # noqa: E402
import page  # noqa: E402
import page_data  # noqa: E402
import picture  # noqa: E402
import style  # noqa: E402
import timeline  # noqa: E402
import tracks  # noqa: E402
import weighed  # noqa: E402
from answer import winners  # noqa: E402
from errors import InputError, OutputError, printable  # noqa: E402
from output import is_stdout, write  # noqa: E402
from program import Parser, command_of, say  # noqa: E402
from results import read_runs  # noqa: E402

COMMAND = command_of(__file__)
NAME = Path(COMMAND).name
EXAMPLE = f"""example:
  simctl run scenarios/quickstart.json -o out --timeline
  {COMMAND} out -o report.html
  {COMMAND} out --format pdf -o figures/ --picture overview.png
"""


def arguments(argv):
    parser = Parser(prog=NAME, description="Turn result folders into a report or into figures.", epilog=EXAMPLE,
                    formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
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
    warnings.filterwarnings("ignore", message="Glyph")      # a name in a script that the figures' font lacks
    try:
        files = make(options)
        stream = sys.stderr if any(is_stdout(path) for path, _ in files) else sys.stdout
        for path, content in files:
            write(path, content)
        for path, _ in files:
            if not is_stdout(path):
                say(str(path), stream)
    except InputError as error:
        print(printable(f"{NAME}: {error}"), file=sys.stderr)
        return 3
    except OutputError as error:
        print(printable(f"{NAME}: {error}"), file=sys.stderr)
        return 5
    return 0


def make(options):
    """Everything that is to be written, as (path, bytes), before anything is."""
    runs = read_runs(options.folders)
    frame = labels.label(runs)
    styles = style.styles(frame)
    is_page = bool(options.output) and options.format == "html"
    embedded, kinds = [], {}
    most = tracks.most_slices(sum(len(run.timelines) for run in runs))
    lanes, remarks = timeline.read_all(runs, frame, lambda file: embedded.append(tracks.tracks(file, most, kinds)) if is_page else None)
    explained = explanations.read_all(runs, frame) if is_page else []
    if options.cluster:
        known = notes.distinct(frame["cluster"])
        frame = frame[frame["cluster"] == options.cluster]
        if frame.empty:
            raise InputError(f'--cluster: expected one of {", ".join(known)}, got "{options.cluster}"')
        lanes = [one for one in lanes if one.panel in set(frame["panel"])]
    about = notes.subject(runs, frame), notes.warnings(runs)
    files = []
    if is_page:
        points = set(zip(frame["run"], frame["point"]))
        embedded = [one for one in embedded if (one["run"], one["point"]) in points]
        explained = [one for one in explained if (one.row["run"], one.row["point"]) in points]
        data = page_data.data(runs, frame, embedded, kinds, explained)
        busy = links_table.section(links.read_all(runs, frame), frame)
        jobs = jobs_table.section(runs, frame)
        by_samples = weighed.section(runs, frame, weighed.read_factors(options.factors)) if options.factors else None
        text = page.page(runs, frame, styles, winners(runs, frame), data, remarks, busy, jobs, by_samples, not options.cluster)
        files.append((Path(options.output), text.encode()))
    elif options.output:
        drawn = {"iteration-time": figures.iteration_time, "speedup": figures.speedup, "efficiency": figures.efficiency}
        made = {name: draw(frame, styles, about) for name, draw in drawn.items()}
        if lanes:
            made["timeline"] = timeline.figure(lanes, styles, about)
        files += [(place(options.output, f"{name}.{options.format}"), style.to_bytes(figure, options.format))
                  for name, figure in made.items()]
    if options.picture:
        say_which_cluster(frame, picture.chosen(figures.fewer(frame)[0], styles, lanes)[0])
        files.append((Path(options.picture),
                      style.to_bytes(picture.picture(frame, styles, about, lanes), "png", dpi=200)))
    return files


def say_which_cluster(frame, panel):
    """One line on stderr where the picture leaves clusters out."""
    shown = notes.distinct(frame["cluster"][frame["panel"] == panel])
    others = [name for name in notes.distinct(frame["cluster"]) if name not in shown]
    if others:
        print(printable(f"{NAME}: --picture shows the cluster {', '.join(shown)}; "
                        f"for another: --cluster {' or '.join(others)}"), file=sys.stderr)


def place(output, name):
    """FOLDER/name for a folder, PREFIX-name otherwise."""
    if output.endswith("/") or Path(output).is_dir():
        return Path(output) / name
    return Path(f"{output}-{name}")


if __name__ == "__main__":
    sys.exit(main())
