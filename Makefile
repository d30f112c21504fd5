# Every target makes the virtual environment and installs what it needs; a second run does not
# install again unless pyproject.toml or constraints.txt changed.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# The C core is compiled by an installation.
INPUTS := pyproject.toml studies/pyproject.toml constraints.txt hatch_build.py \
	$(wildcard src/primal/native/*.[ch] src/primal/native/build.py)
MINIMUM := .venv-minimum

.PHONY: wheels demo stress test coverage test-minimum lint bench gpu-test reproduce docs site release-check clean
.DELETE_ON_ERROR:

# Where bytecode is not kept, both workers of the tests and every process that they start would
# compile the library again, and pytest would rewrite every assert twice.
unexport PYTHONDONTWRITEBYTECODE

demo: $(VENV)/.installed-demo ## make the demo's picture and numbers
	$(BIN)/primal demo

test: $(VENV)/.installed-dev ## format, lint, types, then every test
	$(BIN)/primal doctor > $(VENV)/doctor.log & doctor=$$!; \
	$(MAKE) --no-print-directory lint; linted=$$?; \
	wait $$doctor || { cat $(VENV)/doctor.log; exit 1; }; exit $$linted
	$(BIN)/python tools/fetch_peer_tests.py
	$(BIN)/python -m pytest -n 2

coverage: $(VENV)/.installed-dev ## every test, and which lines none of them reaches
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term-missing:skip-covered

test-minimum: $(MINIMUM)/.installed ## every test but PyTorch's, with the oldest versions declared
	$(MINIMUM)/bin/python -m pytest -n 2

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyrefly check --summarize-errors

stress: $(VENV)/.installed-dev ## primal.arrow in engines of several processes, in environments of its own
	$(BIN)/python tests/stress/arrow_engines.py

bench: $(VENV)/.installed-dev ## measure against what people use
	$(BIN)/primal bench

# On a machine with a GPU, with the torch, triton and numpy found there: nothing is installed.
gpu-test:
	PYTHONPATH=src:studies/src python3 tests/gpu/run.py

reproduce: $(VENV)/.installed-demo ## every claim of the paper, measured, and a page
	$(BIN)/primal reproduce

docs: $(VENV)/.installed-dev ## run every example of the documentation
	$(BIN)/python -m pytest tests/house/test_docs.py

site: $(VENV)/.installed-site ## the documentation as a site, warnings are errors
	$(BIN)/python -m sphinx -b html -j auto -q -W --keep-going docs site
	test -f primal-reproduce/index.html || $(BIN)/primal reproduce --quick
	cp primal-reproduce/index.html site/report.html

release-check: $(VENV)/.installed-site site ## what a release has to pass beside the tests
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/validate-pyproject pyproject.toml studies/pyproject.toml
	$(BIN)/pyroma --min 10 .
	$(BIN)/sp-repo-review . --show err
	$(BIN)/codespell
	$(BIN)/python -m pytest benchmarks -q
	$(PYTHON) -m venv --clear build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[sklearn]"
	build/wheel/bin/python tools/check_readme.py

wheels: $(VENV)/.installed-release ## wheels of all platforms, the pure one and the sdist
	rm -rf dist
	$(BIN)/python tools/build_wheels.py
	for wheel in dist/*linux*.whl; do $(BIN)/auditwheel show $$wheel || exit 1; done

clean:
	rm -f src/primal/native/primal.core.*
	rm -rf $(VENV) $(MINIMUM) .pytest_cache .ruff_cache .coverage .hypothesis dist build primal-demo.png primal-reproduce site docs/api
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Primal needs Python 3.11 or newer, found " + sys.version.split()[0] + ": set PYTHON=") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'

$(VENV)/.installed-demo: $(VENV)/bin/python $(INPUTS)
	$(PIP) --editable . --editable ./studies
	@touch $@

$(MINIMUM)/.installed: pyproject.toml constraints-minimum.txt
	$(PYTHON) -m venv --clear $(MINIMUM)
	$(MINIMUM)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(MINIMUM)/bin/python -m pip install --quiet --disable-pip-version-check \
		-c constraints-minimum.txt --group test \
		--editable '.[sklearn,codebooks,privacy,onnx,arrow]' --editable ./studies
	@touch $@

# torch first and pinned: anything that depends on it then finds it installed.
$(VENV)/.installed-dev: $(VENV)/bin/python $(INPUTS)
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[all]' --editable ./studies --group dev
	sh tools/install_browser.sh
	sh tools/install_targets.sh
	@touch $@ $(VENV)/.installed-demo

$(VENV)/.installed-site: $(VENV)/.installed-dev
	$(PIP) --group site --group release
	@touch $@ $(VENV)/.installed-release

$(VENV)/.installed-release: $(VENV)/bin/python $(INPUTS)
	$(PIP) --group release
	@touch $@
