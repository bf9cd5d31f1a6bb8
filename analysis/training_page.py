"""The page of a training."""

import style
import training_data
import training_figures
from page_data import as_text
from template import fill_with_scripts, page_scripts
from training_files import advice_lines
from units import duration, plain

SCRIPTS = ("data", "numbers", "elements", "theme", "legend", "training", "table", "start_training")


def page(study):
    """The page as text."""
    return fill_with_scripts(
        "training.html", page_scripts(SCRIPTS), title=f"Time to accuracy on a small task: {study.task}", study=study, plain=plain, lasting=lasting,
        settings=[setting_rows(study, setting) for setting in study.settings], drawings=drawings(study), advice=advice_lines(study),
        data=as_text(training_data.data(study)), glossary=[one[:3] for one in training_data.COLUMNS])


def setting_rows(study, setting):
    """(setting, target, answer, rows): what reaches the target comes first, the fastest of all before."""
    rows = [(study.names[place], study.trained[place], study.summaries[place]) for place in study.members(setting)]
    rows.sort(key=lambda row: (row[2].time_to_target is None, row[2].time_to_target or 0, row[2].final_loss is None, row[2].final_loss or 0))
    return setting, study.targets[setting], rows


def drawings(study):
    return [(setting, style.to_bytes(training_figures.figure(study, setting), "svg").decode()) for setting in study.settings]


def lasting(seconds):
    """Seconds as a reader takes them: 3.2 h, 12 min, 1.20 s."""
    for least, unit in ((7200, ("h", 3600)), (120, ("min", 60))):
        if seconds >= least:
            return f"{plain(seconds / unit[1], 3)} {unit[0]}"
    return duration(seconds) if seconds else "0 s"
