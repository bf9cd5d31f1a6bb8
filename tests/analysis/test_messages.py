"""Does the page show messages of collectives, who waits for whom, and the network at a moment?"""

import collections
import json
import unittest
from unittest import mock

from browser import Browser
from pages import run

import samples
from syncopate.report import tracks
from syncopate.web import theme

NETWORK = r'''graph G {
graph [label="10gbe: 4 nodes, fat-tree\n%: share of its bandwidth", layout=neato];
node [fontsize=10];
0[label="node-0", shape=box];
1[label="node-1", shape=box];
2[label="node-2", shape=box];
3[label="", shape=point, width=0.15];
4[label="", shape=point, width=0.15];
0--3 [tooltip="node-0", label="node\n10 Gb/s\n25%", color="#D55E00", penwidth=2, fontsize=8];
1--3 [tooltip="node-1", label="node\n10 Gb/s\n25%", color="#D55E00", penwidth=2, fontsize=8];
2--4 [tooltip="node-2", label="node\n10 Gb/s\n25%", color="#D55E00", penwidth=2, fontsize=8];
3--4 [tooltip="edge: switch 3 - switch 4", label="edge\n10 Gb/s\n40%", color="#0072B2", penwidth=7.64, fontsize=8];
}
'''
UP = "edge: switch 3 - switch 4 up"
MESSAGES = [      # from, to, step, part, start, end, alone, sender ready, receiver ready, arrives, in ms; link
    (0, 1, 0, 0, 10, 30, 10, 10, 4, 31, UP),
    (1, 2, 0, 1, 10, 20, 10, 10, 10, 21, "node-1 up"),
    (1, 2, 1, 0, 31, 51, 10, 31, 20, 52, UP),
    (2, 0, 0, 2, 12, 32, 10, 10, 12, 33, UP)]
TABLE = {"from_us": 0, "to_us": 100_000, "stretches": 10, "use": [
    {"links": [{"name": UP, "cable": "edge: switch 3 - switch 4", "bandwidth_Bps": 1.25e9}], "percent": [0, 1, 100, 4, 50, 1, 0, 4]},
    {"links": [{"name": "node-0 up", "cable": "node-0", "bandwidth_Bps": 1.25e9}, {"name": "node-1 down", "cable": "node-1", "bandwidth_Bps": 1.25e9}], "percent": [0, 1, 50, 2, 0, 7]},
    {"links": [{"name": "node-0 down", "cable": "node-0", "bandwidth_Bps": 1.25e9}], "percent": [20, 10]}]}


def slice_of(sender, to, step, part, start, end, alone, sender_ready, receiver_ready, arrives, link):
    args = {"iteration": 0, "of": "fc.bias", "collective": 0, "to": to, "step": step, "part": part, "bytes": 1e6, "alone_us": alone * 1e3, "sender_ready_us": sender_ready * 1e3,
            "receiver_ready_us": receiver_ready * 1e3, "arrives_us": arrives * 1e3} | ({"link": link} if link else {})
    return {"ph": "X", "pid": sender + 1, "tid": 6, "cat": "message", "name": f"part {part}", "ts": start * 1e3, "dur": (end - start) * 1e3, "args": args}


