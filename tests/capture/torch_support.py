"""What the tests of capture's PyTorch side share."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "capture")]  # before the scenarios' oracle

from small_models import layer

try:
    import torch
except ImportError:
    torch = None

SIMCTL = os.environ.get("SIMCTL", str(ROOT / "build/simctl"))
KINETO = torch is not None and torch.autograd.kineto_available()
needs_torch = unittest.skipIf(torch is None, "needs PyTorch: install python3-torch")
needs_kineto = unittest.skipUnless(KINETO, "needs a PyTorch with Kineto, which Debian 12's has not")
needs_simctl = unittest.skipUnless(os.access(SIMCTL, os.X_OK), f"needs {SIMCTL}")

TINY = {"format": "model/1", "name": "tiny", "input": [3, 8, 8], "layers": [
    layer("stem.conv", "conv2d", out_channels=4, kernel=3), layer("stem.bn", "batch_norm"), layer("stem.relu", "relu"),
    layer("flat", "flatten"), layer("fc", "linear", out_features=10)]}


class Case(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name).resolve()
        if torch:
            torch.set_num_threads(1)
            torch.manual_seed(7)

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if "__pycache__" not in path.parts)

    def simctl(self, *arguments):
        return subprocess.run([SIMCTL, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=900, check=False)
