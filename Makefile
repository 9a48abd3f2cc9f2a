# Every target sets up its own virtual environment (.venv) first; git, make and Python 3.11+ are enough.
# Set PYTHON to choose the interpreter: make test PYTHON=python3.12

VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
JOBS ?= 3
PYTEST := $(RUN) -m pytest -q --no-header
# A file goes to one process, so that what its tests share is made once; those that take longest come first.
SPREAD := -n $(JOBS) --dist loadfile --no-loadscope-reorder
# The tests that start programs of other languages.
BARE := tests/acceptance/test_languages.py $(shell grep -lrE 'languages import|shutil.which' --include='test_*.py' tests/acceptance tests/faults tests/integration)

.DEFAULT_GOAL := help
.PHONY: help demo server languages test bare check format lint imports types unit faults bench serverbench growth profile scaling orchestrators clusters uibench reference docs coverage clean ui ui-dev ui-check ui-test ui-pictures

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1	/' | expand -t 18

$(READY): pyproject.toml constraints.txt tools/bootstrap
	@PYTHON="$(PYTHON)" sh tools/bootstrap

demo: $(READY) ## an order as a workflow, then the web interface with runs that ended, failed, work and wait, until Ctrl-C
	@echo "== web interface"
	@$(RUN) tools/ui.py build || echo "== the demo goes on without it"
	@echo "== demo: turnout demo --web, on a SQLite file of its own"
	@$(RUN) -m turnout demo --web

server: $(READY) ## a server on this machine: it runs a YAML workflow that is asked for over its API, answers, and stops
	@echo "== examples/server/run.py"
	@$(RUN) examples/server/run.py

languages: $(READY) ## orders through Python, Ruby, Go and Node: a hub and four workers, where each task ran
	@echo "== examples/languages/run.py; its README says what it needs"
	@$(RUN) examples/languages/run.py

test: $(READY) ## all tests: unit, conformance, integration, acceptance and the faults in small, on SQLite and PostgreSQL
	@echo "== all tests, $(JOBS) at a time; faults with small counts"
	@$(PYTEST) $(SPREAD) tests || { \
		echo "== what failed, once more, one at a time: a test that passes only now is a bug to be mended"; \
		$(PYTEST) --last-failed --last-failed-no-failures none tests; }

check: format lint imports types unit ## format, lint, import directions, types and unit tests, in under a minute

format: $(READY)
	@echo "== format (to mend: $(VENV)/bin/ruff format .)"
	@$(VENV)/bin/ruff format --check --quiet . || ($(VENV)/bin/ruff format --diff --quiet . ; exit 1)

lint: $(READY)
	@echo "== lint"
	@$(VENV)/bin/ruff check .
	@$(RUN) tools/prose.py

imports: $(READY)
	@echo "== import directions"
	@$(VENV)/bin/lint-imports --no-logo
	@$(RUN) tools/structure.py --cycles

types: $(READY)
	@echo "== types"
	@$(VENV)/bin/basedpyright --pythonpath $(RUN)
	@echo "== types of the documentation and the examples"
	@$(RUN) tools/check_examples.py

unit: $(READY)
	@echo "== unit tests, few examples of each property"
	@TURNOUT_EXAMPLES=few $(PYTEST) $(SPREAD) tests/unit

bare: $(READY) ## the tests that use other languages, on a PATH without ruby, go and node: they skip, and nothing fails
	@echo "== tests of other languages, without them"
	@tools/without_languages $(PYTEST) $(SPREAD) $(BARE)

faults: $(READY) ## kills, stops, outages and races with their full counts, and properties with many examples (takes long)
	@echo "== faults with full counts, one at a time"
	@TURNOUT_FAULTS=full $(RUN) -m pytest -v --no-header --timeout 1800 -m faults tests
	@echo "== properties, many examples of each"
	@TURNOUT_EXAMPLES=many $(PYTEST) $(SPREAD) --timeout 1800 -m hypothesis tests/unit

