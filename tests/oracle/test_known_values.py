"""Does the oracle itself say what can be worked out by hand?"""

import itertools
import math
import unittest

from comparing import FAMILIES, ByHand, expected

TRACE = {"model": {"name": "one", "batch": 1, "dtype": "fp32"}, "layers": [{"name": "l", "forward_s": 0.001, "backward_s": 0.002}],
         "gradients": [{"name": "w", "layer": "l", "bytes": 1000000}]}
# Forward 2 ms, backward 2 ms, after each half of which 2 MB are ready; 4 ms of update.
TWO = {"model": TRACE["model"], "layers": [{"name": name, "forward_s": 0.001, "backward_s": 0.001} for name in "ab"],
       "gradients": [{"name": name, "layer": name, "bytes": 2000000} for name in "ba"], "update_s": 0.004}


def at_once(latency=0.0, gpus=1):
    """A cluster whose bytes take no time, but for a latency; inside nodes that is 1 ms."""
    inside = {"gpus_per_node": gpus, "intra_node": {"bandwidth": 1e21, "latency": 1e-3}} if gpus > 1 else {}
    return {"nodes": 2, "link": {"bandwidth": 1e21, "latency": latency}, **inside}


def point(schedule, nodes=2, **changes):
    """3 ms of compute; 1 MB takes 0.1 ms + 1 ms alone on a link."""
    return {"trace": TRACE, "cluster": {"nodes": nodes, "link": {"bandwidth": 1e9, "latency": 1e-4}}, "schedule": schedule,
            "iterations": {"warmup": 0, "measured": 1}, **changes}


