"""Does an installation work from any folder, wherever it stands, and is it whole?"""
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMCTL = pathlib.Path(os.environ.get("SIMCTL", ROOT / "build" / "simctl"))


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        first = cls.folder / "first"
        subprocess.run(["cmake", "--install", SIMCTL.parent, "--prefix", first], check=True, stdout=subprocess.DEVNULL)
        cls.prefix = first.rename(cls.folder / "moved")
        cls.elsewhere = cls.folder / "elsewhere"
        cls.elsewhere.mkdir()

    def run_installed(self, program, *words, code=0):
        """(stdout, stderr) of a program that a shell finds by its name."""
        path = f"{self.prefix / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run([program, *words], cwd=self.elsewhere, env=os.environ | {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr

    def test_it_simulates_by_name_and_draws_the_page(self):
        said, _ = self.run_installed("simctl", "run", "quickstart", "-o", "my results")
        (hint,) = re.findall("for a page: (.*)", said)
        self.assertEqual(shlex.split(hint)[0], "syncopate-report")
        self.run_installed(*shlex.split(hint))
        self.assertIn("</html>", (self.elsewhere / "my results/report.html").read_text())

    def test_the_hint_names_a_program_that_is_not_on_the_path(self):
        done = subprocess.run([self.prefix / "bin/simctl", "run", "quickstart", "-o", "out"], cwd=self.elsewhere, capture_output=True, text=True, check=True)
        self.assertIn("for a page: ../moved/bin/syncopate-report out", done.stdout)

    def test_it_is_not_taken_for_the_source_tree(self):
        # The tree's own files come first where somebody works in it.
        done = subprocess.run([self.prefix / "bin/simctl", "list", "models"], cwd=ROOT, capture_output=True, text=True, check=True)
        self.assertIn("files: models/NAME.json", done.stdout)
        self.assertIn("files: ../moved/share/syncopate/models/NAME.json", self.run_installed("simctl", "list", "models")[0])

    def test_every_file_that_has_a_name_is_there(self):
        for folder in ("models", "models/devices", "traces", "scenarios", "scenarios/clusters"):
            names = {path.name for path in (ROOT / folder).glob("*.json")}
            self.assertTrue(names)
            self.assertEqual({path.name for path in (self.prefix / "share/syncopate" / folder).glob("*.json")} & names, names)

    def test_the_page_programs_have_their_names(self):
        for program in ("syncopate-report", "syncopate-advice", "syncopate-papers"):
            self.assertIn(f"usage: {program} ", self.run_installed(program, "--help")[0])
            self.assertIn(program, self.run_installed(program, code=2)[1])
        self.assertIn(f"default: {self.prefix}/bin/simctl", re.sub(r"\s+", " ", self.run_installed("syncopate-papers", "--help")[0]))

    def test_the_capturer_is_there(self):
        version, _ = self.run_installed("capture", "--version")
        self.assertEqual(version, self.run_installed("simctl", "--version")[0])

    def test_what_is_missing_says_where_it_was_looked_for(self):
        (self.folder / "alone").mkdir()
        alone = self.folder / "alone/simctl"
        alone.write_bytes((self.prefix / "bin/simctl").read_bytes())
        alone.chmod(0o755)
        done = subprocess.run([alone, "list", "models"], cwd=self.elsewhere, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (3, f"simctl: models: no such folder with JSON files here or above, nor in {self.folder}/share/syncopate; "
                                                             "run simctl inside the project, or install it\n"))


if __name__ == "__main__":
    unittest.main()
