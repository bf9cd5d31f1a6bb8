"""training.json, training.csv and samples_factor.json; analysis/README.md describes them."""

import csv
import io
import json
import math

from syncopate.dataflow.hyper import Hyper

FORMAT = "training/1"
COLUMNS = ("setting", "schedule", "optimizer", "workers", "lr", "moment", "seconds", "gradients", "samples",
           "loss_mean", "loss_low", "loss_high", "accuracy_mean", "accuracy_low", "accuracy_high")


def as_json(study):
    trainer = study.trainer
    found = {
        "format": FORMAT, "task": study.task, "loss": trainer.task.loss, "batch": trainer.task.batch, "evaluated": "mean" if trainer.of_all else "worker",
        "seeds": study.seeds, "set": {name: list(value) for name, value in trainer.settings.items()},
        "targets": {setting: {"accuracy" if target.is_accuracy else "loss": target.value} for setting, target in study.targets.items()},
        "notes": study.notes, "records": [record(study, one) for one in study.entries]}
    return text_of(found, indent=1, allow_nan=False)


def text_of(found, **how):
    return (json.dumps(found, ensure_ascii=False, **how) + "\n").encode()


def record(study, entry):
    header, name, trained, one = entry.record.header, entry.name, entry.trained, entry.summary
    return {
        "file": entry.record.path.name, "point": header["point"], "labels": header["labels"], "setting": name.setting, "schedule": name.series,
        "optimizer": header["optimizer"], "workers": header["workers"], "samples": header["samples"], "batch": one.batch,
        "end_s": header["end_s"], "gradients": entry.record.gradients, "is_synchronous": name.is_synchronous,
        "sweep": [{"lr": rate, "final_loss": finite(trained.sweep[rate])} for rate in sorted(trained.sweep)],
        "lr": trained.best, "lr_is_at_an_end": trained.best_is_at_an_end,
        "hyper": Hyper(entry.record, {"lr": (trained.best,)} | study.trainer.settings).values(),
        "diverged_seeds": one.diverged, "final_loss": one.final_loss, "final_accuracy": one.final_accuracy, "time_to_target_s": one.time_to_target,
        "gradients_to_target": one.gradients_to_target, "samples_to_target": one.samples_to_target, "samples_factor": one.samples_factor,
        "curve": {"seconds": one.seconds, "gradients": one.gradients, "samples": one.samples, "loss": one.losses, "accuracy": one.accuracies},
        "by_seed": [{"seed": seed, "loss": list(map(finite, [start[0], *curve.losses])), "accuracy": list(map(finite, [start[1], *curve.accuracies]))}
                    for seed, (start, curve) in enumerate(zip(trained.start, trained.curves))],
    }


def finite(value):
    return value if math.isfinite(value) else None


def as_csv(study):
    """A row for each moment of each record. A cell that a spreadsheet would take for a formula begins with an apostrophe, as in results.csv."""
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(COLUMNS)
    for entry in study.entries:
        header, one = entry.record.header, entry.summary
        for moment, (seconds, gradients, samples) in enumerate(zip(one.seconds, one.gradients, one.samples)):
            bands = [curve[key][moment] for curve in (one.losses, one.accuracies) for key in ("mean", "low", "high")]
            table.writerow([shielded(entry.name.setting), shielded(entry.name.series), header["optimizer"], header["workers"], entry.trained.best, moment,
                            seconds, gradients, samples, *bands])
    return stream.getvalue().encode()


def shielded(text):
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "'") else text


def factors(study):
    """{schedule: its largest factor of all settings}, of what does not train as the baseline does and has reached the target wherever it was trained.

    A schedule is called by its name, as `samples_factor` of an advice takes it, where the records have one of that name; else by its parameters, too.
    """
    found = {}
    for one in study.entries:
        if not one.name.is_synchronous:
            found.setdefault(key_of(study, one.name), []).append(one.summary.samples_factor)
    return {key: max(values) for key, values in found.items() if None not in values}


def key_of(study, name):
    is_alone = len({other.name.series for other in study.entries if other.name.schedule == name.schedule}) == 1
    return name.schedule if is_alone else name.series


def factors_as_json(study):
    return text_of(factors(study), indent=1)


def advice_lines(study):
    """The factors to three digits, as an advice takes them: a line of those that a name is enough for, and an entry of `schedules` for each other one."""
    known = {key: float(f"{value:.3g}") for key, value in factors(study).items()}
    named, entries = {}, {}
    for name in (one.name for one in study.entries):
        key = key_of(study, name)
        if key in known and key == name.schedule:
            named[key] = known[key]
        elif key in known:
            entries[key] = {"name": name.schedule} | name.parameters | {"samples_factor": known[key]}
    lines = [f'"samples_factor": {json.dumps(named, ensure_ascii=False)}'] if named else []
    return lines + [json.dumps(entry, ensure_ascii=False) for entry in entries.values()]
