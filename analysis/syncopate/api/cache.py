"""What calls of simctl wrote, kept in the user's cache folder under the digest of all that it follows from."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from syncopate.api import simctl
from syncopate.api.simctl import Said
from syncopate.common.errors import OutputError

FORMAT = "1"                # of an entry; another one makes all digests others
ENTRY, UNFINISHED = r"[0-9a-f]{64}", ".unfinished-"
SHIPPED = ("scenarios", "scenarios/clusters", "scenarios/advice", "traces", "models", "models/devices")
BESIDE = ("libsyncopate-actors.so", "platform_reader")      # what simctl loads and runs
MOST_BYTES = 256 << 20      # of an input file, as in simctl
WITHOUT_NAMES = ("trace/1",)    # formats whose texts name no files


class Kept(NamedTuple):
    """A finished call: what it printed, and the folder `out` with what it wrote. `holder` removes that folder with the last of those that use it."""

    said: Said
    out: Path
    digest: str
    holder: object = None


class Removed:
    """Removes a folder when nothing refers to this object any more, or when Python ends."""

    def __init__(self, place: Path) -> None:
        self.finish = weakref.finalize(self, shutil.rmtree, place, True)


def folder() -> Path:
    """$XDG_CACHE_HOME/syncopate, else ~/.cache/syncopate."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "syncopate"


def clear_cache() -> int:
    """Removes all that calls have kept in the cache folder, and what killed ones left there. Returns how many entries these were.

    Results in use lose their files; what they have read already, they keep. Raises OutputError where the folder cannot be changed.
    """
    place, removed = folder(), 0
    try:
        for path in list(place.iterdir()) if place.is_dir() else []:
            if re.fullmatch(ENTRY, path.name) or (path.name.startswith(UNFINISHED) and not is_alive(path.name)):
                shutil.rmtree(path)
                removed += 1
    except OSError as error:
        raise OutputError(f"{place}: cannot be cleared: {error.strerror}; check its permissions") from None
    return removed


def is_alive(name: str) -> bool:
    """Whether the process is at work that .unfinished-PID-... is of."""
    number = re.match(rf"{re.escape(UNFINISHED)}(\d+)-", name)
    return number is not None and Path(f"/proc/{number[1]}").exists()


def kept(words: Sequence[str], stdin: str, extra: Sequence[str], content: Any, cache: bool, watch: Callable[[Path], None] = lambda out: None,
         to: str | None = None) -> Kept:
    """Calls `simctl WORDS EXTRA -o FOLDER`, or finds what an equal call has written; `extra` does not change what comes out.

    `to`: another target of -o; "" for none.

    Only calls that end with 0 are kept. One that is interrupted leaves nothing. Raises what simctl.fail does.
    """
    digest = digest_of(words, stdin, content) if cache else ""
    if cache:
        found = read(folder() / digest, digest)
        if found:
            return found
    place = unfinished(folder() if cache else None)
    try:
        (place / "out").mkdir()
        target = [] if to == "" else ["-o", to or str(place / "out")]
        said = simctl.call([*words, *extra, *target], stdin, lambda: watch(place / "out"))
        if said.code or not cache:
            return Kept(said, place / "out", digest, Removed(place))
        about = {"format": FORMAT, "command": list(words), "out": hide(said.out, place), "err": hide(said.err, place)}
        (place / "call.json").write_text(json.dumps(about), encoding="utf-8")
        return settle(place, said, digest)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def settle(place: Path, said: Said, digest: str) -> Kept:
    """Gives a finished folder its name. Where another process has been faster, its folder stays, which others may be reading."""
    for _ in range(2):
        with contextlib.suppress(OSError):
            place.rename(folder() / digest)
        found = read(folder() / digest, digest)
        if found:
            shutil.rmtree(place, ignore_errors=True)        # where it is still there
            return found
        shutil.rmtree(folder() / digest, ignore_errors=True)        # what is there cannot be read
    return Kept(said, place / "out", digest, Removed(place))


