"""Does every file of sim/ and capture/ include only what its folder may?

Only a file's own includes count: what an included file includes in turn is checked where it stands."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = (".cpp", ".hpp", ".cu", ".cuh")


def levels_of(page):
    """Folder -> level, from the table of sim/README.md; a row without a number has that of the row before."""
    levels, level = {}, None
    for number, folder in re.findall(r"^\| (\d*) *\| `(\w+)/` \|", page, re.M):
        level = int(number) if number else level
        levels[folder] = level
    return levels


LEVELS = levels_of((ROOT / "sim/README.md").read_text())
# Those that a folder's level allows, but its purpose does not: both are fed with data.
STRANGERS = {"metrics": ["engine"], "output": ["engine"]}
# What both programs share, without a simulator.
OF_CAPTURE = ["base", "capture", "model", "trace"]
SEE_SIMGRID = ["sim/engine/simgrid/simgrid_actors.cpp", "sim/engine/simgrid/simgrid_communications.hpp", "sim/engine/simgrid/simgrid_communications.cpp",
               "sim/cluster/platform_reader.cpp", "sim/engine/simulate.cpp"]  # the last one tells its version


def folders_for(folder):
    if folder == "capture":
        return OF_CAPTURE
    above = [other for other, level in LEVELS.items() if level < LEVELS[folder]]
    return sorted({folder, *above} - set(STRANGERS.get(folder, [])))


def violations(name, text):
    """The lines of a file sim/FOLDER/... or capture/... that break a rule, as "FILE:LINE: what: the rule"."""
    folder = name.split("/")[1] if name.startswith("sim/") else "capture"
    allowed = folders_for(folder)
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if include:
            quote, target = include.groups()
            first = target.split("/")[0] if "/" in target else ""
            if (quote == '"' or first in LEVELS) and first not in allowed:
                found.append(f"{name}:{number}: includes {target}: {folder}/ may include FOLDER/FILE of {', '.join(allowed)} only (sim/README.md)")
        if name.startswith("sim/") and name not in SEE_SIMGRID and re.search(r"#include <simgrid|simgrid::", line):
            found.append(f"{name}:{number}: only sim/engine/simgrid/simgrid_* and sim/cluster/platform_reader.cpp see SimGrid")
    return found


class Layers(unittest.TestCase):
    def test_every_folder_has_a_level(self):
        self.assertEqual(sorted(LEVELS), sorted(path.name for path in (ROOT / "sim").iterdir() if path.is_dir()))

    def test_every_include_is_from_the_own_folder_or_a_level_above(self):
        paths = [path for folder in ("sim", "capture") for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SOURCES]
        self.assertGreater(len(paths), 100)
        found = [line for path in paths for line in violations(str(path.relative_to(ROOT)), path.read_text())]
        if found:
            self.fail("\n" + "\n".join(found))

    def test_a_violation_is_named_with_its_file_line_and_rule(self):
        rule = "model/ may include FOLDER/FILE of base, model only (sim/README.md)"
        for line, problem in (('#include "trace/trace.hpp"', f"includes trace/trace.hpp: {rule}"),
                              ("#include <trace/trace.hpp>", f"includes trace/trace.hpp: {rule}"),
                              ('#include "model.hpp"', f"includes model.hpp: {rule}"),
                              ('#include "../trace/trace.hpp"', f"includes ../trace/trace.hpp: {rule}"),
                              ('#include "collective/plan.hpp"', f"includes collective/plan.hpp: {rule}"),
                              ("#include <simgrid/s4u.hpp>", "only sim/engine/simgrid/simgrid_* and sim/cluster/platform_reader.cpp see SimGrid")):
            self.assertEqual(violations("sim/model/x.hpp", f"#pragma once\n#include <vector>\n{line}\n"), [f"sim/model/x.hpp:3: {problem}"])
        self.assertEqual(violations("sim/model/x.hpp", '#include <boost/graph/x.hpp>\n#include "base/units.hpp"\n#include "model/model.hpp"\n'), [])
        self.assertEqual(len(violations("sim/metrics/x.cpp", '#include "engine/simulate.hpp"')), 1)
        self.assertEqual(len(violations("capture/cpu/x.cpp", '#include "device/fit.hpp"\n#include "model/model.hpp"')), 1)


if __name__ == "__main__":
    unittest.main()
