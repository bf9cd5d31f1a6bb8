"""Does the reader of records take what the format allows, and name what it does not?"""

import gzip
import json
import re
import subprocess
import sys

import unittest

from pages import ROOT, Folder, run_main

from syncopate.common.errors import InputError
from syncopate.dataflow import record as dataflow
from syncopate.dataflow.main import main
import records

PROGRAM = ROOT / "analysis" / "dataflow.py"
AGAIN = "write it again: simctl run SCENARIO -o DIR --dataflow --force"


def lines(writer):
    return [json.loads(line) for line in writer.text().splitlines()]


def changed(place, **changes):
    """A record of two workers and two steps with keys of a line changed; None takes a key away. Its lines are G1, G2, L3, L4, E, E, G5, G6, L7, L8, E, E."""
    found = lines(records.s_sgd(2, 2))
    found[place] = {key: value for key, value in (found[place] | changes).items() if value is not None}
    return found


def in_parts(place, **changes):
    """The same of a record of two parts, whose initial model is [0, 1] and whose first gradient is [2, 3]."""
    found = lines(records.asgd(1, 2, parts=2))
    found[place] = {key: value for key, value in (found[place] | changes).items() if value is not None}
    return found


STEP = {"o": "S", "v": [90, 91], "f": "momentum", "of": [0, 0, 1]}
SENT = {"o": "C", "v": [90, 91], "f": "top-k", "of": [1, 0], "k": 0.1}

