"""Does a page of two result folders say point by point how the second differs from the first?"""

import json
import unittest

from browser import Browser
from pages import Pages, run

import samples


def scaled(rows, factor):
    """The rows with times of so many times the length, if the factor is a function, of each row."""
    made = []
    for one in rows:
        by = factor(one) if callable(factor) else factor
        made.append(one | {name: one[name] * by for name in ("iteration_s", "compute_s", "wait_s", "exposed_communication_s")})
    return made


class TwoFolders(Pages):
    def compared(self, one, other, *words, **about):
        """The page of two folders, A and B, with these rows."""
        folders = [samples.write(self.tmp / name, rows, **about.get(name, {})) for name, rows in (("A", one), ("B", other))]
        return self.page(*folders, words=words)

    def test_each_point_stands_beside_itself(self):
        rows = samples.grid(("10gbe",), sizes=(4, 8))
        page = self.compared(rows, scaled(rows, lambda row: {"wfbp": 0.8, "s-sgd": 1.5, "sync-easgd": 1.003}[row["schedule"]])[::-1])
        self.assertEqual(page.tables["pairs"][0], ["cluster", "nodes", "schedule", "Iteration in A", "in B", "Change", "B is", "Efficiency"])
        self.assertEqual(page.tables["pairs"][1:4], [
            ["10gbe", "4", "wfbp", "135 ms", "108 ms", " −20 %", "faster", "74.1 % → 74.1 %"],
            ["10gbe", "4", "sync-easgd", "149 ms", "149 ms", " +0.3 %", "same", "67.1 % → 67.1 %"],
            ["10gbe", "4", "s-sgd", "189 ms", "284 ms", " +50 %", "slower", "52.9 % → 52.9 %"]])
        self.assertEqual(len(page.tables["pairs"]), 7)
        self.assertIn("Of 6 points of both, B is faster at 2, slower at 2 and as fast, within 0.5 %, at 2.", self.text)
        self.assertIn("Its iteration times change by +0.3 % in the median, from −20 % (10gbe, 4 nodes, wfbp) to +50 % (10gbe, 4 nodes, s-sgd).", self.text)
        self.assertIn("Both were simulated from the same scenario with the same versions.", self.text)

    def test_what_only_one_has_is_named(self):
        rows = samples.grid(("10gbe",), sizes=(4, 8, 16))
        page = self.compared([row for row in rows if row["nodes"] < 16], [row for row in rows if row["nodes"] > 4])
        self.assertEqual({cells[1] for cells in page.tables["pairs"][1:]}, {"8"})
        self.assertIn("Only in A: 3 points (10gbe, 4 nodes, wfbp; 10gbe, 4 nodes, sync-easgd; 10gbe, 4 nodes, s-sgd).", self.text)
        self.assertIn("Only in B: 3 points (10gbe, 16 nodes, wfbp; ", self.text)
        page = self.compared(samples.grid(("10gbe",), sizes=tuple(range(2, 22))), samples.grid(("10gbe",), sizes=(30,)))
        self.assertNotIn("pairs", page.tables)
        self.assertIn("They have no point in common: no values of the swept keys are in both.", self.text)
        self.assertRegex(self.text, r"Only in A: 60 points \(([^;]*; ){12}\.\.\.\)\.")

    def test_values_match_by_what_they_mean(self):
        pair = lambda speed, cluster: samples.row(0, {"/cluster/link/bandwidth": speed, "/cluster": cluster}, "10gbe", "wfbp", 4, 0.01)
        for one, other in (("25Gbps", "25Gb/s"), ("1000Mbps", "1Gbps"), (8, 8.0), ("1MB", "1000kB")):
            page = self.compared([pair(one, "clusters/a.json")], [pair(other, "../there/a.json")])
            self.assertEqual(len(page.tables["pairs"]), 2, (one, other))
        page = self.compared([pair("25Gbps", "a.json")], [pair("25Gbps", "b.json")])
        self.assertNotIn("pairs", page.tables)
        twins = [pair("1Gbps", f"{folder}/a.json") | {"point": place} for place, folder in enumerate(("x", "y"))]
        page = self.compared(twins, [twins[1] | {"point": 0}])
        self.assertEqual(len(page.tables["pairs"]), 2)

    def test_a_point_without_a_sweep_is_the_only_one(self):
        one = [samples.row(0, {}, "10gbe", "wfbp", 4, 0.01)]
        page = self.compared(one, scaled(one, 2))
        self.assertEqual(page.tables["pairs"], [["Iteration in A", "in B", "Change", "B is", "Efficiency"], ["115 ms", "230 ms", " +100 %", "slower", "87.0 % → 87.0 %"]])
        self.assertIn("Of 1 point of both, B is slower at 1.", self.text)

    def test_folders_that_sweep_other_keys_are_shown_but_not_matched(self):
        one, other = samples.grid(("10gbe",)), [samples.row(0, {"/schedule/name": "wfbp", "/x": 1}, "10gbe", "wfbp", 4, 0.01)]
        page = self.compared(one, other, A={"name": "small"}, B={"name": "other"})
        self.assertNotIn("pairs", page.tables)
        self.assertIn("Their points are not compared one by one, as they do not sweep the same keys: only A sweeps /cluster and /cluster/nodes; only B sweeps /x.", self.text)
        self.assertEqual(page.tables["changes"][1], ["scenario's name", "small", "other"])

    def test_unlike_work_is_said(self):
        rows = samples.grid(("10gbe",), sizes=(4,))
        page = self.compared(rows, [row | {"model": "bert"} for row in rows])
        self.assertEqual(len(page.tables["pairs"]), 4)
        self.assertIn("They train unlike models or batches, so that times compare unlike work: A resnet50, batch 32; B bert, batch 32.", self.text)
        self.compared(rows, rows)
        self.assertNotIn("unlike work", self.text)

    def test_what_differs_in_what_was_simulated_is_listed(self):
        rows = samples.grid(("10gbe",), sizes=(4,))
        scenarios = ({"trace": "t.json", "cluster": {"link": {"bandwidth": "25Gbps", "a/b": 1}}, "seed": 1}, {"trace": "t.json", "cluster": {"link": {"bandwidth": "100Gbps"}}, "seed": 1, "workers": {}})
        page = self.compared(rows, rows, A={"scenario": scenarios[0]}, B={"scenario": scenarios[1], "versions": {"syncopate": "0.9", "simgrid": "4.1"}})
        self.assertEqual(page.tables["changes"], [["Key", "A", "B"], ["/cluster/link/bandwidth", "25Gbps", "100Gbps"], ["/cluster/link/a~1b", "1", "–"], ["/workers", "–", "{}"],
                                                  ["version of syncopate", "0.1.0", "0.9"]])
        many = {f"k{place}": place for place in range(30)}
        page = self.compared(rows, rows, A={"scenario": many})
        self.assertEqual((len(page.tables["changes"]), page.tables["changes"][-1]), (14, ["and more", "18 other keys", ""]))

    def test_what_intervals_do_not_tell_apart_is_not_called_faster(self):
        rows = [row | {"iteration_low_s": 0.8 * row["iteration_s"], "iteration_high_s": 1.2 * row["iteration_s"]} for row in samples.grid(("10gbe",), sizes=(4,))]
        page = self.compared(rows, [row | {"iteration_low_s": 0.8 * row["iteration_s"], "iteration_high_s": 1.2 * row["iteration_s"]} for row in scaled(rows, 0.95)])
        self.assertEqual({cells[6] for cells in page.tables["pairs"][1:]}, {"cannot be told apart"})
        self.assertIn("B is not to be told apart at all 3.", self.text)

    def test_other_counts_of_folders_have_no_such_section(self):
        rows = samples.grid(("10gbe",), sizes=(4,))
        folders = [samples.write(self.tmp / name, rows, name=name) for name in "ABC"]
        for some in (folders[:1], folders):
            self.page(*some)
            self.assertNotIn('id="compared"', self.text)

    def test_folders_of_the_same_name_are_told_apart(self):
        rows = samples.grid(("10gbe",), sizes=(4,))
        folders = [samples.write(self.tmp / name / "results", rows, answer=[f"so says {name}"]) for name in ("old", "new")]
        self.page(*folders)
        self.assertIn("<h2>new/results beside old/results</h2>", self.text)
        for name in ("old", "new"):
            self.assertIn(f"<b>small sweep, {name}/results</b>: so says {name}", self.text)

    def test_bad_input(self):
        rows = samples.grid(("10gbe",), sizes=(4,))
        out = samples.write(self.tmp / "A", rows)
        (self.tmp / "link").symlink_to(out)
        self.assertEqual(run(out, self.tmp / "link", "-o", self.tmp / "x.html"), (3, "", f"report.py: {self.tmp}/link: given twice; name each result folder once\n"))
        old = samples.write(self.tmp / "old", rows)
        (old / "results.json").write_text(json.dumps(json.loads((old / "results.json").read_text()) | {"format": "results/0"}))
        code, _, error = run(out, old, "-o", self.tmp / "x.html")
        self.assertEqual((code, error), (3, f'report.py: {old}/results.json: /format: expected "results/1", got "results/0"; run the scenario again: simctl run SCENARIO -o {old}\n'))
        self.assertFalse((self.tmp / "x.html").exists())

    def test_only_rows_of_the_chosen_cluster_are_compared(self):
        rows = samples.grid(("10gbe", "100gbib"), sizes=(4,))
        page = self.compared(rows, scaled(rows, 0.5), "--cluster", "100gbib")
        self.assertEqual({cells[0] for cells in page.tables["pairs"][1:]}, {"100gbib"})

    def test_names_are_text_and_of_many_points_those_that_differ_most_are_shown(self):
        hostile = '<script>alert(1)</script>'
        rows = [samples.row(place, {"/x": f"{hostile}{place}"}, hostile, hostile, 4, 0.01 + place * 1e-5) for place in range(900)]
        page = self.compared(rows, scaled(rows, lambda row: 1 + row["point"] / 1000), A={"name": hostile}, B={"name": hostile, "scenario": {hostile: 1}})
        self.assertEqual([len(page.tables["pairs"]), page.tables["pairs"][1][0], page.tables["pairs"][-1][0]], [401, f"{hostile}500", f"{hostile}899"])
        self.assertIn("These 400 points differ most; 500 others are left out here.", self.text)
        self.assertNotIn("<script>alert", self.text)


class InTheBrowser(Browser):
    def test_it_fits_in_both_themes_and_says_bars_only_where_they_are(self):
        rows = samples.grid(("10gbe",))
        folders = [samples.write(self.tmp / "a rather long name of a folder", rows), samples.write(self.tmp / "B", scaled(rows, 0.7))]
        for width, theme in ((1400, "light"), (420, "dark")):
            self.open(*folders, width=width, theme=theme)
            self.assert_fits(width)
            self.assertEqual([one.is_displayed() for one in (self.find("#pairs .change"), self.find("#compared .bars"))], [width > 600] * 2)
            bar = self.script("const [bar, box] = ['.faster', ''].map(inner => document.querySelector(`#pairs .change ${inner}`.trim()).getBoundingClientRect());"
                              "return [bar.right <= box.left + box.width / 2 + 1, Math.round(2 * bar.width / box.width)]")
            self.assertEqual(bar, [True, 1] if width > 600 else [True, None])


if __name__ == "__main__":
    unittest.main()
