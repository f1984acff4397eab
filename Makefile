# Everything a contributor or an operator runs starts here; `make` alone lists it.

VENV := .venv
BIN := $(VENV)/bin
SYNCED := $(VENV)/.synced
RELEASED := protos/released.binpb
BENCH := $(VENV)/.bench

# Any Python from 3.11 on that can make virtual environments; name another with PYTHON=.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	"$$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo "$$python"; break; }; done)
UV_VERSION = $(shell sed -n '/^name = "uv"$$/{n;s/^version = "\(.*\)"$$/\1/p;}' uv.lock)

ARGS ?=
JOBS ?= 2
BENCHES := $(addprefix bench-,plots rules commands watch footprint log matchmaking bots scale capacity)
SLOW := contracts integration golden e2e
SHARED := tests/contracts tests/integration/matchmaking -k "not memory and not archived and not s3"

# What an outer environment says about other projects must not reach this one.
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH UV_PROJECT UV_PROJECT_ENVIRONMENT UV_PYTHON
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help setup demo up test bench $(BENCHES) test-fast drill ha-test lint format protos protos-check protos-freeze rules-check rules-freeze rules-next chart-check chart-policy chart-schema dashboards monitoring-check image image-test compose-test build clean distclean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Arguments go in ARGS: make test ARGS=tests/games, make demo ARGS=--help"

setup: $(SYNCED) ## Make or update .venv from uv.lock; does nothing when it is current

$(SYNCED): uv.lock pyproject.toml | $(BIN)/uv
	$(BIN)/uv sync --locked --all-extras >&2
	@touch $@

$(BENCH): $(SYNCED)
	$(BIN)/uv sync --locked --all-extras --group bench >&2
	@touch $@

