"""Compressed gradients: what a rank sends of its bytes, by which operation, and how long it encodes and decodes."""

import collectives
from network import Network

GATHERED = ("sign", "terngrad", "qsgd", "top-k")  # cannot be added up on their way


def named(schedule):
    """Any form as an object. A number of dts is a share of the values, and `sparse` the operation."""
    given = schedule.get("compression", "none")
    if isinstance(given, str):
        return {"name": given}
    if isinstance(given, dict):
        return given
    name = {"all-gather": "top-k", "all-reduce": "gtop-k"}[schedule.get("sparse", "all-gather")]
    return {"name": name, "ratio": given, "index_bytes": schedule.get("index_bytes", 4)} if given < 1 else {"name": "none"}


def value_bytes(point):
    """A value of the trace."""
    return 2 if point["trace"]["model"]["dtype"] in ("fp16", "bf16") else 4


class Compression:
    """Of a point's collectives, over n ranks."""

    def __init__(self, point, n):
        self.point, self.given = point, named(point["schedule"])
        self.value = value_bytes(point)
        self.gathers = self.given["name"] in GATHERED
        self.received = n - 1 if self.gathers else 1  # messages
        self.make = Network.all_gather if self.gathers else Network.all_reduce

    def sent(self, size):
        """Bytes that a rank comes with, of a message of so many."""
        given, values = self.given, size / self.value
        if given["name"] == "none":
            return size
        if given["name"] == "fp16":
            return min(2 * values, size)
        if given["name"] in ("sign", "terngrad"):
            return values * {"sign": 1, "terngrad": 2}[given["name"]] / 8 + 4
        if given["name"] == "qsgd":
            return values * given.get("bits", 4) / 8 + 4 * values / given.get("bucket", 512)
        index = given.get("index_bytes", 4) if given["name"] != "random-k" else 0
        return given.get("ratio", 0.01) * values * (self.value + index)

    def encode(self, size):
        return self.given.get("encode_s_per_B", 0.0) * size

    def decode(self, size):
        return self.given.get("decode_s_per_B", 0.0) * size * self.received

    def over_gpus(self):
        """The cost of what each rank sends."""
        return (collectives.all_gather if self.gathers else collectives.over_gpus)(self.point)

    def over_nodes(self):
        return (collectives.all_gather_over_nodes if self.gathers else collectives.over_nodes)(self.point)

    def tangent(self, cost):
        """(a, b) of a message by its bytes, and always the same but for a curve; `cost` is of what is sent of them."""
        coding = self.encode(1) + self.decode(1)
        if not isinstance(cost, collectives.Curve):
            a, b = collectives.line(lambda size: cost(self.sent(size)), collectives.model_bytes(self.point))
            return lambda size: (a, b + coding)

        def at(size):
            (a, b), least = cost.tangent(self.sent(size)), self.sent(0)
            return a + b * least, b * (self.sent(1) - least) + coding

        return at


class OverServers(Compression):
    """Of what clients push and, if it says so, of what they pull: a message for each."""

    def __init__(self, point):
        super().__init__(point, 2)
        self.pulls = self.given.get("pull") == "compressed"

    def pulled(self, size):
        return self.sent(size) if self.pulls else size

    def decode_pulled(self, size):
        return self.decode(size) if self.pulls else 0.0

    def work(self, size, per_byte):
        """Of all servers together on a push, whose bytes before compression these are."""
        return per_byte * self.sent(size) + self.decode(size)

    def answer(self, size):
        """Of all servers together on what is then pulled."""
        return self.encode(size) if self.pulls else 0.0
