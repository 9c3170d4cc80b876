# Every target makes what it needs: Python 3.11 or newer and make are the whole set-up.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TAG := $(shell $(PYTHON) -c 'import sys; print("py%d%d" % sys.version_info[:2])')
# A Python without its own constraints file gets the newest releases that pyproject.toml allows.
CONSTRAINTS := $(wildcard constraints/$(TAG).txt)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install $(CONSTRAINTS:%=--constraint %)
TEST_WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal

.PHONY: help demo test test-all test-long test-bundle test-peers lint format bench results docs clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/.core: pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "drspcrl needs Python 3.11 or newer; this is %s. Set PYTHON=python3.11, say." % sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing drspcrl into $(VENV) ..."
	@$(PIP) --upgrade pip
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "installing the tools for tests and lint ..."
	@$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	@echo "installing the documentation tools ..."
	@$(PIP) --editable '.[docs]'
	@touch $@

demo: $(VENV)/.core  ## something real in a few minutes, with pictures to look at
	@$(BIN)/python scripts/demo.py

test: $(VENV)/.dev  ## the tests that every change must pass
	$(PYTEST) -m "not slow and not long and not peers"

test-all: $(VENV)/.dev $(VENV)/.docs  ## all tests but the longest; a skipped test is a failure here
	$(PYTEST) -m "not long and not peers" --fail-on-skip

test-long: $(VENV)/.dev  ## checks that take a quarter of an hour each
	$(BIN)/python -m pytest -m long

test-peers: $(VENV)/.dev  ## comparisons with other libraries, in environments that the tests make
	$(BIN)/python -m pytest -m peers

test-bundle: $(VENV)/.dev  ## a quick suite on the packages of an offline bundle alone
	$(BIN)/python scripts/offline_bundle --check

lint: $(VENV)/.dev  ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(VENV)/.dev  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev  ## speed beside peers, measured in the same run; writes benchmarks/results.md
	$(BIN)/python benchmarks/run.py

results: $(VENV)/.core  ## the pages of docs/results and the README's table, from studies/results/protocol
	$(BIN)/python studies/results_pages.py

docs: $(VENV)/.docs  ## the documentation site, built strictly, in site/; it opens as a file
	@rm -rf site
	PYTHONPATH=scripts $(BIN)/zensical build --strict --clean
	@echo "open $(CURDIR)/site/index.html in a browser; no server and no network is needed"

clean:  ## remove what the targets made
	rm -rf $(VENV) site demo-output .pytest_cache .ruff_cache build dist
