# The README's commands. Everything else is CMake: see CMakePresets.json.

# The Debian packages that building needs ...
BUILD_PACKAGES := build-essential cmake ninja-build libboost-graph-dev nlohmann-json3-dev libfmt-dev libcli11-dev doctest-dev zlib1g-dev python3
# ... simulating and reporting besides, capturing, and looking over the code.
PACKAGES := $(BUILD_PACKAGES) libjemalloc-dev libmd-dev libsimgrid-dev librapidcheck-dev python3-jinja2 python3-matplotlib python3-pandas
CAPTURE_PACKAGES := $(BUILD_PACKAGES) libdnnl-dev
# netprobe's libraries, and what shapes the links of the validation.
NETWORK_PACKAGES := libgloo-dev libopenmpi-dev openmpi-bin iproute2
# What judges schemas, shells' scripts, manual pages, exports, CITATION.cff and the Debian package.
CHECK_PACKAGES := protobuf-compiler python3-jsonschema python3-yaml zsh fish groff-base man-db help2man debootstrap
# What turns an installation into a Debian package.
DEB_PACKAGES := $(PACKAGES) libdnnl-dev dpkg-dev file help2man
# A browser to open the reports in.
BROWSER_PACKAGES := chromium chromium-driver python3-selenium
# libFuzzer, and what it instruments with.
FUZZ_PACKAGES := clang libclang-rt-14-dev
# The digits that records of dataflow are replayed on. Two more tasks, and some tests, take PyTorch where it is: python3-torch.
ACCURACY_PACKAGES := python3-sklearn
# What runs the tutorial notebook; runs show their progress with tqdm where it is.
NOTEBOOK_PACKAGES := python3-nbconvert python3-ipykernel python3-tqdm
# What only tests need.
TEST_PACKAGES := libdnnl-dev parallel pypy3 libclang-rt-14-dev $(NETWORK_PACKAGES) $(BROWSER_PACKAGES) $(CHECK_PACKAGES) $(ACCURACY_PACKAGES) $(NOTEBOOK_PACKAGES) dpkg-dev file
# clang-tidy of this version passes over the libraries' headers, which take the others most of the time.
LINT_PACKAGES := $(PACKAGES) libdnnl-dev $(NETWORK_PACKAGES) clang-format clang-tidy-22 libomp-22-dev git

PYTHON := /usr/bin/python3
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: demo test deb lint analyze bench validate papers accuracy claims picture build capture gpu gpu-bundle packages debug fuzz sanitize soak coverage clean

# simctl alone, not the tests and the capturer.
demo: packages
	@echo "make demo: builds simctl (a few minutes on two cores), simulates 210 points (about a minute) and draws a report of them."
	cmake --preset release > /dev/null
	cmake --build --preset release --target simctl
	build/simctl run scenarios/mission.json -o results/mission --force --timeline 14-20 --explain 14-20
	@$(PYTHON) analysis/report.py results/mission -o results/mission/report.html
	@echo "The report is in results/mission/report.html: open it in a browser."

test: PACKAGES += $(TEST_PACKAGES)
test: build
	ctest --preset release -j $$(($$(nproc) + 1))  # some wait for a browser or for a clock

CLANG_TIDY = run-clang-tidy-22 -clang-tidy-binary clang-tidy-22 -quiet -j $$(nproc) -p build-by-file $(TIDY_OPTIONS) '$(CURDIR)/(sim|capture|tests)/.*\.cpp' > build-by-file/clang-tidy.log 2>&1 || \
		{ grep -E '(warning|error):' build-by-file/clang-tidy.log; exit 1; }
# clang-tidy reads every file by itself, so that a file that lacks an include is found.
lint: PACKAGES := $(LINT_PACKAGES)
lint: packages
	cmake --preset by-file > /dev/null
	git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs clang-format --dry-run -Werror
	$(CLANG_TIDY)

# clang's static analyzer, which takes as long as all other checks: before a release.
analyze: PACKAGES := $(LINT_PACKAGES)
analyze: TIDY_OPTIONS := -checks='-*,clang-analyzer-*,-clang-analyzer-cplusplus.NewDeleteLeaks,-clang-analyzer-security.ArrayBound,-clang-analyzer-security.FloatLoopCounter'
analyze: packages
	cmake --preset by-file > /dev/null
	$(CLANG_TIDY)

# build/syncopate_VERSION_ARCHITECTURE.deb
deb: PACKAGES := $(DEB_PACKAGES)
deb: packages
	cmake --preset release > /dev/null
	cmake --build --preset release --target simctl capture nodeprobe
	cd build && cpack > /dev/null
	@echo "sudo apt install ./$$(ls -t build/*.deb | head -1) installs it."

bench: build
	$(PYTHON) tests/bench/bench.py build

# Real processes over shaped links beside what simctl says of them: tests/validation/README.md.
validate: PACKAGES += $(NETWORK_PACKAGES)
validate: build
	$(SUDO) $(PYTHON) tests/validation/validate.py build -o results/validation
	$(SUDO) $(PYTHON) tests/validation/torch_jobs.py build -o results/validation || [ $$? -eq 77 ]

# The experiments of five papers, and a page of their numbers beside ours.
papers: build
	@echo "The page is in $$($(PYTHON) analysis/papers.py -o results/papers): open it in a browser."

