"""The ways in which a program fails; common.program turns each into one line on stderr and an exit code."""


class Failure(Exception):
    """Something went wrong; the message says what, where, and what to do. `code` is the exit code of a program that fails so."""

    code = 1


class UsageError(Failure):
    """An option or keyword is wrong, or contradicts another."""

    code = 2


class InputError(Failure):
    """A file is missing or wrong. The message names the file, the place in it, the rule, what is there and the fix."""

    code = 3


class SimulationError(Failure):
    """Points could not be simulated. `result` has what could, or is None."""

    code = 4
    result: object = None


class OutputError(Failure):
    """A file could not be written. Nothing is left behind."""

    code = 5


def printable(text):
    """The text with control characters escaped: a name in a file may hold any, and a terminal would act on them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
