"""What a run does with a folder that another run has left, or is at work in."""
import json
import os
import shutil
import signal
import subprocess
import unittest

from lasting import LastingCase, seeds
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
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()), ["points", "study.json"])
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
        damages = ['{"format": 7}', '{"format": "point/1"}', '{"format": "point/1", "error": 7}', '{"format": "point/1", "result": {"iteration_s": 1}}']
        for path, damage in zip(sorted((self.folder / "out/points").iterdir()), damages, strict=True):
            path.write_text(damage)
        self.assertEqual(self.run_into("out", "--resume").returncode, 0)
        self.assert_same("out")

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
