"""Is every network, node and device that comes with the project readable, with a source, and on its page?"""
import json
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMCTL = os.environ.get("SIMCTL", str(ROOT / "build" / "simctl"))
KINDS = [("scenarios/clusters", "scenarios/README.md", r"`([\w-]+\.json)`"), ("models/devices", "models/README.md", r"`devices/([\w-]+\.json)`")]


class Library(unittest.TestCase):
    def test_every_file_is_read_and_says_where_its_figures_come_from(self):
        for folder, _, _ in KINDS:
            for path in sorted((ROOT / folder).glob("*.json")):
                with self.subTest(path.name):
                    done = subprocess.run([SIMCTL, "show", path], capture_output=True, text=True, timeout=60)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    source = json.loads(path.read_text())["source"]
                    self.assertIn(source, done.stdout)
                    self.assertRegex(source, r"nominal|https?://|et al\.|fitted|least squares|coefficients|\(MG-WFBP|paper")

    def test_the_tables_name_every_file_and_no_other(self):
        for folder, page, name in KINDS:
            with self.subTest(folder):
                rows = [line for line in (ROOT / page).read_text().splitlines() if line.startswith("| `") and ".json`" in line]
                table = [row for row in rows if folder == "models/devices" and "`devices/" in row or folder == "scenarios/clusters" and row.split("|")[3].strip().split(",")[0] in ("nominal", "measured")]
                listed = {found for row in table for found in re.findall(name, row.split("|")[1])}
                self.assertEqual(listed, {path.name for path in (ROOT / folder).glob("*.json")})

    def test_nominal_nodes_are_about_as_fast_as_measured_ones(self):
        """The bus bandwidth of a ring is its links' rate: within a third of what NCCL got inside such nodes for gigabytes, as published."""
        measured = {"dgx-a100": "azure-nd-a100-v4", "dgx-h100": "azure-nd-h100-v5"}
        for nominal, run in measured.items():
            with self.subTest(nominal):
                link = json.loads((ROOT / f"scenarios/clusters/{nominal}.json").read_text())["intra_node"]
                points = json.loads((ROOT / f"scenarios/clusters/{run}.json").read_text())["fit"]["points"]
                size, seconds = points[-1]
                rate = float(link["bandwidth"].removesuffix("GBps")) * 1e9 * link["efficiency"]
                self.assertLess(abs(size * 2 * 7 / 8 / seconds / rate - 1), 1 / 3)


if __name__ == "__main__":
    unittest.main()
