"""Input and output that misbehave: special files, links, floods, closed streams, folders that go. Is it said, in few words, and is nothing lost?"""
import csv
import gzip
import json
import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import unittest

from support import ROOT, SIMCTL, Case, cluster, scenario, trace

SYNTH = ("trace", "synth", ROOT / "models/resnet20.json", "--device", ROOT / "models/devices/v100.json", "--batch", "8")
REPORT = ROOT / "analysis/report.py"


class WritingOneFile(Case):
    """What -o names is no plain file."""

    def synth(self, out, **options):
        return self.simctl(*SYNTH, "-o", out, **options)

    def test_stdout_gets_the_file_and_stderr_the_rest(self):
        for out in ("-", "/dev/stdout"):
            with self.subTest(out):
                done = self.synth(out)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["format"], "trace/1")
                self.assertIn("SYNTHETIC", done.stderr)
        with open(self.folder / "redirected", "w", encoding="utf-8") as file:
            file.write("\n")
            file.flush()
            subprocess.run([SIMCTL, *map(str, SYNTH), "-o", "/dev/stdout"], stdout=file, stderr=subprocess.DEVNULL, check=True, timeout=600)
        self.assertEqual(json.loads((self.folder / "redirected").read_text())["format"], "trace/1")

    def test_a_device_stays_one(self):
        self.assertEqual(self.synth("/dev/null").returncode, 0)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        done = self.synth("/dev/full")
        self.assertEqual((done.returncode, done.stderr), (5, "simctl: /dev/full: cannot be written: No space left on device; choose another place with -o\n"))

    def test_a_descriptor_is_written_to(self):
        (self.folder / "out").mkdir()
        self.run_scenario(scenario())
        synth = " ".join(map(str, (SIMCTL, *SYNTH)))
        report = f"/usr/bin/python3 {REPORT} out"
        places = ((2, "/dev/stderr"), (2, "/proc/self/fd/2"), (3, "/dev/fd/3"), (3, "link"))
        (self.folder / "link").symlink_to("/dev/fd/3")
        for program, number, out in [(synth, *place) for place in places] + [(report, *place) for place in places[1::2]]:
            command = f"{program} -o {out} {number}>>log >rest; echo after >>log"
            with self.subTest(command):
                log = self.folder / "log"
                log.write_text("before\n")
                done = subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=900, check=False)
                self.assertEqual(done.stderr, "")
                text = log.read_text()
                self.assertTrue(text.startswith("before\n") and text.endswith("after\n"), text[:100])
                self.assertTrue("trace/1" in text or "</html>" in text, text[:100])
        done = self.synth("/dev/fd/77")
        self.assertEqual((done.returncode, done.stderr), (5, "simctl: /dev/fd/77: cannot be written: Bad file descriptor; choose another place with -o\n"))

    def test_a_pipe_whose_reader_leaves(self):
        os.mkfifo(self.folder / "pipe")
        resnet = ("trace", "synth", ROOT / "models/resnet152.json", "--device", ROOT / "models/devices/v100.json", "--batch", "8", "-o", "pipe")     # more than a pipe holds
        with subprocess.Popen(["head", "-c", "1", "pipe"], cwd=self.folder, stdout=subprocess.DEVNULL):
            done = self.simctl(*resnet)
        self.assertEqual((done.returncode, done.stderr), (5, "simctl: pipe: cannot be written: Broken pipe; choose another place with -o\n"))
        done = subprocess.run(["bash", "-c", f"{' '.join(map(str, (SIMCTL, *resnet[:-1], '-')))} | head -c 1; exit ${{PIPESTATUS[0]}}"], cwd=self.folder, capture_output=True,
                              text=True, timeout=600, check=False)
        self.assertEqual((done.returncode, done.stderr), (128 + signal.SIGPIPE, ""))

    def test_a_pipe_is_written_to(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        received = []
        reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
        reader.start()
        self.assertEqual(self.synth("pipe").returncode, 0)
        reader.join()
        self.assertEqual(json.loads(received[0])["format"], "trace/1")
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    def test_a_link_is_followed_and_permissions_stay(self):
        (self.folder / "far").mkdir()
        for there in (True, False):
            with self.subTest(there=there):
                target, link = self.folder / f"far/target-{there}", self.folder / f"link-{there}"
                if there:
                    target.write_text("old")
                    target.chmod(0o640)
                link.symlink_to(f"far/{target.name}")
                self.assertEqual(self.synth(link.name).returncode, 0)
                self.assertTrue(link.is_symlink())
                self.assertEqual(json.loads(target.read_text())["format"], "trace/1")
                umask = os.umask(0)
                os.umask(umask)
                self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o640 if there else 0o666 & ~umask)
        self.assertEqual(len(list((self.folder / "far").iterdir())), 2, "no temporary file is left")
        (self.folder / "loop").symlink_to("loop")
        done = self.synth("loop")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (5, 1))
        self.assertIn("Too many levels of symbolic links", done.stderr)

    def test_what_cannot_be_written_whole_leaves_what_was_there(self):
        (self.folder / "trace-out.json").write_text("precious")
        synth = " ".join(map(str, (SIMCTL, *SYNTH)))
        done = subprocess.run(["bash", "-c", f"ulimit -f 1; {synth} -o trace-out.json"], cwd=self.folder, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual((done.returncode, done.stderr), (5, "simctl: trace-out.json: cannot be written: File too large; choose another place with -o\n"))
        self.assertEqual((self.folder / "trace-out.json").read_text(), "precious")
        self.assertEqual(list(self.folder.glob(".syncopate*")), [])

    def test_files_of_an_output_folder(self):
        (self.folder / "out").mkdir()
        (self.folder / "out/results.csv").symlink_to("../elsewhere.csv")
        (self.folder / "out/results.json").symlink_to("/dev/null")
        (self.folder / "out/.writable").symlink_to("../victim")
        (self.folder / "victim").write_text("precious")
        done = self.run_scenario(scenario())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len((self.folder / "elsewhere.csv").read_text().splitlines()), 2)
        self.assertTrue((self.folder / "out/results.json").is_symlink())
        self.assertEqual((self.folder / "victim").read_text(), "precious")

    def test_what_a_killed_run_left_is_removed_once_it_is_old(self):
        self.write("scenario.json", scenario(sweep={"/seed": [1, 2]}))
        for runs, of_the_young in (([("--resume",)], {"out"}), ([("--shard", "0/2"), ("--shard", "1/2")], {"out", "out/points"})):
            with self.subTest(runs=runs):
                (self.folder / "out/points").mkdir(parents=True)
                halves = [self.folder / folder / f".syncopate-{age}.tmp" for folder in ("out", "out/points") for age in ("old", "young")]
                for half in halves:
                    half.write_text("half")
                    if "old" in half.name:
                        os.utime(half, (time.time() - 601,) * 2)
                (self.folder / "out/.mine.tmp").write_text("precious")
                for words in runs:
                    done = self.simctl("run", "scenario.json", "-o", "out", "--quiet", *words)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                left = {str(half.parent.relative_to(self.folder)) for half in halves if half.exists()}
                self.assertEqual((left, [half for half in halves if "old" in half.name and half.exists()]), (of_the_young, []))
                self.assertTrue((self.folder / "out/.mine.tmp").exists())
                shutil.rmtree(self.folder / "out")

    def test_names_with_controls_make_a_valid_trace(self):
        model, device = self.folder / "m\nb.json", self.folder / "d\x1b.json"
        shutil.copy(ROOT / "models/resnet20.json", model)
        shutil.copy(ROOT / "models/devices/v100.json", device)
        done = self.simctl("trace", "synth", model.name, "--device", device.name, "--batch", "8", "-o", "trace.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        command = json.loads((self.folder / "trace.json").read_text())["provenance"]["command"]
        self.assertIn(r"m\nb.json", command)
        self.assertTrue(command.isprintable())

    def test_a_report(self):
        self.run_scenario(scenario(sweep={"/cluster/nodes": [2, 4]}))
        for out, expected in (("link.html", "target.html"), ("/dev/null", None)):
            with self.subTest(out):
                if out == "link.html":
                    (self.folder / out).symlink_to(expected)
                done = subprocess.run(["/usr/bin/python3", str(REPORT), "out", "-o", out], cwd=self.folder, capture_output=True, text=True, timeout=900, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                if expected:
                    self.assertGreater((self.folder / expected).stat().st_size, 1000)
        self.assertTrue((self.folder / "link.html").is_symlink())
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))


