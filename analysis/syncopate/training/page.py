"""The page of a training."""

from syncopate.common.sheet import to_svg
from syncopate.common.wording import lasting, plain
from syncopate.training.figures import figure
from syncopate.training.files import advice_lines
from syncopate.training.page_data import COLUMNS, page_data
from syncopate.web.template import fill_interactive

SCRIPTS = ("data", "numbers", "elements", "state", "theme", "legend", "training", "table", "start_training")


def page(study):
    """The page as text."""
    return fill_interactive(
        "training.html", SCRIPTS, page_data(study), title=f"Time to accuracy on a small task: {study.task}", study=study, plain=plain, lasting=lasting,
        settings=[(setting, study.targets[setting], sorted(study.of(setting), key=order)) for setting in study.settings],
        drawings=[(setting, to_svg(figure(study, setting))) for setting in study.settings], advice=advice_lines(study),
        glossary=[(one.name, one.unit, one.meaning) for one in COLUMNS])


def order(entry):
    """What reaches the target comes first, the fastest of all before."""
    one = entry.summary
    return one.time_to_target is None, one.time_to_target or 0, one.final_loss is None, one.final_loss or 0
