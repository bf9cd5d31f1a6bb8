"""simctl's commands as functions."""
# pylint: disable=redefined-builtin   # set= is --set

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Mapping

from syncopate.api import cache as caching
from syncopate.api import options, scenario, simctl
from syncopate.api.answers import Advice, Calibration, Made, Solution
from syncopate.api.brief import brief
from syncopate.api.result import Call, Result
from syncopate.common.errors import InputError, UsageError

PACES = ("jobs",)       # options that change how long a call takes, not what comes out
AS_JSON = ("--format", "json")
SHOW_AFTER, LOOK_EVERY = 2.0, 0.5        # seconds
Source = str | os.PathLike | Mapping[str, Any] | None


@brief
def run(scenario_: Source = None, /, *, cache: bool = True, progress: bool = True, set: Mapping[str, Any] | None = None, **keywords: Any) -> Result:
    """Simulates every point of a scenario: `simctl run`.

    scenario_: a dict (scenario/1), a file's path, a name that ships, or nothing: then keywords say all, and `all_reduce` is "auto" unless they do.
    set: {JSON pointer: value}. A list of values sweeps the key, all else sets it; a list that is one value: [[...]].
    keywords: options of `simctl run` by their names with underscores (True: without a value; a list: joined by commas); all others are keys
        of the scenario, with `nodes` and `bandwidth` for /cluster/nodes and /cluster/link/bandwidth. A list of values sweeps the key. A name
        stands for a schedule without parameters. Keys that are options, too (jobs, iterations): set={"/jobs": ...}.
    output: folder for the results, kept there and not in the cache, with force, resume, reuse and others as on the command line.
    cache: whether to take what an equal call has written. The digest has the scenario and all options but `jobs`, the content of every file
        that these name (and that such a file names), the bytes of simctl and its library, and the version of the cache. It has not the
        time, the environment, nor SimGrid's own library: clear_cache() after an upgrade of that. Only runs of which no point failed are
        kept, in $XDG_CACHE_HOME/syncopate or ~/.cache/syncopate.
    progress: whether to show a bar of points if tqdm is installed and the run takes over two seconds.

    Raises UsageError, InputError, OutputError; SimulationError if points failed, whose `result` has the others.
    """
    command = ("run",)
    chosen, call = prepare(command, "scenario", scenario_, keywords, set)
    output = chosen.pop("output", None)
    rest = options.words_of(command, chosen)
    words = [*call.words("run"), *without_pace(rest)]
    if output is None and any(chosen.get(name) for name in ("force", "resume", "retry_failed", "shard", "reuse")):
        raise UsageError("force, resume, retry_failed, shard and reuse go on with a folder; name it with output=")
    bar = Bar(progress)
    try:
        if output is not None:
            place = Path(os.fspath(output))
            said = simctl.call([*words, *pace(rest), "-o", str(place)], call.stdin, lambda: bar.look(place))
            made = caching.Kept(said, place, "")
        else:
            made = caching.kept(words, call.stdin, pace(rest), call.content, cache, bar.look)
    finally:
        bar.close()
    if made.said.code:
        has_rows = made.said.code == simctl.SimulationError.code and (made.out / "results.csv").exists()
        simctl.fail(made.said, Result(made.out, call, made.holder) if has_rows else None)
    return Result(made.out, call, made.holder)


@brief
def load(folder: str | os.PathLike) -> Result:
    """The results in a folder that `simctl run -o` wrote. Raises InputError where it holds none, or those of an older version."""
    result = Result(Path(os.fspath(folder)))
    result.column("iteration_s")        # reads it
    return result


@brief
def solve(scenario_: Source = None, /, *, cache: bool = True, set: Mapping[str, Any] | None = None, **keywords: Any) -> Solution:
    """Finds from which value of a key on, or up to which, a result is as wanted, for each point of the sweep: `simctl solve`.

    for_: the key's JSON pointer; until: a condition such as "efficiency >= 0.9"; from_, to: the values between which to look. (`for` and `from`
    are Python's own words.) All else as in run().

    Raises UsageError, InputError; SimulationError where a point failed, or the condition comes and goes.
    """
    chosen, call = prepare(("solve",), "scenario", scenario_, keywords, set)
    rest = options.words_of(("solve",), chosen)
    said = caching.kept([*call.words("solve"), *without_pace(rest), *AS_JSON], call.stdin, pace(rest), call.content, cache, to="").said
    if said.code:
        simctl.fail(said, Solution(json.loads(said.out)) if said.out else None)
    return Solution(json.loads(said.out))


