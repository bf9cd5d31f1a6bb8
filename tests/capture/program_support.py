"""What the tests of capture's programs share."""
import shutil
import subprocess

from support import Case


TINY = {
    "format": "model/1",
    "name": "tiny",
    "input": [3, 8, 8],
    "layers": [
        {"name": "conv", "op": "conv2d", "out_channels": 4, "kernel": 3},
        {"name": "relu", "op": "relu"},
        {"name": "flat", "op": "flatten"},
        {"name": "fc", "op": "linear", "out_features": 10},
    ],
}


def has_gpu():
    return shutil.which("nvidia-smi") is not None and subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).stdout != b""


class ProgramCase(Case):
    """A temporary folder with tiny.json, a model, in which a program runs."""

    def setUp(self):
        super().setUp()
        self.write("tiny.json", TINY)
        self.before = self.files()

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))

    def program(self, name, *words, **options):
        return subprocess.run([name, *map(str, words)], capture_output=True, text=True, cwd=self.folder, timeout=900, check=False, **options)

    def check_refused(self, finished, code, message):
        """One clear line, the documented exit code, and no file."""
        self.assertEqual(finished.returncode, code, finished.stderr)
        self.assertEqual(finished.stdout, "")
        self.assertRegex(finished.stderr, r"\A(capture|nodeprobe|netprobe): [^\n]+\n\Z")
        self.assertIn(message, finished.stderr)
        self.assertEqual(self.files(), self.before)
