# Two commands do all set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt

.PHONY: demo test lint types rooms suite format clean help

help: ## what there is
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/.installed ## install, run the embedded study, say where its report is
	$(BIN)/einthoven demo

test: lint types rooms suite ## install with the test tools, check style, types and rooms, run the whole suite

lint: $(VENV)/.installed-test ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test ## pyright
	$(BIN)/pyright

rooms: $(VENV)/.installed-test ## import-linter: which room may import which
	$(BIN)/lint-imports

suite: $(VENV)/.installed-test ## pytest, on all cores
	$(BIN)/python -m pytest -n auto

format: $(VENV)/.installed-test ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove the virtual environment
	rm -rf $(VENV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Einthoven needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing Einthoven into $(VENV) (once; a minute or two) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@echo "installing the test tools into $(VENV) (once) ..."
	@$(PIP) --editable '.[test]'
	@touch $@
