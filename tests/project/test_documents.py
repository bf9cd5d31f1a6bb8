"""Does every command, file and line of code in the documents exist and work?"""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMCTL = pathlib.Path(os.environ.get("SIMCTL", ROOT / "build" / "simctl"))
CAPTURE = pathlib.Path(os.environ.get("CAPTURE", ROOT / "build" / "capture"))
NETPROBE = pathlib.Path(os.environ.get("NETPROBE", ROOT / "build" / "netprobe"))
NODEPROBE = pathlib.Path(os.environ.get("NODEPROBE", ROOT / "build" / "nodeprobe"))
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "scenarios/README.md", "scenarios/STUDIES.md", "scenarios/advice/README.md", "traces/README.md", "models/README.md", "sim/README.md", "sim/output/RESULTS.md", "analysis/README.md",
         "capture/README.md", "capture/gpu/README.md", "capture/node/README.md", "capture/net/README.md", "tests/validation/README.md", "sim/schedule/README.md", "scenarios/papers/README.md", "scenarios/papers/mg-wfbp/README.md",
         "scenarios/papers/ssd-sgd/README.md", "scenarios/papers/dts/README.md", "scenarios/papers/lasgd/README.md", "scenarios/papers/sasgd/README.md"]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)


class Documents(unittest.TestCase):
    def test_every_command_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            scratch = pathlib.Path(folder)
            for name in ("Makefile", "analysis", "capture", "models", "scenarios", "traces", "tests"):
                (scratch / name).symlink_to(ROOT / name)
            (scratch / "build").mkdir()
            (scratch / "build/simctl").symlink_to(SIMCTL)
            (scratch / "build/capture").symlink_to(CAPTURE)
            (scratch / "build/nodeprobe").symlink_to(NODEPROBE)
            (scratch / "build/netprobe").symlink_to(NETPROBE)
            commands = [line for page in PAGES for block in blocks(page, "sh") for line in block.splitlines() if line and not line.startswith("#")]
            self.assertGreater(len(commands), 8)
            for command in commands:
                with self.subTest(command):
                    # make would install and build; that its target exists is enough here.
                    line = command.replace("make ", "make -n ", 1) if command.startswith("make ") else command
                    # Tests run by themselves; that they can be loaded is enough.
                    line += " -k no_test_is_called_that" if " -m unittest " in line else ""
                    done = subprocess.run(["bash", "-euc", line], cwd=scratch, capture_output=True, text=True, timeout=600, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_json_example_is_valid(self):
        found = 0
        for page in PAGES:
            for text in blocks(page, "json"):
                found += 1
                kind = re.search(r'"format": "(\w+)/1"', text)[1]
                if kind == "explanation":
                    self.assert_like_an_explanation(json.loads(text))
                    continue
                # Beside the other files of its kind, where its relative paths lead somewhere.
                with tempfile.NamedTemporaryFile("w", suffix=".json", dir=(ROOT / page).parent, prefix=".example-") as file:
                    file.write(text)
                    file.flush()
                    command = {"scenario": "check", "advice": "advise"}.get(kind, "show")
                    done = subprocess.run([SIMCTL, command, file.name], capture_output=True, text=True, check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreaterEqual(found, 3)

    def assert_like_an_explanation(self, example):
        """It has the keys that simctl writes."""
        done = subprocess.run([SIMCTL, "explain", ROOT / "scenarios/quickstart.json", "--point", "0", "--format", "json"], capture_output=True,
                              text=True, check=True)
        explanation = json.loads(done.stdout)
        self.assertEqual(list(example), list(explanation))
        for rows in ("path", "what_if"):
            self.assertEqual(list(example[rows][0]), list(explanation[rows][0]))

    def test_every_piece_of_code_is_the_codes_own(self):
        sources = "\n".join(path.read_text() for path in sorted((ROOT / "sim").glob("*/*.cpp")))
        for page in PAGES:
            for text in blocks(page, "cpp"):
                if "post_local_sgd" not in text:  # an example of a new schedule, which test_how_to.py builds
                    self.assertTrue(text in sources, f"{page}: in no file of sim/:\n{text}")

    def test_the_schedule_page_has_what_schedules_declare(self):
        done = subprocess.run([SIMCTL, "list", "schedules", "--markdown"], capture_output=True, text=True, check=True)
        page = (ROOT / "sim/schedule/README.md").read_text()
        for table in done.stdout.strip().split("\n\n"):
            self.assertTrue(table in page, f"sim/schedule/README.md lacks this table as it stands; put it in:\n{table}")

    def test_every_link_and_path_leads_somewhere(self):
        for page in PAGES:
            text = re.sub(r"^ *```.*?^ *```$", "", (ROOT / page).read_text(), flags=re.M | re.S)
            for target in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", text):
                if not target.startswith("https://"):
                    self.assertTrue(((ROOT / page).parent / target).exists(), f"{page}: {target}")

    def test_every_shipped_file_is_listed(self):
        for folder, pattern in (("scenarios", "*.json"), ("traces", "*.json"), ("models", "*.json"), ("models", "devices/*.json")):
            text = (ROOT / folder / "README.md").read_text()
            for path in (ROOT / folder).glob(pattern):
                if not path.name.startswith("."):
                    self.assertIn(f"`{path.relative_to(ROOT / folder)}`", text)

    def test_the_models_page_has_every_op_and_attribute(self):
        table = re.findall(r'Op\{"(\w+)",\s*"[^"]*",\s*"([^"]*)"', (ROOT / "sim/model/ops.cpp").read_text())
        self.assertGreaterEqual(len(table), 20)
        rows = [line for line in (ROOT / "models/README.md").read_text().splitlines() if line.startswith("| `")]
        for op, attributes in table:
            row = next((line for line in rows if f"`{op}`" in line.split("|")[1]), None)
            self.assertIsNotNone(row, op)
            for name, default in re.findall(r"(\w+)(?: \((\w+)\))?", attributes):
                self.assertIn(f"`{name}`" + (f" ({default})" if default else ""), row, op)


if __name__ == "__main__":
    unittest.main()
