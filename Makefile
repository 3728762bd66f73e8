# keisoku: every target does the set-up it needs and says what it does.
# `make demo` measures; `make test` proves it; see README.md.

VENV := .venv
PY := $(VENV)/bin/python
BUILT := $(VENV)/.built
RUST := Cargo.toml Cargo.lock core/Cargo.toml core/build.rs $(shell find core/src core/bpf -type f)

.PHONY: setup demo check test test-fpga test-drivers docs-drivers soak bench lint clean

setup: $(BUILT)

$(VENV)/.installed: requirements.lock setup.sh
	@./setup.sh build
	@touch $@

$(BUILT): $(VENV)/.installed $(RUST) pyproject.toml
	@echo "keisoku: building the core"
	@log=$$($(VENV)/bin/maturin develop --release --locked 2>&1) || { echo "$$log"; exit 1; }
	@touch $@

demo: $(BUILT)
	@$(PY) examples/demo.py

# What a developer wants to know within three minutes: style, types, layers, and all logic in virtual time.
check: $(BUILT) lint
	@./setup.sh check
	@# Without the test of every command on every kind of run, which is a minute of child processes.
	$(PY) -m pytest --quiet --numprocesses 2 --dist worksteal --ignore tests/simulated/test_five_kinds.py tests/unit tests/simulated

test: $(BUILT) lint
	@./setup.sh test
	@./setup.sh fpga
	cargo test --locked --quiet
	$(PY) -m pytest --numprocesses 2 --dist worksteal --timeout 900 \
		tests/unit tests/simulated tests/otg tests/browser tests/fpga fpga/tb fpga/formal
	$(PY) -m pytest --numprocesses 2 --dist worksteal -m "not alone" -rR tests/lab
	$(PY) -m pytest -m alone -rR tests/lab

# Every frame size, a million frames a port, and the bitstreams of all boards with three seeds.
test-fpga: $(BUILT)
	@./setup.sh fpga
	$(MAKE) -C fpga long

# The real Linux drivers of igb, e1000e, virtio-net and vmxnet3, in a virtual machine without a network.
test-drivers: $(BUILT)
	@./setup.sh check
	@./setup.sh drivers
	$(PY) -m pytest -rs tests/drivers $(DRIVERS)

# The same, and writes the table of docs/drivers.md.
docs-drivers:
	$(MAKE) test-drivers DRIVERS=--write-page

lint: $(BUILT)
	cargo fmt --check
	cargo clippy --locked --quiet --all-targets --all-features -- -D warnings
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

# An hour at the highest load without loss, and property tests too long for `make test`; SOAK='--minutes 5' is shorter.
soak: $(BUILT)
	@./setup.sh test
	cargo test --release --locked --quiet -- --ignored
	$(PY) -m pytest --quiet --numprocesses 2 --hypothesis-profile random tests/unit tests/otg
	$(PY) benchmarks/accuracy.py
	$(PY) tests/soak.py $(SOAK)

bench: $(BUILT)
	@./setup.sh bench
	$(PY) benchmarks/bench.py

clean:
	@if [ -x $(VENV)/bin/keisoku ]; then $(VENV)/bin/keisoku clean; fi
	rm -rf $(VENV) target .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find keisoku -name '*.so' -delete
