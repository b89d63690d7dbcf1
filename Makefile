# make demo and make test are all a newcomer needs: each sets up what it uses, once.

PYTHON ?= python3
ARGS ?=
COMPILE := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --group build

.PHONY: help setup setup-training demo lint test-unit test test-browser test-training test-crawlers test-engines dashboards bench docs lock generate wheel clean

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready ## make .venv with everything that demo, test, bench and docs use

setup-training: .venv-training/.ready ## make .venv-training with what training and fine-tuning use

demo: setup ## crawl a real site and clean it while it is crawled (ARGS='--help' says more)
	.venv/bin/dehusk demo $(ARGS)

lint: setup ## check style, types and layers, and that the tests of crawlers can be loaded
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/pytest --collect-only --quiet --quiet tests/crawlers

test-unit: setup ## run the tests that need no service
	.venv/bin/pytest -m "not training" --numprocesses auto --dist loadfile tests/unit $(ARGS)

test: lint ## check style, types and layers, and run the tests on the real Kafka, Redis and Triton, and in Chromium (15 to 20 minutes on two cores)
	.venv/bin/pytest -m "not training" --numprocesses 4 --dist loadfile --no-loadscope-reorder $(ARGS)

test-browser: setup ## run the tests of the pages for browsers, in Chromium
	.venv/bin/pytest tests/browser $(ARGS)

test-training: setup-training ## run the tests that need the training framework
	.venv-training/bin/pytest -m training tests/unit/training $(ARGS)

test-crawlers: setup ## run the recipes of docs/how-to/crawlers.md with real crawlers, fetched into .cache (a few minutes, the first time a quarter of an hour; ARGS='-k scrapy')
	.venv/bin/pytest --timeout 1800 tests/crawlers $(ARGS)

test-engines: setup ## run the examples of docs/how-to/engines.md on Ray, Spark and others, which it installs into .venv (1 GB), with a Java of version 17 or newer
	.venv/bin/uv pip install --quiet --python .venv/bin/python --constraint requirements.lock --group engines
	.venv/bin/pytest tests/unit/docs/test_engines.py $(ARGS)

dashboards: setup ## check the dashboards of docker/grafana by Grafana's own schema
	.venv/bin/pip install --quiet --no-deps --require-hashes --upgrade --target build/grafana --requirement docker/grafana/requirements.txt
	PYTHONPATH=build/grafana .venv/bin/python docker/grafana/check.py

bench: setup ## measure the stream and its steps, compared with trafilatura and resiliparse
	.venv/bin/python -m benchmarks $(ARGS)

docs: setup ## build the documentation as a website into build/site (ARGS='--site-dir DIR'; a dead link fails)
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet $(ARGS)
	@echo "build/site/index.html is the website; .venv/bin/mkdocs serve shows it with its search."

lock: setup ## resolve the dependencies of pyproject.toml anew (ARGS=--upgrade takes newer versions)
	$(COMPILE) pyproject.toml --extra test --extra bench --extra docs --group lock --group wheel -o requirements.lock $(ARGS)
	$(COMPILE) pyproject.toml --extra train --group test-training -o requirements-training.lock $(ARGS)
	$(COMPILE) pyproject.toml --extra otlp --extra parquet --extra stores -c requirements.lock -o docker/requirements.lock $(ARGS)

generate: setup ## make the generated sources of inference and schemas/json anew
	.venv/bin/python -m codegen

wheel: setup ## build the wheel of this platform into dist/, and clean pages with it in an empty environment
	rm -rf build dist
	.venv/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel .
	PATH=$(CURDIR)/.venv/bin:$$PATH .venv/bin/auditwheel repair --wheel-dir dist build/wheel/*.whl
	$(PYTHON) -m venv build/venv
	build/venv/bin/pip install --quiet --no-deps --require-hashes --requirement docker/requirements.lock
	build/venv/bin/pip install --quiet --no-deps dist/*.whl
	build/venv/bin/dehusk --version
	build/venv/bin/dehusk clean --no-blocks inference/golden_pages >/dev/null

clean: ## remove the virtual environments, what was compiled, and caches
	rm -rf .venv .venv-training build dist *.egg-info inference/native/*.so inference/native/feature.pxd
	rm -rf .cache/crawlers .cache/helm .cache/opensearch .cache/selectolax .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

NATIVE := setup.py $(wildcard inference/encoding/features.py inference/native/*.pyx inference/native/*.pxd inference/native/*.h inference/native/*.c)

# uv installs what a lock names, as it fetches and unpacks side by side, which pip does not.
INSTALL = UV_HTTP_TIMEOUT="$${UV_HTTP_TIMEOUT:-180}" UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$$PIP_INDEX_URL}" .venv/bin/uv pip install --quiet --system-certs --no-deps --require-hashes

.venv/.ready: requirements.lock pyproject.toml $(NATIVE)
	$(require_packages)
	@echo "Installing requirements.lock into .venv; the first time takes a few minutes."
	@$(PYTHON) -m venv .venv
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock >.venv/uv.lock
	@.venv/bin/pip install -qq --disable-pip-version-check --no-deps --require-hashes --requirement .venv/uv.lock
	@$(INSTALL) --python .venv --requirement requirements.lock
	@# Bytecode beside it, also where Python is to write none. A package may hold files for newer Pythons.
	@.venv/bin/python -m compileall -qq -j 0 -x /tests/ .venv/lib dehusk streams inference schemas & \
	.venv/bin/pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable . && wait
	@touch $@

.venv-training/.ready: requirements-training.lock .venv/.ready
	@echo "Installing requirements-training.lock into .venv-training; the first time takes a few minutes."
	@$(PYTHON) -m venv --without-pip .venv-training
	@$(INSTALL) --python .venv-training --requirement requirements-training.lock
	@cp -r .venv/lib/python*/site-packages/*dehusk-* .venv-training/lib/python*/site-packages/  # this checkout
	@touch $@

# Triton's Python backend, which installs with pip for Linux on x86-64 alone, loads libpython at run time.
define HAS_LIBPYTHON
import ctypes, platform, sys
name = "libpython%d.%d.so.1.0" % sys.version_info[:2]
if (sys.platform, platform.machine()) == ("linux", "x86_64"):
    for place in (sys.base_prefix + "/lib/" + name, name):
        try:
            sys.exit(ctypes.CDLL(place) is None)
        except OSError:
            pass
    sys.exit(1)
endef
export HAS_LIBPYTHON

define HAS_COMPILER
import os, shutil, sys, sysconfig
compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC")).split()[0]
sys.exit(shutil.which(compiler) is None)
endef
export HAS_COMPILER

define HAS_HEADERS
import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))
endef
export HAS_HEADERS

define require_packages
	@command -v $(PYTHON) >/dev/null || { echo "Python is missing; install it with: \
	sudo apt-get install python3 python3-venv python3-dev gcc libc6-dev"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; install it and run: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	@v=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'); missing=; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing python$$v-venv"; \
	$(PYTHON) -c "$$HAS_COMPILER" || missing="$$missing gcc libc6-dev"; \
	$(PYTHON) -c "$$HAS_HEADERS" || missing="$$missing python$$v-dev"; \
	$(PYTHON) -c "$$HAS_LIBPYTHON" || missing="$$missing libpython$$v"; \
	test -z "$$missing" || { echo "Packages are missing; install them with: sudo apt-get install$$missing"; exit 1; }
endef