@brief
def calibrate(scenario_: Source = None, /, *, cache: bool = True, set: Mapping[str, Any] | None = None, **keywords: Any) -> Calibration:
    """Fits a scenario to runs of your own, and predicts other numbers of GPUs: `simctl calibrate`.

    measured: {GPUs: value}; unit: "samples/s" or "s"; sizes: numbers of GPUs to predict; output: a file for the calibrated scenario, with force
    where it exists; nothing is cached then. All else as in run(). The answer's `table` has predictions, `tables` also the causes; `scenario` is what
    run() takes: the calibrated scenario as a dict, or `output`.

    Raises UsageError, InputError, SimulationError, OutputError.
    """
    chosen, call = prepare(("calibrate",), "scenario", scenario_, keywords, set)
    output = chosen.pop("output", None)
    rest = options.words_of(("calibrate",), chosen)
    words = [*call.words("calibrate"), *without_pace(rest), *AS_JSON]
    if output is not None:
        said = simctl.call([*words, *pace(rest), "-o", os.fspath(output)], call.stdin)
    else:
        said = caching.kept(words, call.stdin, pace(rest), call.content, cache, to="-").said
    if said.code:
        simctl.fail(said)
    return Calibration(json.loads(said.out))


@brief
def advise(advice: Source = None, /, *, cache: bool = True, output: str | os.PathLike | None = None, **keywords: Any) -> Advice:
    """Chooses a schedule, its parameters, a cluster and its size, by time or cost: `simctl advise`.

    advice: a dict (advice/1), a file's path, a name that ships, or nothing: then keywords say all. Keywords that are no options of the command are
    keys of the advice; with a file or a name there are none. output: a folder for advice.json and choice.json.

    Raises UsageError, InputError, SimulationError, OutputError.
    """
    command = ("advise",)
    chosen, call = prepare(command, "advice", advice, keywords, None)
    rest = options.words_of(command, chosen)
    words = [*call.words("advise"), *without_pace(rest)]
    if output is not None:
        place = Path(os.fspath(output))
        made = caching.Kept(simctl.call([*words, *pace(rest), "-o", str(place)], call.stdin), place, "")
    else:
        made = caching.kept(words, call.stdin, pace(rest), call.content, cache)
    if made.said.code:
        simctl.fail(made.said)
    return Advice(made.said.text, made.out, made.holder)


@brief
def fit_cluster(*files: str | os.PathLike, output: str | os.PathLike | None = None, **keywords: Any) -> Made:
    """Makes a cluster from collectives timed by netprobe, nccl-tests and others: `simctl cluster fit`.

    files: what they printed; ranks, gpus_per_node, in_place, name: as on the command line; output: a file for the cluster.
    Nothing is cached. Raises UsageError, InputError, OutputError.
    """
    return make(("cluster", "fit"), files, output, keywords)


@brief
def import_trace(*profiles: str | os.PathLike, output: str | os.PathLike | None = None, **keywords: Any) -> Made:
    """Makes a trace from a torch.profiler file, or from those of all ranks of a job: `simctl trace import`.

    profiles: .json or .json.gz files, or a folder; model, batch, sizes, device_time, pid, rank, workers, each: as on the command line; output: a file
    for the trace, with force where it exists and is no earlier import of these profiles. Nothing is cached. Raises UsageError, InputError, OutputError.
    """
    return make(("trace", "import"), profiles, output, keywords)


def prepare(command: tuple[str, ...], kind: str, given: Source, keywords: Mapping[str, Any], pointers: Any) -> tuple[dict[str, Any], Call]:
    """(options among the keywords, what to call the command with)."""
    chosen, others = options.split(command, keywords)
    base = {"format": f"{kind}/1"}
    inside = [place for places in (pointers, others.get("sweep")) if isinstance(places, Mapping) for place in places]
    if not any(str(place).startswith("/all_reduce/") for place in inside):
        base["all_reduce"] = "auto"                           # as simctl new writes it
    if kind == "scenario":
        base["name"] = name_of(others)
    else:
        if others and isinstance(given, (str, os.PathLike)):
            raise UsageError(f"{', '.join(others)}: no option of simctl advise; keys of an advice go with a dict, not with a file or a name")
        given = {**(base if given is None else given), **others} if given is None or isinstance(given, Mapping) else given
        others = {}
    word, stdin, content = scenario.source(given, kind, base)
    if given is None and "name" in others:
        del others["name"]
    known = content if content is not None else content_of(word)
    swept = known.get("sweep") if isinstance(known, dict) else None
    found = scenario.settings(others, pointers, swept if isinstance(swept, dict) else {}, given is not None and content is None)
    return chosen, Call(word, stdin, content, tuple(found))


