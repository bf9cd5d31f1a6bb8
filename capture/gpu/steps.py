"""The steps of a session. A failed step does not stop the others."""

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
CAPTURE, BUILD = ROOT / "capture", ROOT / "build-gpu"
SKIPPED_CODE = 77


def look(session):
    found = machine.look()
    session.report["machine"] = found
    session.report["missing"] = machine.lacks(found, building=not session.options.programs)
    for entry in session.report["missing"]:
        session.say(f"missing: {entry['what']}; no {entry['then_not']}; {entry['mend']}")


# Building

# Programs that measure must build. Test programs may fail to build.
PROGRAMS, PROOFS = ["capture", "simctl", "nodeprobe"], ["capture_gpu_tests", "capture_node_gpu_tests", "capture_values"]


def build(session):
    found = session.report["machine"]
    if session.options.programs:
        return f"programs of {session.programs}"
    absent = [tool for tool in ("cmake", "ninja", "g++") if not found[tool]]
    if not session.on_cpu and not found["nvcc"]:
        absent.append("nvcc")
    if absent:
        raise Skipped(f"{', '.join(absent)} missing")
    output = session.run(["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSYNCOPATE_SIMULATOR=OFF",
                          *architecture(session), *bundle()], 120)
    devices = re.findall(r"^-- capture: (.*)", output, re.M)
    if not session.on_cpu and session.report["machine"]["gpus"] and not any(line.startswith("CUDA device") for line in devices):
        raise Failed("; ".join(devices))
    session.run(["cmake", "--build", BUILD, "--target", *PROGRAMS], 600)
    session.programs = BUILD
    return "; ".join(devices + build_proofs(session))


def build_proofs(session):
    """Builds the test programs. Returns a note for each that could not be built; which exist depends on the libraries."""
    notes = []
    for name in PROOFS:
        try:
            session.run(["cmake", "--build", BUILD, "--target", name], 600)
        except Failed as failed:
            notes.append(f"no {name}: {failed}")
    return notes


def architecture(session):
    """CMake options for this card only: a third of the build time of all architectures."""
    if session.on_cpu:
        return ["-DSYNCOPATE_CUDA=OFF"]
    card = session.card()
    return [f"-DCMAKE_CUDA_ARCHITECTURES={card['compute_cap'].replace('.', '')}-real"] if card and card["compute_cap"] else []


def bundle():
    if not machine.BUNDLE.exists():
        return []
    folder = BUILD / "bundle"  # beside the programs, which look for its libraries there
    shutil.rmtree(folder, ignore_errors=True)
    return unpack(machine.BUNDLE, folder)[0]


