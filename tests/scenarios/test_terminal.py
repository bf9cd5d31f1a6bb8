"""Does simctl tell a person at a terminal how far it has come, and end what takes too long?"""
import contextlib
import fcntl
import itertools
import json
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import unittest

from support import ROOT, SIMCTL, Case, cluster, scenario, trace

ENDLESS = 1_000_000
UNEQUAL = {"jitter": {"distribution": "lognormal", "cv": 0.1}}


def on_terminal(*arguments, cwd, columns=120, streams=("stderr",), environment=None):
    """(exit code, what the terminal showed) of simctl with these streams on a terminal of so many columns, the others in pipes. Without an
    `environment`, no folder remembers what has been told."""
    environment = {"XDG_CACHE_HOME": "/dev/null"} if environment is None else environment
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    shown = []

    def read():
        with contextlib.suppress(OSError):  # the terminal has gone, and all of it has been read
            while chunk := os.read(controller, 100000):
                shown.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    ends = {name: terminal if name in streams else subprocess.DEVNULL for name in ("stdout", "stderr")}
    done = subprocess.run([SIMCTL, *map(str, arguments)], cwd=cwd, timeout=600, check=False,
                          env={**os.environ, **environment}, **ends)
    os.close(terminal)
    reader.join()
    os.close(controller)
    return done.returncode, b"".join(shown).decode()


class Progress(Case):
    def test_points_times_and_the_iterations_of_a_long_point_are_shown(self):
        self.write("cluster.json", cluster(nodes=16))
        self.write("scenario.json", scenario(workers=UNEQUAL, sweep={"/iterations/measured": [1, ENDLESS]}))
        code, shown = on_terminal("run", "scenario.json", "-j", "1", "--max-time", "1.8", cwd=self.folder, columns=150)
        self.assertEqual(code, 4)
        self.assertIn("0/2 points", shown)
        told = re.findall(r"1/2 points, 0:0(\d) elapsed, about [\d:]+ left; point 1: (\d+) of 1000001 iterations", shown)
        self.assertGreater(len(told), 2)
        self.assertGreater(int(told[-1][1]), int(told[0][1]))
        self.assertEqual(told, sorted(told, key=lambda one: (one[0], int(one[1]))))

    def test_a_single_point_shows_itself_only_when_it_takes_a_while_and_a_line_never_wraps(self):
        self.write("scenario.json", scenario())
        self.assertNotIn("points", on_terminal("run", "scenario.json", cwd=self.folder)[1])
        self.write("scenario.json", scenario(workers=UNEQUAL, iterations={"measured": ENDLESS}))
        _, shown = on_terminal("run", "scenario.json", "--max-time", "1.6s", cwd=self.folder, columns=110)
        self.assertRegex(shown, r"0/1 points, 0:0[12] elapsed, about [\d:]+ left; point 0: \d")
        lines = re.findall(r"\r([^\r\x1b]*)\x1b\[K", shown)
        self.assertEqual(max(map(len, lines)), 109)

    def test_a_pipe_sees_nothing_of_it(self):
        done = self.run_scenario(scenario(workers=UNEQUAL, sweep={"/iterations/measured": [1, ENDLESS]}), "--max-time", "1.2s")
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertNotIn("elapsed", done.stderr + done.stdout)


    def test_simulations_of_an_advice_are_shown(self):
        self.write("advice.json", {"format": "advice/1", "trace": "trace.json", "clusters": [{"cluster": "cluster.json", "nodes": [2, 4]}], "schedules": ["wfbp", "s-sgd"],
                                   "target": {"samples": 1000}, "risk": {"bandwidth": 0.1}})
        code, shown = on_terminal("advise", "advice.json", cwd=self.folder)
        self.assertEqual(code, 0)
        for told in ("4/4 simulations in alpha-beta", "3/3 simulations of other worlds", "simulations of what holds the choice back"):
            self.assertIn(told, shown)
        self.assertTrue(shown.endswith("\r\x1b[K"))


