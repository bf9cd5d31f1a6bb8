"""Running the report on small result folders, and reading the page."""

import contextlib
import io
import json
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

from syncopate.common import style
from syncopate.report import notes
from syncopate.report import main as report
from syncopate.results import labels
from syncopate.results.folder import read_runs

ROOT = Path(__file__).resolve().parents[2]


def run_main(main, *words):
    """(exit code, stdout, stderr) of a program's command line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue(), err.getvalue()


def run(*words):
    """The same of report.py."""
    return run_main(report.main, *words)


def labelled(*folders):
    runs = read_runs(folders)
    frame = labels.label(runs)
    return runs, frame, style.styles(frame), (notes.subject(runs, frame), notes.warnings(runs))


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.tmp = Path(holder.name)


class Page(HTMLParser):
    """Collects the cells of tables, the tags, and complains about tags that do not close."""

    VOID = {"meta", "br", "input"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.tables, self.scripts, self.problems = [], [], {}, [], []
        self.table = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")
        if tag == "table":
            self.table = self.tables.setdefault(attributes["id"], [])
        elif tag == "tr":
            self.table.append([])
        elif tag in ("td", "th"):
            self.table[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)

    @property
    def data(self):
        """What the page embeds for its scripts."""
        return json.loads(self.scripts[0])

    def all_points(self):
        """The header and the rows of the table of all points."""
        columns = self.data["columns"]
        values = [[column["texts"][value] for value in column["values"]] if "texts" in column else column["values"] for column in columns]
        return [[column["name"] for column in columns], *map(list, zip(*values))]

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        if any(tag in self.open for tag in ("td", "th")):
            self.table[-1][-1] += data


class Pages(Folder):
    def page(self, *folders, words=()):
        """The report of these folders, read; `text` is its HTML."""
        code, _, error = run(*folders, "-o", self.tmp / "report.html", *words)
        self.assertEqual((code, error), (0, ""))
        self.text = (self.tmp / "report.html").read_text(encoding="utf-8")
        page = Page(self.text)
        self.assertEqual((page.problems, page.open), ([], []))
        return page
