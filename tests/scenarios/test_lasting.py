"""What has been simulated stays: runs that are killed, go on, are shared out and merged give the bytes of a single run."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import unittest

from lasting import LastingCase, change_point, seeds
from support import ROOT, SIMCTL, cluster, simulates, wait_until


class Lasting(LastingCase):
    def test_a_killed_run_goes_on(self):
        self.write("scenario.json", seeds(300))
        self.assertEqual(self.run_into("single").returncode, 0)
        with self.start("out", "-j", "1") as process:
            self.wait_for_points("out", 30)
            process.kill()
        kept = self.points("out")
        self.assertGreaterEqual(kept, 30)
        self.assertLess(kept, 300)
        self.assertFalse((self.folder / "out/results.csv").exists())
        for path in (self.folder / "out/points").glob("*.json"):
            self.assertIn("result", json.loads(path.read_text()), "a file is whole or not there")
        self.assertEqual(self.run_into("out", "--resume").returncode, 0)
        self.assert_same("out")

    def test_only_what_is_missing_is_simulated(self):
        self.write("scenario.json", seeds(6))
        self.run_into("out")
        files = sorted((self.folder / "out/points").iterdir())
        times = {path: path.stat().st_mtime_ns for path in files}
        files[0].unlink()
        files[1].write_text(files[1].read_text()[:100])  # a power cut
        self.assertEqual(self.run_into("out", "--resume").returncode, 0)
        self.assertEqual([path for path in files if path.stat().st_mtime_ns != times[path]], files[:2])

    def test_shards_of_which_some_are_killed_are_merged_to_the_bytes_of_a_single_run(self):
        self.write("scenario.json", seeds(300))
        self.run_into("single")
        draw, shards = random.Random(7), range(4)
        killed = (1, 3)
        for shard in shards:
            if shard in killed:
                with self.start(f"shard-{shard}", "-j", "1", "--shard", f"{shard}/4") as process:
                    self.wait_for_points(f"shard-{shard}", draw.randrange(1, 30))
                    process.kill()
                self.assertLess(self.points(f"shard-{shard}"), 75)
            else:
                self.assertEqual(self.run_into(f"shard-{shard}", "--shard", f"{shard}/4").returncode, 0)
        folders = [f"shard-{shard}" for shard in shards]
        done = self.simctl("merge", *folders, "-o", "whole")
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"simctl: \d+ of 300 points are missing: [\d,-]+; simctl run with --resume\b.*--shard\b.* adds them\n")
        self.assertFalse((self.folder / "whole").exists())
        for shard in killed:
            self.assertEqual(self.run_into(f"shard-{shard}", "--shard", f"{shard}/4").returncode, 0)
        self.assertEqual(self.simctl("merge", *folders, "-o", "whole").returncode, 0)
        self.assert_same("whole")

    def test_shards_may_share_a_folder_and_the_last_one_writes_the_results(self):
        self.write("scenario.json", seeds(10))
        self.run_into("single")
        for shard in (2, 0, 1):
            done = self.simctl("run", "scenario.json", "-o", "out", "--shard", f"{shard}/3")
            self.assertEqual((done.returncode, (self.folder / "out/results.csv").exists()), (0, shard == 1))
        self.assert_same("out")

    def test_gnu_parallel_runs_shards(self):
        if not shutil.which("parallel"):
            self.skipTest("there is no GNU parallel")
        self.assert_shared_by(20, "bash", "-euc", f"seq 0 3 | parallel {SIMCTL} run scenario.json --quiet -o shard-{{}} --shard {{}}/4 && "
                              f"{SIMCTL} merge shard-* -o out --quiet")

    def test_snakemake_runs_the_recipe(self):
        if not shutil.which("snakemake"):
            self.skipTest("there is no snakemake")
        recipe = re.search(r"^rule shard:\n(?:.*\n)*?(?=```)", (ROOT / "scenarios/STUDIES.md").read_text(), re.M)[0]
        for all_of_them, few in (("range(20)", "range(3)"), ("/20", "/3"), ("0 19", "0 2"), ("study.json", "scenario.json")):
            self.assertIn(all_of_them, recipe)
            recipe = recipe.replace(all_of_them, few)
        self.write("Snakefile", recipe)
        self.write("scenario.json", seeds(20))
        self.run_into("single")
        path = f"{os.path.dirname(SIMCTL)}:{os.environ['PATH']}"
        done = subprocess.run(["snakemake", "--cores", "2", "all/results.csv"], cwd=self.folder, env=os.environ | {"PATH": path, "HOME": str(self.folder)},
                              capture_output=True, text=True, timeout=900, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same("all")

    def test_points_of_another_study_are_taken_where_they_are_the_same(self):
        self.write("scenario.json", seeds(4))
        self.run_into("four")
        self.write("scenario.json", seeds(6))
        self.run_into("single")
        self.assertEqual(self.run_into("out", "--reuse", "four").returncode, 0)
        self.assert_same("out")
        inodes = {path.name for path in (self.folder / "four/points").iterdir()} & {path.name for path in (self.folder / "out/points").iterdir()}
        self.assertEqual(len(inodes), 4)

    def test_timelines_and_explanations_are_made_up_for(self):
        self.write("scenario.json", seeds(3))
        self.run_into("out", "--timeline", "--explain")
        names = [f"{what}-{point}.json" for what in ("timeline", "explanation") for point in range(3)]
        texts = {name: (self.folder / "out" / name).read_bytes() for name in names}
        (self.folder / "out/timeline-1.json").unlink()
        (self.folder / "out/explanation-2.json").unlink()
        self.assertEqual(self.run_into("out", "--timeline", "--explain", "--resume").returncode, 0)
        (self.folder / "out/timeline-2.json").unlink()
        self.assertEqual(self.run_into("out", "--timeline", "--resume").returncode, 0)
        self.assertEqual({name: (self.folder / "out" / name).read_bytes() for name in names}, texts)

    def test_failed_points_are_results_until_they_are_tried_again(self):
        self.write("scenario.json", seeds(2, iterations={"warmup": 0, "measured": 30_000}))
        self.assertEqual(self.run_into("out", "--max-time", "0.001").returncode, 4)
        again = self.run_into("out", "--resume")
        self.assertEqual(again.returncode, 4)
        self.assertIn("point 0: not done after", again.stderr)
        self.assertEqual(self.run_into("out", "--retry-failed").returncode, 0)
        self.assertEqual(len(self.rows()), 2)

    def test_folders_of_other_runs_are_refused(self):
        self.write("scenario.json", seeds(3))
        self.run_into("out")
        csv = (self.folder / "out/results.csv").read_bytes()
        self.assertEqual(self.run_into("out").returncode, 0, "the same study again")
        for words in ([], ["--resume"], ["--shard", "0/2"]):
            with self.subTest(words):
                done = self.run_into("out", "--set", "/iterations/measured=7", *words)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, r'simctl: -o out: there are results of another study, "[^"]+" \(scenario.json, 3 points\), and not of this one, '
                                              r'"[^"]+" \(scenario.json, 3 points\): the scenario, what it names, --set or --no-symmetry have changed; choose another folder, or --force to replace them\n')
                self.assertEqual((self.folder / "out/results.csv").read_bytes(), csv)
        (self.folder / "out/run.json").unlink()
        done = self.run_into("out")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "simctl: -o out: a run of this study has not finished there; --resume goes on with it, --force starts again\n"))
        study = json.loads((self.folder / "out/study.json").read_text())
        (self.folder / "out/study.json").write_text(json.dumps(study | {"program": "0" * 64, "version": "9.9"}))
        done = self.run_into("out", "--resume")
        self.assertEqual(done.returncode, 2)
        self.assertIn("these results are of another build of simctl (version 9.9, build 00000000)", done.stderr)
        self.assertEqual(self.run_into("out", "--force").returncode, 0)

    def test_bad_words_and_folders(self):
        self.write("scenario.json", seeds(3))
        self.run_into("out")
        self.write("other.json", seeds(4))
        self.simctl("run", "other.json", "-o", "other", "--quiet")
        (self.folder / "empty").mkdir()
        (self.folder / "broken").mkdir()
        (self.folder / "broken/study.json").write_text('{"format": "study/1"')
        (self.folder / "odd").mkdir()
        (self.folder / "odd/study.json").write_text('{"format": "study/1", "name": 7}')
        for code, message, *words in (
                (2, "--shard 3/3: expected i/n with 0 <= i < n, such as 0/4", "run", "scenario.json", "-o", "x", "--shard", "3/3"),
                (2, "--shard 1of3: expected i/n", "run", "scenario.json", "-o", "x", "--shard", "1of3"),
                (2, "--shard -1/3: expected i/n", "run", "scenario.json", "-o", "x", "--shard=-1/3"),
                (2, "--shard requires --output", "run", "scenario.json", "--shard", "0/2"),
                (2, "excludes", "run", "scenario.json", "-o", "x", "--resume", "--force"),
                (2, "results of another study", "merge", "out", "other", "-o", "y"),
                (3, "empty: no study.json there: not the folder of a run", "merge", "empty", "-o", "y"),
                (3, "empty: no study.json there: not the folder of a run", "merge", "out", "empty", "-o", "y"),
                (3, "broken/study.json", "merge", "broken", "-o", "y"),
                (3, "odd/study.json: /name: expected a string, got 7", "merge", "odd", "-o", "y"),
                (3, "odd/study.json: /name: expected a string, got 7", "run", "scenario.json", "-o", "odd")):
            with self.subTest(words):
                done = self.simctl(*words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(message, done.stderr)
        self.assertFalse((self.folder / "y").exists())

    def test_results_that_differ_are_not_merged(self):
        self.write("scenario.json", seeds(2))
        for out in ("one", "two"):
            self.run_into(out)
        change_point(sorted((self.folder / "two/points").iterdir())[0], lambda kept: kept["result"].update(iteration_s=1.0))
        done = self.simctl("merge", "one", "two", "-o", "both")
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"simctl: point [01]: one and two have different results")
        self.assertFalse((self.folder / "both").exists())

    def test_a_merge_needs_neither_the_scenario_nor_its_files(self):
        self.write("small.json", cluster(nodes=3))
        self.write("scenario.json", seeds(4) | {"cluster": "small.json"})
        self.run_into("single")
        for shard in range(2):
            self.run_into(f"shard-{shard}", "--shard", f"{shard}/2")
        (self.folder / "small.json").unlink()
        (self.folder / "scenario.json").unlink()
        self.assertEqual(self.simctl("merge", "shard-0", "shard-1", "-o", "out").returncode, 0)
        self.assert_same("out")

    def test_a_hangup_ends_a_run_as_termination_does(self):
        self.write("scenario.json", seeds(2, iterations={"warmup": 0, "measured": 1_000_000}))
        with self.start("out") as process:
            wait_until(lambda: simulates(process))
            process.send_signal(signal.SIGHUP)
            self.assertEqual(process.wait(30), 130)
        self.assertTrue((self.folder / "out/results.csv").exists())


if __name__ == "__main__":
    unittest.main()