class Data(Case):
    TEXT = "a\x1b]0;b\x07c\x7fd\x9be\u202ef"

    def setUp(self):
        super().setUp()
        self.write("scenario.json", scenario(sweep={"/x-mine": [self.TEXT]}))

    def test_a_terminal_obeys_no_text_in_it(self):
        for words in (["run", "scenario.json", "--format", "csv"], ["run", "scenario.json", "--format", "json"], ["run", "scenario.json", "-o", "-"]):
            with self.subTest(words):
                code, shown = on_terminal(*words, "--quiet", cwd=self.folder, streams=("stdout",))
                self.assertEqual(code, 0)
                self.assertRegex(shown, r"\\(x1b|u001b)\]0;b\\(x07|u0007)c\\x7fd\\(x9b|u009b)e\\u202ef")
                self.assertEqual(set(re.findall("[\x00-\x1f\x7f-\x9f\u202e]", shown)), {"\r", "\n"})

    def test_a_pipe_has_it_as_it_is(self):
        done = self.simctl("run", "scenario.json", "--format", "csv", "--quiet")
        self.assertIn(self.TEXT, done.stdout)
        self.assertEqual(json.loads(self.simctl("run", "scenario.json", "--format", "json", "--quiet").stdout)["points"][0]["sweep"]["/x-mine"], self.TEXT)


