"""Does the program netprobe write what it measured between processes, or nothing at all and say why?"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import unittest

from program_support import ProgramCase
from support import ROOT, SIMCTL

NETPROBE = os.environ.get("NETPROBE", str(ROOT / "build" / "netprobe"))
HAS_GLOO = b"this build has no gloo" not in pathlib.Path(NETPROBE).read_bytes()
HAS_MPI = b"this build has no MPI" not in pathlib.Path(NETPROBE).read_bytes() and shutil.which("mpirun") is not None
QUICK = ["--largest", "1MiB", "--budget", "0.001"]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Probe(ProgramCase):
    def ranks(self, count, meeting, *words):
        """All of them at once: a CompletedProcess each."""
        running = [subprocess.Popen([NETPROBE, "--rank", str(rank), "--ranks", str(count), "--meet", meeting, "--interface", "lo", *QUICK, "-o", "new/net.json",
                                     *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(count)]
        outputs = [process.communicate(timeout=900) for process in running]
        return [subprocess.CompletedProcess(process.args, process.returncode, *output) for process, output in zip(running, outputs)]

    def check_servers(self, probe, count):
        """Half of the sizes that go to one server go to each of two."""
        clients = probe["ranks"] - count
        of_one = ["push_of_one", "pull_of_one"] if clients > 1 else []
        self.assertEqual((list(probe["servers"]), probe["servers"]["count"]), (["count", "push", "pull", "both", *of_one], count))
        for way in of_one:
            self.assertEqual([size["bytes"] for size in probe["servers"][way]], [1024])
        others = max(count, clients)
        for timed in (probe["servers"][way] for way in ("push", "pull", "both")):
            self.assertEqual([size["bytes"] for size in timed], [size for size in (1024 * 2**power for power in range(11)) if others * size // count <= 2**20])
            self.assertTrue(all(0 < size["quartiles_s"][0] <= size["quartiles_s"][1] <= size["quartiles_s"][2] for size in timed))
            self.assertTrue(all(size["repetitions"] >= 3 for size in timed))

    def check_file(self, ranks, library, servers=0):
        probe = json.loads((self.folder / "new/net.json").read_text())
        if servers:
            self.check_servers(probe, servers)
            self.assertIn(f"--servers {servers}", probe["provenance"]["command"])
            del probe["servers"]
        self.assertEqual(list(probe), ["format", "provenance", "library", "ranks", "nodes", "hosts", "timing", "host_s_per_message", "add_s_per_B", "all_reduce",
                                       "queued", "two_at_once", "all_gather", "pairs"])
        self.assertEqual((probe["format"], probe["ranks"], probe["nodes"], probe["provenance"]["kind"]), ("network-probe/1", ranks, 1, "measured"))
        self.assertEqual(probe["hosts"], [socket.gethostname()] * ranks)
        self.assertIn(library, probe["library"])
        self.assertEqual([size["bytes"] for size in probe["all_reduce"]], [1024 * 2**power for power in range(11)])
        self.assertEqual([(pair["from"], pair["to"]) for pair in probe["pairs"]], [(a, b) for a in range(ranks) for b in range(ranks) if a != b])
        timed = [*probe["all_reduce"], *probe["queued"], *probe["two_at_once"], *probe["all_gather"]]
        for quartiles in [size["quartiles_s"] for size in timed] + [pair["latency_s"] for pair in probe["pairs"]]:
            self.assertGreater(quartiles[0], 0)
            self.assertEqual(quartiles, sorted(quartiles))
        self.assertTrue(all(size["repetitions"] >= 3 for size in timed))
        self.assertTrue(all(pair["bandwidth_Bps"] > 1e6 for pair in probe["pairs"]))

    @unittest.skipUnless(HAS_GLOO, "built without gloo")
    def test_gloo_by_a_port_and_by_a_folder(self):
        (self.folder / "meeting").mkdir()
        for meeting, servers in ((f"tcp://127.0.0.1:{free_port()}", 0), ("meeting", 1)):
            with self.subTest(meeting):
                shutil.rmtree(self.folder / "new", ignore_errors=True)
                for rank, done in enumerate(self.ranks(3, meeting, *(["--servers", "1"] if servers else []))):
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(bool(done.stdout), rank == 0)
                    self.assertEqual("1 of 3 ranks serve\n" in done.stdout, rank < servers)
                self.check_file(3, "gloo", servers)
        self.check_fit()
        # Another run cannot meet where one has met before.
        for done in self.ranks(2, "meeting", "--quiet"):
            self.assertEqual((done.returncode, done.stdout), (5, ""))
            self.assertRegex(done.stderr, r"\Anetprobe: rank \d of 2 did not meet all other ranks at meeting: [^\n]+, and use a new --meet for each run\n\Z")

    def check_fit(self):
        """What the probe writes is what `simctl cluster fit` reads. Over a loopback on a busy machine no size need take longer than another, so times of a line stand in."""
        probe = json.loads((self.folder / "new/net.json").read_text())
        for size in [*probe["all_reduce"], *probe["all_gather"]]:
            size["quartiles_s"] = [1e-4 + 1e-9 * size["bytes"]] * 3
        (self.folder / "line.json").write_text(json.dumps(probe))
        done = subprocess.run([SIMCTL, "cluster", "fit", "line.json", "-o", "cluster.json"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(HAS_MPI, "built without MPI, or no mpirun")
    def test_mpi(self):
        allowed = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = self.program("mpirun", "--oversubscribe", "-n", 2, NETPROBE, *QUICK, "--quiet", "-o", "new/net.json", env=allowed)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.check_file(2, "MPI")
        done = self.program("mpirun", "--oversubscribe", "-n", 3, NETPROBE, *QUICK, "--servers", 2, "--quiet", "-o", "new/net.json", env=allowed)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.check_file(3, "MPI", 2)
        # One that fails ends the others.
        for words, code, message in ((["-n", 2, NETPROBE, *QUICK, "-o", "/proc/net.json"], 5, "/proc"), (["-n", 1, NETPROBE, *QUICK, "-o", "net.json"], 2, "one rank cannot communicate"),
                                     (["-n", 2, NETPROBE, *QUICK, "--servers", 2, "-o", "net.json"], 2, "--servers 2: of 2 ranks at least one must be a client; use at most 1")):
            done = self.program("mpirun", "--oversubscribe", *words, env=allowed)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(message, done.stderr)

    def test_the_command_line(self):
        meet = ["--meet", "tcp://127.0.0.1:1"]
        for words, message in (([*meet], "--ranks is required"), (["--ranks", 2], "--meet is required"), (["--ranks", 2, *meet, "--rank", 2], "of 2 ranks the last is 1"),
                               (["--ranks", 1, *meet], "--ranks"), (["--ranks", 2, *meet, "--rank", -1], "--rank"), (["--ranks", 2, *meet, "--largest", "1kB"], "1MiB to 1GiB"),
                               (["--ranks", 2, *meet, "--largest", "2GiB"], "1MiB to 1GiB"), (["--ranks", 2, *meet, "--budget", 0], "--budget"),
                               (["--ranks", 2, *meet, "--smallest", "2MiB", "--largest", "1MiB"], "--smallest 2097152: expected a multiple of 4 B"),
                               (["--ranks", 2, *meet, "--smallest", 6], "--smallest 6: expected a multiple of 4 B"),
                               (["--ranks", 2, *meet, "--servers", 2], "--servers 2: of 2 ranks at least one must be a client; use at most 1"),
                               *((["--ranks", 2, *meet, "--servers", count], "--servers") for count in (0, -1, "1.5", "nan", "all")),
                               (["--backend", "nccl"], "--backend"), (["--backend", "mpi"], "mpirun"), (["--backend", "mpi", "--ranks", 2], "are for gloo")):
            with self.subTest(words=words):
                self.check_refused(self.program(NETPROBE, *words, "-o", "net.json"), 2, message)
        self.check_refused(self.program(NETPROBE, "--ranks", 2, *meet), 2, "-o")

    @unittest.skipUnless(HAS_GLOO, "built without gloo")
    def test_places_where_nobody_meets(self):
        taken = socket.create_server(("", 0))
        self.addCleanup(taken.close)
        for meeting, message in (("gone", "gone: no such folder"), ("tcp://nowhere", "expected tcp://HOST:PORT"), ("tcp://no.such.host.invalid:1", "no.such.host.invalid"),
                                 (f"tcp://127.0.0.1:{taken.getsockname()[1]}", "cannot listen at tcp://127.0.0.1:")):
            with self.subTest(meeting):
                self.check_refused(self.program(NETPROBE, "--rank", 0, "--ranks", 2, "--meet", meeting, "-o", "net.json"), 5, message)

    @unittest.skipUnless(HAS_GLOO, "built without gloo")
    def test_a_rank_that_dies(self):
        for moment in ("messages from", "all-reduces of"):
            with self.subTest(moment):
                self.check_death(moment)

    def check_death(self, moment):
        words = ["--ranks", "2", "--meet", f"tcp://127.0.0.1:{free_port()}", "--interface", "lo", "--longest", "100", "--budget", "0.01" if moment == "all-reduces of" else "100", "--smallest", "64MiB", "-o", "net.json"]
        first, second = (subprocess.Popen([NETPROBE, "--rank", str(rank), *words], cwd=self.folder, stderr=subprocess.PIPE, text=True) for rank in (0, 1))
        while moment not in first.stderr.readline():
            pass
        second.kill()
        _, errors = first.communicate(timeout=60)
        second.communicate()
        self.assertEqual(first.returncode, 5)
        self.assertIn("netprobe: gloo: ", errors.splitlines()[-1])
        self.assertEqual(self.files(), self.before)


if __name__ == "__main__":
    unittest.main()
