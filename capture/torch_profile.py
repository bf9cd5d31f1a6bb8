#!/usr/bin/env python3
"""Profiles whole training steps with PyTorch, of a model/1 file or of your own training, for `simctl trace import`."""

import argparse
import contextlib
import gzip
import importlib
import json
import os
import platform
import re
import resource
import shlex
import shutil
import statistics
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

USAGE, BAD_INPUT, CANNOT, INTERRUPTED = 2, 3, 5, 130
PROFILER_WARMUP = 5  # steps whose profile is discarded
torch = None  # imported after the command line is read: --help needs none
EPILOG = """\
examples:
  capture/torch_profile.py --model models/resnet50.json --batch 32 --dtype tf32 -o resnet50.pt.trace.json.gz
  capture/torch_profile.py my_package.train:make_step -o mine.pt.trace.json.gz

MODULE:FUNCTION is called once, without arguments. It sets up your training and returns a function without arguments that does one whole
step: batch, forward, backward and optimizer.step(). Modules are looked for in the current folder first. For instance:
  def make_step():
      model, optimizer, batches = ...
      def step():
          optimizer.zero_grad(set_to_none=True)
          model(*next(batches)).backward()
          optimizer.step()
      return step

A --model trains on random inputs as build/capture does. fp16 and bf16 hold weights and activations in 16 bits, batch_norm's parameters in
fp32; but layer_norm's are 16-bit here, and the optimizer has no fp32 copy of the weights. No loss is scaled.

exit codes: 0 done, 2 usage, 3 bad input, 5 cannot write, no device, no PyTorch that can profile, or out of memory"""


