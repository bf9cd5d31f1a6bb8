"""Looks for what capture and PyTorch need on a GPU, and says how to get what is missing."""

import csv
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

# Fields of nvidia-smi. A card that lacks one says "[N/A]".
GPU_FIELDS = ["index", "name", "driver_version", "compute_cap", "memory.total", "power.limit", "clocks.sm", "clocks.mem", "clocks.max.sm",
              "clocks.max.mem", "mig.mode.current", "ecc.mode.current", "temperature.gpu", "utilization.gpu"]
NUMBERS = {"index", "memory.total", "power.limit", "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "temperature.gpu",
           "utilization.gpu"}
BUNDLE = Path(__file__).resolve().parents[2] / ".gpu-bundle/bundle.tar.gz"
PACKAGES = ["torch", "torchvision", "transformers", "nvidia-cudnn-cu13", "nvidia-cudnn-cu12", "nvidia-cublas"]
# Asked in a process of its own: importing PyTorch takes seconds and memory, and may fail in many ways.
ASK_TORCH = """import json, torch
print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                  "sees_gpu": torch.cuda.is_available(), "kineto": torch.autograd.kineto_available()}))"""


def output_of(*command, timeout=180):
    """What a program prints, or None where it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def version_in(text):
    """The first number with dots in it."""
    found = re.search(r"\d+(\.\d+)+", text or "")
    return found and found[0]


def gpus():
    """What nvidia-smi says of each GPU."""
    for fields in (GPU_FIELDS, GPU_FIELDS[:4]):  # a driver that lacks one field refuses the whole query
        found = output_of("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits")
        rows = [row for row in csv.reader((found or "").splitlines(), skipinitialspace=True) if len(row) == len(fields)]
        if rows:
            return [dict.fromkeys(GPU_FIELDS) | {name: read(name, value) for name, value in zip(fields, row)} for row in rows]
    return []


def read(name, value):
    if value.strip("[]") in ("N/A", "Not Supported", "Unknown Error"):
        return None
    try:
        return float(value) if name in NUMBERS else value
    except ValueError:
        return None


def nvidia_packages():
    """Where Python packages put NVIDIA's software."""
    try:
        import nvidia
    except ImportError:
        return []
    return [Path(folder) for folder in nvidia.__path__]


def nvidia_libraries():
    return [library for folder in nvidia_packages() for library in sorted(folder.glob("*/lib")) if library.is_dir()]


def put_cuda_in_path():
    """The toolkit's usual place, where PATH has no nvcc."""
    usual = Path("/usr/local/cuda/bin")
    if not shutil.which("nvcc") and (usual / "nvcc").exists():
        os.environ["PATH"] += f":{usual}"


def cudnn():
    """The version of the first cuDNN whose headers are where the build looks."""
    nvcc = shutil.which("nvcc")
    places = [Path(os.environ["CUDNN_ROOT"])] if "CUDNN_ROOT" in os.environ else []
    places += [Path(nvcc).resolve().parents[1]] if nvcc else []
    for place in [*places, *(folder / "cudnn" for folder in nvidia_packages()), Path("/usr")]:
        for header in [place / "include/cudnn_version.h", *place.glob("include/*/cudnn_version.h")]:
            if header.is_file():
                parts = [re.search(rf"define CUDNN_{part} +(\d+)", header.read_text(encoding="utf-8")) for part in ("MAJOR", "MINOR", "PATCHLEVEL")]
                return ".".join(part[1] for part in parts if part)
    return None


def packages():
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def look():
    """The `machine` of the report. Missing things are None."""
    torch = output_of(sys.executable, "-c", ASK_TORCH)
    processor = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    return {
        "gpus": gpus(),
        "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "processor": processor[1] if processor else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "packages": packages(),
        "torch": json.loads(torch) if torch else None,
        "cudnn": cudnn(),
        "nvcc": version_in((output_of("nvcc", "--version") or "").partition("release")[2]),
        "cmake": version_in(output_of("cmake", "--version")),
        "ninja": version_in(output_of("ninja", "--version")),
        "g++": version_in(output_of("g++", "-dumpfullversion")),
        "headers": any(Path(folder, "include/fmt/core.h").exists() for folder in ("/usr", "/usr/local")),
        "bundle": BUNDLE.exists(),
        "compute-sanitizer": shutil.which("compute-sanitizer") is not None,
    }


def lacks(found, building=True):
    """The missing things: `what`, what cannot be done then (`then_not`), how to get it (`mend`)."""
    table = [
        (not found["gpus"], "an NVIDIA GPU", "tests on the GPU, captures, measurements of the node",
         "nvidia-smi must list one: install the driver, or pass the device into the container (--gpus all)"),
        (building and not found["cmake"], "cmake", "building", "install CMake 3.25 or later (pip install cmake)"),
        (building and not found["ninja"], "ninja", "building", "install Ninja (pip install ninja)"),
        (building and not found["g++"], "g++", "building", "install g++ 12 or later"),
        (building and not found["headers"] and not found["bundle"], "headers of fmt and other libraries", "building",
         "run \"make gpu-bundle\" on a Debian 12, and carry the folder .gpu-bundle along"),
        (building and not found["nvcc"], "nvcc", "building for the GPU", "install the CUDA Toolkit, or put its bin folder into PATH"),
        (building and not found["cudnn"], "cuDNN", "building for the GPU",
         "install cuDNN 9 (pip install nvidia-cudnn-cu13), or say in CUDNN_ROOT where it is"),
        (not found["torch"], "PyTorch", "profiles to compare captures with", "put the Python that has it first in PATH (pip install torch)"),
        (found["torch"] and not found["torch"]["kineto"], "Kineto in PyTorch", "profiles to compare captures with",
         "take a build of PyTorch from pytorch.org; Debian's has none"),
        (found["torch"] and found["gpus"] and not found["torch"]["sees_gpu"], "a GPU for PyTorch", "profiles to compare captures with",
         "its build must be for CUDA and its CUDA no newer than the driver's"),
    ]
    missing = [{"what": what, "then_not": then_not, "mend": mend} for absent, what, then_not, mend in table if absent]
    for card in found["gpus"]:
        if number(card["compute_cap"]) < 7.5 and number(found["nvcc"]) >= 13:
            missing.append({"what": f"a CUDA Toolkit for GPU {card['index']:.0f}", "then_not": "tests on the GPU, captures, measurements of the node",
                            "mend": "CUDA 13 has no code for compute capabilities below 7.5; take CUDA 12 and cuDNN 9.10 at the latest"})
        if card["mig.mode.current"] == "Enabled":
            missing.append({"what": f"the whole of GPU {card['index']:.0f}", "then_not": "times of the whole card",
                            "mend": "it is cut into MIG instances; name one in CUDA_VISIBLE_DEVICES and say so wherever its times are used"})
    return missing


def number(text):
    """The first two parts of a version as a number, or NaN, for which all comparisons are false."""
    found = re.match(r"\d+(\.\d+)?", text or "")
    return float(found[0]) if found else float("nan")


def slug(name):
    """"NVIDIA H100 80GB HBM3" as part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower().replace("nvidia", "")).strip("-") or "device"
