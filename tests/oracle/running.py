"""simctl's answers."""

import json

from support import Case


class Running(Case):
    """They come on stdout: a folder of results takes its process longer than most scenarios here."""

    def run_scenario(self, content, *arguments, **options):
        """Returns the finished process. `points` is what results.json says of each point."""
        self.write("scenario.json", content)
        done = self.simctl("run", "scenario.json", "-o", "-", "--format", "json", "--quiet", *arguments, **options)
        self.points = json.loads(done.stdout)["points"] if done.returncode == 0 else []
        return done

    def run_well(self, content, *arguments):
        done = self.run_scenario(content, *arguments)
        self.assertEqual(done.returncode, 0, f"... {done.stderr[-1000:]}")

    def rows(self):
        """The columns of each point, and what the sweep made of it, by pointer."""
        return [{**{key: value for key, value in point.items() if not isinstance(value, (dict, list))}, **point["sweep"]} for point in self.points]


def swept(row):
    """For a message."""
    return {key: str(value)[:200] for key, value in row.items() if key.startswith("/")}
