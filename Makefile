# `make` shows what there is. Everything that is made lies in .build/, .venv/ and target/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VLLM ?= 0.29.0
PYTHON ?= python3
VLLM_ENV := .build/vllm-$(VLLM)
VLLM_PYTHON := $(VLLM_ENV)/bin/python
DEV := .venv/bin
SOURCES := $(shell git ls-files -co --exclude-standard rust python) Cargo.toml Cargo.lock pyproject.toml
PYTEST := $(VLLM_PYTHON) -m pytest

.PHONY: help demo test test-rust test-python lint format pages bench wheel clean

help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: .build/installed-$(VLLM) ## a real vLLM on this CPU, stock and fixed side by side
	PYTHONPATH=tests $(VLLM_PYTHON) -m bed.demo

test: test-rust test-python ## everything

test-rust: ## the core's own tests
	cargo test --locked --workspace

test-python: .build/installed-$(VLLM) ## on vLLM's own classes and on real servers
	$(PYTEST)

lint: .venv/.made ## formatting, types and lints, Rust and Python
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(DEV)/ruff format --check .
	$(DEV)/ruff check .
	$(DEV)/mypy python tests benches

format: .venv/.made ## write what `make lint` would ask for
	cargo fmt --all
	$(DEV)/ruff format .
	$(DEV)/ruff check --fix .

pages: .build/installed-$(VLLM) ## the pages of docs/ that are made from the code
	PYTHONPATH=tests $(VLLM_PYTHON) -m bed.patches_page

bench: .build/installed-$(VLLM) ## what an event costs, as ratios against stock vLLM
	$(VLLM_PYTHON) benches/per_event.py
	cargo bench --locked -p sse_rewrite
	$(PYTEST) benches --benchmark-only --benchmark-timer=time.process_time --benchmark-columns=min,median,max

wheel: .build/wheel ## the wheel, in .build/wheels

clean: ## remove everything that was made
	rm -rf .build .venv target

.venv/.made: requirements-dev.txt
	$(PYTHON) -m venv --clear .venv
	$(DEV)/pip install --quiet -r requirements-dev.txt
	touch $@

# The stamp carries no version: one wheel serves every vLLM.
.build/wheel: $(SOURCES) .venv/.made LICENSE README.md
	rm -rf .build/wheels
	$(DEV)/maturin build --release --locked --out .build/wheels
	touch $@

.build/installed-$(VLLM): .build/wheel scripts/vllm-env
	$(PYTHON) scripts/vllm-env $(VLLM)
	.build/tools/bin/uv pip install --quiet --python $(VLLM_PYTHON) --reinstall-package vllm-stable-ids .build/wheels/*.whl
	touch $@