def content_of(word: str) -> Any:
    """Of the scenario's file, or the shipped one of that name; None where it cannot be read, which simctl will say better."""
    for path in [Path(word), *caching.shipped(word)]:
        try:
            if path.is_file() and path.stat().st_size <= caching.MOST_BYTES:
                return caching.parse(path.read_text("utf-8-sig"))
        except (OSError, ValueError):
            return None
    return None


def name_of(keywords: Mapping[str, Any]) -> str:
    """A name for a scenario without one: its trace and cluster, where these have names."""
    if isinstance(keywords.get("name"), str):
        return keywords["name"]
    return " on ".join(filter(None, (name_in(keywords.get(key)) for key in ("trace", "cluster")))) or "scenario"


def name_in(value: Any) -> str:
    """Of a trace or a cluster: a shipped one, a file or its content."""
    if isinstance(value, (str, os.PathLike)):
        return Path(value).stem
    if isinstance(value, Mapping):
        named = value if "name" in value else value.get("model")
        return str(named["name"]) if isinstance(named, Mapping) and "name" in named else ""
    return ""


def without_pace(words: list[str]) -> list[str]:
    return [word for place, word in enumerate(words) if not is_pace(words, place)]


def pace(words: list[str]) -> list[str]:
    return [word for place, word in enumerate(words) if is_pace(words, place)]


def is_pace(words: list[str], place: int) -> bool:
    return words[place] in [f"--{name}" for name in PACES] or place > 0 and words[place - 1] in [f"--{name}" for name in PACES]


def make(command: tuple[str, ...], files: tuple, output: Any, keywords: Mapping[str, Any]) -> Made:
    chosen, others = options.split(command, keywords)
    if others:
        raise UsageError(f"{', '.join(others)}: no option of simctl {' '.join(command)}; it has {', '.join(options.options_of(command))}")
    for file in files:
        if not isinstance(file, (str, os.PathLike)) or os.fspath(file) in ("", "-"):
            raise InputError(f"simctl {' '.join(command)}: expected paths of files, got {file!r}")
    names = [os.fspath(file) for file in files]
    words = [*(f"./{name}" if name.startswith("-") else name for name in names), *options.words_of(command, chosen)]
    place = Path(os.fspath(output)) if output is not None else None
    said = simctl.call([*command, *words, "-o", "-" if place is None else str(place.absolute())])
    if said.code:
        simctl.fail(said)
    if place is None:
        return Made(*content_in(said))
    from syncopate.common.reading import read_json
    return Made(read_json(place, "call it again"), said.text)


def content_in(said: simctl.Said) -> tuple[dict[str, Any], str]:
    """(the JSON object that was printed, all else that was said)."""
    lines = said.out.splitlines(keepends=True)
    first = lines.index("{\n")
    last = lines.index("}\n", first)
    return json.loads("".join(lines[first:last + 1])), "".join(lines[:first] + lines[last + 1:]) + said.err


class Bar:
    """How many points of a run have ended, where tqdm is installed and it takes long; the total is known once study.json is there."""

    def __init__(self, is_wanted: bool) -> None:
        self.is_wanted, self.next, self.begun = is_wanted and has_tqdm(), 0.0, time.monotonic()
        self.bar: Any = None

    def look(self, out: Path) -> None:
        now = time.monotonic()
        if not self.is_wanted or now - self.begun < SHOW_AFTER or now < self.next:
            return
        try:
            if self.bar is None:
                self.bar = bar_of(json.loads((out / "study.json").read_text(encoding="utf-8"))["points"])
            self.bar.update(sum(1 for _ in os.scandir(out / "points")) - self.bar.n)
        except (OSError, ValueError, KeyError):
            return      # not there yet
        self.next = now + max(LOOK_EVERY, 10 * (time.monotonic() - now))     # counting many files takes a while, too

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def has_tqdm() -> bool:
    import importlib.util
    return importlib.util.find_spec("tqdm") is not None


def bar_of(points: int) -> Any:
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # a notebook without widgets gets a bar of text
        from tqdm.auto import tqdm
    return tqdm(total=points, unit="point", leave=False)