class Reading(Case):
    def check(self, *arguments, **options):
        started = time.monotonic()
        done = self.simctl(*arguments, **options)
        self.assertLess(time.monotonic() - started, 20)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr[:1000])
        self.assertLess(len(done.stderr), 5000)
        return done

    def test_files_that_are_none_or_too_many(self):
        with open(self.folder / "sparse.json", "wb") as file:
            file.truncate(20 << 30)
        (self.folder / "zeros.json").write_bytes(bytes(8))
        (self.folder / "loop.json").symlink_to("loop.json")
        os.mkfifo(self.folder / "pipe.json")
        long = "x" * 5000 + ".json"
        table = [
            ("sparse.json", "sparse.json: too large: 20480 MiB, of at most 256 MiB"),
            ("zeros.json", "zeros.json: not valid JSON at line 1, column 1: "),
            ("loop.json", "loop.json: cannot be read: Too many levels of symbolic links"),
            ("pipe.json", "pipe.json: cannot be read: nobody writes to this pipe"),
            (long, "File name too long"),
        ]
        for name, message in table:
            for command in ("check",) if name == "pipe.json" else ("check", "show"):  # which is given some seconds
                with self.subTest(name=name[:20], command=command):
                    done = self.check(command, name)
                    self.assertEqual((done.returncode, done.stdout), (3, ""))
                    self.assertIn(message, done.stderr)
                    self.assertNotIn("empty", done.stderr)
        self.write("scenario.json", scenario())
        done = self.check("run", "scenario.json", "-o", "x" * 5000)
        self.assertEqual(done.returncode, 5)
        self.assertIn("File name too long", done.stderr)

    def test_stdin_that_is_too_large(self):
        with open("/dev/zero", "rb") as zeros:
            done = self.check("check", "-", stdin=zeros)
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: stdin: too large: more than 256 MiB\n"))

    @unittest.skipUnless(os.access("/proc/kmsg", os.R_OK), "needs a readable /proc/kmsg")
    def test_a_file_that_never_ends(self):
        self.assertEqual(self.check("check", "/proc/kmsg").returncode, 3)

    def test_pipes_that_somebody_writes_to_are_read(self):
        self.write("scenario.json", scenario(trace=str(self.folder / "trace.json"), cluster=cluster()))
        os.mkfifo(self.folder / "pipe.json")
        for command in (f"{SIMCTL} check <(cat scenario.json)", f"{SIMCTL} check <(sleep 1; cat scenario.json)",
                        f"(sleep 1; cat scenario.json) > pipe.json & {SIMCTL} check pipe.json"):
            with self.subTest(command):
                done = subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=600, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("valid, 1 point", done.stdout)

    def test_a_referenced_file_is_named_with_who_names_it(self):
        for key, name in (("cluster", "cluster.json"), ("trace", "trace.json")):
            for text, reason in (("{", "not valid JSON at line 1"), ('{"format": "x"}', "/format: expected")):
                with self.subTest(key=key, text=text):
                    self.setUp()
                    self.write(name, text)
                    self.write("scenario.json", scenario())
                    done = self.check("check", "scenario.json")
                    self.assertEqual(done.returncode, 3)
                    self.assertTrue(done.stderr.startswith(f"simctl: {name}: {reason}"), done.stderr)
                    self.assertTrue(done.stderr.endswith(f" (named by scenario.json: /{key})\n"), done.stderr)

    def test_small_files_that_grow(self):
        head = b'{"schemaVersion": 1, "traceEvents": [{"name": "'
        with gzip.open(self.folder / "bomb.json.gz", "wb", compresslevel=1) as file:
            file.write(head)
            for _ in range(70):
                file.write(b"x" * (1 << 20))
        done = self.check("trace", "import", "bomb.json.gz", "-o", "out.json")
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: bomb.json.gz: too large: it contains a string of more than 64 MiB\n"))
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 3 << 20, "KiB: the files above count, too")


