"""A session: its time, its commands, its report."""

import contextlib
import datetime
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import machine
import results

CLOSING_S = 25  # kept for fits and archives
LOGGED = 20_000  # characters of a command's output that the log keeps from its start, and from its end


class Failed(Exception):
    """A step did not do what it should."""


class Skipped(Exception):
    """A step that cannot be done here, and why."""


class NoTime(Exception):
    """The session's time is over."""


class Interrupted(Exception):
    """A signal came."""


class Signals:
    """A signal raises Interrupted. While a program is being started, it does so after the start, so that the program can be ended."""

    def __init__(self):
        self.waits = self.came = False

    def listen(self):
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, self.handle)

    def handle(self, _signal, _frame):
        if not self.waits:
            raise Interrupted
        self.came = True

    @contextlib.contextmanager
    def later(self):
        self.waits = True
        try:
            yield
        finally:
            self.waits = False
        if self.came:
            raise Interrupted


class Session:
    def __init__(self, options, root):
        self.signals = Signals()
        self.options, self.root, self.out = options, root, Path(options.out).resolve()
        self.on_cpu = options.device == "cpu"
        self.device = options.device.partition(":")[0]  # for commands, which see one GPU
        self.programs = Path(options.programs).resolve() if options.programs else None
        self.start = time.monotonic()
        self.end = self.start + 60 * options.minutes - CLOSING_S
        self.scratch = Path(tempfile.mkdtemp(prefix="syncopate-gpu-"))
        now = datetime.datetime.now(datetime.timezone.utc)
        self.report = {"format": "gpu-report/1", "utc": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "device": options.device, "seconds": 0, "machine": {},
                       "missing": [], "tests": {}, "captures": {}, "profiles": {}, "comparisons": {}, "node": {}, "devices": {}, "left_out": [],
                       "steps": []}

    # For steps

    def run(self, command, limit, accept=(0,), cwd=None, environment=None):
        """Runs a command and returns its output. Throws Failed if it fails or exceeds `limit` seconds. Leaves no process behind."""
        command = [str(word) for word in command]
        remaining = self.end - time.monotonic()
        if remaining < 1:
            raise NoTime
        ours = self.programs is not None and any(word.startswith(f"{self.programs}/") for word in command)
        environment = os.environ | self.visible() | (self.library_path() if ours else {}) | (environment or {})
        process = None
        try:
            with self.signals.later():
                process = subprocess.Popen(command, cwd=cwd or self.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                           stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True, env=environment)
            output, _ = process.communicate(timeout=min(limit, remaining))
        except BaseException as error:
            if process is None:
                raise
            output = self.kill(process)
            self.log(command, output, f"killed: {type(error).__name__}")
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise (Failed(f"{Path(command[0]).name} took longer than {limit} s") if limit < remaining else NoTime()) from None
        self.log(command, output, f"exit code {process.returncode}")
        if process.returncode not in accept:
            last = next((line for line in reversed(output.splitlines()) if line.strip()), "no output")
            raise Failed(f"{Path(command[0]).name} ended with {process.returncode}: {last}")
        return output

    def library_path(self):
        """Environment of programs built here. cuDNN and cuBLAS may be in PyTorch's packages, oneDNN in the bundle."""
        bundled = sorted(self.programs.glob("bundle/usr/lib/*-linux-gnu"))
        folders = [os.environ.get("LD_LIBRARY_PATH"), *machine.nvidia_libraries(), *bundled]
        return {"LD_LIBRARY_PATH": ":".join(str(folder) for folder in folders if folder)}

    def visible(self):
        """Environment that shows commands only the GPU of --device cuda:N."""
        index = self.options.device.partition(":")[2]
        listed = (os.environ.get("CUDA_VISIBLE_DEVICES") or "").split(",")
        if not index:
            return {}
        return {"CUDA_VISIBLE_DEVICES": listed[int(index)] if int(index) < len(listed) and listed[int(index)] else index}

    @staticmethod
    def kill(process):
        """Kills a command and its children. Returns what it had printed."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return process.communicate()[0] or ""

    def require(self, *what):
        """Throws Skipped unless all of it is here: "gpu", "device", "programs", "torch", "kineto"."""
        found = self.report["machine"]
        torch = found.get("torch")
        has = {"gpu": bool(found.get("gpus")), "device": self.on_cpu or bool(found.get("gpus")), "programs": self.programs is not None,
               "torch": torch is not None and (self.on_cpu or torch["sees_gpu"]), "kineto": torch is not None and torch["kineto"]}
        names = {"gpu": "no GPU", "device": "no GPU", "programs": "nothing was built", "torch": "no PyTorch that can use the device",
                 "kineto": "PyTorch is built without Kineto"}
        for each in what:
            if not has[each]:
                raise Skipped(names[each])

    def card(self):
        """The GPU that --device names, as nvidia-smi has it. CUDA_VISIBLE_DEVICES may name others."""
        cards = self.report["machine"].get("gpus", [])
        visible = [part for part in (self.report["machine"].get("visible") or "").split(",") if part.isdigit() and int(part) < len(cards)]
        chosen = [cards[int(part)] for part in visible] or cards
        index = int(self.options.device.partition(":")[2] or 0)
        return chosen[index] if index < len(chosen) else None

    def slug(self):
        card = None if self.on_cpu else self.card()
        return "cpu" if self.on_cpu else machine.slug(card["name"]) if card else "gpu"

    def folder(self, name):
        folder = self.scratch / name
        folder.mkdir(exist_ok=True)
        return folder

    def pack(self, folder):
        """Brings a scratch folder's files into the archive of its name."""
        files = [file for file in self.folder(folder).iterdir() if file.is_file()]
        for name, why in results.pack(self.out / f"{folder}.tar.gz", files):
            entry = {"file": name, "why": why}
            if entry not in self.report["left_out"]:
                self.report["left_out"].append(entry)

    def say(self, text):
        if not self.options.quiet:
            print(f"[{time.monotonic() - self.start:5.0f} s] {text}", flush=True)

    def log(self, command, output, end):
        cut = len(output) - 2 * LOGGED
        if cut > 0:
            output = f"{output[:LOGGED]}\n[... {cut} characters ...]\n{output[-LOGGED:]}"
        with open(self.out / "log.txt", "a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(command)}\n{output}\n[{end}]\n")

    # Running steps

    def do(self, name, function):
        begun, reason = time.monotonic(), None
        state = "no time"
        try:
            if self.end - begun >= 1 or not self.report["steps"]:
                reason = function(self)
                state = "done"
        except NoTime:
            pass
        except Skipped as skipped:
            state, reason = "skipped", str(skipped)
        except Failed as failed:
            state, reason = "failed", str(failed)
        except Interrupted:
            self.finish(name, "interrupted", None, begun)
            raise
        except Exception as error:  # one step's mistake must not cost the others
            state, reason = "failed", f"{type(error).__name__}: {error}"
        self.finish(name, state, reason, begun)

    def finish(self, name, state, reason, begun):
        seconds = time.monotonic() - begun
        step = {"name": name, "state": state, "seconds": round(seconds, 3)}
        self.report["steps"].append(step | ({"reason": reason} if reason else {}))
        if state not in ("no time", "skipped") or not name.partition(":")[2]:
            self.say(f"{name}: {state if state == 'done' else state.upper()}{f': {reason}' if reason else ''}, {seconds:.1f} s")
        self.save()

    def save(self):
        self.report["seconds"] = round(time.monotonic() - self.start, 3)
        results.write_json(self.out / "report.json", self.report)
        results.write(self.out / "report.txt", results.text_of(self.report).encode())

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)