class Failure(Exception):
    """An exit code, and one line about what went wrong."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Failure(USAGE, f"{message}; --help has examples")


def parse(arguments):
    parser = Parser(description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add = parser.add_argument
    add("function", nargs="?", metavar="MODULE:FUNCTION", help="makes a function that does one training step of yours")
    add("--model", metavar="FILE", help="model/1 file to train instead")
    add("-o", dest="output", metavar="FILE", type=Path, required=True, help="profile to write; gzip if the name ends in .gz")
    add("--device", metavar="DEVICE", help="cuda, cuda:N or cpu [cuda if there is one]")
    add("--dtype", choices=["fp32", "tf32", "fp16", "bf16"], help="number format [fp32]; of a FUNCTION only noted in the file")
    add("--steps", type=int, default=10, metavar="N", help="steps to profile, and as many to measure without the profiler before [10]")
    add("--warmup", type=int, default=10, metavar="N", help="steps before those [10]")
    add("--threads", type=int, metavar="N", help="threads of --device cpu [1]")
    add = parser.add_argument_group("with --model").add_argument
    add("--batch", type=int, metavar="N", help="samples in a step; required")
    add("--input", metavar="SHAPE", help="of a sample, such as 3x224x224 [the model's]")
    add("--optimizer", choices=["sgd", "adam"], help="learning rate 1e-4; sgd has momentum 0.9 [sgd]")
    add("--autocast", action="store_true", help="store everything in fp32 and let torch.autocast compute in the 16-bit --dtype")
    add("--channels-last", action=argparse.BooleanOptionalAction, help="memory format of images [of 16-bit types]")
    add("--no-benchmark", action="store_true", help="do not let cuDNN try which algorithm is the fastest")
    options = parser.parse_args(arguments)
    names = ["batch", "input", "optimizer", "autocast", "channels_last", "no_benchmark"]
    of_a_model = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) not in (None, False)]
    counts = [number for number in (options.steps - 1, options.warmup, options.batch, options.threads) if number is not None]
    half = options.dtype in ("fp16", "bf16")
    for wrong, message in [
        ((options.function is None) == (options.model is None), "give either --model FILE or MODULE:FUNCTION"),
        (options.function and of_a_model, f"{' and '.join(of_a_model)}: for a --model only; your own step decides that"),
        (options.function and not re.fullmatch(r"[\w.]+:\w+", options.function), f"{options.function} is not MODULE:FUNCTION"),
        (options.model and options.batch is None, "--batch is missing"),
        (not re.fullmatch(r"cpu|cuda(:\d+)?", options.device or "cpu"), f"--device {options.device}: choose cuda, cuda:N or cpu"),
        (options.input and not re.fullmatch(r"[1-9]\d{0,5}(x[1-9]\d{0,5})*", options.input), f"--input {options.input}: expected extents such as 3x224x224"),
        (options.autocast and not half, "--autocast needs --dtype fp16 or bf16"),
        (min(counts) < 1, "--steps: at least 2; --warmup, --batch and --threads: at least 1"),
    ]:
        if wrong:
            parser.error(message)
    if options.model:
        options.dtype = options.dtype or "fp32"
        options.channels_last = half if options.channels_last is None else options.channels_last
    return options


def check_output(path, model):
    """Throws Failure if `path` cannot be written. Creates nothing."""
    if path.exists() and not path.is_file():
        raise Failure(USAGE, f"-o {path}: this is {'a folder' if path.is_dir() else 'no ordinary file'}; name a file")
    if model and path.exists() and Path(model).exists() and path.samefile(model):
        raise Failure(USAGE, f"-o {path}: this would overwrite the --model; choose another name")
    try:
        tempfile.TemporaryFile(dir=next(folder for folder in path.absolute().parents if folder.exists())).close()
    except OSError as error:
        raise Failure(CANNOT, f"{path} cannot be written: {error.strerror}") from None


def choose_device(options):
    global torch
    try:
        import torch
        import torch.profiler
    except (ImportError, OSError) as error:
        raise Failure(CANNOT, f"{sys.executable} cannot import torch ({error}); see https://pytorch.org") from None
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if device.type == "cpu":
        if options.model and options.dtype in ("tf32", "fp16"):
            raise Failure(USAGE, f"--dtype {options.dtype} needs a GPU; the CPU has fp32 and bf16")
        torch.set_num_threads(options.threads or 1)
        return device
    if options.threads:
        raise Failure(USAGE, "--threads is for --device cpu")
    if (device.index or 0) >= torch.cuda.device_count():
        raise Failure(CANNOT, f"--device {device}: PyTorch {torch.__version__} finds {torch.cuda.device_count() or 'no'} GPU here")
    torch.cuda.set_device(device.index or 0)
    return device


def profiler_activities(device):
    known = torch.profiler.ProfilerActivity
    wanted = {known.CPU, known.CUDA} if device.type == "cuda" else {known.CPU}
    if not torch.autograd.kineto_available() or not wanted <= set(torch.profiler.supported_activities()):
        raise Failure(CANNOT, f"PyTorch {torch.__version__} cannot profile: it is built without Kineto, as Debian 12's 1.13 is, or "
                              "without CUPTI; builds from https://pytorch.org have both")
    return wanted


def model_step(options, device):
    import torch_models
    import torch_training

    shape = [int(extent) for extent in options.input.split("x")] if options.input else None
    try:
        return torch_training.make_step(torch_models.load(options.model, shape), options, device)
    except torch_models.ModelError as error:
        raise Failure(BAD_INPUT, error) from None


def own_step(target):
    """What MODULE:FUNCTION returns."""
    module_name, function_name = target.split(":")
    sys.path.insert(0, os.getcwd())
    with blamed(f"{module_name} cannot be imported, from {os.getcwd()} or else; start in the folder that holds it"):
        module = importlib.import_module(module_name)
    make = getattr(module, function_name, None)
    if not callable(make):
        raise Failure(BAD_INPUT, f"{module_name} ({getattr(module, '__file__', 'no file')}) has no function {function_name}")
    with blamed(f"{target} failed"):
        step = make()
    if not callable(step):
        raise Failure(BAD_INPUT, f"{target} must return a function that does one training step, but returned {type(step).__name__}")
    return step


@contextlib.contextmanager
def blamed(what):
    """Turns exceptions of the user's code or PyTorch into a Failure, with the last line of a file in the current folder."""
    try:
        yield
    except Failure:
        raise
    except (Exception, SystemExit) as error:
        if re.search(r"(?i)out ?of ?memory|memoryerror|allocate memory|enough memory|alloc_failed", f"{type(error).__name__} {error}"):
            raise Failure(CANNOT, f"{what}: out of memory; choose a smaller batch (--batch of a --model)") from None
        places = [f" ({frame.filename}:{frame.lineno})" for frame in traceback.extract_tb(error.__traceback__)
                  if Path(frame.filename).is_relative_to(os.getcwd()) and "site-packages" not in frame.filename]
        raise Failure(BAD_INPUT, f"{what}: {type(error).__name__}: {error}{''.join(places[-1:])}") from None


