# keisoku: every target does the set-up it needs and says what it does.
# `make demo` measures; `make test` proves it; see README.md.

VENV := .venv
PY := $(VENV)/bin/python
BUILT := $(VENV)/.built
# Where a shell forbids it, each of the thousands of child processes of the tests compiles the whole package again.
unexport PYTHONDONTWRITEBYTECODE
# Processors for which wheels are made.
PROCESSORS := $(shell uname -m)
ALL_PROCESSORS := x86_64 aarch64
RUST := Cargo.toml Cargo.lock core/Cargo.toml core/build.rs far/Cargo.toml far/build.sh $(shell find core/src core/bpf far/src -type f)

.PHONY: setup demo check test steps test-core test-logic test-rtl test-lab test-docs test-faults docs test-long test-fpga test-drivers docs-drivers test-virtual soak bench bench-scale lint lint-rust lint-python house clean wheel deb deb-source test-install release audit oldest

setup: $(BUILT)

$(VENV)/.installed: requirements.lock setup.sh
	@./setup.sh build
	@./setup.sh web
	@touch $@

$(BUILT): $(VENV)/.installed $(RUST) pyproject.toml
	@echo "keisoku: building the core"
	@log=$$($(VENV)/bin/maturin develop --release --locked 2>&1) || { echo "$$log"; exit 1; }
	@far/build.sh
	@touch $@

demo: $(BUILT)
	@$(PY) examples/demo.py

# What a developer wants to know within three minutes: style, types, layers, and all logic in virtual time.
check: $(BUILT) lint
	@./setup.sh check
	@# Without the test of every command on every kind of run, which is a minute of child processes.
	$(PY) -m pytest --quiet --numprocesses 2 --dist worksteal --ignore tests/simulated/test_five_kinds.py tests/unit tests/simulated

# In this order; .ci/run carries out the same steps one by one.
STEPS := lint test-core test-logic test-rtl test-lab
test:
	@for step in $(STEPS); do $(MAKE) --no-print-directory $$step || exit 1; done

steps:
	@echo $(STEPS)

test-core: $(BUILT)
	cargo test --locked --quiet

PYTEST := $(PY) -m pytest --numprocesses 2 --dist worksteal

# Tests of real processes, sockets, browsers, kernels and drivers. What failed is run once more, without another test beside it: a
# restless host fails some that have nothing wrong.
real_tests = $(1) -m $(2) -rfER $(3) || \
	{ [ $$? = 1 ] && $(PY) -m pytest --last-failed --last-failed-no-failures none -m $(2) -rfER $(3); }

test-logic: $(BUILT)
	@./setup.sh test
	@./setup.sh docs
	$(PYTEST) --timeout 900 -m "not long" tests/unit tests/simulated tests/docs
	$(call real_tests,$(PYTEST) --timeout 900,"not long",tests/faults tests/otg tests/browser)

# The FPGA instrument: Verilated models, test benches of its parts, and the short proofs.
test-rtl: $(BUILT)
	@./setup.sh test
	@./setup.sh fpga
	$(PYTEST) --timeout 900 -m "not long" tests/fpga fpga/tb fpga/formal

test-lab: $(BUILT)
	@./setup.sh test
	@# Three at a time, as most of them wait for timers of kernels and daemons for half of their time.
	$(call real_tests,$(PYTEST) --numprocesses 3,"not alone and not long",tests/lab)
	$(call real_tests,$(PY) -m pytest,"alone and not long",tests/lab)

# The documentation as a site in build/docs; a warning, such as a broken link, ends it.
docs: $(BUILT)
	@./setup.sh docs
	$(PY) -m sphinx -W --keep-going --quiet -b html -c docs/site . build/docs
	@echo "keisoku: build/docs/index.html"

# The code blocks of the documentation that take minutes, or need root.
test-docs: $(BUILT)
	@./setup.sh test
	$(PY) -m pytest -rs tests/docs --long

# Every fault of docs/reliability.md as often as its table says: 200 kills, a thousand malformed files of each kind.
test-faults: $(BUILT)
	@./setup.sh test
	$(PY) -m pytest -rsP tests/faults --long
	$(PY) -m pytest -rsP tests/lab/test_truth.py -k hostile --long
	$(PY) tests/support/otg_fuzz.py
	$(PY) -m pytest -rs tests/otg/test_fuzz.py tests/otg/test_slow_clients.py \
		tests/unit/ground/run/test_run_directory.py tests/unit/subjects/clock/test_phase_log.py tests/unit/subjects/clock/test_difference_clock.py \
		tests/lab/test_bad_input.py tests/lab/test_killed_limit.py tests/lab/test_killed_path.py tests/lab/test_clean.py \
		tests/lab/test_govern.py tests/lab/test_capture.py tests/lab/test_driver_faults.py \
		tests/lab/test_convergence.py tests/lab/test_rfc2544.py

# What also has to be green before a release, and is too long for CI on two cores: ladders of the lab and of virtual time,
# the page of a run of every measurement, a client in Go, all cases of drivers, and in their virtual machine the lab
# devices of kernel parts, and losses at programs of XDP, WireGuard and Open vSwitch, which not every host shows.
test-long: test
	$(PY) -m pytest -m long -rR tests/lab tests/browser tests/unit tests/simulated tests/otg
	$(MAKE) test-drivers DRIVERS='tests/lab/test_kinds.py --in-guest'
	$(MAKE) test-drivers DRIVERS='tests/lab/test_why_lost*.py --in-guest -k why_lost'

