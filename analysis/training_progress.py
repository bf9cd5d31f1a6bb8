"""How far training has come: one line on a terminal, nothing elsewhere."""

import sys


class Progress:
    def __init__(self, name):
        self.name, self.done, self.total, self.is_shown = name, 0, 0, sys.stderr.isatty()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.show("\r\x1b[K")

    def expect(self, more):
        self.total += more

    def advance(self):
        self.done += 1
        self.show(f"\r{self.name}: {self.done} of {self.total} replays")

    def show(self, text):
        if self.is_shown:
            print(text, end="", file=sys.stderr, flush=True)