$(BIN)/uv:
	@test -n "$(PYTHON)" || { \
		echo "Promontory needs Python 3.11 or newer with its venv module, and found none." >&2; \
		echo "Install it (Debian and Ubuntu: apt install python3.11 python3.11-venv)" >&2; \
		echo "or say where it is: make setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv==$(UV_VERSION)"

demo: setup ## Start everything on this machine and watch ranked matches being played
	@$(BIN)/promontory demo $(ARGS)

up: setup ## Start everything on this machine and keep it running until Ctrl-C
	@$(BIN)/promontory up $(ARGS)

test: setup ## Run all tests; JOBS=n sets how many at a time
	$(BIN)/pytest -n $(JOBS) $(ARGS)

bench: $(BENCH) ## Run all benchmarks in turn, ten minutes at most; keeps what they found in dist/bench.json
	@$(BIN)/python -m tests.bench.suite $(ARGS)

bench-plots: $(BENCH) ## Draw docs/performance/*.png from dist/bench.json
bench-rules: $(BENCH) ## Measure the rules of every game; ARGS=--profile shows what is hottest
bench-commands: $(BENCH) ## Measure commands beside the floor and other projects' servers: three minutes
bench-watch: setup ## Measure a commit to 1, 100 and 5,000 watchers, then 5,000 streams of 500 matches; two minutes
bench-footprint: setup ## Measure start, memory and CPU of every process, idle and at 100 commands a second; two minutes
bench-log: $(BENCH) ## Measure appends, replays and openings beside eventsourcing on SQLite; a minute
bench-matchmaking: setup ## Measure how fast matches are made, and the matcher with 100,000 tickets; a minute
bench-bots: setup ## Measure bots' turns and tallies through Celery on the whole platform; a minute
bench-scale: setup ## Measure two rules processes, and clusters of one and three primaries, beside one of each; a minute
bench-capacity: setup ## Reckon from dist/bench.json what a core carries, and what five million games a day need
$(BENCHES):
	@$(BIN)/python -m tests.bench.$(@:bench-%=%) $(ARGS)

test-fast: setup ## Run the tests that need no server and no package registry
	$(BIN)/pytest -n $(JOBS) -m "not registry" $(SLOW:%=--ignore=tests/%) $(ARGS)

drill: setup ## Put the whole platform through minutes of faults under load; prints figures
	$(BIN)/pytest -s $(or $(ARGS),tests/drills/drill_platform.py)

ha-test: setup ## Try adapters and the platform with Sentinel and on a cluster, whose primaries die; five minutes
	$(BIN)/pytest $(SHARED) --servers=sentinel
	$(BIN)/pytest $(SHARED) --servers=cluster
	$(BIN)/pytest -s $(or $(ARGS),tests/ha/ha_log.py tests/ha/ha_broker.py tests/ha/ha_failover.py)

lint: setup ## Check style, types, import rules, protos, generated code and the lock
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/buf format --diff --exit-code
	$(BIN)/buf lint
	$(BIN)/buf breaking --against $(RELEASED)
	$(BIN)/python protos/generate.py --check
	$(BIN)/python tools/rules_versions.py check
	$(BIN)/uv lock --check

format: setup ## Put code and protos into the house format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/buf format --write

protos: setup ## Generate services/promontory/api from protos/
	$(BIN)/python protos/generate.py

protos-check: setup ## Fail if the generated code is not what protos/ gives
	$(BIN)/python protos/generate.py --check

protos-freeze: setup ## Make today's protos the released ones that later changes may not break
	$(BIN)/buf build --exclude-source-info -o $(RELEASED)

rules-check: setup ## Fail if a rules version is not as it was frozen
	$(BIN)/python tools/rules_versions.py check

rules-freeze: setup ## Freeze today's rules versions; ARGS="--release x.y.z" for good
	$(BIN)/python tools/rules_versions.py freeze $(ARGS)

rules-next: setup ## Keep the rules of GAME=... as an older version, and begin the next one
	@test -n "$(GAME)" || { echo "Which game? make rules-next GAME=pacific" >&2; exit 1; }
	$(BIN)/python tools/rules_versions.py next $(GAME)

chart-check: setup ## Lint, render and judge the Helm chart; fetches Helm, Envoy and schemas once
	@helm=$$($(BIN)/python tools/fetch_helm.py) && helm3=$$($(BIN)/python tools/fetch_helm.py helm3) || { \
		echo "The chart was NOT checked." >&2; exit 0; }; \
	HELM=$$helm HELM3=$$helm3 $(BIN)/pytest $(or $(ARGS),tests/deploy/test_chart.py tests/deploy/chart_*.py)

chart-policy: setup ## Scan what the chart renders with checkov, which it fetches once: 200 MB
	@helm=$$($(BIN)/python tools/fetch_helm.py) || { echo "The chart was NOT checked." >&2; exit 0; }; \
	HELM=$$helm $(BIN)/pytest tests/deploy/scan_policy.py $(ARGS)

chart-schema: setup ## Generate the schema of the chart's values from the settings
	$(BIN)/python tools/chart_schema.py write

dashboards: setup ## Make the Grafana dashboards from tools/dashboards.py
	$(BIN)/python tools/dashboards.py write

monitoring-check: setup ## Try alerts, dashboards and traces with a real Prometheus and real processes
	$(BIN)/pytest $(or $(ARGS),tests/deploy/test_monitoring.py tests/deploy/monitoring_live.py tests/deploy/tracing_live.py)

image: setup ## Build the container image with docker, podman or buildah
	@$(BIN)/python -m tools.image build $(ARGS)

image-test: setup ## Run the image's processes in containers; builds it without a registry of images
	@$(BIN)/python -m tools.image needs || { echo "The image was NOT checked." >&2; exit 0; }; \
	$(BIN)/python -m tools.image build-for-tests && \
	$(BIN)/pytest -s $(or $(ARGS),tests/deploy/image_processes.py)

compose-test: setup ## Run deploy/compose.yaml in a Docker of its own
	@$(BIN)/python -m tools.image compose-needs || { echo "Compose was NOT checked." >&2; exit 0; }; \
	$(BIN)/python -m tools.image build-for-tests && \
	$(BIN)/pytest $(or $(ARGS),tests/deploy/compose_platform.py)

build: setup ## Build the wheel and the source archive into dist/
	$(BIN)/uv build --out-dir dist

clean: ## Remove caches and built files
	rm -rf dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find services tests protos -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## Remove .venv too
	rm -rf $(VENV)
