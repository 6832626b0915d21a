# make setup   the virtual environment .venv from the lock file
# make demo    a simulated day on a private database server
# make up      the whole pipeline on this machine
# make test    all tests, on MySQL and on MariaDB
# make proof   every promise tried many times; writes the figures into docs/guarantees.md
# make year    a simulated year of 50 sources, and which tables level out
# make bench   the performance targets, beside Scrapy, dlt and others; writes docs/performance.md
# make audit   the pinned versions against known vulnerabilities, where an index can be reached
# make screenshots  the pictures in the README, drawn anew
# make lint    format, lint, types, import direction
# make clean   stops the private database server and removes what the other targets made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP_STAMP := $(VENV)/.installed
# Each worker has a database server of its own; a file's tests stay together and in order.
TEST_WORKERS ?= 3
PYTEST ?= $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile
TESTS ?=

.DEFAULT_GOAL := setup
.PHONY: setup demo up test test-mysql test-mariadb proof year bench bench-folder bench-setup bench-contest audit programs screenshots lint lock clean

setup: $(SETUP_STAMP)

# Built beside its place and moved at the end would break the paths inside; the stamp tells instead.
$(SETUP_STAMP): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'collection-pipeline needs Python 3.11 or newer: make setup PYTHON=python3.12' >&2; exit 3; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo 'Python cannot make virtual environments here: apt-get install python3-venv' >&2; exit 3; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes \
	  --only-binary :all: -r requirements-dev.lock
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-index \
	  --no-build-isolation --editable .
	touch $@

demo: setup
	$(BIN)/collection-pipeline demo

up: setup
	$(BIN)/collection-pipeline up

test: test-mysql test-mariadb

test-mysql: setup programs
	COLLECTION_TEST_SERVER=mysql $(PYTEST) $(TESTS)

test-mariadb: setup programs
	COLLECTION_TEST_SERVER=mariadb $(PYTEST) $(TESTS)

# These tests are part of every test run; here each has many more tries. Hours on two cores: one
# server is tried with `make proof PROOF_SERVERS=mysql`.
PROOF_SERVERS ?= mysql mariadb
PROOF_TESTS := collection_pipeline_tests/proof \
  collection_pipeline_tests/presentation/test_outbound_connections.py
PROOF_FIGURES := $(CURDIR)/.local/proof

proof: setup programs
	rm -rf $(PROOF_FIGURES)
	mkdir -p $(PROOF_FIGURES)
	set -e; for server in $(PROOF_SERVERS); do \
	  COLLECTION_PROOF=long COLLECTION_PROOF_FIGURES=$(PROOF_FIGURES) COLLECTION_TEST_SERVER=$$server \
	  $(PYTEST) --dist load --timeout 7200 $(PROOF_TESTS); \
	done
	$(BIN)/python -m collection_pipeline_tests.kit.proof_page $(PROOF_FIGURES) docs/guarantees.md

year: setup
	$(BIN)/python -m benchmarks.simulated_year

# What the pipeline is compared with never enters .venv. mysqlclient has no wheel: it is built from
# its source, for which only root can install what is missing.
BENCH_VENV := .local/bench-venv
BENCH_STAMP := $(BENCH_VENV)/.installed
CONTEST ?=

bench-setup: $(BENCH_STAMP)

