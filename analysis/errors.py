"""The two ways in which a report can fail; the command line turns each into one line and an exit code."""


class InputError(Exception):
    """A result file is missing or wrong. The message names file, place, rule, value and the fix."""


class OutputError(Exception):
    """A file could not be written. Nothing is left behind."""
