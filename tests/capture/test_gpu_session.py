"""Does a session on a borrowed GPU do each of its steps whatever happens to the others, and bring back what it found?"""
import contextlib
import io
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tarfile
import time
import unittest
import unittest.mock

from support import ROOT, SIMCTL, Case

sys.path[:0] = [str(ROOT / "capture/gpu"), str(ROOT / "tests/traces")]

import jobs
import machine
import results
import session as sessions
import steps
from kineto_writer import RESIDUAL, Profile
from running import Failed, Interrupted, Session, Skipped

CAPTURE = pathlib.Path(os.environ.get("CAPTURE", ROOT / "build/capture"))
PROGRAMS = CAPTURE.parent
H100 = "0, NVIDIA H100 80GB HBM3, 580.159.04, 9.0, 81559, 700.00, 345, 2619, 1980, 2619, Disabled, Enabled, 31, 0"
OTHER = "1, NVIDIA A100-SXM4-40GB, 580.159.04, 8.0, 40960, [N/A], 210, 1215, 1410, 1215, Enabled, Enabled, 27, [N/A]"


class GpuCase(Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        # A machine without a GPU, whatever this one has.
        self.environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        self.program("nvidia-smi", "exit 9")

    def program(self, name, body):
        """A program that is found before any other of its name."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
        self.environment["PATH"] = f"{folder}:{os.environ['PATH']}"

    def on_gpu(self, *words, programs=PROGRAMS, out=None, **options):
        words = [out or self.out, *words] + (["--programs", programs] if programs else [])
        return subprocess.run([ROOT / "capture/on_gpu.sh", *map(str, words)], capture_output=True, text=True, timeout=900, check=False,
                              env=self.environment, cwd=self.folder, **options)

    def report(self):
        return json.loads((self.out / "report.json").read_text())

    def states(self):
        return {step["name"]: step["state"] for step in self.report()["steps"]}


def runs(process):
    """Whether it does. One that has ended stays a zombie until its new parent has noticed."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return not re.search(r"^State:\s+[ZX]", status, re.MULTILINE)


class WithoutGpu(GpuCase):
    def test_it_says_what_is_missing_and_ends_well(self):
        done = self.on_gpu()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = self.report()
        self.assertIn("an NVIDIA GPU", [entry["what"] for entry in report["missing"]])
        self.assertEqual(report["machine"]["gpus"], [])
        states = self.states()
        self.assertEqual({name for name, state in states.items() if state != "skipped"}, {"machine", "build"})
        self.assertEqual(len(states), len(set(states)))
        text = (self.out / "report.txt").read_text()
        self.assertIn("missing: an NVIDIA GPU; no tests on the GPU", text)
        self.assertRegex(text, r"SKIPPED  gpu-tests to torch-tests:fp16, \d+ steps: no GPU")
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), ["log.txt", "report.json", "report.txt"])

    def test_without_a_compiler_nothing_is_built_and_it_still_ends_well(self):
        for tool in ("nvcc", "cmake"):
            self.program(tool, "exit 127")
        done = self.on_gpu(programs=None)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.report()["steps"][1], {"name": "build", "state": "skipped", "seconds": 0, "reason": "cmake, nvcc missing"}
                         | {"seconds": self.report()["steps"][1]["seconds"]})
        self.assertEqual(self.states()["gpu-tests"], "skipped")

    def test_a_rehearsal_on_the_processor_brings_back_traces_and_a_profile(self):
        done = self.on_gpu("--device", "cpu", "--only", "capture:*", "--only", "fit:*")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        names = [f"cpu-{job.network}.json" for job in jobs.jobs("cpu") if job.kind == "capture"]
        with tarfile.open(self.out / "traces.tar.gz") as tar:
            self.assertEqual(sorted(tar.getnames()), sorted(names))
            for entry in tar:
                trace = json.load(tar.extractfile(entry))
                line = self.report()["captures"][entry.name.removeprefix("cpu-").removesuffix(".json")]
                self.assertEqual([line[key] for key in ("forward_s", "backward_s")], [trace["iteration"][key] for key in ("forward_s", "backward_s")])
                self.assertNotIn(str(ROOT), json.dumps(trace))
        with tarfile.open(self.out / "devices.tar.gz") as tar:
            self.assertEqual(tar.getnames(), ["cpu-fp32.json"])
        self.assertIn("against resnet20 batch 4", self.report()["devices"]["cpu-fp32"])
        files = list(self.out.iterdir())
        self.assertLessEqual(len(files), results.MOST_FILES)
        self.assertEqual({stat.S_IMODE(file.stat().st_mode) & 0o444 for file in files}, {0o444})

        before = self.report()
        for folder in (self.folder / "other", self.out):  # in another folder, and in the same
            again = self.on_gpu("--device", "cpu", "--after", self.out / "report.json", "--only", "capture:*", "--only", "fit:*", out=folder)
            self.assertEqual(again.returncode, 0, again.stderr)
            report = json.loads((folder / "report.json").read_text())
            self.assertEqual([step["name"] for step in report["steps"]], ["machine", "build", "fit:fp32"])
            self.assertEqual((report["captures"], report["devices"]), (before["captures"], before["devices"]))
            self.assertIn("capture:resnet20-b4-fp32", report["done_before"])
        for folder in (self.folder / "other", self.out):
            for archive, content in (("traces", sorted(names)), ("devices", ["cpu-fp32.json"])):
                with tarfile.open(folder / f"{archive}.tar.gz") as tar:
                    self.assertEqual(sorted(tar.getnames()), content)

    def test_when_its_time_is_over_the_rest_is_named(self):
        done = self.on_gpu("--device", "cpu", "--minutes", "0.0001")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.states()[jobs.jobs("cpu")[0].name], "no time")
        self.assertIn(f"--after {self.out}/report.json", done.stdout)

    def test_a_signal_leaves_a_whole_report(self):
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "capture").write_text(f"#!/bin/sh\necho $$ > {self.folder}/pid\nsleep 60\n")
        (programs / "capture").chmod(0o755)
        for kill in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(kill):
                (self.folder / "pid").unlink(missing_ok=True)
                process = subprocess.Popen([ROOT / "capture/on_gpu.sh", self.out, "--device", "cpu", "--only", "capture:resnet20*", "--programs",
                                            programs], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.addCleanup(process.wait)
                self.addCleanup(process.kill)
                deadline = time.monotonic() + 60
                while not ((self.folder / "pid").exists() and (self.folder / "pid").read_text().strip()) and time.monotonic() < deadline:
                    time.sleep(0.02)
                process.send_signal(kill)
                self.assertEqual(process.wait(timeout=300), 130)
                self.assertEqual(self.report()["steps"][-1]["state"], "interrupted")
                program = (self.folder / "pid").read_text().strip()
                deadline = time.monotonic() + 10
                while runs(program) and time.monotonic() < deadline:
                    time.sleep(0.02)
                self.assertFalse(runs(program))


class Refused(GpuCase):
    def test_arguments(self):
        (self.folder / "file").write_text("")
        (self.folder / "list.json").write_text("[1]")
        (self.folder / "cut.json").write_text('{"format": "gpu-report/1", "ste')
        table = [
            (["--device", "tpu"], 2, "--device tpu: expected cuda, cuda:N or cpu"),
            (["--device", "cuda:"], 2, "--device cuda:: expected"),
            (["--minutes", "0"], 2, "--minutes 0: expected more than 0"),
            (["--minutes", "nan"], 2, "--minutes nan: expected more than 0"),
            (["--minutes", "x"], 2, "argument --minutes: invalid float value: 'x'"),
            (["--only", "catpure:*"], 2, "--only catpure:*: no step is called so"),
            (["--wait"], 2, "unrecognized arguments: --wait"),
            (["--after", "gone.json"], 3, "--after gone.json: No such file or directory"),
            (["--after", "list.json"], 3, "--after list.json: not the report.json of a session"),
            (["--after", "cut.json"], 3, "--after cut.json: not the report.json of a session"),
            (["--after", "trace.json"], 3, "--after trace.json: not the report.json of a session (no gpu-report/1)"),
        ]
        for words, code, message in table:
            with self.subTest(message):
                done = self.on_gpu(*words)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (code, "", 1), done.stderr)
                self.assertTrue(done.stderr.startswith(f"on_gpu: {message}"), done.stderr)
                self.assertFalse(self.out.exists())

    def test_a_folder_that_cannot_be_written(self):
        (self.folder / "file").write_text("")
        for folder in ("file", "file/in", "/proc/gpu"):
            self.out = pathlib.Path(folder)
            done = self.on_gpu()
            self.assertEqual((done.returncode, done.stderr.count("\n")), (5, 1), done.stderr)
            self.assertIn("name a folder that can be written", done.stderr)

    def test_scratch_folders_do_not_stay(self):
        self.environment["TMPDIR"] = str(self.folder / "tmp")
        (self.folder / "tmp").mkdir()
        for words in ([], ["--only", "nothing"], ["--list"]):
            self.on_gpu(*words)
            self.assertEqual(list((self.folder / "tmp").iterdir()), [])


