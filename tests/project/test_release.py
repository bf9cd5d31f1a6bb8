"""Is a release one version everywhere?"""
import pathlib
import re
import unittest

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(syncopate VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


class Release(unittest.TestCase):
    def test_the_changelog_begins_with_it(self):
        sections = re.findall(r"^## \[(\S+)\](?: - (\d{4}-\d\d-\d\d))?$", (ROOT / "CHANGELOG.md").read_text(), re.M)
        released = [section for section in sections if section[0] != "Unreleased"]
        self.assertEqual(released[0][0], VERSION)
        self.assertEqual(sorted(released, key=lambda section: section[1], reverse=True), released)
        self.assertTrue(all(date for _, date in released))

    @unittest.skipIf(yaml is None, "python3-yaml is not installed")
    def test_the_citation_is_of_it(self):
        citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
        for key in ("cff-version", "message", "title", "authors"):
            self.assertTrue(citation[key])
        self.assertEqual((citation["version"], citation["authors"]), (VERSION, [{"name": "The Syncopate authors"}]))
        self.assertIn(f"## [{VERSION}] - {citation['date-released']}\n", (ROOT / "CHANGELOG.md").read_text())


if __name__ == "__main__":
    unittest.main()
