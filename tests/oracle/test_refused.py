"""Does simctl refuse what the pages say cannot be combined, and nothing more?"""

import unittest

from support import Case, cluster, scenario

PIPELINED = {"name": "ps-sgd", "in_flight": "pipelined"}
SERIAL = PIPELINED | {"within_node": "serial"}
INSIDE = {"gpus_per_node": 2, "intra_node": {"bandwidth": "10GBps", "latency": "5us"}}


class Refused(Case):
    def check(self, schedule, place=None, **changes):
        """`place`: the JSON pointer of an error."""
        done = self.run_scenario(scenario(schedule=schedule, cluster=cluster(**changes)), "--quiet")
        self.assertEqual(done.returncode, 3 if place else 0, done.stderr[-1000:])
        self.assertIn(f"{place}:" if place else "", done.stderr)
        self.assertEqual((self.folder / "out").exists(), not place)

    def test_in_flight(self):
        for duplex, name in ((False, "ps-sgd"), (False, "eamsgd"), (True, "ps-sgd")):
            schedule = PIPELINED | {"name": name, "duplex": duplex} | ({"interval": 2} if name == "eamsgd" else {})
            self.check(schedule, None if duplex else "/schedule/in_flight")

    def test_in_flight_beside_stages_within_nodes(self):
        self.check(SERIAL, "/schedule/in_flight", **INSIDE)
        self.check(SERIAL)
        self.check(PIPELINED, **INSIDE)


if __name__ == "__main__":
    unittest.main()
