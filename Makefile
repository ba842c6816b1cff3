# Commands for people; CMake does the work (CMakePresets.json).
#
# JOBS=N         parallel jobs, by default one per core
# SETUP=no       install nothing
# PREFIX=DIR     where `make install` puts things, /usr/local by default
# STUDY=NAME RUNS=DIR   records that `make results` takes over into docs/results/NAME
# CMAKE_PREFIX_PATH=DIR   use the LibTorch that lies there, not Debian's

JOBS ?= $(shell nproc)
SETUP ?= yes
PREFIX ?= /usr/local
export JOBS SETUP
ifdef CMAKE_PREFIX_PATH
export CMAKE_PREFIX_PATH
endif

.DEFAULT_GOAL := help
PYTHON ?= /usr/bin/python3

.PHONY: help build python test demo results install deb check format asan coverage clean
.NOTPARALLEL:

help:  ## list these commands
	@sed -n 's/^\([a-z]*\):  *## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

build:  ## install what is missing and build the program: build/release/bin/sotta
	@tools/setup.sh build
	@tools/build.sh release sotta

python:  ## build the Python package for Debian's torch and install it into build/venv
	@tools/setup.sh test
	@tools/build.sh release sotta_python
	@$(PYTHON) -m venv --system-site-packages build/venv
	@SOTTA_BUILD=$(CURDIR)/build/release build/venv/bin/python -m pip install -q --no-build-isolation --no-index --no-deps .

test:  ## install what is missing, build everything, run all tests
	@tools/setup.sh test
	@tools/build.sh release
	@tools/run_tests.py build/release

demo:  ## install what is missing, build the program, run it on embedded data
	@tools/setup.sh build
	@tools/build.sh release sotta
	@tools/demo.sh

results:  ## render docs/results from its records; with STUDY=NAME RUNS=DIR, take these records over first
	@tools/setup.sh build
	@tools/build.sh release sotta
	@tools/make_results.sh $(STUDY) $(RUNS)

install:  ## build, and install program, library, man pages and completions under PREFIX
	@tools/setup.sh build
	@tools/build.sh release sotta_packaged
	@cmake --install build/release --prefix $(PREFIX)

deb:  ## build, and make Debian packages: build/release/packages/*.deb
	@tools/setup.sh deb
	@tools/build.sh release sotta_packaged
	@tools/make_packages.sh

check:  ## everything that CI checks (.ci/run)
	@.ci/run

format:  ## format every C++ file in place
	@tools/setup.sh ci
	@git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format-14 -i

asan:  ## run all tests under the address and undefined-behaviour sanitizers
	@tools/setup.sh test
	@tools/ci/60_sanitizers.sh

coverage:  ## measure the lines of data and nn that the tests reach
	@tools/setup.sh ci
	@tools/ci/80_coverage.sh

clean:  ## remove build/
	rm -rf build
