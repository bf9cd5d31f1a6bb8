"""Does an installation work from any folder, wherever it stands, and is it whole?"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMCTL = pathlib.Path(os.environ.get("SIMCTL", ROOT / "build" / "simctl"))


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        first = cls.folder / "first"
        subprocess.run(["cmake", "--install", SIMCTL.parent, "--prefix", first], check=True, stdout=subprocess.DEVNULL)
        cls.prefix = first.rename(cls.folder / "moved")
        cls.elsewhere = cls.folder / "elsewhere"
        cls.elsewhere.mkdir()

    def run_installed(self, program, *words, code=0):
        """(stdout, stderr) of a program that a shell finds by its name."""
        path = f"{self.prefix / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run([program, *words], cwd=self.elsewhere, env=os.environ | {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True,
                              text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr

    def test_it_simulates_by_name_and_draws_the_page(self):
        said, _ = self.run_installed("simctl", "run", "quickstart", "-o", "my results")
        (hint,) = re.findall("for a page: (.*)", said)
        self.assertEqual(shlex.split(hint)[0], "syncopate-report")
        self.run_installed(*shlex.split(hint))
        self.assertIn("</html>", (self.elsewhere / "my results/report.html").read_text())

    def test_the_hint_names_a_program_that_is_not_on_the_path(self):
        done = subprocess.run([self.prefix / "bin/simctl", "run", "quickstart", "-o", "out"], cwd=self.elsewhere, capture_output=True, text=True, check=True)
        self.assertIn("for a page: ../moved/bin/syncopate-report out", done.stdout)
        done = subprocess.run([self.prefix / "bin/simctl", "new", "yours.json"], cwd=self.elsewhere, capture_output=True, text=True, check=True)
        self.assertIn("then: ../moved/bin/simctl run yours.json", done.stdout)
        self.assertIn("then: simctl run theirs.json", self.run_installed("simctl", "new", "theirs.json")[0])

    def test_it_is_not_taken_for_the_source_tree(self):
        # The tree's own files come first where somebody works in it.
        done = subprocess.run([self.prefix / "bin/simctl", "list", "models"], cwd=ROOT, capture_output=True, text=True, check=True)
        self.assertIn("files: models/NAME.json", done.stdout)
        self.assertIn("files: ../moved/share/syncopate/models/NAME.json", self.run_installed("simctl", "list", "models")[0])
        self.assertIn("exactly: ../moved/share/syncopate/sim/schedule/README.md", self.run_installed("simctl", "list", "schedules")[0])

    def test_every_file_that_has_a_name_is_there(self):
        for folder in ("models", "models/devices", "traces", "scenarios", "scenarios/clusters", "scenarios/advice"):
            names = {path.name for path in (ROOT / folder).glob("*.json")}
            self.assertTrue(names)
            self.assertEqual({path.name for path in (self.prefix / "share/syncopate" / folder).glob("*.json")} & names, names)

    def test_python_imports_the_package_and_it_takes_the_installed_simctl(self):
        program = "import syncopate as sy; from syncopate.api import simctl; print(len(sy.run('quickstart', cache=False)), simctl.find())"
        environment = {"PYTHONPATH": str(self.prefix / "lib/python3/dist-packages"), "PATH": "/nowhere", "HOME": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(["/usr/bin/python3", "-c", program], cwd=self.elsewhere, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.stderr), (f"6 {self.prefix.resolve()}/bin/simctl\n", ""))

    def test_the_page_programs_have_their_names(self):
        for program in ("syncopate-report", "syncopate-advice", "syncopate-papers", "syncopate-train"):
            self.assertIn(f"Usage: {program} ", self.run_installed(program, "--help")[0])
            self.assertIn(program, self.run_installed(program, code=2)[1])
        self.assertIn(f"default: {self.prefix}/bin/simctl", re.sub(r"\s+", " ", self.run_installed("syncopate-papers", "--help")[0]))

    def test_manual_pages_and_completion_are_where_shells_look(self):
        share = self.prefix / "share"
        pages = ("man/man1/simctl.1", "man/man1/simctl-trace-import.1") if shutil.which("help2man") else ()
        for path in (*pages, "bash-completion/completions/simctl", "zsh/vendor-completions/_simctl", "fish/vendor_completions.d/simctl.fish"):
            self.assertIn("simctl", (share / path).read_text(), path)
        self.assertIn("quickstart\t", self.run_installed("simctl", "complete", "simctl", "run", "")[0])

    @unittest.skipUnless(shutil.which("help2man"), "there is no help2man")
    def test_every_other_program_has_a_manual_page_with_all_its_options(self):
        for program in ("capture", "nodeprobe", "syncopate-report", "syncopate-advice", "syncopate-papers", "syncopate-train"):
            with self.subTest(program):
                page = (self.prefix / f"share/man/man1/{program}.1").read_text().replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
                said, _ = self.run_installed(program, "--help")
                for option in re.findall(r"^  (?:-\w, ?)?(-+[\w-]+)", said, re.M):
                    self.assertIn(option, page)
                self.assertNotIn(str(self.folder), page)

    def test_the_schema_that_a_new_scenario_names_is_there(self):
        self.run_installed("simctl", "new", "mine.json", "--force")
        named = json.loads((self.elsewhere / "mine.json").read_text())["$schema"]
        self.assertEqual(named, str(self.prefix.resolve() / "share/syncopate/scenarios/schemas/scenario.schema.json"))
        self.assertTrue(pathlib.Path(named).exists())

    def test_the_capturer_is_there(self):
        version, _ = self.run_installed("capture", "--version")
        self.assertEqual(version, self.run_installed("simctl", "--version")[0])

    def test_what_is_missing_says_where_it_was_looked_for(self):
        (self.folder / "alone").mkdir()
        alone = self.folder / "alone/simctl"
        alone.write_bytes((self.prefix / "bin/simctl").read_bytes())
        alone.chmod(0o755)
        done = subprocess.run([alone, "list", "models"], cwd=self.elsewhere, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (3, f"simctl: models: no such folder with JSON files here or above, nor in {self.folder}/share/syncopate; "
                                                             "run simctl inside the project, or install it\n"))


def mirror():
    """(suite, address) from which this machine has its packages, or nothing."""
    release = pathlib.Path("/etc/os-release")
    suite = re.search(r"^VERSION_CODENAME=(\w+)$", release.read_text(), re.M) if release.exists() else None
    sources = [path for path in (pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")) if path.is_file()]
    addresses = re.findall(r"^(?:URIs:|deb(?: \[.*?\])?) (http\S+/debian/?)(?= |$)", "\n".join(path.read_text() for path in sources), re.M)
    return (suite[1], addresses[0]) if suite and addresses else None


class BareDebian(unittest.TestCase):
    """The package in a Debian that has nothing else."""

    def why_not(self):
        if not os.environ.get("SYNCOPATE_SLOW"):
            return "takes minutes: SYNCOPATE_SLOW=1"
        if os.geteuid() != 0:
            return "needs root"
        missing = [program for program in ("debootstrap", "dpkg-shlibdeps", "file", "unshare") if not shutil.which(program)]
        if missing:
            return f"there is no {missing[0]}"
        return "" if mirror() else "apt's sources here name no mirror of Debian"

    def test_the_package_installs_and_runs(self):
        reason = self.why_not()
        if reason:
            self.skipTest(reason)
        with tempfile.TemporaryDirectory() as folder:
            scratch, root = pathlib.Path(folder), pathlib.Path(folder) / "debian"
            subprocess.run(["cpack", "--config", SIMCTL.parent / "CPackConfig.cmake", "-B", scratch / "package"], check=True, stdout=subprocess.DEVNULL)
            (package,) = (scratch / "package").glob("*.deb")
            done = subprocess.run(["debootstrap", "--variant=minbase", mirror()[0], root, mirror()[1]], capture_output=True, text=True, check=False)
            if done.returncode:
                self.skipTest(f"debootstrap: {done.stdout.strip().splitlines()[-1]}")
            shutil.copy(package, root / "syncopate.deb")
            shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
            inside = """
                export DEBIAN_FRONTEND=noninteractive
                apt-get update -qq && apt-get install -y -qq --no-install-recommends /syncopate.deb > /dev/null
                cd /tmp
                simctl --version
                simctl run scalability -o out > said.txt
                syncopate-report out -o out/report.html
                grep -x 'for a page: syncopate-report out -o out/report.html' said.txt
                ldd /usr/bin/capture | grep 'not found' || capture --version    # CUDA is no package of Debian's
                test -e /usr/share/man/man1/simctl-run.1 -a -e /usr/share/man/man1/syncopate-report.1 -a -e /usr/share/bash-completion/completions/simctl
                apt-get purge -y -qq syncopate > /dev/null
                test ! -e /usr/share/syncopate -a ! -e /usr/lib/syncopate
            """
            done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "bash", "-euc", 'mount -t proc proc "$0/proc"; exec chroot "$0" bash -euc "$1"', root, inside],
                                  capture_output=True, text=True, timeout=900, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("out/report.html", done.stdout)


if __name__ == "__main__":
    unittest.main()