class Machines(GpuCase):
    def with_cards(self, *cards):
        self.program("nvidia-smi", "cat <<'END'\n" + "\n".join(cards) + "\nEND")

    def test_what_nvidia_smi_says_is_in_the_report(self):
        self.with_cards(H100, OTHER)
        (self.folder / "empty").mkdir()
        done = self.on_gpu("--only", "gpu-tests", programs=self.folder / "empty")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = self.report()["machine"]["gpus"]
        self.assertEqual([first[key] for key in ("index", "name", "compute_cap", "memory.total", "power.limit", "mig.mode.current")],
                         [0, "NVIDIA H100 80GB HBM3", "9.0", 81559, 700, "Disabled"])
        self.assertEqual((second["power.limit"], second["utilization.gpu"]), (None, None))
        self.assertIn("the whole of GPU 1", [entry["what"] for entry in self.report()["missing"]])
        self.assertIn("GPU 0: NVIDIA H100 80GB HBM3, driver 580.159.04, compute capability 9.0, power limit 700.0 W", (self.out / "report.txt").read_text())

    @unittest.skipUnless(CAPTURE.exists(), f"there is no {CAPTURE}")
    def test_a_step_that_fails_does_not_cost_the_others(self):
        self.with_cards(H100)
        self.environment["CUDA_VISIBLE_DEVICES"] = ""  # the card is on paper only
        done = self.on_gpu("--only", "capture:*-b1-fp32", "--only", "capture:resnet20*fp32", "--only", "fit:fp32")
        self.assertEqual(done.returncode, 1)
        states = self.states()
        self.assertEqual(states.pop("fit:fp32"), "skipped")
        self.assertEqual((states.pop("machine"), states.pop("build")), ("done", "done"))
        self.assertEqual((len(states), set(states.values())), (3, {"failed"}))
        for step in self.report()["steps"][2:5]:
            self.assertIn("capture ended with 5: capture: --device cuda: ", step["reason"])

    def test_an_old_card_and_a_new_toolkit(self):
        found = {"gpus": [machine.gpus], "cmake": "4", "ninja": "1", "g++": "12", "nvcc": "13.0", "cudnn": "9.13.0", "headers": True, "bundle": False, "torch": None}
        with contextlib.redirect_stdout(io.StringIO()):
            for capability, nvcc, missing in (("7.0", "13.0", True), ("7.0", "12.9", False), ("7.5", "13.0", False), ("10.0", "13.0", False)):
                found["gpus"], found["nvcc"] = [{"index": 0.0, "compute_cap": capability, "mig.mode.current": None, "name": "card"}], nvcc
                self.assertEqual("a CUDA Toolkit for GPU 0" in [entry["what"] for entry in machine.lacks(found)], missing, (capability, nvcc))

    def test_cudnn_is_found_where_the_build_finds_it(self):
        header = self.folder / "root/include/cudnn_version.h"
        header.parent.mkdir(parents=True)
        header.write_text("#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 13\n#define CUDNN_PATCHLEVEL 1\n")
        with unittest.mock.patch.dict(os.environ, {"CUDNN_ROOT": str(self.folder / "root")}):
            self.assertEqual(machine.cudnn(), "9.13.1")

    def test_slugs(self):
        for name, slug in (("NVIDIA H100 80GB HBM3", "h100-80gb-hbm3"), ("Tesla V100-DGXS-32GB", "tesla-v100-dgxs-32gb"), ("NVIDIA", "device")):
            self.assertEqual(machine.slug(name), slug)


