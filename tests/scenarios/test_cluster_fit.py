"""simctl cluster fit: clusters of what nccl-tests and OSU's micro-benchmarks print, here written from closed forms."""

import json
import unittest

from support import Case, scenario

SIZES = [8 * 4**power for power in range(14)]


def ring(size, ranks, latency=2e-5, rate=10e9):
    return 2 * (ranks - 1) * (latency + size / ranks / rate)


def nccl(hosts, each, time=ring, sizes=SIZES, factor=2, root=True):
    ranks = hosts * each
    lines = ["some launcher's noise", "# nThread 1 nGpus 1 minBytes 8 maxBytes 536870912 step: 4(factor) warmup iters: 5 iters: 20", "#",
             "# Using devices"]
    for rank in range(ranks):
        lines.append(f"#  Rank {rank:2d} Group  0 Pid {6899 + rank} on node-{rank // each} device  {rank % each} [0x07] A GPU")
    lines += ["#", "#                                       out-of-place                       in-place",
              "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"]
    for size in sizes:
        columns = []
        for more in (1, 1.25):
            seconds = more * time(size, ranks)
            rate = size / seconds / 1e9 if seconds else 0
            columns.append(f"{seconds * 1e6:8.2f} {rate:7.2f} {rate * factor * (ranks - 1) / ranks:7.2f}      0")
        lines.append(f"{size:12d} {size // 4:12d} float sum {'-1' if root else ''} {columns[0]} {columns[1]}")
    return "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 4.4", ""])


def osu(rows, name="Allreduce"):
    return f"\n# OSU MPI {name} Latency Test v7.3\n# Size       Avg Latency(us)\n" + "".join(f"{size:<12d}{us:.2f}\n" for size, us in rows)


class ClusterFit(Case):
    def fit(self, text, *options):
        (self.folder / "run.txt").write_text(text, encoding="utf-8")
        (self.folder / "mine.json").unlink(missing_ok=True)
        return self.simctl("cluster", "fit", "run.txt", "-o", "mine.json", *options)

    def cluster(self):
        return json.loads((self.folder / "mine.json").read_text(encoding="utf-8"))

    def test_an_all_reduce_takes_as_long_as_measured(self):
        for hosts, each, root in ((8, 1, True), (2, 4, True), (3, 2, False)):
            done = self.fit(nccl(hosts, each, root=root))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual((self.cluster()["nodes"], self.cluster().get("gpus_per_node", 1), self.cluster()["name"]), (hosts, each, "run"))
            done = self.run_scenario(scenario(cluster="mine.json", schedule={"name": "sync-easgd"}))
            self.assertEqual(done.returncode, 0, done.stderr)
            # Printed to 10 ns, and linear from size to size.
            self.assertAlmostEqual(float(self.rows()[0]["exposed_communication_s"]), ring(6000000, hosts * each), delta=2e-8)

    def test_the_links_are_a_ring_of_the_same_time(self):
        self.fit(nccl(8, 1))
        link = self.cluster()["link"]
        self.assertAlmostEqual(link["latency"] / 2e-5, 1, delta=2e-3)
        self.assertAlmostEqual(link["bandwidth"] / 10e9, 1, delta=2e-3)

    def test_in_place_columns_and_a_name(self):
        done = self.fit(nccl(4, 1), "--in-place", "--name", 'a "name"')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.cluster()["name"], 'a "name"')
        self.assertAlmostEqual(self.cluster()["fit"]["points"][-1][1], 1.25 * ring(SIZES[-1], 4), delta=1e-5 * ring(SIZES[-1], 4))

    def test_osu_with_its_ranks(self):
        rows = [(4, 31.5), (1024, 30.5), (1048576, 900.0), (4194304, 3000.0)]
        done = self.fit(osu(rows), "--ranks", "16")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.cluster()["nodes"], 16)
        # The two that a larger one was faster than share their mean.
        self.assertEqual(self.cluster()["fit"]["points"], [[4, 3.1e-5], [1024, 3.1e-5], [1048576, 9e-4], [4194304, 3e-3]])
        self.assertRegex(done.stdout, r"4 +31\.5 us +31 us")

    def test_what_is_refused(self):
        good = nccl(4, 2)
        table = [
            ("", (), "run.txt: neither"),
            ("# nThread 1 minBytes 8\n", (), "run.txt:1: the file ends before"),
            (good[:good.index("# Out of bounds")], (), "run.txt:30: the file ends before \"# Avg bus bandwidth\", so that the run was cut off; run it again"),
            (good.replace("node-3", "node-2"), (), "run.txt:2: node-0 has 2 ranks and node-2 has 4; measure as many on each"),
            (good, ("--ranks", "4"), "run.txt:2: 8 ranks took part, and --ranks says 4; leave --ranks out"),
            ("\n".join(line for line in good.splitlines() if "Rank" not in line), (), "run.txt:2: no line \"# Rank 0 ... on HOST\" says who took part"),
            (nccl(1, 1), (), "run.txt:2: one rank has nobody"),
            (nccl(4, 2, factor=1), (), "it is that of an all-gather or reduce-scatter, run all_reduce_perf"),
            (nccl(4, 2, sizes=[*SIZES, SIZES[-1]]), (), "run.txt:31: sizes must grow, and 536870912 bytes come after 536870912; give each run a file"),
            (nccl(4, 2, time=lambda size, ranks: 0), (), "run.txt:17: an all-reduce in no time; measure more iterations"),
            (nccl(4, 2, time=lambda size, ranks: 1e-4), (), "the largest all-reduce took no longer than the smallest; measure larger ones"),
            (nccl(4, 2, sizes=SIZES[:1]), (), "1 sizes were measured; two are the least"),
            (good.replace("float sum", "float", 1), (), 'run.txt:17: expected a reduction such as "sum" as word 4, got "-1"'),
            (good.replace("float sum -1", "float", 1), (), "run.txt:17: expected the 12 or 13 columns of nccl-tests, got 11 words"),
            (good.replace("     2 float", "     2 nan float"), (), "expected the 12 or 13 columns"),
            (osu([(4, 1.0), (8, 2.0)]), (), "run.txt:2: OSU does not print how many ranks took part; say so with --ranks"),
            (osu([(4, 1.0), (8, 2.0)], "Bcast"), ("--ranks", "4"), "run.txt:2: expected osu_allreduce's output"),
            (osu([(4, 1.0), (8, 2.0)]).replace("2.00", "fast"), ("--ranks", "4"), 'run.txt:5: expected a time in microseconds as word 2, got "fast"'),
            (osu([(4, 1.0), (8, 2.0)]), ("--ranks", "4", "--in-place"), "run.txt:2: --in-place chooses columns of nccl-tests"),
        ]
        for text, options, message in table:
            with self.subTest(message):
                done = self.fit(text, *options)
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertFalse((self.folder / "mine.json").exists())

    def test_files_and_words(self):
        for words, code, message in ((("gone.txt", "-o", "x.json"), 3, "gone.txt: no such file"), ((".", "-o", "x.json"), 3, "a folder"),
                                     (("run.txt",), 2, "-o is required"), (("run.txt", "-o", "run.txt"), 2, "run.txt"),
                                     (("run.txt", "-o", "x.json", "--ranks", "1"), 2, "--ranks")):
            (self.folder / "run.txt").write_text(nccl(2, 1), encoding="utf-8")
            done = self.simctl("cluster", "fit", *words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
