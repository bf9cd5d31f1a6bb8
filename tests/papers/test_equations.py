"""SSD-SGD's closed forms (Eqs. 2, 4 and 7) beside the simulator: four workers, one server, one message at a time, no latency."""

import csv
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SIMCTL = Path(os.environ.get("SIMCTL", Path(__file__).resolve().parents[2] / "build" / "simctl"))
LAYERS, WORKERS, BANDWIDTH = 6, 4, 1e9
FORWARD, BACKWARD, LOCAL = 0.002, 0.004, 0.001     # of a layer; h_loc of the first one


class Step:
    """The paper's symbols, of layers that are all alike: a push of one takes h_s, push and pull together h_c."""

    def __init__(self, size):
        self.h_s = WORKERS * size / BANDWIDTH
        self.h_c, self.h_b = 2 * self.h_s, BACKWARD
        self.t_f, self.t_b, self.t_c, self.pushes = LAYERS * FORWARD, LAYERS * BACKWARD, LAYERS * self.h_c, LAYERS * self.h_s

    def ssgd(self):
        """Eq. 2."""
        hides = (LAYERS - 1) * self.h_b > (LAYERS - 1) * self.h_c
        return self.t_f + self.t_b + self.h_c if hides else self.t_f + self.t_c + self.h_b

    def case_1(self, k):
        """Eq. 4: the pushes hide."""
        return self.t_f + self.t_b + LOCAL + (self.t_c + self.h_b - self.t_f - 2 * self.t_b - LOCAL) / k

    def case_2(self, k):
        """Eq. 4: they do not."""
        return self.pushes + (self.t_c + self.h_b - self.t_b - self.pushes) / k

    def case_3(self):
        return self.t_f + self.t_b + LOCAL

    def channel(self, k):
        """A worker's channel is never busier than always, which case 2 forgets: it is T_b - h_b shorter in k steps."""
        return ((k - 1) * self.pushes + self.t_c) / k

    def ssd(self, k):
        return max(self.case_3(), self.case_1(k) if self.pushes < self.case_3() else 0.0, self.channel(k))


class Equations(unittest.TestCase):
    def simulated(self, size, schedule):
        layers = [{"name": f"l{i}", "type": "x", "forward_s": FORWARD, "backward_s": BACKWARD} for i in range(LAYERS)]
        gradients = [{"name": f"l{i}.w", "layer": f"l{i}", "bytes": size} for i in reversed(range(LAYERS))]
        trace = {"provenance": {"kind": "synthetic", "source": "equal layers"}, "model": {"name": "equal", "batch": 1, "dtype": "fp32"},
                 "layers": layers, "gradients": gradients}
        scenario = {"format": "scenario/1", "name": "equations", "trace": trace, "schedule": {"duplex": False, **schedule},
                    "cluster": {"name": "one server", "nodes": WORKERS, "link": {"bandwidth": BANDWIDTH, "latency": 0}},
                    "iterations": {"warmup": 60, "measured": 120}}
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "s.json").write_text(json.dumps(scenario), encoding="utf-8")
            subprocess.run([SIMCTL, "run", "s.json", "-o", "out", "--quiet"], check=True, cwd=folder, capture_output=True)
            with open(Path(folder) / "out" / "results.csv", newline="", encoding="utf-8") as stream:
                return float(next(csv.DictReader(stream))["iteration_s"])

    def ssd(self, size, k):
        return self.simulated(size, {"name": "ssd-sgd", "delay": k, "local_update_s": LOCAL})

    def test_ssgd(self):
        for size in (1e5, 5e5, 1e6, 3e6):
            self.assertAlmostEqual(self.simulated(int(size), {"name": "ps-sgd"}), Step(size).ssgd(), delta=1e-9)

    def test_average_of_k_iterations(self):
        seen = set()
        for size in (1e5, 1e6, 1.3e6, 1.45e6, 3e6, 8e6):
            for k in (1, 2, 3, 5, 8, 12):
                step = Step(size)
                self.assertAlmostEqual(self.ssd(int(size), k), step.ssd(k), delta=1e-9, msg=f"{size} bytes, k {k}")
                seen.add(next(case for case, seconds in (("3", step.case_3()), ("1", step.case_1(k)), ("channel", step.channel(k)))
                              if seconds == step.ssd(k)))
        self.assertEqual(seen, {"1", "3", "channel"})

    def test_case_2_is_short_by_what_the_channel_cannot_do(self):
        for k in (1, 2, 5):
            step = Step(3e6)
            self.assertAlmostEqual(step.channel(k) - step.case_2(k), (step.t_b - step.h_b) / k, delta=1e-12)

    def test_gain_of_k_iterations(self):
        """Eq. 7: k of SSGD's iterations less k of SSD-SGD's, case 1; and case 2 with the channel's bound in it."""
        step, k = Step(1.3e6), 8
        gained = k * (self.simulated(1300000, {"name": "ps-sgd"}) - self.ssd(1300000, k))
        self.assertAlmostEqual(gained, (k - 1) * (step.t_c - step.t_b + step.h_b - LOCAL) + step.t_f + step.t_b, delta=1e-8)
        step, k = Step(3e6), 5
        gained = k * (self.simulated(3000000, {"name": "ps-sgd"}) - self.ssd(3000000, k))
        paper = k * step.t_f + (k - 1) / 2 * step.t_c + (k - 1) * step.h_b + step.t_b
        self.assertAlmostEqual(gained, paper - (step.t_b - step.h_b), delta=1e-8)


if __name__ == "__main__":
    unittest.main()
