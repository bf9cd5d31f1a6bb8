# The README's commands. Everything else is CMake: see CMakePresets.json.

# Every Debian package that building, testing, linting and reporting need.
PACKAGES := build-essential cmake ninja-build libsimgrid-dev libboost-graph-dev nlohmann-json3-dev libfmt-dev libcli11-dev doctest-dev zlib1g-dev libdnnl-dev \
	python3 python3-matplotlib python3-pandas clang-format clang-tidy git

PYTHON := /usr/bin/python3
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: demo test lint bench picture build packages debug clean

demo: build
	build/simctl run scenarios/scalability.json -o results/scalability --timeline 84-89
	@$(PYTHON) analysis/report.py results/scalability -o results/scalability/report.html
	@echo "The report is in results/scalability/report.html: open it in a browser."

test: build
	ctest --preset release

lint: build
	git ls-files '*.cpp' '*.hpp' | xargs clang-format --dry-run -Werror
	run-clang-tidy -quiet -j $$(nproc) -p build -extra-arg=-Wno-unknown-warning-option '$(CURDIR)/(sim|tests)/.*' > build/clang-tidy.log 2>&1 || \
		{ grep -E '(warning|error):' build/clang-tidy.log; exit 1; }

bench: build
	$(PYTHON) tests/bench/bench.py build

# The README's picture, from the demo's results.
picture: demo
	$(PYTHON) analysis/report.py results/scalability --cluster 10gbe --picture analysis/picture.png

build: packages
	cmake --preset release > /dev/null
	cmake --build --preset release

# With sanitizers; `ctest --preset debug` then runs the tests.
debug: packages
	cmake --preset debug > /dev/null
	cmake --build --preset debug

packages:
	@missing=$$(for p in $(PACKAGES); do dpkg-query -W -f '$${Status}' $$p 2> /dev/null | grep -q '^install ok installed$$' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
		echo "Installing Debian packages:" $$missing; \
		$(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing > /dev/null; \
	fi

clean:
	rm -rf build build-debug results