class KnownValues(ByHand):
    def test_parameter_server(self):
        work = {"server_s_per_B": 1e-9}
        share, compute = 0.1 + 2, 3  # two clients on one server's link
        self.check(compute + share + 2 + share, point({"name": "ps-sgd", **work}), communication_s=0.0042, exposed_communication_s=0.0062)
        self.check(compute + 0.6 + 1 + 0.6, point({"name": "ps-sgd", "servers": 2, "colocated": True, **work}))
        steady = {"warmup": 3, "measured": 2}  # client 0 is the server's node: it has nothing to send
        self.check(compute + 1.1 + 1 + 1.1, point({"name": "ps-sgd", "colocated": True, **work}, iterations=steady), communication_s=0.0011)

    def test_requested_pulls(self):
        """An acknowledgement and a request come before a pull, each with a latency; of a schedule that pulls first, the request and the acknowledgement."""
        more, compute = {"pulls": "requested"}, 3
        self.check(compute + 2.1 + 0.1 + 0.1 + 2.1, point({"name": "ps-sgd", **more}), communication_s=0.0042)
        self.check(compute + 2.1 + 0.2 + 2.1, point({"name": "ps-sgd", "duplex": False, **more}))
        for name in ("asgd", "downpour"):
            self.check(compute + 1.1 + 0.1 + 0.1 + 1.1, point({"name": name, "interval": 1, **more}, nodes=1))
        self.check(compute + 0.1 + 1.1 + 1.1 + 0.1, point({"name": "eamsgd", "interval": 1, **more}, nodes=1))

    def test_asynchronous(self):
        """Pushes arrive together; the second is handled 1 ms after the first, and its pull lasts until 1 ms later."""
        for name, first in [("asgd", 3 + 2.1 + 1 + 1.1), ("downpour", 3 + 2.1 + 1 + 1.1), ("eamsgd", 3 + 2.1 + 2.1 + 1)]:
            self.check(first * 2 / (1 + first / (first + 1)), point({"name": name, "interval": 1, "server_s_per_B": 1e-9}),
                       staleness_max=0.5, staleness_mean=0.5 * first / (first + 1) / (1 + first / (first + 1)))

    def test_stages_within_nodes(self):
        """Two messages, both ready after 4 ms: each is reduced and spread for 1 ms."""
        for options, milliseconds, communication in (({}, 7, 3), ({"within_node": "serial"}, 7, 3), ({"duplex": False}, 7, 3),
                                                     ({"within_node": "serial", "duplex": False}, 8, 4)):
            schedule = {"name": "ps-sgd", "grouping": "s-sgd", **options}
            self.check(milliseconds, point(schedule, trace=TWO, cluster=at_once(gpus=2)), compute_s=0.004,
                       communication_s=communication / 1000, exposed_communication_s=communication / 1000)

    def test_local_updates(self):
        """Without pulls, b's lasts from 3 to 5 ms and a's to 7; spreading takes 1 ms each, b's while a is updated."""
        for gpus, milliseconds in ((1, 7), (2, 8)):
            self.check(milliseconds, point({"name": "ssd-sgd", "delay": 9}, trace=TWO, cluster=at_once(gpus=gpus)), compute_s=0.006,
                       wait_s=0.001, exposed_communication_s=(gpus - 1) / 1000)
        measured = {"warmup": 2, "measured": 4}
        self.check(4.5, point({"name": "ssd-sgd", "delay": 9, "local_update_s": 5e-4}, trace=TWO, cluster=at_once(), iterations=measured),
                   compute_s=0.0045, wait_s=0)

    def test_forward_waits_for_local_updates(self):
        """Pulls last 10 ms. When they are in, a is updated for 2 ms, in which the rank waits, then b, for which forward waits 1 ms more:
        from an end of backward to the last but one after it pass 10 + 2 + 1 + 2 + 2 ms."""
        schedule = {"name": "ssd-sgd", "delay": 1, "grouping": "sync-easgd"}
        self.check(17 / 2, point(schedule, trace=TWO, cluster=at_once(latency=5e-3), iterations={"warmup": 6, "measured": 4}),
                   compute_s=0.006, staleness_mean=1)

    def test_buckets_within_nodes(self):
        """An all-reduce lasts 2 ms inside a node."""
        for name, (within_node, milliseconds) in itertools.product(("lasgd", "sgp"), (("overlapped", 11), ("blocking", 10))):
            drawn = point({"name": name, "tau_max": 1, "within_node": within_node}, trace=TWO, cluster=at_once(gpus=2))
            self.check(milliseconds, drawn, exposed_communication_s=(milliseconds - 8) / 1000, compute_s=0.008)

    def test_a_delay_of_nothing_is_no_delay(self):
        drawn = point({}, 5, iterations={"warmup": 1, "measured": 4}, workers={"jitter": {"distribution": "lognormal", "cv": 0.3}})
        rows = [expected(drawn | {"schedule": schedule}) for schedule in (
            {"name": "sync-easgd"}, {"name": "dts", "delay": 0}, {"name": "sasgd", "interval": 1}, {"name": "local-sgd", "interval": 1})]
        for row, (column, value) in itertools.product(rows[1:], rows[0].items()):
            self.assertAlmostEqual(row[column], value, places=12, msg=column)

    def test_one_worker_communicates_with_servers_only(self):
        """A push and a pull of 1.1 ms each, unless the server is on its own node."""
        over_servers = {"ps-sgd": 2.2, "asgd": 2.2, "dc-asgd": 2.2, "downpour": 2.2 / 3, "eamsgd": 2.2 / 3, "ssd-sgd": 0,
                        "p3": 6 * 0.26 + 0.26 + 0.14}  # seven parts, one at a time in each direction
        for name in FAMILIES:
            schedule = {"name": name, "delay": 2, "interval": 3, "tau_max": 4, "overhead_s": 1.0}
            if name in over_servers:
                self.check(3 + over_servers[name], point(schedule, 1), staleness_max=0, wait_s=0)
                self.check(3, point(schedule | {"colocated": True}, 1), communication_s=0, staleness_max=0, wait_s=0)
            else:
                self.check(3, point(schedule, 1), communication_s=0, communications_per_iteration=0, staleness_max=0, wait_s=0)

    def test_push_sum(self):
        """Rank 1 is slow: of the 3 ms that rank 0 is blocked, the message of its step before moves for 1.1."""
        self.check(3, point({"name": "sgp"}, 4, iterations={"warmup": 2, "measured": 4}), communication_s=0.0011)
        late = {"slow": [{"ranks": "1", "factor": 2}]}
        self.check(6, point({"name": "sgp"}, 2, iterations={"warmup": 9, "measured": 9}, workers=late),
                   staleness_mean=1, wait_s=0.003 - 0.0011 / 2)

    def test_neighbours(self):
        """Two messages of 1.1 ms, one after the other, hide behind 3 ms of compute, two of 3 ms end 2 ms after 4 ms of it; of two nodes
        there is one. Rank 1 is slow: rank 0, which computes for 3 ms of 6, waits until it sends, and 1.1 ms more."""
        for nodes, posts in ((2, 1), (3, 2), (5, 2)):
            self.check(3, point({"name": "d-psgd"}, nodes, iterations={"warmup": 2, "measured": 4}), communication_s=0.0011 * posts,
                       communications_per_iteration=posts, bytes_per_worker_per_iteration=1e6 * posts, staleness_max=0)
        drawn = point({"name": "d-psgd"}, 3, trace=TWO)
        drawn["cluster"]["link"] = {"bandwidth": 4e9, "latency": 2e-3}
        self.check(6 + 4, drawn, exposed_communication_s=0.002, wait_s=0)
        late = {"slow": [{"ranks": "1", "factor": 2}]}
        self.check(6, point({"name": "d-psgd"}, 2, iterations={"warmup": 9, "measured": 9}, workers=late), wait_s=(0.003 + 0.0019) / 2,
                   exposed_communication_s=0.0011 / 2, staleness_max=0)

    def test_steps_that_only_add_up(self):
        """Two steps of 4 ms, and an update of 4 ms that waits for two all-reduces of 2.2 ms, from 1 ms before the end of backward on."""
        drawn = point({"name": "wfbp", "accumulate": 2}, trace=TWO, iterations={"warmup": 1, "measured": 3})
        self.check((4 + 4 + 3.4 + 4) / 2, drawn, compute_s=0.006, exposed_communication_s=0.0017, communication_s=0.0022,
                   communications_per_iteration=1, bytes_per_worker_per_iteration=2e6, measured_iterations=4, staleness_max=0)

    def test_windows(self):
        """100 kB in each round trip of 0.2 ms: half of what the link has. Of two cards each has a window."""
        for nics, milliseconds in ((1, 3 + 0.2 + 2), (2, 3 + 0.2 + 1)):
            drawn = point({"name": "wfbp"})
            drawn["cluster"] |= {"nics": nics, "link": drawn["cluster"]["link"] | {"tcp_window": 100000}}
            self.check(milliseconds, drawn)
        for schedule, milliseconds, communication in (({"name": "sgp"}, 3, 2.1), ({"name": "ps-sgd"}, 3 + 2 * 2.1, 4.2),
                                                      ({"name": "ps-sgd", "servers": 2}, 3 + 2 * 1.1, 2.2)):
            drawn = point(schedule)
            drawn["cluster"]["link"] |= {"tcp_window": 100000}
            self.check(milliseconds, drawn, communication_s=communication / 1000)

    def test_rounds(self):
        """An all-reduce of 1.2 ms hides behind a step of 3 ms, one of 4 ms behind two."""
        for latency, tau, iteration, stale in [(1e-4, 1, 3, 1), (1.5e-3, 1, 4, 1), (1.5e-3, 5, 3, 2)]:
            drawn = point({"name": "lasgd", "tau_max": tau}, iterations={"warmup": 2, "measured": 4})
            drawn["cluster"]["link"]["latency"] = latency
            self.check(iteration, drawn, staleness_mean=stale, communications_per_iteration=1 / stale)
        self.assertTrue(math.isclose(expected(drawn)["communication_s"], 0.002))


if __name__ == "__main__":
    unittest.main()
