# Entry points for building and testing. Each target installs the packages it needs, prints little unless something
# fails, and writes the output of compilers and tests to build/*.log.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
MINUTES ?= 5
SECONDS_EACH ?= 600
SANITIZERS ?= asan ubsan tsan
# ccache can cache precompiled headers only if told to ignore time macros.
export CCACHE_SLOPPINESS := pch_defines,time_macros
# Objects do not depend on where the project is, so that all build folders and clones share what is compiled.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export PYTHONDONTWRITEBYTECODE := 1

quietly := tools/quietly
# $(call compile,PRESET,configure arguments,build arguments)
compile = $(quietly) build/$(1).log "building $(1)" \
  bash -ec 'cmake --preset $(1) $(2); cmake --build --preset $(1) $(3)'
# $(call ctest,NAME,ctest arguments): shows the summary of ctest, or what failed.
ctest = $(quietly) --show '^[0-9]+% tests passed|^Total Test time' \
  --drop '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test +\#.* Passed )' \
  build/$(1)-test.log "testing $(1)" ctest $(2)

.PHONY: help build demo test sanitize torture fuzz mutants bench deep coverage tidy format install package clean

help: ## Show the available targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## Compile build/release/pawl
	@tools/install-deps build
	# Keep a folder that was configured with tests; configure a new one without, to avoid their packages.
	tests=; [ -e build/release/CMakeCache.txt ] || tests=-DPAWL_TESTS=OFF
	$(call compile,release,'"$$tests"',--target pawl pawl_share)

demo: build ## Kill a workflow in the middle and resume it
	@examples/demo.sh

test: ## Run all tests and checks: the gate of every change
	@tools/install-deps build test package clang
	$(call compile,release,-DPAWL_TESTS=ON)
	$(call ctest,release,--test-dir build/release --output-on-failure --no-tests=error -j2)
	$(call compile,checked,-DPAWL_TESTS=ON,--target in_process_tests)
	$(quietly) --show '^[0-9]+ programs' build/checked-test.log "testing with sanitizers" tools/run-checked build/checked

sanitize: ## Run the tests with the address, undefined behaviour and thread sanitizers
	@tools/install-deps build test clang
	$(foreach preset,$(SANITIZERS),$(call compile,$(preset)); $(call ctest,$(preset),--preset $(preset));)

torture: ## Kill writers at random for MINUTES (default: 5) and check that nothing is lost
	@tools/install-deps build test
	$(call compile,release,-DPAWL_TESTS=ON,--target pawl torture_writer)
	tests/crash/torture.py --minutes $(MINUTES)
	tests/crash/workflow_torture.py --pawl build/release/pawl --kills 200
	tests/crash/workflow_torture.py --pawl build/release/pawl --kills 200 --signal mixed
	tests/crash/workflow_torture.py --pawl build/release/pawl --varied --kills 1000

mutants: ## Break the code in one place at a time and check that a test fails
	@tools/install-deps build test
	tests/crash/mutants.py
	tests/crash/engine_mutants.py

fuzz: ## Run each fuzz target for SECONDS_EACH (default: 600); inputs are kept in build/fuzz/corpus
	@tools/install-deps build clang
	$(call compile,fuzz)
	count=0
	for target in build/fuzz/fuzz_*; do
	  [ -f "$$target" ] && [ -x "$$target" ] || continue
	  name=$$(basename "$$target")
	  mkdir -p "build/fuzz/corpus/$$name" build/fuzz/findings
	  $(quietly) "build/$$name.log" "fuzzing $$name" "$$target" -max_total_time=$(SECONDS_EACH) -timeout=10 \
	    -rss_limit_mb=1024 -artifact_prefix="build/fuzz/findings/$$name-" "build/fuzz/corpus/$$name" "fuzz/corpus/$$name"
	  count=$$((count + 1))
	done
	printf 'fuzz targets: %d, no finding\n' "$$count"

bench: ## Measure, next to other stores
	@tools/install-deps build test bench
	$(call compile,release,-DPAWL_BENCH=ON,--target pawl benchmarks)
	build/release/pawl_bench
	build/release/pawl_map_bench
	build/release/pawl_steps_bench

deep: ## Run the long forms of all tests for hours, and print a table of the results
	@tools/install-deps build test package clang
	tools/deep.py --seconds-each $(SECONDS_EACH) --minutes $(MINUTES)

coverage: ## Measure which lines the tests run
	@tools/install-deps build test
	$(call compile,coverage)
	find build/coverage -name '*.gcda' -delete
	$(call ctest,coverage,--preset coverage)
	tools/coverage.py build/coverage

tidy: ## Check layers and conventions, and run clang-tidy over src
	@tools/install-deps build test clang
	tools/layers.py
	tools/tidy.py
	tools/clang_check.py --jobs $(JOBS)
	$(quietly) build/tidy.log "configuring clang-tidy" cmake --preset tidy
	$(quietly) --drop '^(\[[ 0-9/]+\]|[0-9]+ warnings? (generated|treated)|Suppressed |Use -)|clang-tidy-19 ' \
	  build/clang-tidy.log "clang-tidy" \
	  run-clang-tidy-19 -clang-tidy-binary clang-tidy-19 -p build/tidy -j $(JOBS) -quiet "^$(CURDIR)/src/"

format: ## Format the C++ sources
	@tools/install-deps clang
	tools/format

install: build ## Install pawl, its manual, completions and library under PREFIX (default: /usr/local)
	@$(call compile,release,,--target pawl_library)
	$(quietly) build/install.log "installing" env DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"
	printf '  %s\n' "$(DESTDIR)$(PREFIX)/bin/pawl"

package: build ## Build the Debian packages pawl and libpawl-dev in build/
	@tools/install-deps package
	$(call compile,release,,--target pawl_library)
	$(quietly) build/package.log "packaging" cpack --config build/release/CPackConfig.cmake -B build
	ls build/*.deb

clean: ## Remove build/
	@rm -rf build