bench: $(READY) ## the benchmarks W1 to W4 and the raw-SQL floor, one JSON line each
	@echo "== benchmarks (benchmarks/README.md says how to read them)"
	@$(RUN) benchmarks/run.py

serverbench: $(READY) ## what a server takes: to start, for runs of YAML files over the API, for followers, and idle, one JSON line each
	@echo "== server (benchmarks/README.md says how to read it)"
	@$(RUN) benchmarks/server.py

growth: $(READY) ## what 1,000,000 stored runs, retention, 100,000 mapped items and 10,000 runs in flight cost, one JSON line each
	@echo "== growth (benchmarks/README.md says how to read it)"
	@$(RUN) benchmarks/growth.py

profile: $(READY) ## what a step costs, on both stores: CPU by thread and function, GIL, statements, rows, WAL, memory
	@echo "== profile of W1 to W5, per step (benchmarks/profile_engine.py says how)"
	@$(RUN) benchmarks/profile_engine.py

scaling: $(READY) ## what more stage executors bring, and how the pools find their size; draws docs/how-to/pools-*.svg anew
	@echo "== pools, with 5 ms more on every round trip to PostgreSQL (benchmarks/README.md says how to read it)"
	@$(RUN) benchmarks/scaling.py --plots docs/how-to

orchestrators: $(READY) ## 1, 2 and 4 orchestrators on one PostgreSQL: throughput, fairness, CPU a step; draws docs/how-to/orchestrators.svg anew
	@echo "== orchestrators (benchmarks/README.md says how to read it)"
	@$(RUN) benchmarks/orchestrators.py --plot docs/how-to/orchestrators.svg

clusters: $(READY) ## W1 on Ray and on Dask through Turnout against raw Ray and raw Dask: overhead per task, in ms and as a ratio
	@echo "== clusters (benchmarks/README.md says how to read it)"
	@$(RUN) benchmarks/clusters.py

ui: $(READY) ## the web interface, built into src/turnout/server/static/ui; needs node, or gets it from a wheel
	@echo "== web interface"
	@$(RUN) tools/ui.py build

ui-dev: $(READY) ## the web interface with hot reload, against a running server (TURNOUT_SERVER, by default port 8470)
	@$(RUN) tools/ui.py dev

ui-check: $(READY) ## the web interface: the API client is up to date, types, lint and unit tests
	@echo "== web interface: client, types, lint, unit tests"
	@$(RUN) tools/ui.py check

ui-test: $(READY) ## the web interface in a browser (Debian's chromium) against real servers; pictures are in ui/screenshots
	@echo "== web interface: browser tests"
	@$(RUN) tools/ui.py test

ui-pictures: $(READY) ## the pictures of the documentation, taken anew from the demo's page: docs/images
	@echo "== web interface: pictures of the documentation"
	@$(RUN) tools/ui.py pictures

uibench: $(READY) ## the web interface: size, a run of 10,000 items, live updates, 100,000 runs, and what pages cost the server
	@echo "== web interface (benchmarks/README.md says how to read it)"
	@$(RUN) benchmarks/web.py

reference: $(READY) ## writes the generated parts of docs/reference from the code
	@$(RUN) tools/reference.py

docs: $(READY) ## the pages as a site, in site/; a warning is an error
	@echo "== docs"
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet

coverage: $(READY) ## all tests with line coverage of src/turnout; fails below 90 %
	@echo "== all tests with coverage"
	@rm -f .coverage .coverage.*
	@$(PYTEST) $(SPREAD) --cov --cov-report=term --cov-fail-under=90 tests

clean: ## remove the virtual environment and every cache
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage .coverage.* dist build site ui/node_modules ui/.node ui/test-results ui/screenshots src/turnout/server/static/ui
	find . -name __pycache__ -prune -exec rm -rf {} +