def unpack(archive, folder):
    """CMake's options for what `make gpu-bundle` packed, and the folder of its libraries."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    libraries = next((path.parent for path in sorted(folder.rglob("libdnnl.so"))), folder)
    if platform.machine() not in libraries.name:
        raise Failed(f"{archive} is not for {platform.machine()}; pack it anew on such a machine with \"make gpu-bundle\"")
    return [f"-DCMAKE_PREFIX_PATH={folder / 'usr'}", f"-DCMAKE_LIBRARY_PATH={libraries}", f"-DCMAKE_INCLUDE_PATH={folder / 'usr/include'}",
            f"-Dfmt_DIR={libraries / 'cmake/fmt'}", f"-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath-link,{libraries}"], libraries


# Testing


def gpu_tests(session, name):
    session.require("gpu", "programs")
    program = session.programs / name
    if program.exists():
        return doctest(session, program, "--test-case-exclude=attention*")
    if name != "capture_gpu_tests":
        raise Skipped(f"{name} was not built")
    torch_tests(session, "fp32")  # without oneDNN, with which the others compare
    return None


def attention_tests(session):
    """In a process of their own: an engine that accesses foreign memory fails all that its process does later."""
    session.require("gpu", "programs")
    program = session.programs / "capture_gpu_tests"
    if not program.exists():
        raise Skipped(f"{program.name} was not built")
    doctest(session, program, "--test-case=attention*", "capture_gpu_tests attention")


def doctest(session, program, cases, title=None):
    """Runs a test program's cases. Its summary and its failed tests go into the report, under the title or the program's name."""
    output = session.run([program, cases], 240, accept=(0, 1, SKIPPED_CODE))
    failed = re.findall(r"^TEST CASE: +(.*)", output, re.M)
    lines = session.report["tests"][title or program.name] = re.findall(r"^\[doctest\] (?:test cases|assertions|Status).*|^SKIPPED.*", output, re.M)
    lines += [f"failed: {name}" for name in dict.fromkeys(failed)]
    if failed:
        first = re.search(r"^.*ERROR:.*(?:\n.*){0,8}", output, re.M)
        lines += first[0].splitlines() if first else []
        raise Failed(f"{len(dict.fromkeys(failed))} tests failed, the first: {failed[0]}")


def torch_tests(session, dtype):
    session.require("gpu", "programs", "torch")
    if f"test_torch {dtype}" in session.report["tests"]:
        return "done in the place of gpu-tests"
    output = session.run([sys.executable, "-m", "unittest", "-v", "test_torch"], 150, cwd=ROOT / "tests/capture",
                         environment={"CAPTURE_VALUES": str(session.programs / "capture_values"), "CAPTURE_DEVICE": "cuda", "CAPTURE_DTYPE": dtype,
                                      "PYTHONPATH": str(ROOT / "tests/scenarios"), "PYTHONDONTWRITEBYTECODE": "1", **session.library_path()})
    session.report["tests"][f"test_torch {dtype}"] = output.splitlines()[-3:]
    return None


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


def iterations(session, job):
    return [] if session.on_cpu else ["--warmup", job.iterations // 3, "--iterations", job.iterations]


def capture(session, job):
    session.require("device", "programs")
    trace = session.folder("traces") / f"{session.slug()}-{job.network}.json"
    command = [session.programs / "capture", "--model", f"models/{job.model}.json", "--batch", job.batch, "--dtype", job.dtype,
               *shape(job), "--optimizer", job.optimizer, "--device", session.device, *iterations(session, job),
               *(["--graphs"] if job.graphs else []), "--quiet", "-o", trace]
    reason = None
    try:
        session.run(command, 90)
    except Failed as failed:
        if not job.attends or job.dtype not in ("bf16", "fp16"):
            raise
        session.run([*command, "--attention", "products"], 90)
        reason = f"with --attention products; without it {failed}"
    session.report["captures"][job.network] = results.of_trace(results.load(trace))
    session.pack("traces")
    compare(session, job)
    return reason


def profile(session, job):
    session.require("device", "programs", "torch", "kineto")
    raw = session.folder("raw") / f"{job.network}.pt.trace.json.gz"
    session.run([sys.executable, CAPTURE / "torch_profile.py", "--model", f"models/{job.model}.json", "--batch", job.batch, "--dtype", job.dtype,
                 *shape(job), "--optimizer", job.optimizer, "--device", session.device, "-o", raw], 120)
    trace = session.folder("imported") / f"{session.slug()}-{job.network}-pytorch.json"
    session.run([session.programs / "simctl", "trace", "import", raw.name, "--model", job.model, "--batch", job.batch, "-o", trace], 60,
                cwd=raw.parent)  # so that the trace has the profile's name without a folder
    session.report["profiles"][job.network] = results.of_trace(results.load(trace))
    if not any(session.out.glob("*.pt.trace.json.gz")) and raw.stat().st_size <= results.MOST_BYTES:  # one to look at
        results.write(session.out / raw.name, raw.read_bytes())
    raw.unlink()
    session.pack("imported")
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
    session.pack("imported")


def node(session):
    session.require("device", "programs")
    file = session.out / "node.json"
    session.run([session.programs / "nodeprobe", "--device", session.device, "--model", "models/resnet50.json", "-o", file], 120)
    found = results.load(file)
    session.report["node"] = {key: found[key] for key in ("measurements", "overlap", "failed")}
    return f"{len(found['failed'])} could not be measured" if found["failed"] else None


def fit(session, dtype):
    session.require("programs")
    traces = sorted(session.folder("traces").glob(f"*-{dtype}.json"))
    if not traces:
        raise Skipped(f"no captures in {dtype}")
    name = f"{session.slug()}-{dtype}"
    output = session.run([session.programs / "simctl", "trace", "fit", *traces, "-o", session.folder("devices") / f"{name}.json"], 60)
    session.report["devices"][name] = next((line.removeprefix("error: ") for line in output.splitlines() if line.startswith("error: ")), "unknown")
    session.pack("devices")


def plan(session):
    """(name, function) of all steps in order, and of the closing steps, which run even when the time is over."""
    def of_jobs(some):
        return [(job.name, lambda session, job=job: (capture if job.kind == "capture" else profile)(session, job)) for job in some]

    def of_dtypes(name, function, dtypes):
        return [(f"{name}:{dtype}", lambda session, dtype=dtype: function(session, dtype)) for dtype in dtypes]

    first = [("machine", look), ("build", build)]
    in_order = jobs.jobs("cpu" if session.on_cpu else "cuda")
    if session.on_cpu:
        return first + [("node", node)] + of_jobs(in_order), of_dtypes("fit", fit, ["fp32"])
    proof = len(jobs.proof())
    common = proof + len(jobs.common())
    steps = first + [("gpu-tests", lambda session: gpu_tests(session, "capture_gpu_tests")), ("attention-tests", attention_tests)]
    steps += of_jobs(in_order[:proof]) + [("node", node)]
    steps += of_jobs(in_order[proof:common]) + [("node-tests", lambda session: gpu_tests(session, "capture_node_gpu_tests"))]
    steps += of_dtypes("torch-tests", torch_tests, ["fp32"]) + [("sanitizer", sanitizer)] + of_jobs(in_order[common:])
    return steps + of_dtypes("torch-tests", torch_tests, [dtype for dtype in jobs.DTYPES if dtype != "fp32"]), of_dtypes("fit", fit, jobs.DTYPES)