def measure(step, count, device):
    """Seconds from the end of a step to that of the next, while the host runs ahead of a GPU as it does in training."""
    if device.type == "cpu":
        marks = [time.perf_counter()]
        for _ in range(count):
            step()
            marks.append(time.perf_counter())
        return [end - start for start, end in zip(marks, marks[1:])]
    torch.cuda.reset_peak_memory_stats()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    events[0].record()
    for event in events[1:]:
        step()
        event.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) / 1000 for start, end in zip(events, events[1:])]


def record(step, count, device, activities, path):
    warnings.filterwarnings("ignore", message=".*Profiler clears events")  # PyTorch 2.10 says so even of a single cycle
    schedule = torch.profiler.schedule(wait=0, warmup=PROFILER_WARMUP, active=count, repeat=1)
    with torch.profiler.profile(activities=activities, schedule=schedule, record_shapes=True,
                                on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path))) as profiler:
        for number in range(PROFILER_WARMUP + count):
            step()
            if number == PROFILER_WARMUP - 1 and device.type == "cuda":
                torch.cuda.synchronize()  # so that no kernel of the warm-up runs in the first recorded step
            profiler.step()


def finish(source, output, about):
    """Moves the text of a JSON object to `output`, with "syncopate": about as its first key. Takes little memory; the output
    appears whole or not at all, if `source` is on its file system."""
    whole = source.with_name("whole")
    try:
        with open(source, "rb") as text, gzip.open(whole, "wb", 5) if output.suffix == ".gz" else open(whole, "wb") as copy:
            start = text.read(1024).lstrip()  # PyTorch 2.6 begins with an empty line
            text.seek(-min(64, source.stat().st_size), os.SEEK_END)
            if not start.startswith(b"{") or not text.read().rstrip().endswith(b"}"):
                raise Failure(CANNOT, f"PyTorch wrote no whole profile; is {output.parent} full?")
            copy.write(b'{\n  "syncopate": ' + json.dumps(about).encode() + b"," + start[1:])
            text.seek(1024)
            shutil.copyfileobj(text, copy, 1 << 20)
        os.replace(whole, output)
    except OSError as error:
        raise Failure(CANNOT, f"{output} cannot be written: {error.strerror}") from None


def describe(options, device, seconds):
    first, median, third = statistics.quantiles(seconds, n=4, method="inclusive")
    if device.type == "cuda":
        name, peak = torch.cuda.get_device_name(), torch.cuda.max_memory_allocated()
    else:
        name, peak = platform.processor() or platform.machine(), 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "step_s": median, "quartiles_s": [first, third], "model": options.model or options.function, "batch": options.batch, "input": options.input,
        "torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
        "device": name, "dtype": options.dtype, "autocast": options.autocast, "channels_last": options.channels_last,
        "optimizer": (options.optimizer or "sgd") if options.model else None, "peak_memory_bytes": peak,
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def run(options):
    check_output(options.output, options.model)
    output = options.output.absolute()  # the user's code may change the current folder
    device = choose_device(options)
    name = options.model or options.function
    with blamed(f"{name} cannot be set up"):
        step = model_step(options, device) if options.model else own_step(options.function)
    failed = f"a training step of {name} failed"
    with blamed(failed):
        step()  # first, since it shows most mistakes
    activities = profiler_activities(device)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as folder:
        with blamed(failed):
            for _ in range(options.warmup - 1):
                step()
            seconds = measure(step, options.steps, device)  # before the profiler, which may leave something behind in CUDA
            about = describe(options, device, seconds)
            record(step, options.steps, device, activities, Path(folder) / "recorded")
        finish(Path(folder) / "recorded", output, about)
    first, third = about["quartiles_s"]
    print(f"{options.output}: {options.steps} steps of {name}; one takes {1000 * about['step_s']:.4g} ms without the profiler "
          f"(quartiles {1000 * first:.4g} and {1000 * third:.4g} ms)")
    trace = re.sub(r"(\.pt)?(\.trace)?(\.json)?(\.gz)?$", "-trace.json", output.name, count=1)
    print(f"next: build/simctl trace import {shlex.quote(str(options.output))} -o {shlex.quote(trace)}")


def main():
    try:
        run(parse(sys.argv[1:]))
        return 0
    except Failure as failure:
        code, message = failure.args
    except OSError as error:
        code, message = CANNOT, error
    except KeyboardInterrupt:
        code, message = INTERRUPTED, "interrupted; nothing was written"
    print("torch_profile.py:", " ".join(str(message).split()), file=sys.stderr)  # in one line, even PyTorch's messages
    return code


if __name__ == "__main__":
    sys.exit(main())