# The long proofs, every frame size, a million frames a port, and the bitstreams of all boards with three seeds.
test-fpga: $(BUILT)
	@./setup.sh fpga
	$(MAKE) -C fpga long

# The real Linux drivers of igb, e1000e, virtio-net and vmxnet3, in a virtual machine without a network.
DRIVERS := --short
test-drivers: $(BUILT)
	@./setup.sh check
	@./setup.sh drivers
	$(call real_tests,$(PY) -m pytest,"",tests/drivers $(DRIVERS))

# All cases, and the lab devices of kernel parts in the same machine; writes the tables of tests/drivers/outcomes.md.
docs-drivers:
	$(MAKE) test-drivers DRIVERS='tests/lab/test_kinds.py --in-guest --write-page'

# Devices in virtual time: builds their kernel, once for this machine, which takes 10 minutes of CPU time and 3 GB.
test-virtual: $(BUILT)
	@./setup.sh check
	@./setup.sh virtual
	$(PY) -m pytest -rs --timeout 900 tests/virtual

# Clippy and mypy know nothing of each other, so they run side by side.
lint: $(BUILT)
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint-rust lint-python

lint-rust: $(BUILT)
	cargo fmt --check
	cargo clippy --locked --quiet --all-targets --all-features -- -D warnings

lint-python: $(BUILT)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	python3 tools/house.py
	python3 tools/docstrings.py

# Lines, rooms, floors and arrows of the house; a circle among its modules ends it.
house:
	@python3 tools/house.py

# An hour at the highest load without loss, and property tests too long for `make test`; SOAK='--minutes 5' is shorter.
soak: $(BUILT)
	@./setup.sh test
	cargo test --release --locked --quiet -- --ignored
	$(PY) -m pytest --quiet --numprocesses 2 --hypothesis-profile random tests/unit tests/otg
	$(PY) benchmarks/accuracy/accuracy.py
	$(PY) tests/soak.py $(SOAK)

bench: $(BUILT)
	@./setup.sh bench
	$(PY) benchmarks/speed/bench.py

# What each named query costs at 1, 10 and 100 million frames, and a campaign on 1, 2 and 3 workers: about 6 minutes, 2 GB
# of memory and 1 GB of disk. Writes the tables of docs/how-we-know/comparisons.md and their plots.
bench-scale: $(BUILT)
	@./setup.sh check
	$(PY) benchmarks/speed/scale.py --write

# Wheels that need neither a compiler nor this machine's C library (glibc 2.17 and newer), with the pages of the manual:
# for this machine's processor, or for PROCESSORS="x86_64 aarch64".
wheel: $(BUILT)
	@./setup.sh wheel
	@./setup.sh web
	@for processor in $(PROCESSORS); do \
		far/build.sh $$processor || exit 1; \
		PATH="$(CURDIR)/$(VENV)/bin:$$PATH" maturin build --release --locked --strip --quiet --zig \
			--compatibility manylinux2014 --target $$processor-unknown-linux-gnu --out dist || exit 1; \
	done
	@far/build.sh
	@$(PY) docs/site/manual.py dist/keisoku-*.whl
	@ls -l dist/keisoku-*.whl

# Debian packages of the wheel with the Python packages that it needs, for this machine's processor.
deb: $(BUILT)
	@./setup.sh deb
	@log=$$(debian/rules clean binary 2>&1) || { echo "$$log"; exit 1; }
	@ls -l dist/keisoku*.deb

# The Debian source package of what is committed.
deb-source: $(BUILT)
	@./setup.sh deb
	@packaging/source_package.sh

# Installs the wheel and the Debian package in clean Debian roots, without a compiler, and measures there.
test-install: $(BUILT)
	@$(MAKE) deb PROCESSORS="$(ALL_PROCESSORS)"
	@./setup.sh install
	$(PY) -m pytest -rs packaging

# Wheels, Debian packages, image, bills of materials and checksums in dist/, all checked. Needs root.
release: $(BUILT)
	@rm -rf dist
	@./setup.sh release
	@$(MAKE) deb PROCESSORS="$(ALL_PROCESSORS)"
	$(PY) packaging/release.py
	@ls -l dist

# Licences, sources and doubles of crates, and known faults of Python packages. What cannot be audited is an error.
audit: $(BUILT)
	@./setup.sh wheel
	@if command -v cargo-deny >/dev/null; then cargo deny --offline check bans licenses sources; \
		else echo "keisoku: no cargo-deny: crates are not audited (cargo install --locked cargo-deny)"; fi
	$(PY) -m pip_audit --strict --disable-pip --require-hashes --requirement requirements.lock

# The lowest versions that pyproject.toml allows, in an environment of their own.
oldest: $(BUILT)
	@./setup.sh wheel
	packaging/oldest.sh

clean:
	@if [ -x $(VENV)/bin/keisoku ]; then $(VENV)/bin/keisoku clean; fi
	rm -rf $(VENV) target dist build .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find keisoku -name '*.so' -delete
