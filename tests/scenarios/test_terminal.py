"""Does simctl tell a person at a terminal how far it has come, and end what takes too long?"""
import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import unittest

from support import SIMCTL, Case, cluster, scenario

ENDLESS = 10_000_000
UNEQUAL = {"jitter": {"distribution": "lognormal", "cv": 0.1}}


def on_terminal(*arguments, cwd, columns=120, streams=("stderr",)):
    """(exit code, what the terminal showed) of simctl with these streams on a terminal of so many columns, the others in pipes."""
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
    done = subprocess.run([SIMCTL, *map(str, arguments)], cwd=cwd, timeout=60, check=False, **ends)
    os.close(terminal)
    reader.join()
    os.close(controller)
    return done.returncode, b"".join(shown).decode()


class Progress(Case):
    def test_points_times_and_the_iterations_of_a_long_point_are_shown(self):
        self.write("cluster.json", cluster(nodes=64))
        self.write("scenario.json", scenario(workers=UNEQUAL, sweep={"/iterations/measured": [1, ENDLESS]}))
        code, shown = on_terminal("run", "scenario.json", "-j", "1", "--max-time", "2.5", cwd=self.folder, columns=150)
        self.assertEqual(code, 4)
        self.assertIn("0/2 points", shown)
        told = re.findall(r"1/2 points, 0:0(\d) elapsed, about [\d:]+ left; point 1: (\d+) of 10000001 iterations", shown)
        self.assertGreater(len(told), 2)
        self.assertGreater(int(told[-1][1]), int(told[0][1]))
        self.assertEqual(told, sorted(told, key=lambda one: (one[0], int(one[1]))))

    def test_a_single_point_shows_itself_only_when_it_takes_a_while(self):
        self.write("scenario.json", scenario())
        self.assertNotIn("points", on_terminal("run", "scenario.json", cwd=self.folder)[1])
        self.write("scenario.json", scenario(workers=UNEQUAL, iterations={"measured": ENDLESS}))
        self.assertRegex(on_terminal("run", "scenario.json", "--max-time", "2s", cwd=self.folder)[1], r"0/1 points, 0:02 elapsed, about [\d:]+ left; point 0: \d+ of")

    def test_a_line_never_wraps(self):
        self.write("scenario.json", scenario(workers=UNEQUAL, iterations={"measured": ENDLESS}))
        _, shown = on_terminal("run", "scenario.json", "--max-time", "2s", cwd=self.folder, columns=60)
        lines = re.findall(r"\r([^\r\x1b]*)\x1b\[K", shown)
        self.assertEqual(max(map(len, lines)), 59)

    def test_a_pipe_sees_nothing_of_it(self):
        done = self.run_scenario(scenario(workers=UNEQUAL, sweep={"/iterations/measured": [1, ENDLESS]}), "--max-time", "1.5s")
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertNotIn("elapsed", done.stderr + done.stdout)


class MaxTime(Case):
    def test_only_what_takes_longer_is_ended_and_says_how_far_it_came(self):
        self.write("cluster.json", cluster(nodes=64))
        for jobs in (1, 2):
            with self.subTest(jobs=jobs):
                done = self.run_scenario(scenario(workers=UNEQUAL, sweep={"/iterations/measured": [1, ENDLESS, 2]}), "-j", jobs, "--max-time", "1s", "--timeline")
                self.assertEqual(done.returncode, 4)
                self.assertRegex(done.stderr, r'^simctl: scenario.json: point 1: not done after 1 s, with \d+ of 10000001 iterations simulated; use '
                                              r'"fidelity": "alpha-beta", fewer iterations or nodes, or allow more time\n$')
                self.assertEqual([row["measured_iterations"] for row in self.rows()], ["1", "2"])
                self.assertTrue((self.folder / "out/timeline-2.json").exists())

    def test_it_counts_for_each_replicate(self):
        done = self.run_scenario(scenario(workers=UNEQUAL, iterations={"warmup": 1, "measured": 3}), "--replicates", "40", "--max-time", "20", "-j", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_scenario(scenario(workers=UNEQUAL, iterations={"warmup": 1, "measured": ENDLESS}), "--replicates", "2", "--max-time", "0.5", "-j", "2")
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"^simctl: scenario.json: point 0: not done after 500 ms, with .*\n$")

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
