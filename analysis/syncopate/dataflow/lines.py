"""The lines of a record after its first: one operation each, checked against what the lines before have made."""

from typing import NamedTuple

from syncopate.common.reading import is_number, shown
from syncopate.common.wording import counted
from syncopate.dataflow.compressors import COMPRESSORS
from syncopate.dataflow.header import Fault, expect_keys, is_count
from syncopate.dataflow.hyper import divided
from syncopate.dataflow.optimisers import OPTIMISERS


class Gradient(NamedTuple):
    v: tuple        # a value for each part; x likewise
    x: tuple
    w: int
    k: int
    t: float


class Linear(NamedTuple):
    v: int
    of: tuple       # (coefficient, value, (factors...)) each


class Step(NamedTuple):
    v: tuple
    f: str
    of: tuple


class Compression(NamedTuple):
    v: tuple
    f: str
    of: tuple
    keys: dict
    part: int


class Evaluation(NamedTuple):
    x: tuple
    w: int
    t: float
    n: int


FRACTION = ("a number > 0 and <= 1", lambda value: is_number(value) and 0 < value <= 1)
COUNT = ("a whole number >= 0", is_count)
COMPRESSION_KEYS = {"k": FRACTION, "n": COUNT, "bits": ("a whole number from 1 to 32", lambda value: is_count(value, 1) and value <= 32),
                    "bucket": ("a whole number >= 1", lambda value: is_count(value, 1))}


