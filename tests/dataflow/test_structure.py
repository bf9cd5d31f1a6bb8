"""What holds of any record, over random scenarios of every schedule; and results that a record does not change."""

import csv
import io
import json
import math
import random
import unittest

import draws
import numpy as np
import structure
import toy
from recording import QUICK, SLOW, Recorded
from replayer import by_part

EACH = 6 if SLOW else 1 if QUICK else 2  # scenarios of every schedule
ROUNDING = 1e-9


class Random(Recorded):
    problem = toy.Toy(48)

    def test_random_scenarios(self):
        for name in draws.NAMES:
            for seed in range(EACH):
                rng = random.Random(f"dataflow {name} {seed}")
                content = draws.scenario(rng, name)
                optimizer = "sgd" if seed % 3 == 0 else rng.choice(draws.OPTIMIZERS)
                with self.subTest(name=name, seed=seed, optimizer=optimizer):
                    [record] = self.run_recorded(content, "--optimizer", optimizer).values()
                    for check in (self.check_form, self.check_definition, self.check_coefficients, self.check_results):
                        with self.subTest(check=check.__name__, content=json.dumps({key: value for key, value in content.items() if key != "trace"})):
                            check(content, record)

    def check_form(self, content, record):
        self.assertEqual(structure.faults(record)[:5], [])

    def check_definition(self, content, record):
        """Where it does not depend on times."""
        training = self.define(record, content["schedule"], cluster=self.in_order(content))
        if training:
            self.assert_agrees(record, training)

    def in_order(self, content):
        """The cluster with its regions in the order of the ranks."""
        cluster, [point] = content["cluster"], json.loads((self.folder / "out" / "results.json").read_text())["points"]
        if "regions" not in cluster:
            return cluster
        return cluster | {"regions": sorted(cluster["regions"], key=lambda region: point["region_order"].index(region["name"]))}

    def check_results(self, content, record):
        """A record is beside the results, which are those of a run without it: to the last digit where that simulates every worker, too."""
        for arguments in ([], ["--no-symmetry"]):
            done = self.simctl("run", "scenario.json", "-o", "-", "--format", "csv", "--quiet", *arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            [recorded], [plain] = self.rows(), csv.DictReader(io.StringIO(done.stdout))
            if arguments or recorded["workers_simulated"] != plain["workers_simulated"]:
                self.assert_close(recorded, plain)
            else:
                self.assertEqual((self.folder / "out" / "results.csv").read_text(), done.stdout)

    def assert_close(self, recorded, plain):
        self.assertEqual(list(recorded), list(plain))
        for column, value in recorded.items():
            if value != plain[column] and column != "workers_simulated":
                self.assertTrue(math.isclose(float(value), float(plain[column]), rel_tol=1e-9, abs_tol=1e-12), f"{column}: {value}, {plain[column]}")

    # Coefficients

    def check_coefficients(self, content, record):
        expansion = structure.Expansion(record, **(toy.HYPER | {"weight_decay": 0.0, "wd": 0.0}))
        self.check_initial(record, expansion)
        rule = getattr(self, f"check_{content['schedule']['name'].replace('-', '_')}", None)
        if rule and record.header["optimizer"] == "sgd" and "compression" not in content["schedule"]:
            rule(content["schedule"], record, expansion)

    def check_initial(self, record, expansion):
        """Every model is the initial one, and what was stepped from it."""
        for index, line in enumerate(record.lines):
            if line["o"] in "GE":
                for vector in expansion.parts(line["x"]):
                    self.assertAlmostEqual(vector[0], 1.0, delta=ROUNDING, msg=f"line {index}")

    def counts(self, expansion, vector, share):
        """How many of each worker's gradients are in a model, each with the coefficient -share: its first ones."""
        inside, result = {}, {}
        for (worker, number), column in expansion.gradients.items():
            coefficient = vector[column]
            self.assertTrue(min(abs(coefficient), abs(coefficient + share)) < ROUNDING, f"{coefficient} of worker {worker}'s gradient {number}, not 0 or {-share}")
            inside.setdefault(worker, []).append(abs(coefficient) > ROUNDING)
        for worker, flags in inside.items():
            result[worker] = sum(flags)
            self.assertEqual(flags, sorted(flags, reverse=True), f"worker {worker}'s gradients in a model are not its first ones")
        return result

    def assert_a_chain(self, versions):
        """One after the other: each has all that those before it have."""
        ordered = sorted(versions, key=lambda counts: sum(counts.values()))
        for before, after in zip(ordered, ordered[1:]):
            self.assertTrue(all(before[worker] <= after[worker] for worker in before), f"neither {before} nor {after} came first")

    def check_asgd(self, schedule, record, expansion):
        """Each push steps the server once, in the order of handling; a client's model is what the server has after its own."""
        share, versions = toy.HYPER["lr"] / record.header["workers"], [[] for _ in record.header["parts"]]
        for line in record.lines:
            if line["o"] == "G":
                for part, vector in enumerate(expansion.parts(line["x"])):
                    counts = self.counts(expansion, vector, share)
                    self.assertEqual(counts[line["w"]], line["k"], f"worker {line['w']}'s own gradients at its gradient {line['k']}")
                    versions[part].append(counts)
        for part in versions:
            self.assert_a_chain(part)

    def check_downpour(self, schedule, record, expansion):
        versions, interval = [], schedule["interval"]
        for line in record.lines:
            if line["o"] == "G":
                [vector] = expansion.parts(line["x"])
                counts = self.counts(expansion, vector, toy.HYPER["lr"])
                own = counts.pop(line["w"])
                self.assertEqual(own, line["k"])
                self.assertTrue(all(count % interval == 0 for count in counts.values()), counts)
                if own % interval == 0:
                    versions.append(counts | {line["w"]: own})
        self.assert_a_chain(versions)

    def check_dc_asgd(self, schedule, record, expansion):
        """The server's models follow each other; what it compensates for is the model at which that gradient was computed."""
        taken, last = {}, dict(enumerate(record.header["initial"]))  # by value of a gradient: (models, line); the server's, by part
        scaled, count = {}, record.header["workers"]
        for line in record.lines:
            part = line.get("part", 0)
            if line["o"] == "G":
                taken |= {value: model for value, model in zip(by_part(line["v"]), by_part(line["x"]))}
            elif line["o"] == "L" and len(line["of"]) == 1:
                [[coefficient, value]] = line["of"]
                self.assertAlmostEqual(coefficient, 1 / count, places=15)
                scaled[line["v"]] = taken.pop(value)
            elif line["o"] == "S":
                self.assertEqual(line["f"], "delay-compensated")
                x, before, g = line["of"]
                self.assertEqual((x, before), (last[part], scaled.pop(g)))
                [last[part]] = by_part(line["v"])
        self.assertEqual(scaled, {})

    def check_eamsgd(self, schedule, record, expansion):
        """No own step is lost, and none is there before it was made."""
        for line in record.lines:
            if line["o"] == "G":
                [vector] = expansion.parts(line["x"])
                own = [vector[column] for (worker, number), column in expansion.gradients.items() if worker == line["w"]]
                self.assertEqual(np.count_nonzero(own), line["k"])

    def check_lasgd(self, schedule, record, expansion):
        """Weights of averages sum to 1; the rank's own gradients since its post count in full."""
        for line in record.lines:
            if line["o"] == "L":
                whole = sum(coefficient for coefficient, value, *names in line["of"] if not names and expansion.values[value][0])
                self.assertAlmostEqual(whole, 1.0, places=12)
            if line["o"] == "G" and line["k"]:
                [vector] = expansion.parts(line["x"])
                column = expansion.gradients[line["w"], line["k"] - 1]
                self.assertAlmostEqual(vector[column], -toy.HYPER["lr"], places=12)

    def check_ad_psgd(self, schedule, record, expansion):
        """All that any worker stepped is shared, and never grows: 0 to lr of each gradient."""
        for line in record.lines:
            if line["o"] == "G":
                [vector] = expansion.parts(line["x"])
                self.assertTrue(np.all(vector[1:] <= ROUNDING) and np.all(vector[1:] >= -toy.HYPER["lr"] - ROUNDING))


if __name__ == "__main__":
    unittest.main()