$(BENCH_STAMP): requirements.lock requirements-bench.lock pyproject.toml
	@if command -v gcc >/dev/null && command -v pkg-config >/dev/null \
	  && { pkg-config --exists mysqlclient || pkg-config --exists libmariadb; } \
	  && $(PYTHON) -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' \
	    2>/dev/null; then :; \
	elif test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q --yes \
	    --no-install-recommends gcc libc6-dev pkg-config default-libmysqlclient-dev python3-dev; \
	else \
	  echo 'mysqlclient is built from its source: apt-get install gcc pkg-config' \
	    'default-libmysqlclient-dev python3-dev' >&2; exit 3; \
	fi
	test -x $(BENCH_VENV)/bin/python || $(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install -qq --disable-pip-version-check --require-hashes \
	  --only-binary :all: --no-binary mysqlclient -r requirements.lock -r requirements-bench.lock
	$(BENCH_VENV)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-index \
	  --no-build-isolation --editable .
	touch $@

# Each on a private server of its own; an hour and a half on two quiet cores. A part of them again:
# make bench BENCHMARKS='claim_rate growth', and the contest alone is make bench-contest.
BENCHMARKS ?= contest claim_rate host_delay tick_memory capture_gate seen_cleanup dispatch_latency \
  api_growth growth machines
BENCH_TABLES := $(CURDIR)/.local/bench-tables

.PHONY: $(addprefix bench-,$(BENCHMARKS))
bench: export COLLECTION_BENCH_TABLES := $(BENCH_TABLES)
bench: setup bench-setup programs bench-folder $(addprefix bench-,$(BENCHMARKS))
	$(BIN)/python -m benchmarks.tables $(BENCH_TABLES) docs/performance.md

bench-folder:
	rm -rf $(BENCH_TABLES)
	mkdir -p $(BENCH_TABLES)

$(addprefix bench-,$(filter-out contest,$(BENCHMARKS))): setup
	$(BIN)/python -m benchmarks.$(@:bench-%=%)

# The large catalogue has fewer rounds, and each of the pipeline's two ways with one driver. A try:
# make bench-contest CONTEST='--rounds 1 --sizes 2600'.
CONTEST_ROUNDS := $(BIN)/python -m benchmarks.contest --python $(BENCH_VENV)/bin/python

bench-contest: setup bench-setup
ifneq ($(CONTEST),)
	$(CONTEST_ROUNDS) $(CONTEST)
else
	$(CONTEST_ROUNDS) --rounds 5 --sizes 2600 --latencies 0 20
	$(CONTEST_ROUNDS) --rounds 3 --sizes 20000 --latencies 0 --contestants page_server limit \
	  limit_same_columns service_mysqlclient dagster_mysqlclient scrapy dlt dagster_pandas
endif

# Programs that only tests need: Chromium for the operations page, ip for hosts in networks of their
# own, systemd-analyze for the units in deploy/. Only root can install them.
PROGRAMS := chromium:chromium ip:iproute2 systemd-analyze:systemd

programs:
	@missing=; for pair in $(PROGRAMS); do \
	  program=$${pair%%:*}; \
	  test $$program = chromium && { test -n "$$CHROMIUM" || command -v chromium-browser >/dev/null \
	    || command -v google-chrome >/dev/null; } && continue; \
	  command -v $$program >/dev/null || test -x /usr/sbin/$$program || missing="$$missing $${pair#*:}"; \
	done; \
	if test -z "$$missing"; then :; \
	elif test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	  apt-get update -q && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -q --yes --no-install-recommends $$missing; \
	else \
	  echo "The tests need programs that are not here: apt-get install$$missing." \
	    'Another Chromium is named by CHROMIUM=/path/to/chromium.' >&2; exit 3; \
	fi

audit: setup
	$(PYTHON) -m venv .local/audit-tools
	.local/audit-tools/bin/pip install --quiet pip-audit==2.10.1
	@rm -f .local/audit.json
	@.local/audit-tools/bin/pip-audit --require-hashes --disable-pip --progress-spinner off \
	  --format json --output .local/audit.json -r requirements.lock >/dev/null 2>&1 || true
	@$(BIN)/python -m collection_pipeline_tests.kit.known_vulnerabilities .local/audit.json

screenshots: setup programs
	$(BIN)/python -m collection_pipeline_tests.kit.screenshots

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Hashes of the public files, and no address of any index. Extras stay: pip checks a hash only where
# it sees the exact requirement that is pinned.
LOCK := CUSTOM_COMPILE_COMMAND='make lock' PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS= \
  PIP_EXTRA_INDEX_URL= .local/lock-tools/bin/pip-compile --quiet --generate-hashes --no-strip-extras \
  --allow-unsafe --no-emit-index-url --no-emit-find-links --no-emit-trusted-host

lock:
	$(PYTHON) -m venv .local/lock-tools
	.local/lock-tools/bin/pip install --quiet pip-tools==7.6.2
	$(LOCK) --output-file requirements.lock pyproject.toml
	$(LOCK) --extra docker --extra kubernetes --constraint requirements.lock \
	  --output-file requirements-deploy.lock pyproject.toml
	$(LOCK) --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml
	$(LOCK) --constraint requirements.lock --output-file requirements-bench.lock requirements-bench.in

clean:
	@if test -x $(BIN)/python; then $(BIN)/python -m collection_pipeline.local_db stop; fi
	rm -rf .local $(VENV) .import_linter_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
	find collection_pipeline collection_pipeline_tests -name __pycache__ -type d -prune -exec rm -rf {} +