# Eleven schedules in three settings, and what they cost a small task in accuracy. Two minutes on two cores.
accuracy: PACKAGES += $(ACCURACY_PACKAGES)
accuracy: packages
	cmake --preset release > /dev/null
	cmake --build --preset release --target simctl
	for setting in unequal ethernet continents; do \
		build/simctl run scenarios/accuracy/$$setting.json -o results/accuracy/$$setting --dataflow --force || exit; done
	@page=$$($(PYTHON) analysis/train.py results/accuracy/unequal results/accuracy/ethernet results/accuracy/continents --task digits \
		-o results/accuracy/digits) && echo "The page is in $$page: open it in a browser."

# What five papers claim of accuracy, on a small task: a study for each paper, and further ones where rates or batches are others. Two minutes on two cores.
CLAIMS := results/claims
TRAIN := $(PYTHON) analysis/train.py --task digits --seeds 5 --target 0.2
claims: PACKAGES += $(ACCURACY_PACKAGES)
claims: build
	for study in mg-wfbp ssd-sgd dts lasgd sasgd; do \
		build/simctl run scenarios/accuracy/claims/$$study.json -o $(CLAIMS)/records/$$study --dataflow --force || exit; done
	build/simctl run scenarios/accuracy/claims/downpour.json -o $(CLAIMS)/records/downpour --dataflow 0,4,8 --force
	for study in mg-wfbp ssd-sgd dts sasgd; do \
		$(TRAIN) $(CLAIMS)/records/$$study -o $(CLAIMS)/$$study || exit; done
	$(TRAIN) $(CLAIMS)/records/lasgd/dataflow-[04].jsonl.gz --lr 0.8 -o $(CLAIMS)/lasgd-gpus
	$(TRAIN) $(CLAIMS)/records/lasgd/dataflow-[123].jsonl.gz --lr 0.8 --batch 32 -o $(CLAIMS)/lasgd-nodes
	$(TRAIN) $(CLAIMS)/records/downpour --lr 0.4 -o $(CLAIMS)/downpour
	$(TRAIN) $(CLAIMS)/records/downpour --lr 0.02 -o $(CLAIMS)/downpour-slow
	@page=$$($(PYTHON) analysis/claims.py $(CLAIMS) -o $(CLAIMS)) && echo "The page is in $$page: open it in a browser."

# The README's picture.
picture: demo
	$(PYTHON) analysis/report.py results/mission --format png -o results/mission/
	cp results/mission/efficiency.png analysis/picture.png

build: packages
	cmake --preset release > /dev/null
	cmake --build --preset release

# The capturer alone, without SimGrid, into build-capture: for a machine that lends its GPU.
capture: PACKAGES := $(CAPTURE_PACKAGES)
capture: packages
	cmake --preset capture
	cmake --build --preset capture

# What a borrowed GPU can tell in nine minutes, into the folder OUT: capture/gpu/README.md. Installs nothing.
gpu:
	capture/on_gpu.sh $(or $(OUT),results/gpu) $(GPU_OPTIONS)

# What such a machine lacks to build the capturer, packed to travel with this folder.
gpu-bundle: PACKAGES := $(CAPTURE_PACKAGES)
gpu-bundle: packages
	capture/gpu/make_bundle.sh

# With sanitizers; `ctest --preset debug` then runs the tests.
debug: packages
	cmake --preset debug > /dev/null
	cmake --build --preset debug

# The readers of files under libFuzzer, each for FUZZ_SECONDS; goes on from what is in results/fuzz.
fuzz: PACKAGES += $(FUZZ_PACKAGES)
fuzz: packages
	cmake --preset fuzz > /dev/null
	cmake --build --preset fuzz --target fuzz
	$(PYTHON) tests/fuzz/fuzz.py build-fuzz/fuzz --seconds $(or $(FUZZ_SECONDS),3600) -j $$(nproc) -o results/fuzz

# Tests of the same build, which has both sanitizers: what reads, and what simulates.
sanitize: PACKAGES += $(FUZZ_PACKAGES) $(TEST_PACKAGES)
sanitize: packages
	cmake --preset fuzz > /dev/null
	cmake --build --preset fuzz --target simctl unit_tests engine_tests
	ctest --preset fuzz -j $$(nproc) -R '^(unit|engine|scenarios.(bad_input|names|run_folders)|traces.bad_profiles|models)$$'

# SCENARIOS random ones, with every property that tests hold them to; goes on from what is in results/soak.
soak: build
	$(PYTHON) tests/soak/soak.py build --scenarios $(or $(SCENARIOS),100000) -o results/soak

# Which lines of sim/ the tests run, but for those that limit time, memory or files, and those of pages; also where a test fails.
coverage: PACKAGES += $(TEST_PACKAGES) gcovr
coverage: packages
	cmake --preset coverage > /dev/null
	cmake --build --preset coverage
	find build-coverage -name '*.gcda' -delete
	mkdir -p results/coverage
	ctest --preset coverage -j $$(nproc) -LE 'project|papers|analysis|capture' -E '^scenarios.(bad_days|explain|limits)$$'; tests=$$?; \
	gcovr --root . --filter sim/ --exclude-unreachable-branches --html-details results/coverage/index.html --print-summary build-coverage/sim build-coverage/tests && \
	echo "The lines are in results/coverage/index.html: open it in a browser." && exit $$tests

packages:
	@missing=$$(for p in $(PACKAGES); do dpkg-query -W -f '$${Status}' $$p 2> /dev/null | grep -q '^install ok installed$$' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
		echo "Installing Debian packages:" $$missing; \
		$(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing > /dev/null; \
	fi

clean:
	rm -rf build build-by-file build-clang build-coverage build-debug build-capture build-fuzz build-gpu .gpu-bundle results
