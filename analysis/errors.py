"""The two ways in which a report can fail; the command line turns each into one line and an exit code."""


class InputError(Exception):
    """A result file is missing or wrong. The message names file, place, rule, value and the fix."""


class OutputError(Exception):
    """A file could not be written. Nothing is left behind."""


def printable(text):
    """Without what could control a terminal: a name in a file may hold anything."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
