# make demo and make test do all of their own set-up; the other targets are for people who work here.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
PYTHON := $(VENV)/bin/python
SETUP_STAMP := $(VENV)/.set-up
PYTEST_ARGS ?=

.PHONY: help setup demo test toolchains check format bench soak docs clean

help: ## what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(SETUP_STAMP): requirements/dev.lock pyproject.toml tools/make-venv.sh tools/compile_twins.py $(wildcard src/mainstem/*/*.pyx)
	@tools/make-venv.sh $(VENV)
	@touch $@

setup: $(SETUP_STAMP) ## the Python environment in .venv

toolchains: setup ## Java, Go, kcat and the foreign clients the conformance tests build
	@tools/install-toolchains.sh

demo: setup ## one million orders, a rebalance, a crash, and nothing lost
	@$(PYTHON) -m demo

test: setup toolchains check ## the whole test suite
	@$(PYTHON) -m pytest -n 2 --dist loadgroup tests $(PYTEST_ARGS)

check: setup ## formatting, lint, types, import directions
	@$(VENV)/bin/ruff format --check src tests tools bench demo
	@$(VENV)/bin/ruff check src tests tools bench demo
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-cache

format: setup ## put every file into shape
	@$(VENV)/bin/ruff format src tests tools bench demo
	@$(VENV)/bin/ruff check --fix src tests tools bench demo

bench: setup toolchains ## us and the real Kafka side by side, with ratios
	@$(PYTHON) -m bench $(BENCH_ARGS)

soak: setup ## the fault tests, for long
	@$(PYTHON) -m pytest -m soak tests --timeout 3600 $(PYTEST_ARGS)

docs: setup ## write the generated pages again
	@$(PYTHON) -m mainstem.config.document
	@$(PYTHON) -m mainstem.heads.kafka.compatibility
	@$(PYTHON) -m mainstem.heads.kafka.authorization.page

clean: ## what was made here
	@rm -rf $(VENV) .cache .mypy_cache .ruff_cache .hypothesis
