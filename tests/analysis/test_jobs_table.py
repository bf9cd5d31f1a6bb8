"""Does the page show each job of a shared network, together and alone?"""

import unittest

from pages import Pages, run

import samples
from samples import point


def job(name, together, alone, nodes="0-3"):
    return {"name": name, "schedule": "wfbp", "nodes": nodes, "iteration_s": together, "iteration_alone_s": alone, "slowdown": together / alone}


class JobsTable(Pages):
    def shown(self, rows):
        return self.page(samples.write(self.tmp / "out", rows))

    def test_one_job_has_no_table(self):
        page = self.shown([point(0)])
        self.assertNotIn("jobs", page.tables)
        self.assertNotIn("Jobs on one network", self.text)

    def test_a_row_for_each_job(self):
        page = self.shown([point(0) | {"jobs": [job("a<b", 0.3, 0.2), job("c", 0.5, 0.5, "4-7")]}])
        self.assertEqual(page.tables["jobs"], [["Job", "Schedule", "Nodes", "Iteration", "Alone", "Slowdown"],
                                               ["a<b", "wfbp", "0-3", "300 ms", "200 ms", "1.50"], ["c", "wfbp", "4-7", "500 ms", "500 ms", "1.00"]])

    def test_settings_are_named(self):
        rows = [point(n, sweep={"/jobs/0/nodes": nodes}) | {"jobs": [job("a", 0.3, 0.2, nodes)]} for n, nodes in enumerate(("0-3", "4-7"))]
        table = self.shown(rows).tables["jobs"]
        self.assertEqual([cells[0] for cells in table[:1]], ["Setting"])
        self.assertEqual([cells[3] for cells in table[1:]], ["0-3", "4-7"])

    def test_what_is_no_job_is_refused(self):
        for jobs, message in ((3, "/jobs: expected a list, got 3"), ([job("a", 0.3, 0.2) | {"slowdown": 0}], "/jobs/0/slowdown: expected a number > 0, got 0"),
                              ([{}], "/jobs/0/name: expected a string, got nothing")):
            with self.subTest(message):
                folder = samples.write(self.tmp / "bad", [point(0) | {"jobs": jobs}])
                code, _, errors = run(folder, "-o", self.tmp / "page.html")
                self.assertEqual(code, 3)
                self.assertIn(f"results.json: /points/0{message}", errors)


if __name__ == "__main__":
    unittest.main()
