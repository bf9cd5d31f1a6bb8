"""Does the page show the busiest links as the result files list them?"""

import unittest

from pages import Pages, run

import samples
from samples import point
from syncopate.common.wording import prefixed

AGAIN = "run the scenario again: simctl run SCENARIO -o OUT"


def link(name, utilisation, volume=1.2e9, bandwidth=1.25e9, in_use=None):
    return {"name": name, "bandwidth_Bps": bandwidth, "bytes": volume, "utilisation": utilisation,
            "utilisation_in_use": utilisation if in_use is None else in_use}


class BusiestLinks(Pages):
    def shown(self, rows, *words):
        return self.page(samples.write(self.tmp / "out", rows), words=words)

    def test_without_links_nothing_is_shown(self):
        for links in (None, []):
            page = self.shown([point(0, links=links)])
            self.assertNotIn("links", page.tables)
            self.assertNotIn("Busiest links", self.text)

    def test_a_lone_point_shows_all_its_links_the_busiest_first(self):
        page = self.shown([point(0, links=[link("gpu-7 up", 0.43, 250e3, 12e9), link("wan a<b-c", 0.96),
                                           link("node-3 down", 0.9, 999.7e6)])])
        self.assertEqual(page.tables["links"], [["Link", "Utilisation", "Share of time saturated", "Bandwidth", "Bytes"],
                                                ["wan a<b-c", " 96.0 %", "100 %", "10.0 Gb/s", "1.20 GB"],
                                                ["node-3 down", " 90.0 %", "–", "10.0 Gb/s", "1.00 GB"],
                                                ["gpu-7 up", " 43.0 %", "–", "96.0 Gb/s", "250 kB"]])
        self.assertIn("Utilisation = bytes / (bandwidth × measured window)", self.text)
        self.assertNotIn("points", self.text[self.text.index("Busiest links"):self.text.index('id="links"')])

    def test_bars_are_as_long_as_links_are_used(self):
        page = self.shown([point(0, links=[link("a", 1.4), link("b", 0.25)])])
        bars = [attributes["style"] for tag, attributes in page.tags if attributes.get("style", "").startswith("width:")]
        self.assertEqual(bars, [f"width:{width}%;background:{color}" for width, color in (("100.0", "#b84028"), ("25.0", "#c4d094"))])
        self.assertIn("More than 100 % means", self.text)

    def test_several_points_show_their_busiest_link_each(self):
        page = self.shown([point(0, "wfbp", links=[link("node-0 up", 0.5), link("node-1 up", 0.93)]),
                          point(1, "s-sgd", links=[link("node-2 down", 0.31), link("node-3 down", 0.31), link("node-4 up", 0.2)]),
                          point(2, "fusion", fidelity="alpha-beta")])
        self.assertEqual(page.tables["links"], [
            ["Schedule", "Nodes", "Fidelity", "Busiest link", "Utilisation", "Share of time saturated", "Bandwidth", "Bytes"],
            ["wfbp", "8", "flow", "node-1 up", " 93.0 %", "100 %", "10.0 Gb/s", "1.20 GB"],
            ["s-sgd", "8", "flow", "node-2 down and others as busy", " 31.0 %", "–", "10.0 Gb/s", "1.20 GB"]])
        self.assertIn("2 of 3 points have links: fidelity alpha-beta has none. A link is saturated in 1 of 2 points. Utilisation",
                      self.text)
        self.assertNotIn("More than 100 % means", self.text)

    def test_the_only_point_that_has_links_is_named(self):
        page = self.shown([point(0, "wfbp", fidelity="per-message"), point(1, "s-sgd", links=[link("a", 0.4), link("b", 0.3)])])
        self.assertEqual([cells[0] for cells in page.tables["links"]], ["Link", "a", "b"])
        self.assertIn("1 of 2 points has links. Shown: 10gbe, s-sgd, 8 nodes. Utilisation", self.text)

    def test_of_many_points_the_busiest_are_shown_in_the_order_of_the_rows(self):
        rows = [point(number, nodes=number + 2, links=[link("a", number % 25 / 25)], sweep={"/cluster/nodes": number + 2})
                for number in range(30)]
        page = self.shown(rows)
        busy = [number for number in range(30) if number not in (0, 1, 2, 3, 4, 25, 26, 27, 28, 29)]
        self.assertEqual([cells[0] for cells in page.tables["links"][1:]], [str(number + 2) for number in busy])
        self.assertIn("Shown: the 20 points whose busiest links are used most. A link is saturated in 2 of 30 points.", self.text)

    def test_what_is_full_while_it_is_used_is_saturated(self):
        page = self.shown([point(0, links=[link("a", 0.5, in_use=0.95), link("b", 0.8, in_use=0.81)])])
        self.assertEqual([cells[1:3] for cells in page.tables["links"][1:]], [[" 80.0 %", "–"], [" 50.0 %", "52.6 %"]])       # 0.5 / 0.95

    def test_only_the_chosen_cluster_is_shown(self):
        rows = samples.grid(sizes=(4,), schedules=("wfbp",))
        for one in rows:
            one["links"] = [link(one["cluster"], 0.5)]
        page = self.shown(rows, "--cluster", "100gbib")
        self.assertEqual([cells[0] for cells in page.tables["links"]], ["Link", "100gbib"])

    def test_links_that_make_no_sense_are_refused(self):
        table = [({"a": 1}, '/points/1/links: expected a list, got {"a": 1}'),
                 ([3], "/points/1/links/0: expected an object, got 3"),
                 ([link("a", 0.5), link(None, 0.5)], "/points/1/links/1/name: expected a string, got nothing"),
                 ([link("a", -0.5)], "/points/1/links/0/utilisation: expected a number >= 0, got -0.5"),
                 ([link("a", float("nan"))], "/points/1/links/0/utilisation: expected a number >= 0, got NaN"),
                 ([link("a", 0.5, "1")], '/points/1/links/0/bytes: expected a number >= 0, got "1"'),
                 ([link("a", 0.5, 1, 0)], "/points/1/links/0/bandwidth_Bps: expected a number > 0, got 0")]
        for links, message in table:
            with self.subTest(message):
                out = samples.write(self.tmp / "out", [point(0), point(1, "s-sgd", links=links)])
                expected = f"report.py: {out}/results.json: {message}; {AGAIN.replace('OUT', str(out))}\n"
                self.assertEqual(run(out, "-o", self.tmp / "x.html"), (3, "", expected))

    def test_volumes_have_the_unit_that_reads_best(self):
        self.assertEqual([prefixed(value, "B") for value in (0, 5, 999.4, 999.6, 1e6, 1.2345e9, 5e15, 5e18)],
                         ["0 B", "5.00 B", "999 B", "1.00 kB", "1.00 MB", "1.23 GB", "5.00 PB", "5000 PB"])


if __name__ == "__main__":
    unittest.main()