class Steps(GpuCase):
    """Steps by themselves, whose commands are the test's."""

    def session(self, device="cpu"):
        options = sessions.parse([str(self.out), "--device", device, "--quiet", "--programs", str(PROGRAMS)])
        made = Session(options, ROOT)
        self.addCleanup(made.close)
        self.out.mkdir(exist_ok=True)
        made.report["machine"] = {"gpus": [], "torch": {"version": "2", "cuda": None, "cudnn": None, "sees_gpu": False, "kineto": True}, "visible": None, "compute-sanitizer": True}
        return made

    def test_a_signal_while_a_program_starts_ends_that_program(self):
        made = self.session()
        started, start = [], subprocess.Popen

        def interrupted(*words, **options):
            started.append(start(*words, **options))
            os.kill(os.getpid(), signal.SIGTERM)
            return started[0]

        before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        made.signals.listen()
        try:
            with unittest.mock.patch("subprocess.Popen", interrupted), self.assertRaises(Interrupted):
                made.run(["sleep", "60"], 60)
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
        self.assertEqual(started[0].poll(), -signal.SIGKILL)

    def test_names_are_unique_and_the_proof_comes_first(self):
        main, closing = steps.plan(self.session("cuda"))
        names = [name for name, _ in main + closing]
        self.assertEqual(len(names), len(set(names)))
        proof = [f"{kind}:{model}-b32-{dtype}" for dtype in ("bf16", "tf32") for model in ("resnet50", "bert_base") for kind in ("capture", "profile")]
        self.assertEqual(names[:13], ["machine", "build", "gpu-tests", "attention-tests", *proof, "node"])
        tests = names.index("node-tests")
        self.assertEqual(names[tests:tests + 3], ["node-tests", "torch-tests:fp32", "sanitizer"])
        common = names[13:tests]
        for dtype in ("bf16", "tf32", "fp16"):
            self.assertTrue({f"capture:resnet50-b256-{dtype}", f"capture:bert_large-b32-{dtype}", f"profile:resnet50-b256-{dtype}"} <= set(common), dtype)
        for network in ("gpt2_small-b16", "vit_b16-b128", *(f"llama_7b_block-b{batch}" for batch in (1, 2, 4, 8)), "resnet50-b128"):
            self.assertIn(f"capture:{network}-bf16", common)
        for network in ("resnet50-b256", "bert_large-b32", "gpt2_small-b16", "llama_7b_block-b1", "vit_b16-b128"):
            self.assertLess(common.index(f"capture:{network}-bf16"), common.index(f"profile:{network}-bf16"))
        papers = [job.name for job in jobs.of_kind("capture", jobs.PAPERS, "fp32")]
        self.assertEqual(names[tests + 3:tests + 3 + len(papers)], papers)
        for dtype in jobs.DTYPES:
            for kind in ("capture", "profile"):
                for job in jobs.of_kind(kind, jobs.PAPERS + jobs.OTHERS, dtype):
                    self.assertIn(job.name, names)
                    self.assertTrue((ROOT / f"models/{job.model}.json").exists(), job.name)
        self.assertIn("capture:inception_v4-3x224x224-b128-fp32", names)
        for batch in jobs.BATCHES:
            self.assertIn(f"capture:resnet50-b{batch}-fp32", names)
        for dtype in jobs.DTYPES:
            self.assertTrue({f"torch-tests:{dtype}", f"fit:{dtype}"} <= set(names))

    def test_a_profile_is_imported_compared_and_kept(self):
        made = self.session()
        job = jobs.Job("profile", "resnet20", 8, "fp32")
        really_run = made.run

        def run(command, limit, **options):
            if any(str(word).endswith("torch_profile.py") for word in command):
                self.assertIn("--model", command)
                Profile(RESIDUAL).write(command[command.index("-o") + 1])
                return ""
            return really_run(command, limit, **options)

        made.run = run
        made.programs = pathlib.Path(SIMCTL).parent
        steps.profile(made, job)
        self.assertEqual(made.report["profiles"][job.network]["device"], "Simulated GPU")
        self.assertEqual(made.report["comparisons"], {})
        captured = json.loads((made.folder("imported") / "cpu-resnet20-b8-fp32-pytorch.json").read_text())
        for layer in captured["layers"]:
            layer["backward_s"] *= 2
        captured["iteration"]["backward_s"] *= 2
        (made.folder("traces") / "cpu-resnet20-b8-fp32.json").write_text(json.dumps(captured))
        steps.compare(made, job)
        line = made.report["comparisons"][job.network]
        self.assertAlmostEqual(line["pytorch_over_captured"]["backward"], -0.5, places=6)
        self.assertAlmostEqual(line["pytorch_over_captured"]["forward"], 0, places=6)
        self.assertEqual((line["within_goal"], line["matched"], line["of"]), (False, 9, 9))
        self.assertEqual(line["layers"][0]["kernels"], line["layers"][0]["other_kernels"])
        with tarfile.open(self.out / "imported.tar.gz") as tar:
            self.assertEqual(sorted(tar.getnames()), ["cpu-resnet20-b8-fp32-comparison.json", "cpu-resnet20-b8-fp32-pytorch.json"])
        self.assertTrue((self.out / "resnet20-b8-fp32.pt.trace.json.gz").exists())
        made.report["steps"] = [{"name": "machine", "state": "done", "seconds": 0}]
        made.save()
        self.assertIn("resnet20-b8-fp32: +0.0% -50.0% +0.0%", (self.out / "report.txt").read_text())

    @unittest.skipUnless(CAPTURE.exists(), f"there is no {CAPTURE}")
    def test_a_network_that_capture_cannot_do_costs_only_its_own_step(self):
        made = self.session()
        for name, job in (("bad", jobs.Job("capture", "gone", 4, "fp32")), ("good", jobs.Job("capture", "sasgd_cifar10", 4, "fp32"))):
            made.do(name, lambda session, job=job: steps.capture(session, job))
        bad, good = made.report["steps"]
        self.assertEqual((bad["state"], good["state"]), ("failed", "done"), bad)
        self.assertIn("capture ended with 3: capture: models/gone.json: no such file", bad["reason"])
        self.assertEqual(list(made.report["captures"]), ["sasgd_cifar10-b4-fp32"])

    def test_attention_is_tested_in_a_process_of_its_own(self):
        made = self.session("cuda")
        made.report["machine"]["gpus"] = [{"name": "a"}]
        made.programs = self.folder
        program = self.folder / "capture_gpu_tests"
        with self.assertRaisesRegex(Skipped, "capture_gpu_tests was not built"):
            steps.attention_tests(made)
        program.write_text("""#!/bin/sh
case "$*" in --test-case=attention*) echo 'TEST CASE:  attention'; echo '[doctest] Status: FAILURE!'; exit 1;; esac
[ "$*" = '--test-case-exclude=attention*' ] && echo '[doctest] Status: SUCCESS!'""")
        program.chmod(0o755)
        steps.gpu_tests(made, "capture_gpu_tests")
        with self.assertRaisesRegex(Failed, "1 tests failed, the first: attention"):
            steps.attention_tests(made)
        self.assertEqual(made.report["tests"], {"capture_gpu_tests": ["[doctest] Status: SUCCESS!"],
                                                "capture_gpu_tests attention": ["[doctest] Status: FAILURE!", "failed: attention"]})

    def test_a_capture_that_fails_in_16_bits_is_tried_once_more_without_fused_attention(self):
        made = self.session()
        made.programs = self.folder
        program = self.folder / "capture"
        program.write_text(f"""#!/bin/sh
case "$*" in
*' --attention products') while [ "$1" != -o ]; do shift; done; cp {ROOT}/traces/h200-resnet50-b256-bf16.json "$2";;
*) echo 'an illegal memory access'; exit 1;;
esac""")
        program.chmod(0o755)
        for model, dtype, state, reason in (("gpt2_small", "bf16", "done", "with --attention products; without it capture ended with 1: an illegal memory access"),
                                            ("gpt2_small", "tf32", "failed", "capture ended with 1: an illegal memory access"),
                                            ("resnet50", "bf16", "failed", "capture ended with 1: an illegal memory access")):
            job = jobs.Job("capture", model, 16, dtype)
            made.do(job.name, lambda session, job=job: steps.capture(session, job))
            step = made.report["steps"][-1]
            self.assertEqual((step["state"], step["reason"]), (state, reason), job.name)
        self.assertEqual(list(made.report["captures"]), ["gpt2_small-b16-bf16"])

    def test_a_goal_that_is_reached_needs_no_explanation(self):
        comparison = {key: [1, 1.04] for key in results.TOTALS} | {"types": [1], "layers": [1], "first": {"layers": 1}}
        self.assertNotIn("layers", results.of_comparison(comparison))
        self.assertTrue(results.of_comparison(comparison | {"update_s": [1, 3], "forward_s": [1, 3]})["within_goal"])  # with launch gaps
        self.assertFalse(results.of_comparison(comparison | {"forward_of_layers_s": [0, 1]})["within_goal"])
        self.assertIn("layers", results.of_comparison(comparison | {"backward_of_layers_s": [1, 1.06]}))

    def test_what_is_too_large_is_left_out_and_said(self):
        made = self.session()
        (made.folder("traces") / "small.json").write_text("{}")
        with open(made.folder("traces") / "large.json", "wb") as file:
            file.truncate(results.MOST_BYTES + 1)
        made.pack("traces")
        made.pack("traces")
        self.assertEqual(made.report["left_out"], [{"file": "large.json", "why": f"over {results.MOST_BYTES} bytes"}])
        with tarfile.open(self.out / "traces.tar.gz") as tar:
            self.assertEqual(tar.getnames(), ["small.json"])
        (made.folder("traces") / "noise.json").write_bytes(os.urandom(results.MOST_BYTES - 10))
        before = (self.out / "traces.tar.gz").read_bytes()
        made.pack("traces")
        self.assertEqual((self.out / "traces.tar.gz").read_bytes(), before)
        self.assertEqual(made.report["left_out"][-1]["file"], "traces.tar.gz")

    def test_commands_that_fail_or_take_too_long(self):
        made = self.session()
        for command, limit, message in ((["sh", "-c", "echo first; echo last; exit 3"], 9, "sh ended with 3: last"), (["false"], 9, "false ended with 1: no output"),
                                        (["sleep", "30"], 0.2, "sleep took longer than 0.2 s")):
            with self.assertRaises(Failed) as caught:
                made.run(command, limit)
            self.assertEqual(str(caught.exception), message)
        with self.assertRaises(Failed):
            made.run(["sh", "-c", "echo important; sleep 30"], 0.5)
        log = (self.out / "log.txt").read_text()
        for line in ("first\nlast\n\n[exit code 3]", "important\n\n[killed: TimeoutExpired]"):
            self.assertIn(line, log)
        made.run(["sh", "-c", "echo begin; head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"], 9)
        log = (self.out / "log.txt").read_text()
        self.assertLess(len(log), 60_000)
        self.assertRegex(log, r"begin\nx+\n\[\.\.\. \d+ characters \.\.\.\]\nx+\nend\n")
        self.assertEqual(made.run(["sh", "-c", "echo out; echo err >&2; exit 7"], 9, accept=(7,)), "out\nerr\n")

    def test_what_a_step_needs(self):
        made = self.session("cuda")
        for what, reason in (("gpu", "no GPU"), ("device", "no GPU"), ("torch", "no PyTorch that can use the device")):
            with self.assertRaises(Skipped) as caught:
                made.require(what)
            self.assertEqual(str(caught.exception), reason)
        made.require("programs", "kineto")

    def test_commands_see_the_card_that_is_meant(self):
        for device, visible, seen in (("cuda", None, None), ("cuda:1", None, "1"), ("cuda:1", "2,0", "0"), ("cuda", "2,0", "2,0"), ("cuda:3", "2,0", "3")):
            with unittest.mock.patch.dict(os.environ, {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}):
                made = self.session(device)
                self.assertEqual(made.run(["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"], 9).strip() or None, seen)
                self.assertEqual(made.device, "cuda")

    def test_libraries_of_a_bundle_are_found_by_programs_built_with_it(self):
        made = self.session()
        made.programs = self.folder / "build"
        libraries = made.programs / "bundle/usr/lib/x86_64-linux-gnu"
        libraries.mkdir(parents=True)
        (made.programs / "program").write_text("#!/bin/sh\necho $LD_LIBRARY_PATH\n")
        (made.programs / "program").chmod(0o755)
        for command in ([made.programs / "program"], ["env", made.programs / "program"]):
            self.assertIn(str(libraries), made.run(command, 9))
        self.assertNotIn(str(libraries), made.run(["sh", "-c", "echo $LD_LIBRARY_PATH"], 9))

    def test_what_failed_in_a_program_of_tests_is_in_the_report(self):
        made = self.session()
        program = self.folder / "some_tests"
        program.write_text("""#!/bin/sh
cat <<'END'
===============================================================================
test.cpp:9:
TEST SUITE: Does the GPU compute what the CPU does?
TEST CASE:  every op

test.cpp:12: ERROR: CHECK( 1 == 2 ) is NOT correct!
  values: CHECK( 1 == 2 )
[doctest] test cases: 2 | 1 passed | 1 failed | 0 skipped
[doctest] Status: FAILURE!
END
exit 1""")
        program.chmod(0o755)
        with self.assertRaisesRegex(Failed, "1 tests failed, the first: every op"):
            steps.doctest(made, program, "--test-case=every*")
        found = made.report["tests"]["some_tests"]
        self.assertIn("failed: every op", found)
        self.assertTrue(any("CHECK( 1 == 2 ) is NOT correct!" in line for line in found))

    def test_the_card_that_is_meant(self):
        for device, visible, name in (("cuda", None, "a"), ("cuda:1", None, "b"), ("cuda:1", "2,0", "a"), ("cuda", "2,0", "c"), ("cuda:5", None, None)):
            made = self.session(device)
            made.report["machine"] = {"gpus": [{"name": each} for each in "abc"], "visible": visible}
            card = made.card()
            self.assertEqual(card and card["name"], name)


if __name__ == "__main__":
    unittest.main()
