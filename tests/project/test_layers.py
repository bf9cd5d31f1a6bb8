"""Does every file of sim/ and capture/ include only from its own layer or those above it?"""
import pathlib
import re
import unittest

SIM = pathlib.Path(__file__).resolve().parents[2] / "sim"
LAYERS = [["base"], ["model", "trace", "collective"], ["cluster", "timeline"], ["engine"], ["schedule", "metrics"], ["scenario", "output"], ["simctl"]]
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}


class Layers(unittest.TestCase):
    def test_includes(self):
        checked = 0
        for path in sorted(SIM.glob("*/*.?pp")):
            level = LEVEL[path.parent.name]
            for included in re.findall(r'#include "(\w+)/', path.read_text()):
                checked += 1
                self.assertLessEqual(LEVEL[included], level, f"{path.relative_to(SIM)} includes from {included}/, a layer below its own")
        self.assertGreater(checked, 50)

    def test_capture_needs_what_both_programs_share_only(self):
        for path in sorted((SIM.parent / "capture").rglob("*.*")):
            if path.suffix in (".cpp", ".hpp", ".cu", ".cuh"):
                for included in re.findall(r'#include "(\w+)/', path.read_text()):
                    self.assertIn(included, ("base", "model", "trace", "capture"), path.name)

    def test_only_cluster_and_engine_see_simgrid(self):
        for path in sorted(SIM.glob("*/*.?pp")):
            if path.parent.name in ("cluster", "engine"):
                continue
            self.assertNotRegex(path.read_text(), r"#include <simgrid|simgrid::", path.name)

    def test_metrics_and_output_know_no_engine_and_the_engine_no_schedule(self):
        for folder, forbidden in {"metrics": "engine", "output": "engine", "engine": "schedule"}.items():
            for path in (SIM / folder).glob("*.?pp"):
                self.assertNotIn(f'#include "{forbidden}/', path.read_text(), path.name)


if __name__ == "__main__":
    unittest.main()
