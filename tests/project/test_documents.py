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
SLOW = "SYNCOPATE_SLOW" in os.environ
GENERATED = ["tests/validation/measured.md", "tests/validation/published.md", "tests/validation/torch.md"]  # programs there write them


def pages():
    """Every page of the project: of a checkout what git knows or would add, else what is in no folder of outputs."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)
    found = listed.stdout.split("\n")[:-1] if listed.returncode == 0 else [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md")]
    outputs = re.compile(r"(build|results|\.)")
    return sorted(page for page in set(found) if not outputs.match(page) and page not in GENERATED and (ROOT / page).exists())


PAGES = pages()
CHOSEN = os.environ.get("PAGE")  # the only page whose commands run; every page without


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)


def commands_of(page):
    return [line for block in blocks(page, "sh") for line in block.splitlines() if line and not line.startswith("#")]


WRITES = r"( (-o [\w./-]+|--(timeline|explain|dataflow|force|ranks|iterations)( [\d,-]+)?))+"  # more files


def reads(command, other):
    """Whether a command names a file or folder that the other one writes, or what is in it."""
    written = re.findall(r"(?:-o|>) +([\w./-]*\w)", other)
    return any(re.search(rf"{re.escape(name)}(?![\w.-])", command) for name in written)


def own_commands(page):
    """Those that run on behalf of this page: all but what a page before it runs as well, or any page with options that only write more, and which
    has to do with nothing else here."""
    every = [(other, command) for other in PAGES for command in commands_of(other)]
    before = {command for other, command in every if other < page}
    commands = list(dict.fromkeys(commands_of(page)))
    for index, command in enumerate(commands):
        runs_elsewhere = command in before or any(re.fullmatch(re.escape(command) + WRITES, longer) for _, longer in every)
        if not runs_elsewhere or any(reads(command, earlier) for earlier in commands[:index]) or any(reads(later, command) for later in commands[index + 1:]):
            yield command


def shortened(command):
    """As the test runs it."""
    if command.startswith("make "):  # would install and build
        return command.replace("make ", "make -n ", 1)
    if " -m unittest " in command:  # these run by themselves
        return f"{command} -k no_test_is_called_that"
    if SLOW:
        return command
    if command.startswith("analysis/papers.py "):  # tests/papers does
        return f"{command} --help"
    if command.startswith("analysis/train.py "):
        return f"{command} --seeds 1 --evaluations 4" + ("" if "--lr" in command else " --lr 0.05")
    return command


@unittest.skipIf(CHOSEN is not None and CHOSEN not in PAGES, f"there is no page {CHOSEN}")
class Commands(unittest.TestCase):
    """Each page in a folder of its own, which has what a fresh clone has that was built."""

    def test_every_command_runs(self):
        for page in [CHOSEN] if CHOSEN else PAGES:
            with tempfile.TemporaryDirectory() as folder:
                scratch = pathlib.Path(folder)
                for name in ("Makefile", "analysis", "capture", "models", "scenarios", "sim", "traces", "tests"):
                    (scratch / name).symlink_to(ROOT / name)
                (scratch / "build").mkdir()
                for program in (SIMCTL, CAPTURE, NODEPROBE, NETPROBE):
                    (scratch / "build" / program.name).symlink_to(program)
                for command in own_commands(page):
                    with self.subTest(page, command=command):
                        self.run_command(command, scratch)

    def run_command(self, command, scratch):
        done = subprocess.run(["bash", "-euc", shortened(command)], cwd=scratch, capture_output=True, text=True, timeout=6000, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipIf(CHOSEN is not None, "of all pages")
    def test_there_are_commands(self):
        self.assertGreater(sum(len(commands_of(page)) for page in PAGES), 50)


@unittest.skipIf(CHOSEN is not None, "only commands of one page")
class Documents(unittest.TestCase):
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