class Messages(Browser):
    def setUp(self):
        super().setUp()
        self.rows = samples.grid(("10gbe",))
        self.out = samples.write(self.tmp / "out", self.rows)
        self.write(self.rows[0], [slice_of(*one) for one in MESSAGES], links=TABLE)

    def write(self, row, sent, links=None, **about):
        """The timeline and the network of a point: three workers that send these messages."""
        about = {key: row[key] for key in ("point", "model", "cluster", "schedule", "nodes")} | {"window_open_s": 0, "window_close_s": row["iteration_s"]} | about
        events = [{"ph": "C", "pid": 9, "tid": 0, "name": UP + " and others alike", "ts": time, "args": {"% of 10 Gb/s": percent}} for time, percent in ((0, 0), (1e4, 80), (6e4, 0))]
        for worker in range(3):
            names = [("process_name", 0, f"worker {worker}"), ("thread_name", 1, "compute"), ("thread_name", 2, "communication"), ("thread_name", 6, "sends")]
            events += [{"ph": "M", "pid": worker + 1, "tid": track, "name": name, "args": {"name": text}} for name, track, text in names]
            whole = {"ph": "X", "pid": worker + 1, "ts": 0, "dur": row["iteration_s"] * 1e6, "args": {"iteration": 0}}
            events += [whole | {"tid": 1, "cat": "step", "name": "iteration"}, whole | {"tid": 2, "cat": "collective", "name": "fc.bias"}]
        (self.out / f"timeline-{row['point']}.json").write_text(json.dumps(
            {"displayTimeUnit": "ms", "otherData": about, "traceEvents": events + sent} | ({"links": links} if links else {})))
        (self.out / f"network-{row['point']}.dot").write_text(NETWORK)

    def lanes(self):
        """[(process, track)] of the rows of messages."""
        return self.script("return syncopate.timeline.rows.filter(row => row.messageAt).map(row => [row.process, row.track])")

    def tip_of(self, words):
        """The tooltip of the first message that is written so."""
        place = self.script("return syncopate.charts['timeline-chart'].chart.getOption().series.find(one => one.id === 'slices').data.findIndex(([row, , , slice]) => "
                            "{const its = syncopate.timeline.rows[row].messageAt?.(slice); return its && `${its.part} ${its.step}` === arguments[0];})", words)
        return self.tip("timeline-chart", 1, place)

    def now(self):
        return self.script("return Object.fromEntries([...document.querySelectorAll('#timeline-now tr')].map(row => [...row.cells].map(cell => cell.textContent)))")

    def move_to(self, name, milliseconds):
        """Moves a slider."""
        self.script("const slider = document.getElementById(arguments[0]); slider.value = Math.round(1000 * (arguments[1] * 1e6 - syncopate.timeline.from) / "
                    "(syncopate.timeline.to - syncopate.timeline.from)); slider.dispatchEvent(new Event('input'))", name, milliseconds)

    def used(self):
        """{cable: (part that is used, colour)} of the picture."""
        return {one.get_attribute("data-cable"): (float(one.get_attribute("data-used")), one.get_attribute("stroke")) for one in self.find_all("#network-picture path")}

    def test_lanes_by_worker_and_by_link(self):
        self.open(self.out)
        by_worker, by_link = [[f"worker {worker}", "sends"] for worker in range(3)], [["messages held back", UP]] * 2
        for text, expected in (("under workers and by link", by_worker + by_link), ("under workers", by_worker), ("by link", by_link),
                               ("alone", [["sends", f"worker {worker}"] for worker in range(3)] + by_link), ("none", [])):
            self.choose("timeline-messages", text)
            self.assertEqual(self.lanes(), expected)
            self.assertEqual(self.find("#timeline-by-part").is_displayed(), text != "none")
        self.choose("timeline-messages", "by link")
        held = self.script("return syncopate.timeline.rows.filter(row => row.byLink).map(row => [...row.start].map((start, at) => [start, row.messageAt(at).part]))")
        self.assertEqual(sorted(one for lane in held for one in lane), [[10e6, 0], [12e6, 2], [31e6, 0]], "those that take longer than alone")
        others = self.script("return syncopate.timeline.rows.filter(row => !row.messageAt).length")
        self.choose("timeline-messages", "alone")
        self.assertEqual(self.script("return syncopate.timeline.rows.filter(row => !row.messageAt && !row.link).length"), 0)
        self.assertGreater(others, 5)

    def test_a_message_tells_who_waited_for_whom(self):
        self.open(self.out)
        told = self.tip_of("0 0")
        for words in ("part 0 of fc.bias", "from\tworker 0", "to\tworker 1", "step\t0", "length\t20 ms", "alone\t10 ms", "arrives\t1 ms later", "bytes\t1 MB", f"held back by\t{UP}",
                      "worker 1 had waited\t6 ms"):
            self.assertIn(words, told)
        self.assertNotIn("worker 0 had waited", told)
        told = self.tip_of("2 0")
        self.assertIn("worker 2 had waited\t2 ms", told)
        self.assertIn("fills\tnode-1 up", self.tip_of("1 0"))

    def test_who_waits_at_a_moment(self):
        self.open(self.out)
        self.move_to("timeline-moment", 25)
        now = self.now()
        self.assertEqual(now["worker 0, sends"], f"step 0, part 0 to worker 1, 2 times as long as alone, because of {UP}")
        self.assertEqual(now["worker 2, receives"], "waits for part 0 of worker 1")
        self.move_to("timeline-moment", 7)
        now = self.now()
        self.assertEqual(now["worker 1, receives"], "waits for part 0 of worker 0")
        self.assertNotIn("worker 2, receives", now)
        self.move_to("timeline-moment", 11)
        self.assertEqual(self.now()["worker 2, waits"], "until worker 0 is ready for part 2")

    def test_colours_are_what_sharing_costs_or_parts(self):
        self.open(self.out)
        fills = "return syncopate.charts['timeline-chart'].chart.getZr().storage.getDisplayList(true).map(one => one.style.fill)"
        self.assertIn("message as fast as alone", self.find("#timeline-key").text)
        shown = self.script(fills)
        self.assertIn(theme.heat(0), shown)
        self.assertIn(theme.heat(0.5), shown, "twice as long")
        self.find("#timeline-by-part").click()
        of_parts = set(self.script(fills)) - set(shown)
        self.assertEqual(len([color for color in of_parts if color.startswith("#")]), 3)
        self.assertNotIn("message as fast as alone", self.find("#timeline-key").text)

    def test_the_picture_follows_the_moment_and_the_line_the_pictures_slider(self):
        self.open(self.out)
        mean = {"node-0": 0.25, "node-1": 0.25, "node-2": 0.25, "edge: switch 3 - switch 4": 0.4}
        self.assertEqual({name: used for name, (used, _) in self.used().items()}, mean)
        self.move_to("network-moment", 25)
        self.assertTrue(self.find("#network-at-moment").is_selected())
        self.assertAlmostEqual(self.script("return syncopate.timeline.moment"), 25e6, delta=0.2e6)
        self.assertEqual(self.find("#timeline-moment").get_attribute("value"), self.find("#network-moment").get_attribute("value"))
        self.assertEqual(self.used(), {"node-0": (0.5, theme.heat(0.5)), "node-1": (0.5, theme.heat(0.5)), "node-2": (0, self.script("return getComputedStyle(document.documentElement).getPropertyValue('--edge').trim()")),
                                       "edge: switch 3 - switch 4": (1, theme.heat(1))})
        self.assertRegex(self.find("#network-said").text, r"^At 2[45][\d.]* ms: most used: edge: switch 3 - switch 4 \(edge, 10 Gb/s\): 100 % used\. 1 of 4 cables are used to 90 %")
        self.move_to("timeline-moment", 55)
        self.assertEqual({name: used for name, (used, _) in self.used().items()}, {"node-0": 0.2, "node-1": 0, "node-2": 0, "edge: switch 3 - switch 4": 0.5})
        slider = self.find("#network-moment")
        before = self.script("return syncopate.timeline.moment")
        self.press(slider, "ARROW_RIGHT", "ARROW_RIGHT")
        self.assertGreater(self.script("return syncopate.timeline.moment"), before)
        self.press(slider, "HOME")
        self.assertEqual(self.used()["edge: switch 3 - switch 4"][0], 0)
        self.assertEqual(self.used()["node-0"][0], 0.2, "the busier direction")
        self.find("#network-at-moment").click()
        self.assertEqual({name: used for name, (used, _) in self.used().items()}, mean)

    def test_a_link_opens_the_same_view(self):
        self.open(self.out)
        self.choose("timeline-messages", "alone")
        self.find("#timeline-by-part").click()
        self.move_to("network-moment", 25)
        state = lambda: (self.lanes(), self.used(), self.script("return [syncopate.timeline.moment, syncopate.timeline.byPart]"))
        seen, address = state(), self.script("return location.href")
        self.driver.get("about:blank")
        self.driver.get(address)
        self.await_frame()
        self.assertEqual(state(), seen)
        self.script("location.hash = 'messages=x&at=2&parts=7&moment=-1'")
        self.await_frame()
        self.assertEqual(self.script("return [syncopate.timeline.messages, syncopate.timeline.byPart]"), [0, False])
        self.assertFalse(self.find("#network-at-moment").is_selected())

    def test_another_point_has_its_own_messages_network_and_notes(self):
        self.write(self.rows[1], [], messages='No messages of collectives: "x" <b>.')
        self.open(self.out)
        self.assertNotIn("No messages", self.find("#timeline").text)
        self.move_to("network-moment", 25)
        self.choose("timeline-point", self.choices("timeline-point")[1])
        self.assertEqual(self.find("#timeline-about-messages").text, 'No messages of collectives: "x" <b>.')
        self.assertEqual([self.find(f"#{name}").is_displayed() for name in ("timeline-messages", "timeline-by-part", "network-slider", "network-at-moment")], [False] * 4)
        self.assertEqual(self.script("return document.getElementById('network-point').value"), "1")
        self.choose("network-point", self.choices("network-point")[0])
        self.assertTrue(self.find("#network-slider").is_displayed())
        self.move_to("network-moment", 25)
        self.assertEqual(self.script("return document.getElementById('timeline-point').value"), "0")
        self.assertEqual(self.used()["edge: switch 3 - switch 4"][0], 1)

    def test_links_lanes_have_the_use_of_the_table(self):
        self.open(self.out)
        (row,) = self.script("return syncopate.timeline.rows.filter(row => row.link).map(row => [[...row.start], [...row.percent]])")
        self.assertEqual(row, [[0, 10e6, 50e6, 60e6], [0, 100, 50, 0]])

    def test_too_many_are_cut_and_that_is_said(self):
        with mock.patch.object(tracks, "MESSAGES", 2):
            self.open(self.out)
        self.assertEqual(self.script("return syncopate.timeline.sending.reduce((sum, row) => sum + row.end.length, 0)"), 2)
        self.assertIn("Only the first 2 messages of the measured window are here", self.find("#timeline-about-messages").text)

    def test_links_and_messages_without_a_lane_are_counted(self):
        """Link 1 delays twelve messages at once, links 2 to 9 one each, by less and less; twelve links are used."""
        sent = [slice_of(0, 1, place, 0, 10 + place / 100, 30, 5, 10, 10, 31, "node-1 up") for place in range(12)]
        sent += [slice_of(0, 1, 20, 0, 40, 50, link / 1.25, 40, 40, 51, f"node-{link} up") for link in range(2, 10)]
        for tid, one in enumerate(sent):
            one["tid"] = 1000 + tid
        links = [{"name": f"node-{link} up", "cable": f"node-{link}", "bandwidth_Bps": 1.25e9} for link in range(12)]
        self.write(self.rows[0], sent, links=TABLE | {"use": [{"links": links, "percent": [20, 10]}]})
        self.open(self.out)
        self.assertEqual(collections.Counter(track for process, track in self.lanes() if process == "messages held back"),
                         {"node-1 up": 10} | {f"node-{link} up": 1 for link in range(2, 7)})
        said = self.find("#timeline-about-messages").text
        self.assertIn("Lanes of 6 of 9 links: those that hold messages back longest. They have 15 of the 17 messages that these links hold back: at most 10 at a time of each.", said)
        self.assertIn("Lanes of 10 of 12 links: the busiest; links that are used alike share one.", self.find("#timeline-about-links").text)
        self.choose("timeline-messages", "under workers")
        self.assertNotIn("Lanes of", self.find("#timeline-about-messages").text)

    def test_what_the_timeline_leaves_out_is_said(self):
        self.write(self.rows[0], [slice_of(*one) for one in MESSAGES], left_out="Only 3 <iterations>.")
        self.open(self.out)
        self.assertEqual(self.find("#timeline-cut").text, "Only 3 <iterations>.")

    def test_it_fits_a_telephone_and_paper_in_both_themes(self):
        for theme_name in ("light", "dark"):
            self.open(self.out, width=420, theme=theme_name)
            self.move_to("network-moment", 25)
            for text in self.choices("timeline-messages"):
                self.choose("timeline-messages", text)
                self.assert_fits(420)
            self.assert_all_is_named()
        self.choose("timeline-messages", "alone")
        self.print()
        self.assertEqual([self.find(f"#{name}").is_displayed() for name in ("network-moment", "timeline-moment")], [False, False])
        self.assertEqual(self.used()["edge: switch 3 - switch 4"], (1, theme.heat(1)))

    def test_what_is_no_message_or_use_is_refused(self):
        again = f"write it again: simctl run SCENARIO -o {self.out} --timeline"
        def message(**changed):
            its = slice_of(*MESSAGES[0])
            return [its | {"args": {key: value for key, value in (its["args"] | changed).items() if value is not None}}]
        place = 1 + 2 + 3 * 6
        for messages, links, about, expected in (
                (message(to="worker 1"), TABLE, {}, f'/traceEvents/{place}/args/to: expected a whole number >= 0, got "worker 1"'),
                (message(step=-1), TABLE, {}, f"/traceEvents/{place}/args/step: expected a whole number >= 0, got -1"),
                (message(alone_us=None), TABLE, {}, f"/traceEvents/{place}/args/alone_us: expected a number, got nothing"),
                ([slice_of(*MESSAGES[0]) | {"args": 3}], TABLE, {}, f"/traceEvents/{place}/args: expected an object, got 3"),
                ([], [1], {}, "/links: expected an object, got [1]"),
                ([], TABLE | {"stretches": 0}, {}, "/links/stretches: expected a whole number from 1 to 1000000, got 0"),
                ([], TABLE | {"to_us": 0}, {}, "/links/to_us: expected a time after from_us, got 0"),
                ([], TABLE | {"use": [{"links": [], "percent": [1, 9]}]}, {}, "/links/use/0/percent: expected percentages, each with how many of 10 stretches it lasts, got [1, 9]"),
                ([], TABLE | {"use": [{"links": [{"name": 4}], "percent": [1, 10]}]}, {}, "/links/use/0/links/0/name: expected a string, got 4"),
                ([], None, {"messages": 7}, "/otherData/messages: expected a string, got 7"),
                ([], None, {"left_out": [3]}, "/otherData/left_out: expected a string, got [3]")):
            with self.subTest(expected):
                self.write(self.rows[0], messages, links, **about)
                self.assertEqual(run(self.out, "-o", self.tmp / "x.html"), (3, "", f"report.py: {self.out}/timeline-0.json: {expected}; {again}\n"))


if __name__ == "__main__":
    unittest.main()