BAD = [
    # the header
    (changed(0, format="dataflow/2"), 1, '"format": expected "dataflow/1", got "dataflow/2"'),
    (changed(0, workers=None), 1, 'missing key "workers"'),
    (changed(0, colour="red"), 1, 'unknown key "colour"; known are format, program, point, labels, schedule, optimizer, workers, samples, parts, initial, zeros, '
                                  'zero_parts, hyper, operations, end_s'),
    (changed(0, workers=0), 1, '"workers": expected a whole number >= 1, got 0'),
    (changed(0, workers=True), 1, '"workers": expected a whole number >= 1, got true'),
    (changed(0, samples=0), 1, '"samples": expected a number > 0, got 0'),
    (changed(0, optimizer="lion"), 1, '"optimizer": expected one of sgd, momentum, nesterov, adam, adamw, got "lion"'),
    (changed(0, parts=[]), 1, '"parts": expected a list of {name, bytes > 0} that is not empty, got []'),
    (changed(0, initial=[0, 1]), 1, '"initial": expected a value for each of 1 part, got 2'),
    (changed(0, zeros=[5]), 1, '"zero_parts": expected a part for each of 1 zeros, got 0'),
    (changed(0, zeros=[50], zero_parts=[1]), 1, '"zero_parts": expected places in 1 part, got 1'),
    (changed(0, zeros=[0], zero_parts=[0]), 1, "expected a new value, got 0, which line 1 has made"),
    (changed(0, hyper={"lr": 0.1}), 1, '"hyper": "lr": expected null or a list of a number and of names, got 0.1'),
    (changed(0, hyper={"lr": [1, "mu"]}), 1, '"hyper": "lr": expected one of lr, got "mu"'),
    (changed(0, hyper={"lr": [1, "mu"], "mu": [2, "1/lr"]}), 1, '"hyper": "lr": expected a default that does not lead back to it, got [1, "mu"]'),
    # lines
    (changed(0, operations=11), 13, '"operations": expected 11 lines after the header, got 12'),
    (lines(records.s_sgd(2, 2))[:-1], 12, '"operations": expected 12 lines after the header, got 11'),
    (changed(1, o="H"), 2, '"o": expected one of G, L, S, C, E, got "H"'),
    (changed(1, o=["G"]), 2, '"o": expected one of G, L, S, C, E, got ["G"]'),
    (changed(1, part=0), 2, 'unknown key "part"; known are o, v, x, w, k, t'),
    (changed(1, k=None), 2, 'missing key "k"'),
    (changed(1, k=-1), 2, '"k": expected a whole number >= 0, got -1'),
    (changed(1, k=1 << 60), 2, f'"k": expected a whole number >= 0, got {1 << 60}'),
    (changed(1, w=2), 2, '"w": expected a worker from 0 to 1, got 2'),
    (changed(1, t=-1), 2, "\"t\": expected seconds from 0 to 2, the header's end_s, got -1"),
    (changed(1, t=2.5), 2, "\"t\": expected seconds from 0 to 2, the header's end_s, got 2.5"),
    (changed(7, t=0.5), 8, "\"t\": expected at least 1 s, the time of worker 0's line before, got 0.5"),
    (changed(1, x=7), 2, "expected a value that a line before has made, got 7"),
    (changed(1, x="0"), 2, 'expected a value, a whole number >= 0, got "0"'),
    (changed(1, x=[0]), 2, "expected a value, a whole number >= 0, got [0]"),
    (changed(2, v=1), 3, "expected a new value, got 1, which line 2 has made"),
    (changed(2, v=1.5), 3, "expected a value, a whole number >= 0, got 1.5"),
    (changed(3, of=[]), 4, '"of": expected a list of terms that is not empty, got []'),
    (changed(3, of=[[1]]), 4, '"of": expected terms [coefficient, value, names...], got [1]'),
    (changed(3, of=[["1", 1]]), 4, '"of": expected terms [coefficient, value, names...], got ["1", 1]'),
    (changed(3, of=[[1, 1, "mu"]]), 4, '"of": expected a hyper-parameter that the header names (lr), got "mu"'),
    (changed(3, of=[[1, 4]]), 4, "expected a value that a line before has made, got 4"),
    (changed(5, n=-1), 6, '"n": expected a whole number >= 0, got -1'),
    (changed(5, n=5), 13, '"n" of E: expected at most 4, the number of gradients, got 5'),
    # functions
    (changed(3, of=None) [:3] + [STEP | {"f": "lion"}], 4, '"f" of S: expected one of momentum, nesterov, adam, adamw, delay-compensated, got "lion"'),
    (changed(3)[:3] + [STEP | {"of": [0, 1]}], 4, '"of" of momentum: expected a list of 3 values, got [0, 1]'),
    (changed(3)[:3] + [STEP | {"v": [90]}], 4, '"v" of momentum: expected a list of 2 values, got [90]'),
    (changed(3)[:3] + [STEP | {"v": [90, 90]}], 4, "expected a new value, got 90, which line 4 has made"),
    (changed(3)[:3] + [STEP | {"f": "delay-compensated"}], 4, '"v" of delay-compensated: expected a list of 1 value, got [90, 91]'),
    (changed(3)[:3] + [SENT | {"f": "momentum"}], 4, '"f" of C: expected one of fp16, sign, terngrad, qsgd, top-k, random-k, got "momentum"'),
    (changed(3)[:3] + [SENT | {"k": 0}], 4, '"k": expected a number > 0 and <= 1, got 0'),
    (changed(3)[:3] + [SENT | {"f": "fp16"}], 4, 'unknown key "k"; known are o, v, f, of'),
    (changed(3)[:3] + [SENT | {"f": "random-k"}], 4, 'missing key "n"'),
    (changed(3)[:3] + [{"o": "C", "v": [90, 91], "f": "qsgd", "of": [1, 0], "bits": 64, "bucket": 8}], 4, '"bits": expected a whole number from 1 to 32, got 64'),
    (changed(3)[:3] + [{"o": "C", "v": [90, 91], "f": "qsgd", "of": [1, 0], "bits": 4, "bucket": 0}], 4, '"bucket": expected a whole number >= 1, got 0'),
    # parts
    (in_parts(1, x=0), 2, '"x": expected a list of a value for each of 2 parts, got 0'),
    (in_parts(1, x=[0]), 2, '"x": expected a list of a value for each of 2 parts, got [0]'),
    (in_parts(1, x=[1, 0]), 2, "expected a value of part 0, got 1, which is of part 1"),
    (in_parts(2, part=None), 3, 'missing key "part"'),
    (in_parts(2, part=2), 3, '"part": expected a whole number from 0 to 1, got 2'),
    (in_parts(2, part=1), 3, "expected a value of part 1, got 0, which is of part 0"),
]

BAD_TEXTS = [
    ("", "empty: expected a header"),
    ("[]\n", "line 1: expected a JSON object, got []"),
    ("{\n", "line 1: expected JSON (Expecting property name enclosed in double quotes)"),
    ('{"a": 1, "a": 2}\n', 'line 1: expected JSON (key "a" appears twice)'),
    ('{"a": NaN}\n', "line 1: expected JSON (NaN is no number)"),
    ('{"a": -Infinity}\n', "line 1: expected JSON (-Infinity is no number)"),
    (records.s_sgd(2, 2).text().replace('"t": 1.0', '"t": 1e999'), "line 2: \"t\": expected seconds from 0 to 2, the header's end_s, got Infinity"),
    (records.s_sgd(2, 2).text().replace('"t": 1.0', '"t": ' + "9" * 400), "line 2: expected numbers below 1e308"),
    (records.s_sgd(2, 2).text() + "\n", "line 14: expected JSON (Expecting value)"),
    ("\xff", "line 1: expected JSON (Expecting value)"),
]