class Tables(Case):
    SIX = ["s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "mg-wfbp-optimal", "fusion"]

    def shown(self, columns, *words):
        code, text = on_terminal(*words, cwd=self.folder, columns=columns, streams=("stdout",))
        self.assertEqual(code, 0, text)
        return text.replace("\r\n", "\n")

    def tables(self, text):
        """The lines of every table: the one before its rule, and those after it that have columns."""
        lines = text.split("\n")
        rules = [place for place, line in enumerate(lines) if re.fullmatch("-{4,}", line)]
        return [line for place in rules for line in [*lines[place - 1:place + 1], *itertools.takewhile(re.compile("  ").search, lines[place + 1:])]]

    def test_no_line_of_a_table_is_wider_than_the_terminal(self):
        self.write("line.json", scenario(workers=UNEQUAL, sweep={"/schedule/name": self.SIX}))
        self.write("grid.json", scenario(sweep={"/schedule/name": self.SIX, "/cluster/nodes": [2, 4]}))
        self.write("wide.json", scenario(sweep={"/schedule": [{"name": "fusion", "bucket": f"{i}MB"} for i in range(1, 8)], "/cluster/nodes": [2, 4]}))
        commands = [["run", name] for name in ("line.json", "grid.json", "wide.json")] + [["list", what] for what in (
            "schedules", "collectives", "topologies", "scenarios", "advice", "clusters", "models", "devices", "traces")]
        commands += [["show", "resnet20"], ["show", "cpu-resnet20-b128"], ["show", "10gbe"], ["show", "v100"], ["explain", "line.json", "--point", "1"],
                     ["trace", "compare", "cpu-resnet50-b8", "synthetic-v100-resnet50-b32", "--layers", "0"]]
        for words in commands:
            for columns in (80, 200):
                with self.subTest(words=words, columns=columns):
                    lines = self.tables(self.shown(columns, *words))
                    self.assertGreater(len(lines), 2)
                    self.assertLessEqual(max(map(len, lines)), columns)

    def test_what_is_left_out_is_named_and_a_pipe_has_all_of_it(self):
        self.write("line.json", scenario(sweep={"/schedule/name": self.SIX}))
        narrow = self.shown(60, "run", "line.json")
        self.assertIn("wait: 0 s", narrow)
        self.assertRegex(narrow, r"not shown in this width: comms/iter(, \w+)*; results.csv has")
        self.assertIn("efficiency", narrow)
        for text in (self.shown(200, "run", "line.json"), self.simctl("run", "line.json").stdout):
            self.assertNotIn("not shown", text)
            self.assertRegex(text, "iteration +compute +wait +exposed +comms/iter +speedup +efficiency\n")

    def test_a_column_has_one_unit(self):
        self.write("grid.json", scenario(sweep={"/cluster/link/bandwidth": ["10Mbps", "100Gbps"], "/schedule/name": ["wfbp", "s-sgd"]}))
        table = self.simctl("run", "grid.json").stdout.split("iteration time")[1].split("efficiency")[0]
        self.assertEqual(set(re.findall(r"\d (\w?s)\b", table)), {"ms"})


class Colours(Case):
    PLAIN = "simctl: nowhere: no such file"

    def shown(self, *words, **environment):
        return on_terminal(*words, cwd=self.folder, columns=300, environment={"TERM": "xterm", "NO_COLOR": "", **environment})[1]

    def test_only_the_beginning_of_errors_and_warnings_on_a_terminal_is_coloured(self):
        self.assertRegex(self.shown("show", "nowhere"), r"\A\x1b\[31msimctl:\x1b\[0m nowhere: no such file[^\x1b]*\r\n\Z")
        self.write("scenario.json", scenario())
        code, text = on_terminal("run", "scenario.json", cwd=self.folder, streams=("stdout",), environment={"TERM": "xterm", "NO_COLOR": ""})
        self.assertEqual((code, "\x1b" in text), (0, False))
        note = self.shown("run", "quickstart", "--format", "csv")
        self.assertIn("note: ", note)
        self.assertNotIn("\x1b[3", note)
        profile = ROOT / "traces/profiles/generated.pt.trace.json"
        self.assertRegex(self.shown("trace", "import", profile, "-o", "out.json", "--batch", "5"), r"\x1b\[33msimctl: warning:\x1b\[0m the batch is set to 5")

    def test_no_colour_where_nobody_wants_it(self):
        for changes in ({"NO_COLOR": "1"}, {"NO_COLOR": "0"}, {"TERM": "dumb"}, {"TERM": ""}):
            text = self.shown("show", "nowhere", **changes)
            self.assertIn(self.PLAIN, text, changes)
            self.assertNotIn("\x1b", text, changes)
        self.assertTrue(self.simctl("show", "nowhere").stderr.startswith(self.PLAIN))

    def test_names_in_messages_colour_nothing(self):
        self.assertEqual(self.shown("show", "\x1b[32mx").count("\x1b"), 2)


class Caveats(Case):
    LINE = 'note: estimated, not measured: times of trace; "simctl show NAME" says how; told once a day\n'

    def setUp(self):
        super().setUp()
        self.cache = {"XDG_CACHE_HOME": str(self.folder / "cache")}
        self.write("scenario.json", scenario())

    def shown(self, *words, **environment):
        code, text = on_terminal(*words, cwd=self.folder, columns=200, streams=("stdout",), environment={**self.cache, **environment})
        self.assertEqual(code, 0, text)
        return text.replace("\r\n", "\n")

    def told(self):
        return self.folder / "cache/syncopate/told"

    def test_a_terminal_says_it_once_a_day(self):
        self.assertIn(self.LINE, self.shown("run", "scenario.json"))
        for words in (("run", "scenario.json"), ("explain", "scenario.json")):
            text = self.shown(*words)
            self.assertNotIn("estimated", text)
            self.assertNotIn("SYNTHETIC", text)
            self.assertIn("(synthetic)", text)
        day, *names = self.told().read_text().splitlines()
        self.assertEqual(names, ["trace trace"])
        self.told().write_text("2020-01-01\ntrace trace\n")
        self.assertIn(self.LINE, self.shown("explain", "scenario.json"))
        self.assertEqual(self.told().read_text().splitlines(), [day, "trace trace"])

    def test_an_advice_says_it_likewise(self):
        self.write("advice.json", {"format": "advice/1", "trace": "trace.json", "clusters": [{"cluster": "cluster.json", "nodes": [2, 4]}], "schedules": ["wfbp", "s-sgd"],
                                   "target": {"samples": 1000}})
        self.write("cluster.json", cluster())
        self.assertIn(self.LINE, self.shown("advise", "advice.json"))
        text = self.shown("advise", "advice.json", "-o", "found")
        self.assertFalse("estimated" in text or "SYNTHETIC" in text)
        self.assertIn("the trace of three is SYNTHETIC, not measured", json.loads((self.folder / "found/advice.json").read_text())["notes"])
        self.assertIn("note: the trace of three is SYNTHETIC, not measured\n", self.simctl("advise", "advice.json").stdout)

    def test_what_has_not_been_told_today_is(self):
        self.shown("run", "scenario.json")
        text = self.shown("run", "quickstart", "--cluster", "dgx-h100", "--nodes", "2", "--schedule", "wfbp")
        self.assertIn('not measured: bandwidth of dgx-h100; "simctl', text)
        self.assertNotIn("is nominal", text)
        self.assertNotIn("estimated", self.shown("run", "scenario.json"))
        self.assertNotIn("estimated", self.shown("run", "quickstart", "--cluster", "25gbe", "--set", "/cluster/link/efficiency=0.5", "--schedule", "wfbp"))

    def test_a_pipe_and_files_keep_the_full_words(self):
        content = scenario(cluster="dgx-h100", schedule={"name": "wfbp"})
        (self.folder / "trace.json").write_text(json.dumps({**trace(), "provenance": {"kind": "synthetic", "source": "x", "note": "a long remark"}}))
        self.write("scenario.json", content)
        self.shown("run", "scenario.json")
        self.shown("run", "scenario.json", "-o", "out")
        notes = json.loads((self.folder / "out/results.json").read_text())["notes"]
        self.assertEqual(sum("is nominal: half of" in note for note in notes), 2)
        for _ in range(2):
            text = self.simctl("run", "scenario.json").stdout
            self.assertIn("; SYNTHETIC, not measured\n  a long remark\n", text)
            self.assertEqual(text.count("is nominal: half of"), 2)
            self.assertNotIn("told once a day", text)
        self.assertIn("provenance: SYNTHETIC, x; a long remark", self.shown("show", "trace.json"))

    def test_without_a_folder_that_can_be_written_it_is_said_each_time(self):
        for name, text in (("file", "x"), ("broken/syncopate/told", b"\xff\x00" * 100000), ("folder/syncopate/told/x", "x")):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        for changes in ({"XDG_CACHE_HOME": "/dev/null"}, {"XDG_CACHE_HOME": str(self.folder / "file")}, {"XDG_CACHE_HOME": str(self.folder / "folder")},
                        {"XDG_CACHE_HOME": "relative", "HOME": ""}, {"XDG_CACHE_HOME": "", "HOME": "/dev/null"}):
            for _ in range(2):
                self.assertIn(self.LINE, self.shown("run", "scenario.json", **changes), changes)
        self.assertFalse((self.folder / "relative").exists())
        broken = {"XDG_CACHE_HOME": str(self.folder / "broken")}
        self.assertIn(self.LINE, self.shown("run", "scenario.json", **broken))
        self.assertNotIn(self.LINE, self.shown("run", "scenario.json", **broken))
        home = {"XDG_CACHE_HOME": "", "HOME": str(self.folder / "home")}
        self.shown("run", "scenario.json", **home)
        self.assertTrue((self.folder / "home/.cache/syncopate/told").exists())
        os.mkfifo(self.folder / "pipe")
        (self.folder / "home/.cache/syncopate/told").unlink()
        (self.folder / "home/.cache/syncopate/told").symlink_to(self.folder / "pipe")
        self.assertIn(self.LINE, self.shown("run", "scenario.json", **home))


class MaxTime(Case):
    def test_only_what_takes_longer_is_ended_and_says_how_far_it_came(self):
        self.write("cluster.json", cluster(nodes=16))
        for jobs in (1, 2):
            with self.subTest(jobs=jobs):
                done = self.run_scenario(scenario(workers=UNEQUAL, sweep={"/iterations/measured": [1, ENDLESS, 2]}), "-j", jobs, "--max-time", "0.4s", "--timeline", "0,2")
                self.assertEqual(done.returncode, 4)
                self.assertRegex(done.stderr, r'^simctl: scenario.json: point 1: not done after 400 ms, with \d+ of 1000001 iterations simulated; use '
                                              r'"fidelity": "alpha-beta", fewer iterations or nodes, or allow more time\n$')
                self.assertEqual([row["measured_iterations"] for row in self.rows()], ["1", "2"])
                self.assertTrue((self.folder / "out/timeline-2.json").exists())

    def test_it_counts_for_each_replicate(self):
        done = self.run_scenario(scenario(workers=UNEQUAL, iterations={"warmup": 1, "measured": 3}), "--replicates", "40", "--max-time", "20", "-j", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_scenario(scenario(workers=UNEQUAL, iterations={"warmup": 1, "measured": ENDLESS}), "--replicates", "2", "--max-time", "0.5", "-j", "2")
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"^simctl: scenario.json: point 0: replicate \d \(seed \d\): not done after 500 ms, with .*\n$")

    def test_a_time_is_seconds_or_has_a_unit(self):
        for text in ("90", "90s", "5min", "2h", "1e3"):
            self.assertEqual(self.run_scenario(scenario(), "--max-time", text).returncode, 0)
        for text in ("", "0", "-1", "soon", "5 min", "5m", "inf", "nan", "90ss"):
            with self.subTest(text):
                done = self.run_scenario(scenario(), "--max-time=" + text)
                self.assertEqual(done.returncode, 2)
                self.assertIn("--max-time", done.stderr)


if __name__ == "__main__":
    unittest.main()
