# Two commands do everything on a fresh machine: `make fit` and `make test`. They need Python 3.11, 3.12 or 3.13 and nothing else.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready

.PHONY: fit test test-all fuzz docs notebooks lint types clean

fit: $(READY)
	$(VENV)/bin/llwlc fit cora --protocol ncn --out runs/cora

test: $(READY) lint types
	$(VENV)/bin/python -m pytest -n auto -m "not slow" --durations=10

# what takes longer than ten seconds a test too
test-all: $(READY) lint types
	$(VENV)/bin/python -m pytest -n auto --durations=10

# altered files, command lines, run folders, checkpoints and caches by the thousand; FUZZ="--seed 1 --only runs" for others
fuzz: $(READY)
	PYTHONPATH=tests $(VENV)/bin/python -m fuzz $(FUZZ)

# the documentation site, in site/, with its notebooks executed where they or the package have changed: open site/index.html, or `.venv/bin/mkdocs serve` for search and changes as they are made
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet

# writes the notebooks of docs/notebooks, as they stand on GitHub, anew
notebooks: $(READY)
	$(VENV)/bin/python docs/make_notebooks.py

lint: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(READY)
	$(VENV)/bin/mypy

# setuptools comes with the environment and the build is not isolated: an isolated build would fetch its own copy
$(READY): pyproject.toml constraints.txt
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt setuptools wheel
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt -e '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) runs site .notebooks .pytest_cache .mypy_cache .ruff_cache
