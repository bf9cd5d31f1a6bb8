"""Is the oracle's generator the published one, and are its factors of mean 1?"""

import statistics
import unittest

import compute


class RandomNumbers(unittest.TestCase):
    def test_known_answers(self):
        """Random123's kat_vectors, philox4x32-10."""
        pi = 0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0
        for counter, key, words in [((0,) * 4, (0,) * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
                                    ((compute.WORD,) * 4, (compute.WORD,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
                                    (pi[:4], pi[4:], "d16cfe09 94fdcceb 5001e420 24126ea1")]:
            self.assertEqual(compute.philox(counter, key), tuple(int(word, 16) for word in words.split()))

    def test_moments(self):
        for spread, cv in [({"distribution": "lognormal", "cv": 0.3}, 0.3), ({"distribution": "uniform", "cv": 0.3}, 0.3), ({"distribution": "exponential", "cv": 0.4}, 0.4),
                           ({"distribution": "empirical", "factors": [1, 2, 3]}, (2 / 3) ** 0.5 / 2)]:
            factors = [compute.jitter({"workers": {"jitter": spread}}, 5, step) for step in range(5000)]
            self.assertAlmostEqual(statistics.mean(factors), 1, delta=0.02)
            self.assertAlmostEqual(statistics.stdev(factors), cv, delta=0.02)


if __name__ == "__main__":
    unittest.main()