class Showing(Case):
    """Nothing that a file or an argument holds reaches the terminal as more than letters."""

    HOSTILE = "a\x1b]0;b\x07c\x7fd\u009be\u202ef\u2066g\u200fh\u061ci\u2028j"
    SHOWN = r"a\x1b]0;b\x07c\x7fd\u009be\u202ef\u2066g\u200fh\u061ci\u2028j"

    def assert_harmless(self, done):
        for text in (done.stdout, done.stderr):
            odd = {c for c in text if not c.isprintable() and c != "\n"}
            self.assertEqual(odd, set())

    def test_keys_names_and_paths(self):
        letters = "".join(c for c in self.HOSTILE if not (ord(c) < 32 or ord(c) == 127))  # others are no name: see below
        hostile_file = self.write(f"{letters}.json", scenario(name=letters, cluster=cluster(name=letters), trace=trace(model={"name": letters, "batch": 4, "dtype": "fp32"})))
        for arguments, code in ((("run", hostile_file.name, "-o", letters), 0), (("check", hostile_file.name), 0), (("run", hostile_file.name, "--set", '/seed="\x1b"'), 2),
                                (("check", self.HOSTILE), 3), (("run", hostile_file.name, "--" + letters), 2), (("show", letters), 3)):
            with self.subTest(arguments=arguments):
                done = self.simctl(*arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assert_harmless(done)
        self.write("keys.json", scenario(**{self.HOSTILE: 1}))
        done = self.simctl("check", "keys.json")
        self.assertEqual(done.returncode, 3)
        self.assert_harmless(done)
        self.assertIn(self.SHOWN, done.stderr)
        self.write("lines.json", scenario(**{"a\nsimctl: all is well": 1}))
        done = self.simctl("check", "lines.json")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1))
        self.write("control.json", scenario(name="a\x1bb"))
        self.assertIn("expected a string without control characters", self.simctl("check", "control.json").stderr)

    def test_tables(self):
        self.write("m.json", {"format": "trace/1", **trace(layers=[{"name": "l\u202e0", "type": "\u009bm", "forward_s": 1, "backward_s": 1}],
                                                        gradients=[{"name": "g\u2066", "layer": "l\u202e0", "bytes": 4}])})
        done = self.simctl("show", "m.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_harmless(done)

    def test_what_is_long_is_cut(self):
        long = "\u00e9" * 500_000
        table = [
            (scenario(name=long), "/name: expected a name of at most 255 bytes, got "),
            (scenario(**{long: 1}), 'unknown key "'),
            (scenario(fidelity=long), "/fidelity: expected one of "),
            (scenario(cluster=long), "/cluster: "),
            (scenario(schedule={"name": long}), "/schedule/name: expected one of "),
            ('{"a": "' + long, "not valid JSON"),
        ]
        for content, message in table:
            with self.subTest(message):
                self.write("scenario.json", content)
                done = self.simctl("check", "scenario.json")
                self.assertEqual(done.returncode, 3)
                self.assertIn(message, done.stderr)
                self.assertIn("...", done.stderr)
                self.assertLess(len(done.stderr), 5000)


class Formulas(Case):
    NAMES = ("=1+1", "+1", "-1", "@SUM(A1)", "'x", "'=1", "plain", "a=b", "=a,\"b\"")

    def test_names_in_a_table_are_no_formulas_and_come_back(self):
        for name in self.NAMES:
            self.write(f"{self.NAMES.index(name)}.json", cluster(name=name))
        done = self.run_scenario(scenario(sweep={"/cluster": [f"{i}.json" for i in range(len(self.NAMES))], "/x-note": ["=2", -2]}))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = self.rows()
        for row in rows:
            name = self.NAMES[int(row["/cluster"].split(".")[0])]
            self.assertEqual(row["cluster"], name if name in ("plain", "a=b") else "'" + name)
            self.assertIn(row["/x-note"], ("'=2", "-2"))
        code = "import json, pathlib; from syncopate.results.folder import read_run; print(json.dumps(list(read_run(pathlib.Path('out')).rows['cluster'])))"
        read = subprocess.run(["/usr/bin/python3", "-c", code], cwd=self.folder, env={**os.environ, "PYTHONPATH": str(ROOT / "analysis")}, capture_output=True,
                              text=True, check=True, timeout=600)
        self.assertEqual(json.loads(read.stdout)[::2], list(self.NAMES))


class Surroundings(Case):
    def shell(self, command, **options):
        return subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=600, check=False, **options)

    def test_an_output_folder_that_is_removed(self):
        self.write("cluster.json", cluster(nodes=64))
        self.write("scenario.json", scenario(workers={"jitter": {"distribution": "lognormal", "cv": 0.1}}, sweep={"/iterations/measured": [1, 2, 4000]}))
        for again in (True, False):
            with self.subTest(again=again):
                with subprocess.Popen([SIMCTL, "run", "scenario.json", "-o", "deep/out", "-j", "1"], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE) as process:
                    deadline = time.monotonic() + 30
                    while len(list((self.folder / "deep/out/points").glob("*.json"))) < 2 and time.monotonic() < deadline:
                        time.sleep(0.01)
                    shutil.rmtree(self.folder / "deep")
                    if not again:
                        (self.folder / "deep").write_text("in the way")
                    output, errors = process.communicate(timeout=60)
                self.assertIn("efficiency", output)
                if again:
                    self.assertEqual((process.returncode, errors), (0, ""))
                    self.assertEqual(len(self.rows("deep/out")), 3)
                    shutil.rmtree(self.folder / "deep")
                else:
                    self.assertEqual((process.returncode, errors.count("\n")), (5, 1))
                    self.assertRegex(errors, "deep/out.*: cannot be used as an output folder: Not a directory")

    def test_limits_and_closed_streams(self):
        self.write("scenario.json", scenario(sweep={"/seed": list(range(60))}))
        table = [
            (f"ulimit -f 8; {SIMCTL} run scenario.json -o limited --quiet", 5, r"^simctl: limited/\S+: cannot be written: File too large; choose another place with -o\n$"),
            (f"{SIMCTL} run scenario.json -o no-stderr 2>&-", 0, "^$"),
            (f"{SIMCTL} check gone.json 2>&-", 3, "^$"),
            (f"{SIMCTL} run scenario.json -o no-stdout >&-", 5, "^simctl: standard output cannot be written: Bad file descriptor\n$"),
            (f"{SIMCTL} run scenario.json -o quiet --quiet >&- 2>&- <&-", 0, "^$"),
            (f"{SIMCTL} run - <&-", 3, "^simctl: stdin: reading failed: Bad file descriptor\n$"),
            (f"{SIMCTL} run scenario.json --format csv --quiet > /dev/full", 5, "^simctl: standard output cannot be written: No space left on device\n$"),
        ]
        for command, code, message in table:
            with self.subTest(command):
                done = self.shell(command)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertRegex(done.stderr, message)
        for folder in ("no-stderr", "no-stdout", "quiet"):
            self.assertEqual(len(self.rows(folder)), 60)

    def test_too_little_memory(self):
        self.write("scenario.json", scenario(cluster=cluster(nodes=20000), workers={"slow": [{"ranks": "0", "factor": 2}]}, fidelity="alpha-beta", sweep={"/seed": [1, 2]}))
        done = self.shell(f"ulimit -v 250000; {SIMCTL} run scenario.json -o out")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(done.stderr.count("out of memory"), 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 2)
        self.write("large.json", scenario(sweep={"/seed": list(range(60000)), "/iterations/measured": list(range(1, 60))}))
        done = self.shell(f"ulimit -v 250000; {SIMCTL} check large.json")
        self.assertIn(done.returncode, (3, 4))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
