"""Does the oracle itself say what can be worked out by hand?"""

import itertools
import math
import unittest

from comparing import FAMILIES, expected

TRACE = {"model": {"name": "one", "batch": 1, "dtype": "fp32"}, "layers": [{"name": "l", "forward_s": 0.001, "backward_s": 0.002}],
         "gradients": [{"name": "w", "layer": "l", "bytes": 1000000}]}


def point(schedule, nodes=2, **changes):
    """3 ms of compute; 1 MB takes 0.1 ms + 1 ms alone on a link."""
    return {"trace": TRACE, "cluster": {"nodes": nodes, "link": {"bandwidth": 1e9, "latency": 1e-4}}, "schedule": schedule,
            "iterations": {"warmup": 0, "measured": 1}, **changes}


class KnownValues(unittest.TestCase):
    def check(self, milliseconds, drawn, **others):
        row = expected(drawn)
        self.assertAlmostEqual(row["iteration_s"], milliseconds / 1000, places=12)
        for column, value in others.items():
            self.assertAlmostEqual(row[column], value, places=12, msg=column)

    def test_parameter_server(self):
        work = {"server_s_per_B": 1e-9}
        share, compute = 0.1 + 2, 3  # two clients on one server's link
        self.check(compute + share + 2 + share, point({"name": "ps-sgd", **work}), communication_s=0.0042, exposed_communication_s=0.0062)
        self.check(compute + 0.6 + 1 + 0.6, point({"name": "ps-sgd", "servers": 2, "colocated": True, **work}))
        steady = {"warmup": 3, "measured": 2}  # client 0 is the server's node: it has nothing to send
        self.check(compute + 1.1 + 1 + 1.1, point({"name": "ps-sgd", "colocated": True, **work}, iterations=steady), communication_s=0.0011)

    def test_asynchronous(self):
        """Pushes arrive together; the second is handled 1 ms after the first, and its pull lasts until 1 ms later."""
        for name, first in [("asgd", 3 + 2.1 + 1 + 1.1), ("downpour", 3 + 2.1 + 1 + 1.1), ("eamsgd", 3 + 2.1 + 2.1 + 1)]:
            self.check(first * 2 / (1 + first / (first + 1)), point({"name": name, "interval": 1, "server_s_per_B": 1e-9}),
                       staleness_max=0.5, staleness_mean=0.5 * first / (first + 1) / (1 + first / (first + 1)))

    def test_a_delay_of_nothing_is_no_delay(self):
        drawn = point({}, 5, iterations={"warmup": 1, "measured": 4}, workers={"jitter": {"distribution": "lognormal", "cv": 0.3}})
        rows = [expected(drawn | {"schedule": schedule}) for schedule in (
            {"name": "sync-easgd"}, {"name": "dts", "delay": 0}, {"name": "sasgd", "interval": 1}, {"name": "local-sgd", "interval": 1})]
        for row, (column, value) in itertools.product(rows[1:], rows[0].items()):
            self.assertAlmostEqual(row[column], value, places=12, msg=column)

    def test_one_worker_does_not_communicate(self):
        for name in FAMILIES:
            schedule = {"name": name, "delay": 2, "interval": 3, "tau_max": 4, "overhead_s": 1.0}
            self.check(3, point(schedule, 1), communication_s=0, communications_per_iteration=0, staleness_max=0, wait_s=0)

    def test_push_sum(self):
        """Rank 1 is slow: of the 3 ms that rank 0 is blocked, the message of its step before moves for 1.1."""
        self.check(3, point({"name": "sgp"}, 4, iterations={"warmup": 2, "measured": 4}), communication_s=0.0011)
        late = {"slow": [{"ranks": "1", "factor": 2}]}
        self.check(6, point({"name": "sgp"}, 2, iterations={"warmup": 9, "measured": 9}, workers=late),
                   staleness_mean=1, wait_s=0.003 - 0.0011 / 2)

    def test_rounds(self):
        """An all-reduce of 1.2 ms hides behind a step of 3 ms, one of 4 ms behind two."""
        for latency, tau, iteration, stale in [(1e-4, 1, 3, 1), (1.5e-3, 1, 4, 1), (1.5e-3, 5, 3, 2)]:
            drawn = point({"name": "lasgd", "tau_max": tau}, iterations={"warmup": 2, "measured": 4})
            drawn["cluster"]["link"]["latency"] = latency
            self.check(iteration, drawn, staleness_mean=stale, communications_per_iteration=1 / stale)
        self.assertTrue(math.isclose(expected(drawn)["communication_s"], 0.002))


if __name__ == "__main__":
    unittest.main()
