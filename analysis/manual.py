#!/usr/bin/python3
"""Writes manual pages of programs from what their --help says."""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path


def roff(text):
    """As roff's text: a line that begins with a dot or an apostrophe would be a command."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def entries(lines):
    """(names, meaning) of what a section of --help lists; a meaning may begin, or go on, in lines of its own."""
    found = []
    for line in lines:
        names, _, meaning = line.strip().partition("  ")
        if re.match(r" {2}\S", line):
            found.append((names, meaning.strip()))
        elif line.strip():
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}".strip())
    return found


def listed(heading, lines):
    return f".SH {heading.upper()}\n" + "".join(f".TP\n\\fB{roff(names)}\\fR\n{roff(meaning)}\n" for names, meaning in entries(lines))


def example(lines):
    return ".SH EXAMPLE\n.EX\n" + "".join(roff(line.strip()) + "\n" for line in lines) + ".EE\n"


def page(name, version, text):
    """`text`: sections between empty lines, some of which begin with a heading."""
    usage, body = "", ""
    about = []
    for section in re.split(r"\n\n+", text.strip()):
        lines = section.splitlines()
        for line in list(lines):
            if line.lower().startswith("usage: "):
                usage = line[len("usage: "):]
                lines.remove(line)
        if not lines:
            continue
        heading, colon, rest = lines[0].partition(":")
        if colon and not rest:
            body += example(lines[1:]) if heading == "example" else listed(heading, lines[1:])
        elif lines[0].startswith("Exit codes: "):
            codes = [line for line in lines if not line.startswith("Example: ")]
            body += ".SH EXIT STATUS\n" + roff(" ".join(codes).removeprefix("Exit codes: ")) + "\n"
            body += example([line.removeprefix("Example: ") for line in lines if line.startswith("Example: ")])
        elif lines[0].startswith("example: "):
            body += example([lines[0].removeprefix("example: ")])
        else:
            about += lines
    return (f'.TH "{roff(name.upper())}" 1 "" "Syncopate {version}" "Syncopate"\n.SH NAME\n{roff(name)} \\- {roff(" ".join(about))}\n'
            f".SH SYNOPSIS\n.B {roff(usage)}\n{body}.SH SEE ALSO\n.BR simctl (1)\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", metavar="PROGRAM", nargs="+", type=Path)
    parser.add_argument("--version", required=True, help="that the pages tell")
    parser.add_argument("-o", dest="folder", required=True, type=Path, help="the folder for them, made when missing")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for program in options.programs:
        if not program.exists():  # not everything is built everywhere
            continue
        done = subprocess.run([program.absolute(), "--help"], capture_output=True, text=True, check=False,
                              env=os.environ | {"COLUMNS": "1000", "PYTHONDONTWRITEBYTECODE": "1"})
        if done.returncode != 0:
            print(f"no manual page of {program.name}: its --help ends with {done.returncode}", file=sys.stderr)
            continue
        text = done.stdout.replace(f"{program.absolute().parent}/", "")
        (options.folder / f"{program.name}.1").write_text(page(program.name, options.version, text))


if __name__ == "__main__":
    main()
