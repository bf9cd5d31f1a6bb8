"""--dataflow and --optimizer: which points get a record, what is refused, and runs that end later or elsewhere."""

import unittest

from recording import Recorded, trace
from support import cluster, scenario

EQUAL = {"name": "wfbp"}


class Options(Recorded):
    def study(self, schedules=({"name": "wfbp"}, {"name": "ps-sgd"}, {"name": "dts", "delay": 1}, {"name": "sgp"}), **changes):
        return scenario(trace=trace(), schedule=schedules[0], sweep={"/schedule": list(schedules)}, **changes)

    def files(self, out="out"):
        return sorted(path.name for path in (self.folder / out).glob("dataflow-*"))

    def named(self, *points):
        return [f"dataflow-{point}.jsonl.gz" for point in points]

    # Which points

    def test_all_points(self):
        for jobs in ("1", "2"):
            done = self.run_scenario(self.study(), "--dataflow", "-j", jobs)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.files(), self.named(0, 1, 2, 3))
        self.assertEqual([record.header["point"] for record in self.records().values()], [0, 1, 2, 3])

    def test_some_points(self):
        for words, points in (("0-1,3", (0, 1, 3)), ("2", (2,)), ("0-3", (0, 1, 2, 3))):
            done = self.run_scenario(self.study(), f"--dataflow={words}")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.files(), self.named(*points))

    def test_beside_other_files(self):
        """The same bytes with a timeline and an explanation, and with every worker simulated in full."""
        texts = []
        for words in ([], ["--timeline", "--explain"], ["--no-symmetry"]):
            done = self.run_scenario(self.study(), "--dataflow", *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            texts.append([(self.folder / "out" / name).read_bytes() for name in self.files()])
        self.assertEqual(texts[0], texts[1])
        self.assertEqual([len(files) for files in texts], [4, 4, 4])

    def test_a_run_without_removes_those_of_an_earlier_one(self):
        self.run_recorded(self.study())
        done = self.run_scenario(self.study())
        self.assertEqual((done.returncode, self.files()), (0, []))

    # What is refused

    def assert_refused(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertRegex(done.stderr, word)

    def test_options_that_make_no_sense(self):
        self.write("scenario.json", self.study())
        for words, message in ((["--dataflow"], "-o|--output"), (["-o", "-", "--dataflow"], "dataflow"), (["-o", "out", "--dataflow", "99"], r"99"),
                               (["-o", "out", "--dataflow", "2-1"], "2-1"), (["-o", "out", "--dataflow", "x"], "x"),
                               (["-o", "out", "--dataflow", "--optimizer", "foo"], "foo.*(sgd.*adamw|adamw.*sgd)"),
                               (["-o", "out", "--optimizer", "adam"], "--dataflow")):
            with self.subTest(words):
                self.assert_refused(self.simctl("run", "scenario.json", *words), 2, message)
                self.assertFalse((self.folder / "out" / "results.csv").exists())

    def test_what_no_paper_says(self):
        refused = [({"name": "wfbp", "compression": "gtop-k"}, "gtop-k"), ({"name": "s-sgd", "compression": {"name": "gtop-k", "ratio": 0.1}}, "gtop-k"),
                   ({"name": "dts", "delay": 1, "compression": {"name": "gtop-k"}}, "gtop-k"),
                   ({"name": "lasgd", "tau_max": 2, "compression": "fp16"}, "lasgd"),
                   ({"name": "ps-sgd", "compression": {"name": "top-k", "pull": "compressed"}}, "pull"),
                   ({"name": "asgd", "compression": {"name": "fp16", "pull": "compressed"}}, "pull")]
        for schedule, word in refused:
            with self.subTest(schedule):
                done = self.run_scenario(self.study([EQUAL, schedule]), "--dataflow")
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, r"point 1\b")
                self.assertIn(word, done.stderr)
                self.assertNotIn("dataflow-1.jsonl.gz", self.files())

    def test_what_is_refused_does_not_matter_where_it_is_not_wanted(self):
        study = self.study([EQUAL, {"name": "wfbp", "compression": "gtop-k"}, {"name": "ps-sgd"}])
        done = self.run_scenario(study, "--dataflow=0,2")
        self.assertEqual((done.returncode, done.stderr, self.files()), (0, "", self.named(0, 2)))

    # Runs that last

    def test_a_resumed_run_has_all_records(self):
        self.write("scenario.json", self.study())
        self.run_recorded(self.study(), out="whole")
        self.assertEqual(self.simctl("run", "scenario.json", "-o", "out", "--shard", "0/2", "--dataflow").returncode, 0)
        self.assertEqual(self.files(), self.named(0, 2))
        self.assertEqual(self.simctl("run", "scenario.json", "-o", "out", "--resume", "--dataflow").returncode, 0)
        self.assert_like_the_whole_run()

    def test_records_of_another_optimiser_are_written_again(self):
        self.write("scenario.json", self.study())
        for optimizer in ("adam", "sgd", "sgd"):
            force = ["--force"] if optimizer == "adam" else ["--resume"]
            done = self.simctl("run", "scenario.json", "-o", "out", *force, "--dataflow", "--optimizer", optimizer)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual({record.header["optimizer"] for record in self.records().values()}, {optimizer})

    def test_results_without_records_get_them(self):
        self.run_recorded(self.study(), out="whole")
        self.assertEqual(self.run_scenario(self.study()).returncode, 0)
        self.assertEqual(self.simctl("run", "scenario.json", "-o", "out", "--resume", "--dataflow").returncode, 0)
        self.assert_like_the_whole_run()

    def test_shards(self):
        self.write("scenario.json", self.study())
        self.run_recorded(self.study(), out="whole")
        for shard in range(2):
            self.assertEqual(self.simctl("run", "scenario.json", "-o", "out", "--shard", f"{shard}/2", "--dataflow").returncode, 0)
        self.assert_like_the_whole_run()

    def test_a_merge_takes_records_along(self):
        self.write("scenario.json", self.study())
        self.run_recorded(self.study(), out="whole")
        for shard in range(2):
            self.assertEqual(self.simctl("run", "scenario.json", "-o", f"shard-{shard}", "--shard", f"{shard}/2", "--dataflow").returncode, 0)
        self.assertEqual(self.simctl("merge", "shard-0", "shard-1", "-o", "out").returncode, 0)
        self.assert_like_the_whole_run()

    def assert_like_the_whole_run(self):
        self.assertEqual(self.files(), self.named(0, 1, 2, 3))
        for name in self.files():
            self.assertEqual((self.folder / "out" / name).read_bytes(), (self.folder / "whole" / name).read_bytes(), name)

    def test_what_fails_has_none(self):
        long = {"warmup": 0, "measured": 200_000}
        done = self.run_scenario(self.study(workers={"jitter": {"distribution": "lognormal", "cv": 0.3}}, iterations=long), "--dataflow", "--max-time", "0.05")
        self.assertEqual(done.returncode, 4)
        self.assertEqual([path.name for path in (self.folder / "out").iterdir() if "dataflow" in path.name or path.name.endswith(".tmp")], [])

    def test_replicates_have_the_record_of_the_first(self):
        jitter = {"jitter": {"distribution": "lognormal", "cv": 0.3}}
        single = self.run_recorded(self.study(workers=jitter), out="single")
        several = self.run_recorded(self.study(workers=jitter), "--replicates", "3")
        for point, record in single.items():
            self.assertEqual(several[point].lines, record.lines)

    def test_size(self):
        """At most 100 compressed bytes for each operation."""
        content = scenario(trace=trace(), cluster=cluster(nodes=64), schedule={"name": "s-sgd"}, workers={"jitter": {"distribution": "lognormal", "cv": 0.2}},
                           iterations={"warmup": 0, "measured": 100})
        [record] = self.run_recorded(content).values()
        self.assertGreaterEqual(record.header["operations"], 6400)
        self.assertLessEqual((self.folder / "out/dataflow-0.jsonl.gz").stat().st_size, 100 * record.header["operations"])


if __name__ == "__main__":
    unittest.main()
