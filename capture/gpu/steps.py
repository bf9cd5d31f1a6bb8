"""What a session does, step by step. Each may fail without the others."""

import os
import platform
import re
import shutil
import sys
import tarfile
from pathlib import Path

import jobs
import machine
import results
from running import Failed, Skipped

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = ROOT / "capture"
SKIPPED_CODE = 77


def look(session):
    found = machine.look()
    session.report["machine"] = found
    session.report["missing"] = machine.lacks(found, building=not session.options.programs)
    for entry in session.report["missing"]:
        session.say(f"missing: {entry['what']}; no {entry['then_not']}; {entry['mend']}")


# Building


def build(session):
    found = session.report["machine"]
    if session.options.programs:
        return f"programs of {session.programs}"
    absent = [tool for tool in ("cmake", "ninja", "g++") if not found[tool]]
    if not session.on_cpu and not found["nvcc"]:
        absent.append("nvcc")
    if absent:
        raise Skipped(f"{', '.join(absent)} missing")
    folder = ROOT / "build-gpu"
    session.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSYNCOPATE_SIMULATOR=OFF",
                 *architecture(session), *bundle(session)], 60)
    session.run(["cmake", "--build", folder], 600)
    session.programs = folder
    return None


def architecture(session):
    """Code for the one card that is here takes a third of the time of code for all."""
    if session.on_cpu:
        return ["-DSYNCOPATE_CUDA=OFF"]
    card = session.card()
    return [f"-DCMAKE_CUDA_ARCHITECTURES={card['compute_cap'].replace('.', '')}-real"] if card and card["compute_cap"] else []


def bundle(session):
    archive = ROOT / ".gpu-bundle/bundle.tar.gz"
    if not archive.exists():
        return []
    folder = ROOT / "build-gpu/bundle"
    shutil.rmtree(folder, ignore_errors=True)
    options, libraries = unpack(archive, folder)
    session.libraries.append(libraries)
    return options


