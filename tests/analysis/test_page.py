"""Does the page say what the result files say?"""

import base64
import hashlib
import json
import re
import unittest

from pages import Pages, labelled

from syncopate.report import figures, timeline
from syncopate.report.lanes import read_all as read_lanes
from syncopate.results.columns import COLUMNS
from syncopate.web.template import LIBRARY
import samples
from markupsafe import escape


class WhatThePageSays(Pages):
    def test_how_long_it_took_is_in_run_json_or_in_older_results(self):
        out = samples.write(self.tmp / "out", samples.grid())
        self.page(out)
        self.assertIn("simulated in 1.25 s", self.text)
        (out / "run.json").write_text('{"format": "run/1", "wall_s": 7.5}')
        self.page(out)
        self.assertIn("simulated in 7.50 s", self.text)
        (out / "run.json").write_text("{")
        self.page(out)
        self.assertIn("simulated in 1.25 s", self.text)

    def test_it_needs_nothing_from_outside(self):
        out = samples.write(self.tmp / "out", samples.grid())
        samples.timeline(out, samples.grid()[0])
        page = self.page(out)
        own = self.text.replace(LIBRARY.read_text(encoding="utf-8"), "")
        self.assertLess(len(own), len(self.text) - 1_000_000)
        self.assertEqual(set(re.findall(r"https?:[^\s\"']*", own)), {"http://www.w3.org/2000/svg"})      # the name of a language, which nobody asks for
        self.assertNotIn("@import", own)
        names = [tag for tag, _ in page.tags]
        self.assertEqual([attributes["id"] for _, attributes in page.tags if "chart" in attributes.get("class", "").split()],
                         ["scaling-chart", "composition-chart", "timeline-chart"])
        self.assertFalse({"link", "img", "iframe"} & set(names))
        policy = next(attributes["content"] for _, attributes in page.tags if attributes.get("http-equiv") == "Content-Security-Policy")
        self.assertTrue(policy.startswith("default-src 'none';"))
        hashes = ["sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in page.scripts[1:]]
        self.assertEqual(policy.split("script-src ")[1], " ".join(f"'{one}'" for one in hashes))
        targets = [value for _, attributes in page.tags for key, value in attributes.items() if key in ("href", "src")]
        targets += re.findall(r"url\((.*?)\)", re.sub(r"<script>.*?</script>", "", self.text, flags=re.S))
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        self.assertTrue(all(target[0] == "#" and target[1:] in ids for target in targets))
        self.assertEqual(len(ids), len(set(ids)))

    def test_the_answer_names_the_fastest_schedule_of_each_cluster_and_size(self):
        page = self.page(samples.write(self.tmp / "out", samples.grid()))
        self.assertEqual(page.tables["answer"][0], ["Setting", "Nodes", "Fastest", "Iteration", "Efficiency",
                                                    "Runner-up", "its time / fastest", "wfbp's time / fastest"])
        self.assertEqual(page.tables["answer"][1],
                         ["10gbe", "4", "wfbp", "135 ms", "74.1 %", "sync-easgd", "1.10×", "–"])
        self.assertEqual(page.tables["answer"][4],
                         ["10gbe", "32", "sync-easgd", "155 ms", "64.5 %", "wfbp", "1.06×", "1.06×"])
        self.assertEqual([line[2] for line in page.tables["answer"][1:]], ["wfbp"] * 2 + ["sync-easgd"] * 2 +
                         ["wfbp"] * 2 + ["sync-easgd, wfbp (within 0.5 %)", "sync-easgd"])
        self.assertIn("On <b>10gbe</b>, wfbp is fastest from 4 to 8 nodes; sync-easgd is fastest from 16 to 32 nodes.",
                      self.text)
        self.assertLess(self.text.index('id="answer"'), self.text.index('class="chart"'))

    def compare(self, **exposed):
        """The answer's row of one setting in which these schedules take 105 ms plus so many exposed ms."""
        rows = [samples.row(place, {"/schedule/name": name}, "10gbe", name, 8, cost / 1000)
                for place, (name, cost) in enumerate(exposed.items())]
        return self.page(samples.write(self.tmp / str(len(list(self.tmp.iterdir()))), rows)).tables["answer"][1]

    def test_a_stale_winner_is_named_with_its_staleness(self):
        rows = [samples.row(0, {"/schedule/name": "asgd"}, "10gbe", "asgd", 8, 0.01), samples.row(1, {"/schedule/name": "wfbp"}, "10gbe", "wfbp", 8, 0.02)]
        rows[0]["staleness_mean"], rows[0]["staleness_max"] = 7.25, 9
        page = self.page(samples.write(self.tmp / "out", rows))
        self.assertEqual(page.tables["answer"][1][1], "asgd (staleness 7.25)")
        self.assertIn("asgd (staleness 7.2) is fastest at 8 nodes.", self.text)

    def test_what_cannot_be_told_apart_shares_the_win(self):
        rows = [samples.row(place, {"/schedule/name": name}, "10gbe", name, 8, 0.01 + 0.01 * place) for place, name in enumerate(("wfbp", "s-sgd", "fusion"))]
        for row, half in zip(rows, (0.008, 0.008, 0.003)):
            row["iteration_low_s"], row["iteration_high_s"] = row["iteration_s"] - half, row["iteration_s"] + half
        page = self.page(samples.write(self.tmp / "out", rows))
        self.assertEqual(page.tables["answer"][1][1], "wfbp, s-sgd (cannot be told apart)")
        self.assertEqual(page.tables["answer"][1][4], "fusion")
        self.assertIn("wfbp and s-sgd cannot be told apart at 8 nodes (115 ms ± 7 % and 125 ms ± 6.4 %).", self.text)

    def test_what_the_run_said_leads_but_not_where_rows_are_left_out(self):
        out = samples.write(self.tmp / "out", samples.grid())
        about = json.loads((out / "results.json").read_text())
        (out / "results.json").write_text(json.dumps(about | {"answer": ["On 8 x <10gbe>, wfbp is fastest."]}))
        self.page(out)
        self.assertIn('<p class="answer">On 8 x &lt;10gbe&gt;, wfbp is fastest.</p>', self.text)
        self.page(out, "--cluster", "10gbe")
        self.assertNotIn("On 8 x", self.text)

    def test_practically_equal_times_share_the_win_the_fastest_first(self):
        row = self.compare(**{"mg-wfbp-optimal": 10.5, "mg-wfbp": 10, "wfbp": 20})
        self.assertEqual(row[1:2] + row[4:], ["mg-wfbp, mg-wfbp-optimal (within 0.5 %)", "wfbp", "1.09×", "1.09×"])
        self.assertIn("mg-wfbp and mg-wfbp-optimal tie (within 0.5 %) at 8 nodes.", self.text)
        row = self.compare(**{"mg-wfbp-optimal": 10.6, "mg-wfbp": 10, "wfbp": 20})
        self.assertEqual(row[1:2] + row[4:], ["mg-wfbp", "mg-wfbp-optimal", "1.01×", "1.09×"])
        self.assertIn("mg-wfbp is fastest at 8 nodes.", self.text)

    def test_equal_runners_up_are_all_named(self):
        row = self.compare(**{"s-sgd": 20, "mg-wfbp": 10, "wfbp": 20, "fusion": 20.1})
        self.assertEqual(row[4:], ["s-sgd, wfbp", "1.09×", "1.09×"])

    def test_wfbp_that_shares_the_win_has_no_ratio(self):
        row = self.compare(**{"mg-wfbp": 10, "wfbp": 10.4, "s-sgd": 20})
        self.assertEqual(row[1:2] + row[4:], ["mg-wfbp, wfbp (within 0.5 %)", "s-sgd", "1.09×"])

    def test_what_was_changed_and_disturbed_is_said(self):
        workers = {"jitter": {"distribution": "lognormal", "cv": 0.2},
                   "slow": [{"ranks": "0-3,7", "factor": 2.0}, {"ranks": "5", "factor": 1.5}]}
        self.page(samples.write(self.tmp / "out", samples.grid(), scenario={"workers": workers},
                                settings={"/cluster/link/bandwidth": "1Gbps", "/cluster/nodes": 4}))
        self.assertIn("<dt>Changed</dt><dd>/cluster/link/bandwidth = &#34;1Gbps&#34;; /cluster/nodes = 4</dd>",
                      self.text)
        self.assertIn("<dt>Workers</dt><dd>lognormal jitter, cv 0.2; ranks 0-3,7 slowed by 2; rank 5 slowed by 1.5"
                      "</dd>", self.text)
        rows = [samples.row(place, {"/workers/jitter/cv": cv}, "10gbe", "wfbp", 8, cv)
                for place, cv in enumerate((0.1, 0.2))]
        self.page(samples.write(self.tmp / "swept", rows))
        self.assertIn("<dt>Workers</dt><dd>swept: /workers/jitter/cv</dd>", self.text)
        self.assertNotIn("<dt>Changed</dt>", self.text)

    def test_the_answer_comes_first_and_a_cluster_that_was_changed_is_not_called_by_its_name_alone(self):
        rows = [samples.row(place, {"/cluster/link/bandwidth": speed}, "1gbe", "wfbp", 256, 0.02) for place, speed in enumerate(("1Gbps", "25Gbps"))]
        self.page(samples.write(self.tmp / "out", rows, settings={"/cluster/link/latency": "5us"}))
        first = self.text[self.text.index("</h1>"):self.text.index('class="lead"')]
        self.assertIn("with latency 5us, bandwidth 1Gbps and 25Gbps", first)
        places = [self.text.index(words) for words in ('id="answer"', 'id="scaling"', 'id="composition"', 'id="table"', "<dt>Trace</dt>")]
        self.assertEqual(places, sorted(places))

    def test_all_rows_and_what_was_simulated_are_there(self):
        rows = samples.grid()
        page = self.page(samples.write(self.tmp / "out", rows))
        self.assertEqual(len(page.all_points()), 1 + len(rows))
        self.assertEqual(page.all_points()[0], list(COLUMNS))       # no swept key says more than these
        column = page.all_points()[0].index("iteration_s")
        for line, one in zip(page.all_points()[1:], rows):
            self.assertEqual(line[column], one["iteration_s"])
        for words in ("small sweep", "Tesla V100", "bench &lt;1&gt;", "simgrid 4.1", "<dt>Seed</dt><dd>7</dd>",
                      "24 of 24", "small.json"):
            self.assertIn(words, self.text)

    def test_a_swept_key_that_says_more_than_a_column_stays_in_all_rows(self):
        rows = samples.grid(("10gbe",), (4,))
        for one in rows:
            one["sweep"] = {"/cluster": "clusters/other.json", "/cluster/link/bandwidth": "1Gbps", **one["sweep"]}
            one["sweep"]["/cluster"] = "clusters/other.json"
        page = self.page(samples.write(self.tmp / "out", rows))
        self.assertEqual(page.all_points()[0][:4], ["point", "/cluster", "/cluster/link/bandwidth", "model"])

    def test_a_single_point_without_a_sweep(self):
        page = self.page(samples.write(self.tmp / "out", [samples.row(0, {}, "10gbe", "wfbp", 8, 0.02)]))
        self.assertEqual(page.tables["answer"],
                         [["Nodes", "Schedule", "Iteration", "Efficiency"], ["8", "wfbp", "125 ms", "80.0 %"]])

    def test_missing_points_and_synthetic_traces_are_visible_on_the_page_and_in_every_figure(self):
        rows = [one for one in samples.grid() if one["point"] not in (3, 22, 23)]
        out = samples.write(self.tmp / "out", rows, kind="synthetic", total=24, note="its error is known",
                            failed=[{"point": 3, "error": "deadlock: rank 0 waits"}])
        page = self.page(out)
        self.assertEqual(page.tables["answer"][-1][2], "wfbp (of 1)")
        marks = ["Synthetic trace (resnet50): its layer times are modelled, not measured; its error is known.",
                 "Incomplete: 21 of 24 points (1 failed, 2 not run)."]
        for words in marks + ["point 3: deadlock: rank 0 waits"]:
            self.assertIn(words, self.text)
        samples.timeline(out, rows[0])
        runs, frame, styles, about = labelled(out)
        lanes, _ = read_lanes(runs, frame)
        drawn = [draw(frame, styles, about) for draw in (figures.iteration_time, figures.speedup, figures.efficiency)]
        for figure in drawn + [timeline.figure(lanes, styles, about)]:
            written = " ".join(text.get_text() for text in figure.texts)
            for words in marks:
                self.assertIn(words, written)

    def test_names_are_text_whatever_they_hold(self):
        name = """<script>alert("it's")</script> & co"""
        rows = [samples.row(place, {"/workers/<b>": name + str(place), "/schedule/name": schedule}, name, schedule, 8, 0.01 * (place + 1))
                | {"model": name, "all_reduce": name, "fidelity": name,
                   "links": [{"name": name, "bandwidth_Bps": 1e9, "bytes": 1e9, "utilisation": 0.5, "utilisation_in_use": 0.5}]}
                for place, schedule in enumerate((name, name + " 2"))]
        page = self.page(samples.write(self.tmp / "out", rows, kind="synthetic", total=3, name=name, note=name, notes=[name],
                                       failed=[{"point": 2, "error": name}], settings={"/" + name: name}, versions={name: name}))
        self.assertEqual([tag for tag, _ in page.tags].count("script"), 3)      # the data, the library, the page's own
        self.assertNotIn("<", page.scripts[0])
        self.assertGreater(self.text.count(str(escape(name))), 10)
        self.assertEqual(page.tables["links"][1][0], f"{name}, <b>={name}0")
        self.assertEqual(page.all_points()[1][:3], [0, name + "0", name])

    def test_a_timeline_without_a_whole_iteration_is_mentioned_not_drawn(self):
        out = samples.write(self.tmp / "out", samples.grid())
        samples.timeline(out, samples.grid()[0], iterations=1)
        page = self.page(out)
        self.assertEqual(page.data["timelines"], [])
        self.assertNotIn('id="timeline-chart"', self.text)
        self.assertIn("timeline-0.json: no whole iteration inside the measured window; not drawn.", self.text)


if __name__ == "__main__":
    unittest.main()
