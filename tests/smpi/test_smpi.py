"""Does an all-reduce take as long as SimGrid's own MPI says, which moves its messages by code of its own?"""
import itertools
import math
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import Case, cluster, scenario, trace

SMPI = {
    "ring": ["allreduce:lr"],
    "recursive-doubling": ["allreduce:rdb"],
    "halving-doubling": ["allreduce:rab_rdb"],
    "binary-tree": ["allreduce:redbcast", "reduce:binomial", "bcast:binomial_tree"],
}
RANKS = [8, 12, 16, 64]
MIDDLE, LARGE = 768 << 10, 6 << 20  # multiples of 8 x 12 and 8 x 64: parts are whole numbers of doubles
ALPHA, BETA = 50e-6, 8 / 10e9
ENVELOPE = 16  # bytes that SMPI adds to every message
# Latencies that SMPI's ranks wait and simctl's do not: in SMPI the next message of a rank moves once the one before has arrived, in
# simctl once it has been transferred. With a power of two of ranks, and on a ring, that makes the last rank no faster.
LATER = {("recursive-doubling", 12): 1, ("binary-tree", 12): 2}

STAR = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="star" prefix="node-" suffix="" radical="0-63" speed="1Gf" bw="10Gbps" lat="25us" sharing_policy="SPLITDUPLEX"
           loopback_bw="1e18Bps" loopback_lat="0s"/>
</platform>
"""

SETTINGS = [
    "network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e15", "surf/precision:1e-12",  # latency + bytes/bandwidth
    "smpi/simulate-computation:no", "smpi/host-speed:1Gf", "smpi/wtime:0",  # only messages take time
    "smpi/send-is-detached-thresh:0", "smpi/async-small-thresh:0",  # a send ends when its message has arrived
    "smpi/privatization:no", "smpi/shared-malloc:global",  # little memory
]


def cases():
    """(algorithm, ranks, bytes)"""
    for algorithm, ranks, size in itertools.product(SMPI, RANKS, [MIDDLE, LARGE]):
        if algorithm == "halving-doubling" and ranks == 12:
            continue  # SMPI's is another algorithm then
        if algorithm == "binary-tree" and size == LARGE:
            continue  # SMPI's ranks would need gigabytes
        yield algorithm, ranks, size


def closed_form(algorithm, ranks):
    """(messages after one another, bytes sent after one another for each byte reduced)"""
    lg = math.ceil(math.log2(ranks))
    if algorithm == "ring":
        return 2 * (ranks - 1), 2 * (ranks - 1) / ranks
    if algorithm == "recursive-doubling":
        rounds = lg if ranks == 1 << lg else lg + 1  # else those of the lower power of two, one message before and one after them
        return rounds, rounds
    if algorithm == "halving-doubling":
        return 2 * lg, 2 * (ranks - 1) / ranks
    return 2 * lg, 2 * lg  # binary-tree


def finished(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=6000)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: exit code {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}")
    return done.stdout


def simulated_by_smpi(algorithm, ranks, size, folder):
    settings = SETTINGS + [f"smpi/{choice}" for choice in SMPI[algorithm]]
    return float(finished(["smpirun", "-np", str(ranks), "-platform", "star.xml", "-hostfile", "hosts",
                           *(f"--cfg={setting}" for setting in settings), "--log=root.thresh:warning", "./all_reduce", str(size)], folder))


class AllReduce(Case):
    @classmethod
    def setUpClass(cls):
        if not (shutil.which("smpirun") and shutil.which("smpicxx")):
            raise unittest.SkipTest("smpirun and smpicxx are not installed")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            folder.joinpath("star.xml").write_text(STAR)
            folder.joinpath("hosts").write_text("".join(f"node-{index}\n" for index in range(max(RANKS))))
            finished(["smpicxx", "-O1", "-o", "all_reduce", str(pathlib.Path(__file__).with_name("all_reduce.cpp"))], folder)
            cls.smpi = {case: simulated_by_smpi(*case, folder) for case in cases()}

    def all_reduces(self, fidelity):
        """{case: seconds} for the cases, simulated by simctl."""
        content = trace(layers=[{"name": "layer", "type": "unknown", "forward_s": 1e-6, "backward_s": 1e-6}],
                        gradients=[{"name": "weight", "layer": "layer", "bytes": MIDDLE}])
        done = self.run_scenario(scenario(trace=content, cluster=cluster(link={"bandwidth": 1 / BETA, "latency": ALPHA}),
                                          schedule={"name": "sync-easgd"}, fidelity=fidelity, iterations={"warmup": 3, "measured": 4},
                                          sweep={"/all_reduce": list(SMPI), "/cluster/nodes": RANKS,
                                                 "/trace/gradients/0/bytes": [MIDDLE, LARGE]}), "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        found = {}
        for row in self.rows():
            self.assertEqual(row["fidelity"], fidelity)
            case = row["all_reduce"], int(row["nodes"]), int(row["/trace/gradients/0/bytes"])
            found[case] = float(row["iteration_s"]) - float(row["compute_s"])
        return {case: found[case] for case in cases()}

    def compare(self, expected, latencies):
        """The expected seconds with SMPI's, which has some more `latencies` {(algorithm, ranks): how many}."""
        for case, seconds in expected.items():
            algorithm, ranks, size = case
            with self.subTest(algorithm=algorithm, ranks=ranks, bytes=size):
                later = latencies.get((algorithm, ranks), 0) * ALPHA
                if not later:
                    self.assertAlmostEqual(seconds / self.smpi[case], 1.0, delta=0.005)
                messages, _ = closed_form(algorithm, ranks)
                self.assertAlmostEqual((seconds + later + messages * ENVELOPE * BETA) / self.smpi[case], 1.0, delta=1e-9)

    def test_closed_forms(self):
        expected = {}
        for algorithm, ranks, size in cases():
            messages, sent = closed_form(algorithm, ranks)
            expected[algorithm, ranks, size] = messages * ALPHA + sent * BETA * size
        self.compare(expected, {})

    def test_flow(self):
        self.compare(self.all_reduces("flow"), LATER)

    def test_per_message(self):
        self.compare(self.all_reduces("per-message"), LATER)


if __name__ == "__main__":
    unittest.main()
