"""What a run does with a folder that another run has left, or is at work in."""
import copy
import json
import os
import shutil
import signal
import subprocess
import unittest

from lasting import LastingCase, sealed, seeds
from support import SIMCTL, cluster, scenario, simulates, wait_until

LONG = {"warmup": 0, "measured": 20_000}
ENDLESS = {"warmup": 0, "measured": 1_000_000}
LAUNCHERS = {  # the variables by which mpirun of Open MPI, that of MPICH, and srun tell a process that it is one of several
    "mpirun": {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"},
    "mpiexec": {"PMI_RANK": "1", "PMI_SIZE": "2"},
    "srun": {"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2"}}
ALONE = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI_", "SLURM_"))}


class RunFolders(LastingCase):
    def files(self, out="out"):
        return {path.name: path.read_bytes() for path in (self.folder / out / "points").iterdir()}

    def kill(self, out, *words, when):
        """Starts a run, and kills it when something is so."""
        with self.start(out, *words) as process:
            wait_until(when)
            process.kill()

    def test_a_shard_leaves_the_others_points_alone(self):
        self.write("scenario.json", seeds(4))
        self.run_into("out", "--shard", "0/2")
        before = self.files()
        self.assertEqual(self.run_into("out", "--shard", "1/2", "--timeline").returncode, 0)
        self.assertEqual({name: text for name, text in self.files().items() if name in before}, before)
        self.assertEqual(self.points("out"), 4)

    def test_a_link_to_a_folder_that_is_missing_makes_it(self):
        self.write("scenario.json", seeds(2))
        (self.folder / "link").symlink_to("deep/out")
        for _ in range(2):
            self.assertEqual(self.run_into("link").returncode, 0)
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual((len(self.rows("deep/out")), self.points("deep/out")), (2, 2))

    def test_a_result_stays_until_another_one_is_there(self):
        self.write("scenario.json", seeds(2, iterations=LONG))
        self.run_into("out")
        before = self.files()
        csv = (self.folder / "out/results.csv").read_bytes()
        done = self.run_into("out", "--resume", "--timeline", "--iterations", "1", "--max-time", "0.001")
        self.assertEqual(done.returncode, 4)
        self.assertIn("no timeline: point 0: not done after", done.stderr)
        self.assertEqual(((self.folder / "out/results.csv").read_bytes(), self.files()), (csv, before))
        self.kill("out", "--resume", "--timeline", when=lambda: not (self.folder / "out/run.json").exists())
        self.assertEqual(self.files(), before)
        refused = self.run_into("out")
        self.assertEqual((refused.returncode, self.files()), (2, before))

    def test_a_timeline_changes_no_digit_of_what_is_there(self):
        self.write("scenario.json", scenario(cluster=cluster(nodes=4), schedule={"name": "ps-sgd"}, workers={"jitter": {"distribution": "lognormal", "cv": 0.2}}))
        self.run_into("single")
        self.run_into("out")
        self.assertEqual(self.run_into("out", "--resume", "--timeline").returncode, 0)
        self.assert_same("out")
        self.assertTrue((self.folder / "out/timeline-0.json").exists())

    def test_nothing_of_an_earlier_study_outlasts_force(self):
        self.write("scenario.json", seeds(3))
        self.run_into("out", "--timeline", "--explain")
        self.write("scenario.json", seeds(2, iterations=ENDLESS))
        self.kill("out", "--force", when=lambda: '"measured": 1000000' in (self.folder / "out/study.json").read_text())
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()), [".lock", "points", "study.json"])
        self.assertEqual(self.files(), {})

    def test_the_same_points_under_other_columns_are_another_study(self):
        nodes = {"/cluster/nodes": [2, 4]}
        self.write("scenario.json", scenario(cluster=cluster(nodes=2), sweep=nodes))
        self.run_into("out")
        self.write("scenario.json", scenario(cluster=cluster(nodes=2), sweep={"/cluster": [cluster(nodes=2), cluster(nodes=4)]}))
        for done in (self.run_into("out", "--resume"), self.run_into("other") and self.simctl("merge", "out", "other", "-o", "both")):
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("results of another study", done.stderr)

    def test_what_looks_alike_says_what_may_differ(self):
        self.write("scenario.json", seeds(2))
        self.run_into("out")
        done = self.run_into("out", "--resume", "--no-symmetry")
        self.assertIn("the scenario, what it names, --set or --no-symmetry have changed; choose another folder", done.stderr)

    def test_damaged_points_are_simulated_again(self):
        self.write("scenario.json", seeds(4))
        self.run_into("single")
        self.run_into("out")
        damages = [{"format": 7}, {"format": "point/1"}, {"format": "point/1", "error": 7}, {"format": "point/1", "result": {"iteration_s": 1}}]
        for path, damage in zip(sorted((self.folder / "out/points").iterdir()), damages, strict=True):
            path.write_text(sealed(path.stem, damage))
        self.assertEqual(self.run_into("out", "--resume").returncode, 0)
        self.assert_same("out")

    def test_points_that_were_changed_are_simulated_again_and_not_merged(self):
        self.write("scenario.json", seeds(3))
        self.run_into("single")
        for name, change in (
                ("a digit", lambda text, other: text.replace('"iteration_s":0', '"iteration_s":1')),
                ("a space", lambda text, other: text.replace(":", ": ", 1)),
                ("cut off", lambda text, other: text[:len(text) // 2]),
                ("cut off at the end", lambda text, other: text[:-1]),
                ("something behind it", lambda text, other: text + "{}"),
                ("empty", lambda text, other: ""),
                ("without a digest", lambda text, other: json.dumps({key: value for key, value in json.loads(text).items() if key != "sha256"})),
                ("another point", lambda text, other: other)):
            with self.subTest(name):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                shutil.copytree(self.folder / "single", self.folder / "out")
                victim, other, _ = sorted((self.folder / "out/points").iterdir())
                text = victim.read_text()
                victim.write_text(change(text, other.read_text()))
                self.assertNotEqual(victim.read_text(), text)
                done = self.simctl("merge", "out", "-o", "merged")
                problem = f"out/points/{victim.name}: /sha256: does not fit the rest of the file, which is not whole or was changed"
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"simctl: {problem}; simulate the point again there, with simctl run --resume, and merge then\n"))
                self.assertFalse((self.folder / "merged").exists())
                done = self.simctl("run", "scenario.json", "-o", "out", "--resume")
                self.assertEqual((done.returncode, done.stderr), (0, f"simctl: {problem}; what it held is simulated again\n"))
                self.assert_same("out")
                self.assertEqual(victim.read_text(), text)

    def test_a_damaged_description_says_what_is_wrong_and_what_to_do(self):
        self.write("scenario.json", seeds(2))
        self.run_into("out")
        path = self.folder / "out/study.json"
        text = path.read_text()
        study = json.loads(text)

        places = [(key,) for key in study] + [("inputs", 0)] + [("inputs", 0, key) for key in study["inputs"][0]]

        def mutated(place, value):
            changed = copy.deepcopy(study)
            holder = changed
            for key in place[:-1]:
                holder = holder[key]
            if value is None:
                del holder[place[-1]]
            else:
                holder[place[-1]] = value
            return json.dumps(changed)

        table = [text[:length] for length in range(0, len(text) - 2, max(1, len(text) // 10))] + ["[]", "7", "null"]
        table += [mutated(place, value) for place in places for value in (None, 7.5, [[]])]
        harmless = 0
        for damaged in table:
            path.write_text(damaged)
            for words in (("merge", "out", "-o", "merged"), ("run", "scenario.json", "-o", "out", "--resume", "--quiet")):
                done = self.simctl(*words)
                if words[0] == "run":     # which needs only who wrote it, and of what
                    self.assertIn(done.returncode, (0, 2, 3), done.stderr)
                with self.subTest(words=words, study=damaged[-200:]):
                    self.assertNotIn("json.exception", done.stderr)
                    self.assertEqual(done.stderr.count("\n"), done.returncode != 0, done.stderr)
                    if done.returncode == 3:
                        self.assertRegex(done.stderr, r"^simctl: out/study\.json: .*; the file is damaged or was changed: run the study again, with -o DIR --force\n$")
                    else:
                        harmless += words[0] == "merge"
            shutil.rmtree(self.folder / "merged", ignore_errors=True)
        self.assertLess(harmless, len(table) / 4)     # such as a version or the name of a file that was read
        path.write_text(mutated(("digest",), "0" * 64))
        done = self.simctl("merge", "out", "-o", "merged")
        self.assertEqual((done.returncode, done.stderr), (3, "simctl: out/study.json: /digest: does not fit the study in the file; the file is damaged or was changed: "
                                                             "run the study again, with -o DIR --force\n"))
        self.assertEqual(self.run_into("out", "--force").returncode, 0)

    def test_a_merge_follows_no_link(self):
        self.write("scenario.json", seeds(2))
        self.run_into("out", "--timeline")
        self.write("secret", "precious")
        for name in ("timeline-0.json", "dataflow-1.jsonl.gz", "explanation-7.json"):
            path = self.folder / "out" / name
            path.unlink(missing_ok=True)
            for make, what in ((lambda path=path: path.symlink_to("../secret"), "a link"), (lambda path=path: os.mkfifo(path), "something else")):
                with self.subTest(name, what=what):
                    make()
                    done = self.simctl("merge", "out", "-o", "merged")
                    self.assertEqual((done.returncode, done.stdout), (3, ""))
                    self.assertEqual(done.stderr, f"simctl: out/{name}: expected a file, got {what}; merge copies only files: put the file itself there, or remove it\n")
                    self.assertFalse((self.folder / "merged").exists())
                    path.unlink()
        self.assertEqual(self.simctl("merge", "out", "-o", "merged", "--quiet").returncode, 0)

    def test_a_folder_where_a_run_is_at_work_is_only_shared_by_the_same_study(self):
        self.write("scenario.json", seeds(4))
        self.run_into("ended")
        self.write("other.json", seeds(2, name="other"))
        self.write("scenario.json", seeds(2, iterations=ENDLESS))
        with self.start("out") as process:
            wait_until(lambda: simulates(process))
            before = (self.folder / "out/study.json").read_bytes()
            in_use = (f"simctl: -o out: another run (process {process.pid}) is at work there; wait until it has ended, choose another folder, or share its work "
                      "with --resume if it is of this study\n")
            for message, *words in ((in_use, "run", "scenario.json"), (in_use, "run", "other.json"), (in_use, "run", "other.json", "--force"),
                                    (in_use, "run", "scenario.json", "--force"), (in_use, "merge", "ended", "--force"),
                                    ("results of another study", "run", "other.json", "--resume"), ("results of another study", "run", "other.json", "--shard", "0/2"),
                                    ("results of another study", "merge", "ended")):
                with self.subTest(words):
                    done = self.simctl(*words, "-o", "out")
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                    self.assertIn(message, done.stderr)
            for words in (("--resume",), ("--shard", "1/2"), ("--retry-failed",)):
                with self.subTest(words):
                    self.assertEqual(self.run_into("out", "--max-time", "0.1", *words).returncode, 4)
            self.assertEqual((self.folder / "out/study.json").read_bytes(), before)
            process.kill()
        self.assertEqual(self.run_into("out", "--force", "--max-time", "0.1").returncode, 4)  # it is free at once

    def test_of_runs_that_begin_at_once_one_goes_on(self):
        for name, seed in (("one", 0), ("two", 10)):
            self.write(f"{name}.json", seeds(6, name=name) | {"sweep": {"/seed": list(range(seed, seed + 6))}})
        for number, names in enumerate([("one", "two"), ("one", "one", "one"), ("two", "one", "two")] * 3):
            with self.subTest(number):
                runs = [subprocess.Popen([SIMCTL, "run", f"{name}.json", "-o", f"out-{number}", "--quiet"], cwd=self.folder, stderr=subprocess.PIPE, text=True) for name in names]
                ended = [(run.communicate(timeout=60)[1], run.returncode, name) for run, name in zip(runs, names)]
                self.assertLessEqual({code for _, code, _ in ended}, {0, 2})
                winner, = {name for _, code, name in ended if code == 0}
                for error, code, _ in ended:
                    self.assertRegex(error, r"^$" if code == 0 else rf"^simctl: -o out-{number}: ")
                self.assertEqual(json.loads((self.folder / f"out-{number}/study.json").read_text())["name"], winner)
                self.assertEqual([int(row["/seed"]) for row in self.rows(f"out-{number}")], [seed + (10 if winner == "two" else 0) for seed in range(6)])
                self.assertEqual(self.points(f"out-{number}"), 6)

    def test_shards_that_begin_at_once_share_a_folder(self):
        self.write("scenario.json", seeds(12))
        self.run_into("single")
        runs = [self.start("out", "--shard", f"{shard}/6", "-j", "1") for shard in range(6)]
        self.assertEqual([run.wait(60) for run in runs], [0] * 6)
        self.assert_same("out")

    def test_a_lock_that_cannot_be_made(self):
        self.write("scenario.json", seeds(2))
        (self.folder / "out").mkdir()
        (self.folder / "out/.lock").symlink_to("../victim")
        done = self.run_into("out")
        self.assertEqual((done.returncode, done.stderr), (5, "simctl: out/.lock: cannot be written: Too many levels of symbolic links; choose another folder with -o\n"))
        self.assertFalse((self.folder / "victim").exists())

    def test_explanations_are_shared_out_too(self):
        self.write("scenario.json", seeds(3))
        self.run_into("out")
        for shard, explained in ((0, {0, 2}), (1, {0, 1, 2})):
            self.assertEqual(self.run_into("out", "--shard", f"{shard}/2", "--explain").returncode, 0)
            self.assertEqual({path.name for path in self.folder.glob("out/explanation-*.json")}, {f"explanation-{point}.json" for point in explained})

    def test_a_run_under_nohup_outlives_a_hangup(self):
        self.write("scenario.json", seeds(1, iterations=LONG))
        ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with subprocess.Popen([SIMCTL, "run", "scenario.json", "-o", "out", "--quiet"], cwd=self.folder, preexec_fn=ignore) as process:
            wait_until(lambda: simulates(process))
            process.send_signal(signal.SIGHUP)
            self.assertEqual(process.wait(60), 0)

    def test_a_run_that_dies_before_it_writes_the_results_leaves_them_to_another(self):
        self.write("scenario.json", seeds(2, iterations=LONG))
        self.run_into("single")
        self.run_into("out")
        for name in ("results.csv", "results.json", "run.json"):
            (self.folder / "out" / name).unlink()
        self.assertEqual(self.run_into("out", "--resume").returncode, 0)
        self.assert_same("out")

    def test_failures_are_merged_in_whatever_order(self):
        self.write("scenario.json", seeds(2, iterations=ENDLESS))
        for out, most in (("one", "0.1"), ("two", "0.05")):
            self.assertEqual(self.run_into(out, "--max-time", most).returncode, 4)
        for out, folders in (("single", ("one", "two")), ("out", ("two", "one"))):
            self.assertEqual(self.simctl("merge", *folders, "-o", out).returncode, 4)
        self.assert_same("out")

    def test_a_merge_may_go_into_one_of_its_folders(self):
        self.write("scenario.json", seeds(4))
        self.run_into("single")
        for shard in range(2):
            self.run_into(f"shard-{shard}", "--shard", f"{shard}/2")
        before = self.files("shard-0")
        self.assertEqual(self.simctl("merge", "shard-0", "shard-1", "-o", "shard-0", "--force").returncode, 0)
        self.assert_same("shard-0")
        self.assertLessEqual(before.items(), self.files("shard-0").items())

    def test_a_resumed_run_says_what_there_was(self):
        self.write("scenario.json", seeds(3))
        self.run_into("out")
        self.assertIn("3 of 3 points had been simulated before\n", self.simctl("run", "scenario.json", "-o", "out", "--resume").stdout)

    def test_options_that_would_do_nothing_or_harm(self):
        self.write("scenario.json", seeds(2))
        for message, *words in (
                ("-o -: stdout keeps no points", "-o", "-", "--shard", "0/2"),
                ("-o -: stdout keeps no points", "-o", "-", "--resume"),
                ("--reuse nowhere: no points/ in there", "-o", "x", "--reuse", "nowhere")):
            with self.subTest(words):
                done = self.simctl("run", "scenario.json", *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)
        self.assertFalse((self.folder / "x").exists())
        done = self.simctl("run", "scenario.json", "-o", "x", "--shard", "0/2", "--format", "csv")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("shard 0/2 of test: 1 of 2 points are in x", done.stderr)
        self.assertEqual(self.simctl("merge", "x", "-o", "-").returncode, 2)

    def test_one_of_several_processes_is_refused_without_a_shard_of_its_own(self):
        """They would all simulate the same points."""
        self.write("scenario.json", seeds(2))
        for launcher, variables in LAUNCHERS.items():
            for words in ([], ["-o", "x"], ["-o", "x", "--resume"], ["-o", "x", "--force"]):
                with self.subTest(launcher, words=words):
                    done = self.simctl("run", "scenario.json", *words, env=ALONE | variables)
                    self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
                    self.assertIn("--shard", done.stderr)
                    self.assertFalse((self.folder / "x").exists())
        for name, variables in (("with a shard", LAUNCHERS["mpirun"]), ("one process", {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}),
                                ("a job without srun", {"SLURM_NTASKS": "2", "SLURM_JOB_ID": "1"})):
            with self.subTest(name):
                words = ["--shard", "0/2"] if name == "with a shard" else []
                done = self.simctl("run", "scenario.json", "-o", name, "--quiet", *words, env=ALONE | variables)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_mpirun_itself(self):
        self.write("scenario.json", seeds(2))
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        done = subprocess.run(["mpirun", *root, "--oversubscribe", "-n", "2", SIMCTL, "run", "scenario.json", "-o", "out", "--quiet"], cwd=self.folder,
                              capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--shard", done.stderr)
        self.assertFalse((self.folder / "out").exists())



if __name__ == "__main__":
    unittest.main()