def hide(text: str, place: Path) -> str:
    """Without the name of the folder that is renamed."""
    return text.replace(str(place / "out"), "OUT")


def unfinished(place: Path | None) -> Path:
    try:
        if place:
            place.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f"{UNFINISHED}{os.getpid()}-", dir=place))
    except OSError as error:
        raise OutputError(f"{place}: cannot be written: {error.strerror}; set XDG_CACHE_HOME to another folder, or call with cache=False") from None


def read(place: Path, digest: str) -> Kept | None:
    try:
        about = json.loads((place / "call.json").read_text(encoding="utf-8"))
        if about["format"] == FORMAT and (place / "out").is_dir():
            return Kept(Said(0, about["out"], about["err"]), place / "out", digest)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def digest_of(words: Sequence[str], stdin: str, content: Any) -> str:
    """SHA-256 of the words, stdin, the program, and every file that a text in them, or in such a file, may name."""
    files: dict[str, str] = {}
    texts = [*words, *(word.partition("=")[2] for word in words)]
    for text in texts:
        add(text, Path.cwd(), files)
        add_all(parse(text), Path.cwd(), files)
    add_all(content, Path.cwd(), files)
    # Paths in what is set are relative to the scenario's file.
    for path in [Path(word) for word in words if word in files or Path(word).is_file()] + [Path(name) for name in files]:
        for text in texts:
            add(text.strip('"'), path.parent, files)
            add_all(parse(text), path.parent, files)
    whole = [FORMAT, program_digest(str(simctl.find())), list(words), stdin, sorted(files.items())]
    return hashlib.sha256(json.dumps(whole).encode("utf-8", "surrogateescape")).hexdigest()


@functools.cache
def digests_of_programs(stamp: tuple) -> str:
    found = hashlib.sha256()
    for name, *_ in stamp:
        found.update(Path(name).read_bytes())
    return found.hexdigest()


def program_digest(program: str) -> str:
    """Of simctl and what stands with it; read again where one has changed."""
    folder_of_it = Path(program).resolve().parent
    paths = [Path(program).resolve(), *(place / name for name in BESIDE for place in (folder_of_it, folder_of_it.parent / "lib/syncopate"))]
    return digests_of_programs(tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.is_file()))


def parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def add_all(content: Any, base: Path, files: dict[str, str]) -> None:
    """All files that the texts of a JSON value may name."""
    for text in texts_of(content):
        add(text, base, files)


def texts_of(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        if content.get("format") not in WITHOUT_NAMES:
            for one in content.values():
                yield from texts_of(one)
    elif isinstance(content, list):
        for one in content:
            yield from texts_of(one)


def add(text: str, base: Path, files: dict[str, str]) -> None:
    """The files that a text may name: relative to `base`, or shipped ones; and what these name."""
    if not text or len(text) > 4096 or "\0" in text or "\n" in text:
        return
    for path in [base / text, *shipped(text)]:
        name = os.path.normpath(path)
        if name not in files and os.path.isfile(name) and os.path.getsize(name) <= MOST_BYTES:
            try:
                content = Path(name).read_bytes()
            except OSError:
                continue
            files[name] = hashlib.sha256(content).hexdigest()
            if content.lstrip()[:1] == b"{":
                add_all(parse(content.decode("utf-8", "replace")), Path(name).parent, files)


def shipped(text: str) -> list[Path]:
    return [] if "/" in text else [place / f"{text}.json" for place in shipped_folders(os.getcwd(), str(simctl.find()))]


@functools.cache
def shipped_folders(current: str, program: str) -> list[Path]:
    """Where simctl looks for names: in the current folder and above, where it is installed, above where it is."""
    own = Path(program).resolve().parent
    roots = [Path(current), *Path(current).parents, own.parent / "share/syncopate", own, *own.parents]
    return [root / name for root in dict.fromkeys(roots) for name in SHIPPED if (root / name).is_dir()]
