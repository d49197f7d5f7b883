# Every target sets up what it needs, from Python and the package registry alone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench docs lock clean

demo: $(READY)
	$(BIN)/cvpl demo

test: lint
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python benchmarks/startup_and_small_audit.py

docs: $(READY)
	$(BIN)/python docs/make.py

# The environment: the locked versions first, then the package itself, editable.
$(READY): pyproject.toml requirements/dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(READY)

# Resolve the lock anew, for every platform, without naming where packages come from.
lock: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --group dev pyproject.toml -o requirements/dev.txt

clean:
	rm -rf $(VENV) demo dist build
