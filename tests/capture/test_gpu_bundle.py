"""Is all in the bundle that building capture needs on a machine without Debian's headers?

The machine is this one, in a mount namespace where they are hidden. The preprocessor reads a file for each library. SYNCOPATE_SLOW=1 builds and
runs the programs."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "capture/gpu"))

import steps
from running import Failed

IN_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
LIBRARIES = pathlib.Path("/usr/lib") / f"{os.uname().machine}-linux-gnu"
FOLDERS = [*(f"/usr/include/{name}" for name in ("boost", "fmt", "nlohmann", "CLI", "doctest", "oneapi")), "/usr/share/cmake/CLI11",
           "/usr/share/cmake/nlohmann_json", "/usr/lib/cmake/doctest", LIBRARIES / "cmake/fmt"]
FILES = [*(f"/usr/include/{name}" for name in ("zlib.h", "zconf.h", "dnnl.h", "dnnl.hpp")),
         *(LIBRARIES / name for name in ("libz.a", "libdnnl.so", "libfmt.so", "libOpenCL.so.1"))]
# One for each library of the bundle.
OBJECTS = ["sim/CMakeFiles/sim_traces.dir/model/graph.cpp.o", "sim/CMakeFiles/sim_base.dir/base/gzip.cpp.o",
           "sim/CMakeFiles/sim_base.dir/base/table.cpp.o",
           "capture.build/CMakeFiles/capture_core.dir/cpu/loss.cpp.o",
           "capture.build/CMakeFiles/capture.dir/main.cpp.o", "tests/capture/CMakeFiles/capture_tests.dir/__/unit/main.cpp.o"]
PREPROCESS = (f'ninja -C "$1" -t commands {" ".join(OBJECTS)} | grep -o "^[^ ]*c++ .*" | sed -E "s/ -M[DTF]+( [^ ]+[.]o([.]d)?)?//g; s/ -o [^ ]+ -c / -E -o - /" > "$1/commands"; '
              f'test "$(wc -l < "$1/commands")" = {len(OBJECTS)}; cd "$1"; bash -eu "$1/commands" > "$1/preprocessed"; '
              f'! grep -E "^# [0-9]+ .({"|".join(str(path) for path in FILES)})." "$1/preprocessed"')
# What was built runs, and a simctl without SimGrid says so.
RUN = ['export LD_LIBRARY_PATH="$2"', '"$1/capture" --plan --model "$0/models/resnet20.json" --batch 2', '"$1/simctl" show "$0/traces/cpu-resnet50-b8.json"',
       '"$1/simctl" run "$0/scenarios/quickstart.json" 2>&1 | grep "simctl run. needs SimGrid"',
       '"$1/simctl" show "$0/scenarios/clusters/10gbe.json" 2>&1 | grep "built without SimGrid"']


def has_namespaces():
    return shutil.which("unshare") and subprocess.run([*IN_NAMESPACE, "true"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(shutil.which("dpkg") and LIBRARIES.joinpath("libdnnl.so").exists(), "needs Debian's packages")
class Bundle(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        done = subprocess.run([ROOT / "capture/gpu/make_bundle.sh", self.folder], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["bundle.tar.gz"])
        self.assertLess((self.folder / "bundle.tar.gz").stat().st_size, 40 * 2**20)

    @unittest.skipUnless(has_namespaces(), "this system gives no namespaces of one's own")
    def test_it_builds_where_the_headers_are_hidden(self):
        options, libraries = steps.unpack(self.folder / "bundle.tar.gz", self.folder / "bundle")
        hide = [f"mount -t tmpfs none {path}" for path in FOLDERS] + [f"mount --bind /dev/null {path}" for path in FILES if pathlib.Path(path).exists()]
        build, slow = self.folder / "build", os.environ.get("SYNCOPATE_SLOW")
        script = "\n".join(["set -e", *hide, "! echo '#include <fmt/core.h>' | g++ -x c++ -fsyntax-only - 2> /dev/null",
                            'cmake -S "$0" -B "$1" -G Ninja -DSYNCOPATE_SIMULATOR=OFF -DSYNCOPATE_CUDA=OFF '
                            f'{"" if slow else "-DCMAKE_UNITY_BUILD=OFF"} "${{@:3}}"',
                            'ninja -C "$1" capture simctl' if slow else PREPROCESS,
                            *(RUN if slow else [])])
        done = subprocess.run([*IN_NAMESPACE, "bash", "-c", script, ROOT, build, libraries, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:])
        self.assertIn("capture: CPU device with oneDNN", done.stdout)

    def test_a_bundle_of_another_architecture_is_refused(self):
        subprocess.run(["tar", "xzf", "bundle.tar.gz"], cwd=self.folder, check=True)
        shutil.move(self.folder / "usr/lib" / LIBRARIES.name, self.folder / "usr/lib/other-linux-gnu")
        subprocess.run(["tar", "czf", "other.tar.gz", "usr"], cwd=self.folder, check=True)
        with self.assertRaisesRegex(Failed, "other.tar.gz is not for .*; pack it anew on such a machine with \"make gpu-bundle\""):
            steps.unpack(self.folder / "other.tar.gz", self.folder / "unpacked")


if __name__ == "__main__":
    unittest.main()