class Lines:
    """Turns lines into operations, one after the other. Its methods raise Fault."""

    def __init__(self, header):
        self.header, self.parts = header, len(header["parts"])
        self.part_of, self.made_on = {}, {}     # by value: its part, and the line that makes it
        self.factors = {}                       # terms with the same factors share one tuple, for a record may have millions of terms
        self.gradients = self.most_n = 0
        self.times = {}                         # by worker: the time of its last line
        self.line = 1
        for part, value in enumerate(header["initial"]):
            self.make(value, part)
        for value, part in zip(header["zeros"], header["zero_parts"]):
            self.make(value, part)

    def operation(self, found, line):
        """The operation of a line, which is a JSON object."""
        self.line = line
        read = READERS.get(found["o"]) if isinstance(found.get("o"), str) else None
        if not read:
            raise Fault(f'"o": expected one of {", ".join(READERS)}, got {shown(found.get("o"))}')
        return read(self, found)

    def gradient(self, found):
        expect_keys(found, ("o", "v", "x", "w", "k", "t"))
        x = self.model(found["x"])
        self.check_count(found, "k")
        w, t = self.worker_and_time(found)
        v = self.by_part("v", found["v"])
        for part, value in enumerate(v):
            self.make(value, part)
        self.gradients += 1
        return Gradient(v, x, w, found["k"], t)

    def linear(self, found):
        part = self.part(found, ("o", "v", "of"))
        if not isinstance(found["of"], list) or not found["of"]:
            raise Fault(f'"of": expected a list of terms that is not empty, got {shown(found["of"])}')
        terms = tuple(self.term(term, part) for term in found["of"])
        self.make(found["v"], part)
        return Linear(found["v"], terms)

    def term(self, term, part):
        if not isinstance(term, list) or len(term) < 2 or not is_number(term[0]):
            raise Fault(f'"of": expected terms [coefficient, value, names...], got {shown(term)}')
        self.take(term[1], part)
        for factor in term[2:]:
            if not isinstance(factor, str) or divided(factor)[0] not in self.header["hyper"]:
                raise Fault(f'"of": expected a hyper-parameter that the header names ({", ".join(self.header["hyper"]) or "none"}), got {shown(factor)}')
        factors = tuple(term[2:])
        return term[0], term[1], self.factors.setdefault(factors, factors)

    def step(self, found):
        part = self.part(found, ("o", "v", "f", "of"))
        function = self.function(found, OPTIMISERS)
        of, v = self.values(found, "of", function.takes), self.values(found, "v", function.makes)
        self.take_and_make(of, v, part)
        return Step(v, found["f"], of)

    def compression(self, found):
        function = self.function(found, COMPRESSORS)
        part = self.part(found, ("o", "v", "f", "of", *function.keys))
        for key in function.keys:
            rule, holds = COMPRESSION_KEYS[key]
            if not holds(found[key]):
                raise Fault(f'"{key}": expected {rule}, got {shown(found[key])}')
        of, v = self.values(found, "of", 2), self.values(found, "v", 2)
        self.take_and_make(of, v, part)
        return Compression(v, found["f"], of, {key: found[key] for key in function.keys}, part)

    def evaluation(self, found):
        expect_keys(found, ("o", "x", "w", "t", "n"))
        x = self.model(found["x"])
        self.check_count(found, "n")
        self.most_n = max(self.most_n, found["n"])
        return Evaluation(x, *self.worker_and_time(found), found["n"])

    def finish(self, count):
        """Checks what only the last line decides."""
        if count != self.header["operations"]:
            raise Fault(f'"operations": expected {self.header["operations"]} lines after the header, got {count}')
        if self.most_n > self.gradients:
            raise Fault(f'"n" of E: expected at most {self.gradients}, the number of gradients, got {self.most_n}')

    def function(self, found, table):
        if not isinstance(found.get("f"), str) or found["f"] not in table:
            raise Fault(f'"f" of {found["o"]}: expected one of {", ".join(table)}, got {shown(found.get("f"))}')
        return table[found["f"]]

    def part(self, found, keys):
        """The part that a line is of. Lines have the key "part" only where the header lists several parts."""
        expect_keys(found, keys if self.parts == 1 else (*keys, "part"))
        if self.parts == 1:
            return 0
        if not is_count(found["part"]) or found["part"] >= self.parts:
            raise Fault(f'"part": expected a whole number from 0 to {self.parts - 1}, got {shown(found["part"])}')
        return found["part"]

    def by_part(self, key, found):
        if self.parts == 1:
            return (found,)
        if not isinstance(found, list) or len(found) != self.parts:
            raise Fault(f'"{key}": expected a list of a value for each of {self.parts} parts, got {shown(found)}')
        return tuple(found)

    def model(self, found):
        x = self.by_part("x", found)
        for part, value in enumerate(x):
            self.take(value, part)
        return x

    def values(self, found, key, count):
        if not isinstance(found[key], list) or len(found[key]) != count:
            raise Fault(f'"{key}" of {found["f"]}: expected a list of {counted(count, "value")}, got {shown(found[key])}')
        return tuple(found[key])

    def take_and_make(self, of, v, part):
        for value in of:
            self.take(value, part)
        for value in v:
            self.make(value, part)

    def take(self, value, part):
        if not is_count(value):
            raise Fault(f"expected a value, a whole number >= 0, got {shown(value)}")
        found = self.part_of.get(value)
        if found is None:
            raise Fault(f"expected a value that a line before has made, got {value}")
        if found != part:
            raise Fault(f"expected a value of part {part}, got {value}, which is of part {found}")

    def make(self, value, part):
        if not is_count(value):
            raise Fault(f"expected a value, a whole number >= 0, got {shown(value)}")
        if value in self.made_on:
            raise Fault(f"expected a new value, got {value}, which line {self.made_on[value]} has made")
        self.part_of[value], self.made_on[value] = part, self.line

    def worker_and_time(self, found):
        w, t = found["w"], found["t"]
        if not is_count(w) or w >= self.header["workers"]:
            raise Fault(f'"w": expected a worker from 0 to {self.header["workers"] - 1}, got {shown(w)}')
        if not is_number(t) or t < 0 or t > self.header["end_s"] * (1 + 1e-9):
            raise Fault(f'"t": expected seconds from 0 to {self.header["end_s"]:g}, the header\'s end_s, got {shown(t)}')
        if t < self.times.get(w, 0):
            raise Fault(f'"t": expected at least {self.times[w]:g} s, the time of worker {w}\'s line before, got {t:g}')
        self.times[w] = t
        return w, t

    def check_count(self, found, key):
        if not is_count(found[key]):
            raise Fault(f'"{key}": expected a whole number >= 0, got {shown(found[key])}')


READERS = {"G": Lines.gradient, "L": Lines.linear, "S": Lines.step, "C": Lines.compression, "E": Lines.evaluation}
