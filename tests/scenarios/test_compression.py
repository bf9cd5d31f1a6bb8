"""Compressed all-reduces beside closed forms: equal workers, a ring on a star, everything after backward."""

import unittest

from support import Case, cluster, scenario, trace

NODES, LATENCY, BANDWIDTH, MODEL, VALUE = 8, 50e-6, 1.25e9, 6e6, 4
COMPUTE, UPDATE = 0.009, 0.002     # forward and backward


def ring(size):
    return 2 * (NODES - 1) * LATENCY + 2 * (NODES - 1) / NODES * size / BANDWIDTH


def gathered(size):
    """Of what each rank sends."""
    return (NODES - 1) * (LATENCY + size / BANDWIDTH)


VALUES = MODEL / VALUE
WAYS = [  # a compression, bytes that a rank sends, how long its collective takes, messages that a rank decodes
    ("none", MODEL, ring(MODEL), 1),
    ("fp16", 2 * VALUES, ring(2 * VALUES), 1),
    ("sign", VALUES / 8 + 4, gathered(VALUES / 8 + 4), NODES - 1),
    ("terngrad", VALUES / 4 + 4, gathered(VALUES / 4 + 4), NODES - 1),
    ("qsgd", VALUES / 2 + 4 * VALUES / 512, gathered(VALUES / 2 + 4 * VALUES / 512), NODES - 1),
    ({"name": "qsgd", "bits": 8, "bucket": 64}, VALUES * (1 + 4 / 64), gathered(VALUES * (1 + 4 / 64)), NODES - 1),
    ("top-k", VALUES * 0.08, gathered(VALUES * 0.08), NODES - 1),
    ({"name": "top-k", "ratio": 0.001, "index_bytes": 2}, VALUES * 0.006, gathered(VALUES * 0.006), NODES - 1),
    ("gtop-k", VALUES * 0.08, ring(VALUES * 0.08), 1),
    ({"name": "random-k", "ratio": 0.1}, VALUES * 0.4, ring(VALUES * 0.4), 1),
]


class Compression(Case):
    def setUp(self):
        super().setUp()
        self.write("trace.json", trace(update_s=UPDATE))
        self.write("cluster.json", cluster(nodes=NODES))

    def row(self, schedule, *words, **more):
        point = self.point(scenario(schedule=schedule, **more), *words)
        return {key: point[key] for key in ("iteration_s", "bytes_per_worker_per_iteration", "compute_s", "exposed_communication_s")}

    def close(self, one, other):
        self.assertAlmostEqual(one / other, 1, delta=1e-9)

    def test_every_way_takes_what_its_definition_says(self):
        encode, decode = 2e-10, 3e-11
        expected = []  # a compression, bytes, seconds
        for way, sent, seconds, decoded in WAYS:
            costly = {"encode_s_per_B": encode, "decode_s_per_B": decode} | (way if isinstance(way, dict) else {"name": way})
            expected += [(way, sent, seconds), (costly, sent, seconds + encode * MODEL + decoded * decode * MODEL)]
        points = self.points(scenario(schedule={"name": "sync-easgd"}, sweep={
            "/schedule/compression": [compression for compression, *_ in expected], "/fidelity": ["alpha-beta", "per-message", "flow"]}))
        for point, (compression, sent, seconds) in zip(points, [each for each in expected for _ in range(3)], strict=True):
            with self.subTest((compression, point["fidelity"])):
                self.assertEqual(point["sweep"], {"/schedule/compression": compression, "/fidelity": point["fidelity"]})
                self.close(point["iteration_s"], COMPUTE + UPDATE + seconds)
                self.close(point["exposed_communication_s"], seconds)
                self.close(point["bytes_per_worker_per_iteration"], sent)

    def test_local_steps_dts_and_the_ways_that_they_share(self):
        way = {"name": "top-k", "ratio": 0.05, "encode_s_per_B": 1e-10, "decode_s_per_B": 1e-11}
        sent = VALUES * 0.05 * 8
        more = 1e-10 * MODEL + 7e-11 * MODEL
        row = self.row({"name": "sasgd", "interval": 4, "compression": way}, iterations={"warmup": 4, "measured": 8})
        self.close(row["iteration_s"], COMPUTE + UPDATE + (gathered(sent) + more) / 4)
        row = self.row({"name": "dts", "delay": 0, "compression": way})
        self.close(row["iteration_s"], COMPUTE + UPDATE + gathered(sent) + more)
        number, named = (self.row({"name": "dts", "delay": 2, "compression": one}) for one in (0.05, {"name": "top-k", "ratio": 0.05}))
        self.assertEqual(number, named)

    def test_encoding_holds_up_backward_and_what_is_sent_overlaps_the_rest(self):
        """wfbp: the gradients of three layers, each encoded when it is ready; nothing is left of the transfers but the last one's."""
        encode = 1e-10
        row = self.row({"name": "wfbp", "compression": {"name": "random-k", "ratio": 0.001, "encode_s_per_B": encode}})
        self.close(row["iteration_s"], COMPUTE + UPDATE + encode * MODEL + ring(1e6 * 0.001))

    def test_merged_gradients_are_copied_in_and_out(self):
        self.write("cluster.json", cluster(nodes=NODES, copy_s_per_B=1e-10))
        self.close(self.row({"name": "sync-easgd"})["iteration_s"], COMPUTE + UPDATE + ring(MODEL) + 2 * 1e-10 * MODEL)
        alone = self.row({"name": "s-sgd"})
        self.write("cluster.json", cluster(nodes=NODES))
        self.assertEqual(self.row({"name": "s-sgd"}), alone)

    def test_merging_reckons_with_compressed_bytes(self):
        """So little that every all-reduce is its latency: merged as over a network that is as much faster."""
        way = {"name": "mg-wfbp", "compression": {"name": "random-k", "ratio": 0.01}}
        slow = self.row(way)
        self.write("cluster.json", cluster(nodes=NODES, link={"bandwidth": "1000Gbps", "latency": "50us"}))
        self.close(slow["iteration_s"], self.row({"name": "mg-wfbp"})["iteration_s"])

    def test_with_and_without_shortcuts(self):
        for way in ("sign", {"name": "gtop-k", "encode_s_per_B": 1e-10, "decode_s_per_B": 1e-10}):
            schedule = {"name": "wfbp", "accumulate": 2, "compression": way}
            for key, value in self.row(schedule).items():
                self.close(value, self.row(schedule, "--no-symmetry")[key])

    def test_peers_bytes_on_the_network_with_and_without_shortcuts(self):
        sweep = {"/schedule/name": ["sgp", "d-psgd"], "/fidelity": ["per-message", "flow"]}
        for words in ((), ("--no-symmetry",)):
            for point in self.points(scenario(iterations={"warmup": 1, "measured": 4}, sweep=sweep), *words):
                self.close(point["network_bytes_per_iteration"], (2 if point["schedule"] == "d-psgd" else 1) * NODES * MODEL)


if __name__ == "__main__":
    unittest.main()
