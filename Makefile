# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE  # tests start many processes, which would compile the package again

.PHONY: help demo test test-benchmarks coverage test-lowest lint bench bench-studies bench-million reproduce reproduce-quick mutants fuzz clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*##/\t/'

$(VENV)/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(VENV)/installed  ## corrupted digits: one table, and one page to look at (demo/report.html)
	$(BIN)/graphlowrank demo --output demo/report.html

test: $(VENV)/installed  ## all tests of the package
	$(BIN)/python -m pytest -q -n auto --dist loadfile --ignore=tests/benchmarks tests src $(PYTEST)

test-benchmarks: $(VENV)/installed  ## tests of the benchmark harness, which is not part of the package
	$(BIN)/python -m pytest -q -n auto --dist loadfile tests/benchmarks benchmarks/graphlowrank_benchmarks

coverage:  ## the same with branch coverage (compiled kernels and child processes do not count)
	$(MAKE) test PYTEST="--cov --cov-report=term:skip-covered"

$(VENV)-lowest/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest/bin/python --resolution lowest-direct -e '.[test]'
	touch $@

test-lowest: $(VENV)-lowest/installed  ## the same with the lowest versions allowed
	$(VENV)-lowest/bin/python -m pytest -q -n auto --dist loadfile -W default::DeprecationWarning --ignore=tests/benchmarks tests src $(PYTEST)

lint: $(VENV)/installed  ## style, types and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

bench: export GRAPHLOWRANK_DATA ?= $(wildcard ../shared/data)
bench: $(VENV)/installed-bench  ## ours beside others, seconds, memory and errors, into benchmarks/results (hours; BENCH="usps --quick" for less)
	$(BIN)/graphlowrank bench $(BENCH) --output benchmarks/results
	$(BIN)/python benchmarks/report.py

bench-studies: export GRAPHLOWRANK_DATA ?= $(wildcard ../shared/data)
bench-studies: $(VENV)/installed-bench bench-million  ## every decoder and every neighbor search, then the million nodes
	$(BIN)/python benchmarks/studies/decoders.py --seeds 2
	$(BIN)/python benchmarks/studies/neighbors.py --large --output benchmarks/results/neighbors.json

bench-million: $(VENV)/installed  ## seconds and memory of coherence and reduction on a graph of a million nodes (20 minutes)
	$(BIN)/python benchmarks/studies/million.py

JOBS ?= 2

reproduce-quick: export GRAPHLOWRANK_DATA ?= $(wildcard ../shared/data)
reproduce-quick: $(VENV)/installed  ## the paper's tables and figures beside ours, coarse, in minutes (reproduction/quick/report.html)
	$(BIN)/graphlowrank reproduce --quick --jobs $(JOBS) --output reproduction/quick

reproduce: export GRAPHLOWRANK_DATA ?= $(wildcard ../shared/data)
reproduce: $(VENV)/installed  ## the same in full, in hours; goes on where it was stopped (reproduction/full/report.html)
	$(BIN)/graphlowrank reproduce --jobs $(JOBS) --output reproduction/full

mutants: $(VENV)/installed  ## plant known faults one at a time: do the tests catch them?
	$(BIN)/python tests/run_mutants.py

MINUTES ?= 10

fuzz: $(VENV)/installed  ## random cases in child processes for MINUTES=10; goes on where it was stopped (fuzz-state)
	$(BIN)/python tests/fuzz/run.py --minutes $(MINUTES) $(FUZZ)

clean:  ## remove the environment and caches
	rm -rf $(VENV) $(VENV)-lowest .pytest_cache .mypy_cache .ruff_cache .hypothesis demo
