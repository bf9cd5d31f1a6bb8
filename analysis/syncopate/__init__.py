"""Syncopate in Python: simulate data-parallel training, and see what came out.

    import syncopate as sy
    result = sy.run(trace="h100-resnet50-b64", cluster="100gbe", schedule=["wfbp", "mg-wfbp", "fsdp"], nodes=[8, 64, 512])

A layer over the program simctl, which does all simulation. README.md beside this file explains the interface; the packages here also draw
the reports of analysis/. Importing loads neither pandas nor matplotlib; what needs them does.
"""

from syncopate.api.answers import Advice, Answer, Calibration, Explanation, Made, Picture, Solution, Timeline
from syncopate.api.cache import clear_cache
from syncopate.api.functions import advise, calibrate, fit_cluster, import_trace, load, run, solve
from syncopate.api.result import Result
from syncopate.common.errors import Failure, InputError, OutputError, SimulationError, UsageError

__all__ = ["Advice", "Answer", "Calibration", "Explanation", "Failure", "InputError", "Made", "OutputError", "Picture", "Result", "SimulationError", "Solution", "Timeline", "UsageError",
           "advise", "calibrate", "clear_cache", "fit_cluster", "import_trace", "load", "run", "solve"]
