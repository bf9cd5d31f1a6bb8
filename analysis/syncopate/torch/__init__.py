"""For PyTorch: runs a plan of simctl in a training job, records the job's own times and its network's, and compares DDP with a prediction.

README.md beside this file says how. Only this package imports torch, 1.13 or 2.x."""

try:
    import torch
except ImportError as error:
    raise ImportError(f"syncopate.torch needs PyTorch ({error}): install Debian's python3-torch, or see https://pytorch.org") from None

from syncopate.torch.checking import check
from syncopate.torch.merging import MergedGradients
from syncopate.torch.probing import probe
from syncopate.torch.recording import record

__all__ = ["MergedGradients", "check", "probe", "record"]