def unpack(archive, folder):
    """CMake's options for what `make gpu-bundle` packed, and the folder of its libraries."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    libraries = next((path.parent for path in sorted(folder.rglob("libdnnl.so"))), folder)
    if platform.machine() not in libraries.name:
        raise Failed(f"{archive} is not for {platform.machine()}; pack it anew on such a machine with \"make gpu-bundle\"")
    return [f"-DCMAKE_PREFIX_PATH={folder / 'usr'}", f"-DCMAKE_LIBRARY_PATH={libraries}", f"-DCMAKE_INCLUDE_PATH={folder / 'usr/include'}",
            f"-Dfmt_DIR={libraries / 'cmake/fmt'}", f"-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath-link,{libraries}"], libraries


# Proving


def gpu_tests(session):
    session.require("gpu", "programs")
    ran = []
    for name in ("capture_gpu_tests", "capture_node_gpu_tests"):
        program = session.programs / name
        if not program.exists():
            continue
        output = session.run([program], 120, accept=(0, SKIPPED_CODE))
        session.report["tests"][name] = re.findall(r"^\[doctest\].*|^SKIPPED.*", output, re.M)
        ran.append(name)
    if not ran:  # they compare with oneDNN; without it values are held against PyTorch's
        for dtype in jobs.DTYPES:
            torch_tests(session, dtype)


def torch_tests(session, dtype):
    session.require("gpu", "programs", "torch")
    output = session.run([sys.executable, "-m", "unittest", "-v", "test_torch"], 150, cwd=ROOT / "tests/capture",
                         environment={"CAPTURE_VALUES": str(session.programs / "capture_values"), "CAPTURE_DEVICE": "cuda", "CAPTURE_DTYPE": dtype,
                                      "PYTHONPATH": str(ROOT / "tests/scenarios"), "PYTHONDONTWRITEBYTECODE": "1"})
    session.report["tests"][f"test_torch {dtype}"] = output.splitlines()[-3:]


def sanitizer(session):
    session.require("gpu", "programs")
    if not session.report["machine"]["compute-sanitizer"]:
        raise Skipped("compute-sanitizer is missing")
    program = session.programs / "capture_gpu_tests"
    if not program.exists():
        raise Skipped("no GPU tests were built")
    output = session.run(["compute-sanitizer", "--error-exitcode", "9", program, "--test-case=a whole network*"], 90, accept=(0, 1, 9, 255))
    if "Device not supported" in output:
        raise Skipped("compute-sanitizer refuses the device here")
    summary = re.findall(r"ERROR SUMMARY.*", output)
    session.report["tests"]["compute-sanitizer"] = summary
    if not summary or "0 errors" not in summary[-1]:
        raise Failed(summary[-1] if summary else "compute-sanitizer gave no summary")


# Measuring


def shape(job):
    return ["--input", job.input] if job.input else []


def capture(session, job):
    session.require("device", "programs")
    trace = session.folder("traces") / f"{session.slug()}-{job.network}.json"
    session.run([session.programs / "capture", "--model", f"models/{job.model}.json", "--batch", job.batch, "--dtype", job.dtype,
                 *shape(job), "--optimizer", job.optimizer, "--device", session.options.device, "--quiet", "-o", trace], 90)
    session.report["captures"][job.network] = results.of_trace(results.load(trace))
    session.pack("traces.tar.gz", "traces")
    compare(session, job)


def profile(session, job):
    session.require("device", "programs", "torch", "kineto")
    raw = session.folder("raw") / f"{job.network}.pt.trace.json.gz"
    session.run([sys.executable, CAPTURE / "torch_profile.py", "--model", f"models/{job.model}.json", "--batch", job.batch, "--dtype", job.dtype,
                 *shape(job), "--optimizer", job.optimizer, "--device", session.options.device, "-o", raw], 120)
    trace = session.folder("imported") / f"{session.slug()}-{job.network}-pytorch.json"
    session.run([session.programs / "simctl", "trace", "import", raw, "--model", job.model, "--batch", job.batch, "-o", trace], 60)
    session.report["profiles"][job.network] = results.of_trace(results.load(trace))
    if not session.kept_raw and raw.stat().st_size <= results.MOST_BYTES:  # one to look at
        session.kept_raw = session.out / raw.name
        shutil.copyfile(raw, session.kept_raw)
    raw.unlink()
    session.pack("imported.tar.gz", "imported")
    compare(session, job)


def compare(session, job):
    """Captured against PyTorch, once both are there."""
    captured = session.folder("traces") / f"{session.slug()}-{job.network}.json"
    imported = session.folder("imported") / f"{session.slug()}-{job.network}-pytorch.json"
    if not captured.exists() or not imported.exists():
        return
    comparison = session.folder("imported") / f"{session.slug()}-{job.network}-comparison.json"
    session.run([session.programs / "simctl", "trace", "compare", captured, imported, "-o", comparison], 30)
    session.report["comparisons"][job.network] = results.of_comparison(results.load(comparison))
    session.pack("imported.tar.gz", "imported")


def node(session):
    session.require("device", "programs")
    file = session.out / "node.json"
    session.run([session.programs / "nodeprobe", "--device", session.options.device, "--model", "models/resnet50.json", "-o", file], 90)
    found = results.load(file)
    session.report["node"] = {key: found[key] for key in ("measurements", "overlap", "failed") if key in found}


def fit(session, dtype):
    session.require("programs")
    traces = sorted(session.folder("traces").glob(f"*-{dtype}.json"))
    if not traces:
        raise Skipped(f"no captures in {dtype}")
    name = f"{session.slug()}-{dtype}"
    output = session.run([session.programs / "simctl", "trace", "fit", *traces, "-o", session.folder("devices") / f"{name}.json"], 60)
    session.report["devices"][name] = next((line.removeprefix("error: ") for line in output.splitlines() if line.startswith("error: ")), "unknown")
    session.pack("devices.tar.gz", "devices")


def plan(session):
    """All steps by name, in order, and those that close a session even when its time is over."""
    def of_jobs(some):
        return [(job.name, lambda session, job=job: (capture if job.kind == "capture" else profile)(session, job)) for job in some]

    def of_dtypes(name, function):
        return [(f"{name}:{dtype}", lambda session, dtype=dtype: function(session, dtype)) for dtype in (["fp32"] if session.on_cpu else jobs.DTYPES)]

    first = [("machine", look), ("build", build)]
    in_order = jobs.jobs("cpu" if session.on_cpu else "cuda")
    if session.on_cpu:
        return first + [("node", node)] + of_jobs(in_order), of_dtypes("fit", fit)
    papers = len(jobs.PAPERS)
    steps = first + [("gpu-tests", gpu_tests)] + of_jobs(in_order[:papers]) + [("node", node)] + of_jobs(in_order[papers:3 * papers])
    steps += [("sanitizer", sanitizer)] + of_jobs(in_order[3 * papers:]) + of_dtypes("torch-tests", torch_tests)
    return steps, of_dtypes("fit", fit)


def environment(session):
    """That of programs built here: libraries of Python's packages and of the bundle are found last."""
    folders = [os.environ.get("LD_LIBRARY_PATH"), *machine.nvidia_libraries(), *session.libraries]
    return {"LD_LIBRARY_PATH": ":".join(str(folder) for folder in folders if folder)}
