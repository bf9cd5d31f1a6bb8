"""Are the gains that the page names those of the scenarios?"""

import csv
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIMCTL = os.environ.get("SIMCTL", str(ROOT / "build/simctl"))


def times(name):
    """{(what is swept besides the schedule): {schedule: seconds}}."""
    done = subprocess.run([SIMCTL, "run", ROOT / f"scenarios/beyond/{name}.json", "--format", "json"], capture_output=True, text=True, check=True)
    found = {}
    for point in json.loads(done.stdout)["points"]:
        schedule = point["sweep"].pop("/schedule")
        place = tuple(Path(value).stem if pointer == "/trace" else json.dumps(value) for pointer, value in sorted(point["sweep"].items(), reverse=True))
        found.setdefault(place, {})[schedule["name"] + (" over servers" if schedule.get("over") == "servers" else "")] = point["iteration_s"]
    return found


def least(name):
    """{schedule as JSON: the least Gb/s for each compute utilisation}."""
    done = subprocess.run([SIMCTL, "run", ROOT / f"scenarios/beyond/{name}.json", "--format", "json"], capture_output=True, text=True, check=True)
    found = {}
    for point in json.loads(done.stdout)["points"]:
        gigabits = 40 / 3 / 2 / point["sweep"]["/cluster/fit/b_s_per_B"] / 1e9  # 13 1/3 bits of a parameter
        found.setdefault(json.dumps(point["sweep"]["/schedule"]), []).append((gigabits, point["compute_s"] / point["iteration_s"]))
    return {schedule: [min(gigabits for gigabits, reached in points if reached >= share) for share in UTILISATIONS] for schedule, points in found.items()}


UTILISATIONS = (0.5, 0.8, 0.9, 0.95, 0.99)


class Beyond(unittest.TestCase):
    def setUp(self):
        page = (ROOT / "scenarios/papers/README.md").read_text(encoding="utf-8")
        blocks = page.split("## Beyond the five papers")[1].split("\n\n## ")[0].split("\n\n")
        table = next(block for block in blocks if block.startswith("|"))
        self.rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]

    def percents(self, row, column=3):
        return [float(number) for number in re.findall(r"([\d.]+)(?= to |%)", self.rows[row][column]) if "%" in self.rows[row][column]]

    def test_priorities(self):
        gains = {}
        for place, seconds in times("priority").items():
            for name, base in (("p3", "ps-sgd"), ("bytescheduler over servers", "ps-sgd"), ("bytescheduler", "wfbp")):
                gains.setdefault((name, place[0].split("-")[2]), {})[place[1].strip('"')] = 100 * (seconds[base] / seconds[name] - 1)

        def largest(name, model):
            place = max(gains[name, model], key=gains[name, model].get)
            return round(gains[name, model][place], 1), place

        self.assertEqual(largest("p3", "resnet50"), (self.percents(0)[0], "15Gbps"))
        self.assertIn("ResNet-50, 15 Gb/s", self.rows[0][4])
        of_vgg = [round(-gain, 1) for gain in gains["p3", "vgg11"].values()]
        self.assertEqual([min(of_vgg), max(of_vgg)], self.percents(1))
        for row, name, where in ((2, "bytescheduler over servers", "10Gbps"), (3, "bytescheduler", "20Gbps")):
            self.assertEqual(largest(name, "resnet50"), (self.percents(row)[0], where))
            self.assertGreater(largest(name, "resnet50")[0], largest(name, "vgg11")[0])

    def test_halves(self):
        over_all, without = {}, {}
        for (trace, link), seconds in times("dear").items():
            speed = json.loads(link)["bandwidth"]
            dear = seconds.pop("dear")
            over_all.setdefault(speed, {})[trace] = 100 * (min(seconds.values()) / dear - 1)
            seconds.pop("bytescheduler")
            without.setdefault(speed, {})[trace] = 100 * (min(seconds.values()) / dear - 1)
        vgg = "synthetic-v100-vgg11-b64"
        for gains, speed, said in ((over_all, "10Gbps", self.percents(4)[0]), (without, "10Gbps", self.percents(4, 4)[0]), (without, "100Gbps", self.percents(5)[0])):
            self.assertEqual(max(gains[speed], key=gains[speed].get), vgg)
            self.assertAlmostEqual(gains[speed][vgg], said, delta=0.06)
        self.assertLess(max(over_all["100Gbps"].values()), 0)

    def differing(self, parameters, found):
        """Published beside ours for these numbers of parameters: (row, utilisation, steps of the published bandwidths' grid between them), where it is
        not the same."""
        with open(ROOT / "scenarios/beyond/streaming-diloco.csv", encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["parameters"] in parameters]
        self.assertEqual(len(rows), len(found) * len(UTILISATIONS))
        differ, grid = [], [10 ** (-1 + 4 * k / 49) for k in range(50)]
        cells = [(number, share, gigabits) for number, ours in enumerate(found) for share, gigabits in zip(UTILISATIONS, ours)]
        for row, (number, share, gigabits) in zip(rows, cells):
            self.assertEqual(row["utilisation"], f"{share:.0%}")
            self.assertEqual(float(f"{gigabits:.3g}"), float(row["ours_Gbps"]), f"{row['method']} at {share}")
            apart = [min(range(50), key=lambda k: abs(grid[k] / one - 1)) for one in (gigabits, float(row["published_Gbps"]))]
            if apart[0] != apart[1]:
                differ.append((number, share, apart[0] - apart[1]))
        return differ

    def test_fragments(self):
        self.assertEqual(self.differing(["1e9"], list(least("streaming-diloco").values())), [(4, 0.5, -1)])

    def test_fragments_of_larger_models(self):
        found = [ours for size in ("10b", "100b") for ours in least(f"streaming-diloco-{size}").values()]
        self.assertEqual(self.differing(["1e10", "1e11"], found), [(0, 0.99, -1), (1, 0.99, 1), (4, 0.99, 1), (5, 0.5, -1)])


if __name__ == "__main__":
    unittest.main()
