"""Results of a session: the report, and archives within the size limit."""

import io
import itertools
import json
import tarfile
from pathlib import Path

MOST_FILES, MOST_BYTES = 8, 16 * 1024 * 1024
PART = ".syncopate-part"


def write(path, data):
    """A file that appears whole or not at all."""
    part = path.with_name(f".{path.name}{PART}")
    try:
        part.write_bytes(data)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def tidy(folder):
    """Removes what a session left that was killed while it wrote."""
    for part in folder.glob(f".*{PART}"):
        part.unlink()


def write_json(path, value):
    write(path, (json.dumps(value, indent=1) + "\n").encode())


def pack(archive, files):
    """Writes files into a .tar.gz without their folders. Returns (name, reason) of those that are too large."""
    buffer = io.BytesIO()
    left_out = []
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for file in sorted(files):
            if file.stat().st_size > MOST_BYTES:
                left_out.append((file.name, f"over {MOST_BYTES} bytes"))
                continue
            tar.add(file, arcname=file.name, filter=anonymous)
    if buffer.tell() > MOST_BYTES:
        return left_out + [(archive.name, f"over {MOST_BYTES} bytes")]
    write(archive, buffer.getvalue())
    return left_out


def unpack(archive, folder):
    """Unpacks an archive of pack(), if there is one: files only, without folders."""
    if not archive.exists():
        return
    with tarfile.open(archive) as tar:
        for entry in tar:
            if entry.isfile():
                (folder / Path(entry.name).name).write_bytes(tar.extractfile(entry).read())


def anonymous(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def load(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def of_trace(trace):
    """A line of the report about a trace."""
    iteration, timing = trace["iteration"], trace.get("timing", {})
    seconds = iteration["forward_s"] + iteration["backward_s"] + trace.get("update_s", 0)
    line = {"forward_s": iteration["forward_s"], "backward_s": iteration["backward_s"], "update_s": trace.get("update_s", 0),
            "samples_per_s": trace["model"]["batch"] / seconds, "device": trace["device"]["name"]}
    line |= {key: timing[key] for key in ("forward_busy_s", "backward_busy_s", "floor_s", "outliers", "drift", "step_s") if key in timing}
    return line | ({"note": trace["provenance"]["note"]} if trace["provenance"].get("note") else {})


TOTALS = ["forward_s", "backward_s", "update_s", "iteration_s", "forward_of_layers_s", "backward_of_layers_s"]
GOAL = 0.05  # largest relative difference of a capture's layers from PyTorch's, in sum


def of_comparison(comparison):
    """The report's entry for a comparison: PyTorch / captured - 1, and beyond the goal the layers that differ most."""
    def ratio(pair):
        return pair[1] / pair[0] - 1 if pair[0] > 0 else None

    apart = {key.removesuffix("_s"): ratio(comparison[key]) for key in TOTALS}
    line = {"pytorch_over_captured": apart, "matched": len(comparison["layers"]), "of": comparison["first"]["layers"],
            "within_goal": all(apart[key] is not None and abs(apart[key]) <= GOAL for key in ("forward_of_layers", "backward_of_layers"))}
    if not line["within_goal"]:
        line["types"] = comparison["types"][:5]
        line["layers"] = comparison["layers"][:5]
    return line


def percent(ratio):
    return "-" if ratio is None else f"{100 * ratio:+.1f}%"


def text_of(report):
    """The report for people."""
    lines = [f"GPU session of {report['utc']}, {report['seconds']:.0f} s", ""]
    machine = report.get("machine", {})
    for card in machine.get("gpus", []):
        lines.append(f"GPU {card['index']:.0f}: {card['name']}, driver {card['driver_version']}, compute capability {card['compute_cap']}, "
                     f"power limit {card['power.limit']} W, clocks {card['clocks.sm']} of {card['clocks.max.sm']} MHz, "
                     f"MIG {card['mig.mode.current'] or 'unknown'}")
    lines += [f"{name}: {machine[name] or 'missing'}" for name in ("nvcc", "cudnn", "cmake", "ninja", "g++", "python") if name in machine]
    torch = machine.get("torch")
    if torch:
        lines.append(f"PyTorch: {torch['version']}, CUDA {torch['cuda']}, cuDNN {torch['cudnn']}, {'sees' if torch['sees_gpu'] else 'sees no'} GPU")
    lines += [f"missing: {entry['what']}; no {entry['then_not']}; {entry['mend']}" for entry in report["missing"]]
    lines.append("")
    lines += step_lines(report["steps"])
    lines += captured_lines(report["captures"]) + compared_lines(report["comparisons"]) + [""]
    lines += [f"device profile {name}: {error}" for name, error in report["devices"].items()]
    lines += [f"{name}: {line}" for name, found in report["tests"].items() for line in found]
    lines += [f"not measured: {each['name']} {each.get('dtype', '')}: {each['reason']}" for each in report["node"].get("failed", [])]
    lines += [f"left out: {entry['file']}: {entry['why']}" for entry in report["left_out"]]
    return "\n".join(lines).rstrip() + "\n"


def step_lines(steps):
    """One line per step. Consecutive steps skipped for the same reason share a line."""
    lines = []
    for (state, reason), group in itertools.groupby(steps, key=lambda step: (step["state"], step.get("reason"))):
        group, why = list(group), f": {reason}" if reason else ""
        if state in ("skipped", "no time") and len(group) > 2:
            lines.append(f"{state.upper():8} {group[0]['name']} to {group[-1]['name']}, {len(group)} steps{why}")
        else:
            lines += [f"{state.upper():8} {step['name']} ({step['seconds']:.1f} s){why}" for step in group]
    return lines


def captured_lines(captures):
    lines = ["", "captured: forward, backward, update in ms; samples/s"] if captures else []
    for name, line in captures.items():
        lines.append(f"  {name}: {1e3 * line['forward_s']:.3f} {1e3 * line['backward_s']:.3f} {1e3 * line['update_s']:.3f}; {line['samples_per_s']:.4g}")
    return lines


def compared_lines(comparisons):
    lines = ["", "PyTorch over captured: forward, backward, update, and the layers' own time forward and backward"] if comparisons else []
    for name, line in comparisons.items():
        apart = [percent(line["pytorch_over_captured"][key]) for key in ("forward", "backward", "update", "forward_of_layers", "backward_of_layers")]
        lines.append(f"  {name}: {' '.join(apart)}{'' if line['within_goal'] else '  beyond 5%'}")
        for row in line.get("types", []):
            before, after = (sum(row[way][side] for way in ("forward_s", "backward_s")) for side in (0, 1))
            lines.append(f"    {row['name']}: {1e3 * before:.3f} ms captured, {1e3 * after:.3f} ms in PyTorch")
    return lines