class Reading(Folder):
    def error_of(self, content):
        path = self.tmp / "dataflow-0.jsonl"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with self.assertRaises(InputError) as caught:
            dataflow.read_record(path)
        return str(caught.exception).replace(f"{self.tmp}/", "")

    def test_what_is_wrong_is_named_with_line_rule_and_value(self):
        for found, line, said in BAD:
            with self.subTest(said):
                self.assertEqual(self.error_of("".join(json.dumps(one) + "\n" for one in found)), f"dataflow-0.jsonl: line {line}: {said}; {AGAIN}")

    def test_what_is_no_json_is_named(self):
        for content, said in BAD_TEXTS:
            with self.subTest(said):
                self.assertEqual(self.error_of(content), f"dataflow-0.jsonl: {said}; {AGAIN}")
        self.assertEqual(self.error_of(b"\xff\xfe{"), f"dataflow-0.jsonl: line 1: expected JSON in UTF-8 of reasonable depth; {AGAIN}")

    def test_lines_in_another_order_are_found(self):
        found = lines(records.s_sgd(2, 2))
        found[3], found[4] = found[4], found[3]
        self.assertIn("line 4: expected a value that a line before has made, got 3", self.error_of("".join(json.dumps(one) + "\n" for one in found)))

    def test_gzip_that_is_cut_or_none(self):
        path = self.tmp / "dataflow-0.jsonl.gz"
        whole = gzip.compress(records.s_sgd(2, 50).text().encode())
        for content, said in ((whole[:-4], "expected a whole gzip file"), (whole[:len(whole) // 2], "expected a whole gzip file"), (b"{}", "expected a whole gzip file")):
            path.write_bytes(content)
            with self.assertRaisesRegex(InputError, re.escape(said)):
                dataflow.read_record(path)

    def test_what_is_no_file(self):
        for path, said in ((self.tmp / "none.gz", f"{self.tmp}/none.gz: missing; {AGAIN}"), (self.tmp, f"{self.tmp}: expected a regular file; name a record, dataflow-<point>.jsonl.gz")):
            with self.assertRaises(InputError) as caught:
                dataflow.read_record(path)
            self.assertEqual(str(caught.exception), said)

    def test_every_kind_of_record_is_read_packed_or_not(self):
        for writer in (records.s_sgd(), records.ps_sgd(), records.asgd(parts=3), records.dts(optimizer="momentum"), records.sasgd(), records.local_sgd(),
                       records.compressed("qsgd", bits=4, bucket=8), records.compressed("top-k", parts=2, k=0.1)):
            with self.subTest(writer.header["schedule"]):
                one, other = (dataflow.read_record(writer.write(self.tmp / name)) for name in ("a.jsonl.gz", "b.jsonl"))
                self.assertEqual(one.operations, other.operations)
                self.assertEqual(len(one.operations), len(writer.lines))
                self.assertEqual(one.gradients, writer.computed)

    def test_each_value_ends_once_where_it_is_taken_last(self):
        record = dataflow.read_record(records.asgd(3, 5, parts=2).write(self.tmp / "a.jsonl"))
        alive = {*record.header["initial"], *record.header["zeros"]}
        for one, ends in zip(record.operations, record.ends):
            self.assertLessEqual(set(dataflow.taken(one)), alive)
            alive |= set(dataflow.made(one))
            self.assertLessEqual(set(ends), alive)
            alive -= set(ends)
        self.assertEqual(alive, set())


class Program(Folder):
    def run_on(self, *words):
        done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_it_says_what_is_in_a_record(self):
        path = records.compressed("top-k", 4, 10, parts=2, k=0.1).write(self.tmp / "dataflow-3.jsonl.gz")
        self.assertEqual(self.run_on(path), (0, """point       0
schedule    s-sgd, optimizer sgd
workers     4, 8 samples a gradient
model       12 bytes in 2 parts
operations  170: 40 gradients, 40 combinations, 0 steps, 80 compressions (top-k), 10 places to evaluate
seconds     10 simulated
hyper       lr
""", ""))

    def test_exit_codes(self):
        self.assertEqual(self.run_on(self.tmp / "none")[0], 3)
        self.assertEqual(run_main(main)[0], 2)
        self.assertEqual(run_main(main, "a", "b")[2].count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
