# Verbs: setup check test test-all packs-gpu test-gpu demo docs clean. Each does all that it needs first, on a fresh Debian machine too.
# The environment is .venv, everything else that is made goes below build/. Stamps keep a second run short.

SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
SYSTEM_PYTHON := $(shell command -v $(PYTHON))# before .venv comes into the path
WORKERS ?= $(shell nproc)
BIN := .venv/bin
STAMPS := build/stamps
PREFIX := $(CURDIR)/build/install
# A build leaves in a pack what its set asks for and nothing else, so each set has a folder of its own.
PACKS_ci := $(PREFIX)/lib/aotriton.images
PACKS_demo := $(CURDIR)/build/demo
# All that the GPU tests need, and the Python with PyTorch that runs them.
GPU := $(CURDIR)/build/gpu
GPU_PYTHON ?= $(SYSTEM_PYTHON)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
export PATH := $(CURDIR)/$(BIN):$(PATH)

SOURCES = $(shell find aotriton schema -name '*.py' -o -name '*.json' -o -name "*.fbs")

.PHONY: help setup system library packs-demo packs-ci packs-gpu check test test-all test-gpu sanitize demo docs clean

help:
	@echo 'make setup     the environment with all tools, the library, the packs of the set `ci`'
	@echo 'make demo      set up, compile flash attention for GPUs and the host; run it on a simulated one'
	@echo 'make test      set up, lint, and run all tests that need no GPU, for about 12 minutes'
	@echo 'make test-all  everything that this machine can run; results into benchmarks/results/'
	@echo 'make packs-gpu all that the GPU tests need into build/gpu/, a folder to copy; on any machine'
	@echo 'make test-gpu  the GPU tests from build/gpu/, which is prepared if it is not there; GPU_PYTHON=… has PyTorch'
	@echo 'make check     ruff, mypy and the fast tests'
	@echo 'make docs      write the generated pages of docs/reference/ anew'
	@echo 'make clean     remove build/ and .venv/'

# ---- set-up ----

# What comes from Debian: installed where this runs as root, else named.
system:
	@missing=()
	command -v g++ >/dev/null || missing+=(g++)
	if ! echo '#include <lzma.h>' | g++ -E -x c++ - >/dev/null 2>&1 || [ ! -e "$$(g++ -print-file-name=liblzma.a)" ]; then
	  missing+=(liblzma-dev)
	fi
	[ $${#missing[@]} -gt 0 ] || exit 0
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	  echo "installing $${missing[*]} from Debian"
	  apt-get update -qq
	  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$${missing[@]}" >/dev/null
	else
	  printf 'error: this needs %s, which only root can install\n\n' "$${missing[*]}" >&2
	  printf 'hint: sudo apt-get update && sudo apt-get install %s\n' "$${missing[*]}" >&2
	  exit 1
	fi

# Debian keeps ensurepip apart (python3-venv); without it the system's pip installs one into the environment.
$(STAMPS)/venv:
	@mkdir -p $(STAMPS)
	if ! '$(SYSTEM_PYTHON)' -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
	  printf 'error: `%s` is not Python 3.11, which the pinned packages are for\n\n' '$(PYTHON)' >&2
	  printf 'hint: make PYTHON=/path/to/python3.11 …\n' >&2
	  exit 1
	fi
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then
	  '$(SYSTEM_PYTHON)' -m venv .venv >/dev/null 2>&1 || {
	    '$(SYSTEM_PYTHON)' -m venv --clear --without-pip .venv
	    '$(SYSTEM_PYTHON)' -m pip --python $(BIN)/python install --quiet --disable-pip-version-check pip
	  }
	fi
	touch $@

# Every package is pinned, those that others ask for too, so nothing is resolved: --no-deps.
$(STAMPS)/build-env: requirements.txt pyproject.toml $(STAMPS)/venv
	@echo 'installing the build environment into .venv'
	$(PIP) --no-deps -r requirements.txt
	$(PIP) --no-deps --no-build-isolation -e .
	touch $@

$(STAMPS)/demo-env: examples/requirements.txt $(STAMPS)/build-env
	@$(PIP) --no-deps -r examples/requirements.txt
	touch $@

$(STAMPS)/dev-env: requirements-dev.txt $(STAMPS)/demo-env
	@$(PIP) --no-deps -r requirements-dev.txt
	touch $@

$(STAMPS)/configure: CMakeLists.txt $(STAMPS)/build-env
	@cmake -S . -B build/cmake -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX='$(PREFIX)' \
	  -DAOTRITON_NOIMAGE_MODE=ON >build/configure.log || { cat build/configure.log; exit 1; }
	touch $@

# Ninja knows best whether there is something to do.
library: system $(STAMPS)/configure
	@cmake --build build/cmake
	cmake --install build/cmake >build/install.log || { cat build/install.log; exit 1; }

$(STAMPS)/packs-%: $(SOURCES) $(STAMPS)/build-env
	@python -m aotriton build --set $* --out '$(PACKS_$*)' --workers $(WORKERS)
	touch $@

setup: $(STAMPS)/dev-env library $(STAMPS)/packs-ci

# ---- verbs ----

demo: $(STAMPS)/demo-env library $(STAMPS)/packs-demo
	@export AOTRITON_PACK_PATH='$(PACKS_demo)'
	python -m aotriton demo
	python examples/sentence_search.py --device sim:gfx942

check: $(STAMPS)/dev-env library
	@ruff check .
	mypy
	pytest -n $(WORKERS) -m 'not all and not gpu' tests/null

test: setup
	@ruff check .
	mypy
	ctest --test-dir build/cmake --output-on-failure
	$(MAKE) --no-print-directory sanitize
	pytest -rs -n $(WORKERS) -m 'not all and not gpu' tests/null tests/compile

# What reads bytes that others wrote, under address sanitizer; `make test-all` runs all programs under both sanitizers.
SANITIZED := test_readers test_select fuzz_pack
sanitize: system $(STAMPS)/build-env
	@cmake -S . -B build/cmake-address -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DAOTRITON_SANITIZE=address \
	  -DAOTRITON_NOIMAGE_MODE=ON >build/sanitize.log || { cat build/sanitize.log; exit 1; }
	cmake --build build/cmake-address --target $(SANITIZED)
	ctest --test-dir build/cmake-address --output-on-failure -FS programs -R '^($(subst $(eval ) ,|,$(SANITIZED)))$$'

test-all: setup
	@python benchmarks/test_all.py

packs-gpu: $(STAMPS)/demo-env library
	@nice python tests/tools/prepare_gpu.py '$(GPU)' --workers $(WORKERS)

# A prepared folder is run as it stands, on a machine without compilers too.
test-gpu:
	@[ -e '$(GPU)/facts.json' ] || $(MAKE) --no-print-directory packs-gpu
	'$(GPU_PYTHON)' '$(GPU)/run.py' tests

docs: $(STAMPS)/build-env library
	@python docs/reference/generate.py
	python docs/performance_tables.py

clean:
	rm -rf build .venv
