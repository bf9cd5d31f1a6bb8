"""Does the page say at which fidelity each point was simulated?"""

import unittest

from markupsafe import escape

from pages import Pages

import samples
from samples import point


class Fidelity(Pages):
    def shown(self, rows):
        return self.page(samples.write(self.tmp / "out", rows))

    def test_one_fidelity_is_named_above_the_answer_and_said_in_a_sentence_below(self):
        for name, words in (("alpha-beta", "alpha-beta: an all-reduce takes what its formula says, "),
                            ("per-message", "per-message: every message of a collective moves by itself, "),
                            ("flow", "flow: every message of a collective is a flow, "), ("x<y", "x&lt;y.")):
            self.shown([point(0, fidelity=name), point(1, "s-sgd", fidelity=name)])
            self.assertIn(f"All 2 points are simulated at fidelity {words}", self.text[self.text.index('id="answer"'):])
            self.assertIn(f"  ·  {escape(name)}", self.text[:self.text.index('id="answer"')])
        self.shown([point(0)])
        self.assertIn("The point is simulated at fidelity flow: ", self.text)

    def test_several_fidelities_are_counted_and_every_row_has_its_own(self):
        page = self.shown([point(0), point(1, "s-sgd", fidelity="alpha-beta"), point(2, "fusion", fidelity="alpha-beta")])
        self.assertIn("Fidelity differs: flow at 1 point, alpha-beta at 2 points; All points says which. Flow: every message ", self.text)
        column = page.all_points()[0].index("fidelity")
        self.assertEqual([cells[column] for cells in page.all_points()], ["fidelity", "flow", "alpha-beta", "alpha-beta"])

    def test_a_swept_fidelity_is_one_column_unless_it_says_less(self):
        for asked, columns in (("flow", 1), ("auto", 2)):
            page = self.shown([point(0, fidelity="alpha-beta", sweep={"/fidelity": "alpha-beta"}), point(1, sweep={"/fidelity": asked})])
            self.assertEqual(sum("fidelity" in name for name in page.all_points()[0]), columns)


if __name__ == "__main__":
    unittest.main()
