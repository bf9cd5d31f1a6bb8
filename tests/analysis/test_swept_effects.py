"""Do the terminal and the page say what a swept number does, and is it what closed forms say?"""

import json
import subprocess
import unittest
from html import escape

from pages import Pages, run

from test_standing import SIMCTL

FORWARD, BACKWARD, LATENCY, NODES = 0.001, 0.002, 50e-6, 4
GRADIENTS = (4e6, 1e6)      # bytes; the first is ready first
SPEEDS = {"1Gbps": 1e9 / 8, "2500Mbps": 2.5e9 / 8, "25Gbps": 25e9 / 8}
TRACE = {"format": "trace/1", "provenance": {"kind": "synthetic", "source": "made for a test"}, "model": {"name": "two", "batch": 8, "dtype": "fp32"},
         "layers": [{"name": name, "type": "unknown", "forward_s": FORWARD, "backward_s": BACKWARD} for name in ("first", "last")],
         "gradients": [{"name": f"{name}.weight", "layer": name, "bytes": size} for name, size in zip(("last", "first"), GRADIENTS)]}


def ring(size, speed, nodes):
    """Seconds of a ring all-reduce."""
    return 2 * (nodes - 1) * (LATENCY + size / nodes / speed)


def wfbp(speed, nodes):
    """Seconds of an iteration that sends each gradient when it is ready and the one before has arrived everywhere."""
    end = 0.0
    for place, size in enumerate(GRADIENTS):
        end = max(end, 2 * FORWARD + (place + 1) * BACKWARD) + ring(size, speed, nodes)
    return end


class SweptEffects(Pages):
    def answer(self, **scenario):
        """What a run prints below its tables; its results are in `out`."""
        (self.tmp / "trace.json").write_text(json.dumps(TRACE))
        content = {"format": "scenario/1", "name": "test", "trace": "trace.json", "schedule": {"name": "wfbp"}, "iterations": {"warmup": 1, "measured": 3},
                   "cluster": {"format": "cluster/1", "name": "small", "nodes": NODES, "link": {"bandwidth": "1Gbps", "latency": LATENCY}}, **scenario}
        (self.tmp / "scenario.json").write_text(json.dumps(content))
        done = subprocess.run([SIMCTL, "run", self.tmp / "scenario.json", "-o", self.tmp / "out", "--force"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_bandwidth_at_most_nodes_with_the_part_of_it_that_is_used(self):
        for fidelity in ("per-message", "flow"):
            told = self.answer(fidelity=fidelity, sweep={"/cluster/link/bandwidth": ["2500Mbps", "25Gbps", "1Gbps"], "/cluster/nodes": [2, NODES, 3],
                                                         "/schedule/name": ["s-sgd", "wfbp"]})
            times = wfbp(SPEEDS["1Gbps"], NODES) / wfbp(SPEEDS["25Gbps"], NODES)
            carried = 2 * (NODES - 1) / NODES * sum(GRADIENTS) / wfbp(SPEEDS["25Gbps"], NODES)
            said = (f"On 4 x small, wfbp is {times:.3g} times as fast with bandwidth 25Gbps as with 1Gbps; of 25Gbps, its busiest link carries "
                    f"{carried / 1e9:.4g} GB/s ({100 * carried / SPEEDS['25Gbps']:.0f}%).")
            self.assertIn(said + "\n", told)
            self.page(self.tmp / "out")
            self.assertIn(f'<p class="answer">{escape(said)}</p>', self.text)

    def test_in_alpha_beta_nothing_is_known_of_the_link(self):
        told = self.answer(fidelity="alpha-beta", sweep={"/cluster/link/bandwidth": list(SPEEDS)})
        times = wfbp(SPEEDS["1Gbps"], NODES) / wfbp(SPEEDS["25Gbps"], NODES)
        self.assertIn(f"On 4 x small, wfbp is {times:.3g} times as fast with bandwidth 25Gbps as with 1Gbps.\n", told)

    def test_latency_makes_it_slower(self):
        told = self.answer(sweep={"/cluster/link/latency": [LATENCY, "5ms"]})
        slow = wfbp(SPEEDS["1Gbps"], NODES) + len(GRADIENTS) * 2 * (NODES - 1) * (5e-3 - LATENCY)      # what is sent first hides nothing more
        self.assertIn(f"On 4 x small, wfbp takes {slow / wfbp(SPEEDS['1Gbps'], NODES):.3g} times as long with latency 5ms as with 5e-05.\n", told)

    def test_seeds_do_nothing(self):
        told = self.answer(workers={"jitter": {"distribution": "lognormal", "cv": 0.5}}, sweep={"/seed": [1, 2, 3]})
        self.assertNotIn("times as", told)

    def test_rows_left_out_leave_the_sentence_out(self):
        self.answer(sweep={"/cluster/link/bandwidth": list(SPEEDS)})
        code, _, error = run(self.tmp / "out", "-o", self.tmp / "report.html", "--cluster", "small")
        self.assertEqual((code, error), (0, ""))
        self.assertNotIn("times as fast", (self.tmp / "report.html").read_text())


if __name__ == "__main__":
    unittest.main()
