# The five commands a developer types. A Makefile, and not nox: all of them run in the one
# environment that README's test command makes, so there are no sessions to manage.
PYTHON ?= .venv/bin/python
BIN = $(dir $(PYTHON))

.PHONY: help test slow lint docs bench

help:  ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile

test:  ## the tests that take seconds each
	$(PYTHON) -m pytest -q -n 2

slow:  ## the tests that take longer
	$(PYTHON) -m pytest -q -n 2 -m slow

lint:  ## ruff and mypy
	$(BIN)ruff check .
	$(BIN)ruff format --check .
	$(BIN)mypy

docs:  ## build the pages into docs/_build
	$(PYTHON) -m sphinx -W docs docs/_build

bench:  ## check the measured figures against their bounds; needs a quiet machine
	$(PYTHON) -m pytest -q benchmarks
