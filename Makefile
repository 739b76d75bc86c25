# The same commands serve a newcomer, a contributor and CI. Needed beforehand: Python 3.11 or newer, pip, git, make.
#
#   make demo                        one research task, from the question to the committed card
#   make demo Q="…" INPUT=folder     the same with your own question over your own texts
#   make test                        all tests in their short forms
#   make prove                       their long forms: kills, failing disks, power cuts, crowds, attacks
#   make stories                     each story from the shell, killed before each of its lines alone
#   make lint                        ruff, mypy and the import contracts
#   make bench                       start-up times and memory
#   make docs                        the pages that are made from code, and the sessions that pages show
#   make lock                        pin the dependencies anew

SHELL := /bin/bash
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= auto
# The first interpreter that is new enough; `make PYTHON=… test` names another.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
READY := $(VENV)/.ready

# As they were typed: make would take a '$' in them for a name of its own.
override Q := $(value Q)
override INPUT := $(value INPUT)
export Q INPUT

.PHONY: help setup demo test prove stories lint bench docs lock clean
help:
	@sed -n 's/^#   //p' Makefile

setup: $(READY)

$(READY): requirements-dev.txt pyproject.toml .ci/venv
	@bash .ci/venv "$(PYTHON)" "$(VENV)"
	@touch $@

demo: $(READY)
	@PATH="$(abspath $(BIN)):$$PATH" bash examples/demo.sh

test: $(READY)
	$(BIN)/python -m pytest -n $(JOBS)

prove: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) -m long --ignore=tests/stories

stories: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) -m long tests/stories

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p onepen
	$(BIN)/mypy tests benchmarks docs examples
	$(BIN)/lint-imports --no-logo

bench: $(READY)
	$(BIN)/python -m benchmarks.startup

docs: $(READY)
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/session.py README.md docs/tutorial.md docs/how-to/git.md docs/how-to/batches.md

lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --upgrade --custom-compile-command "make lock" --output-file requirements-dev.txt

clean:
	rm -rf $(VENV) .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
