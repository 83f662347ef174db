# The front door: each target sets up what it needs, then hands over to CMake (CMakePresets.json).
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)

.PHONY: help setup configure build test demo sanitize fuzz bench format lint clean

help: ## Shows this list
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' Makefile | while IFS='|' read -r target what; do \
	  printf '  make %-9s %s\n' "$$target" "$$what"; done

setup: ## Brings compilers, libraries and LibTorch where they are missing
	@tools/setup $(setup_groups)

# A LibTorch other than the one configured for makes the old configuration void.
configure: setup
	@if [ ! -e build/build.ninja ] || [ build/torch_prefix -nt build/build.ninja ]; then \
	  cmake --preset release --fresh; fi

build: configure ## Builds build/weft
	@cmake --build build -j $(JOBS) --target weft

test: setup_groups = --with mpi
test: configure ## Builds everything and runs all tests
	@cmake --build build -j $(JOBS)
	@ctest --test-dir build --output-on-failure -j $(JOBS)

demo: build ## Trains a small model on Python's own source and shows where the time goes
	@tools/demo

sanitize: setup_groups = --with mpi
sanitize: setup ## Builds and runs the fast tests under the address and thread sanitizers
	@for preset in asan tsan; do \
	  cmake --preset $$preset && cmake --build --preset $$preset -j $(JOBS) && \
	  ctest --preset $$preset -j $(JOBS); done

fuzz: ## Fuzzes every reader of text and files for a while; needs Clang
	@tools/setup --plan-only
	@cmake --preset fuzz && cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	@ctest --preset fuzz

bench: setup_groups = --with bench
bench: configure ## Builds and runs the benchmarks
	@cmake --preset release -DWEFT_BENCH=ON
	@cmake --build build -j $(JOBS)
	@cmake --build build --target run_benchmarks

sources = git ls-files -z -- '*.h' '*.cpp'

format: ## Formats all C++ sources
	@tools/setup --plan-only --with lint
	@$(sources) | xargs -0 .venv-tools/bin/clang-format -i

lint: ## Checks the rules of tools/lint, the format, and the plan half with clang-tidy
	@tools/setup --plan-only --with lint
	@tools/lint
	@$(sources) | xargs -0 .venv-tools/bin/clang-format --dry-run -Werror
	@cmake --preset plan-only -B build-lint -DCMAKE_BUILD_TYPE=Debug >/dev/null
	@tools/lint --print-plan-sources | xargs -P $(JOBS) -n 4 \
	  .venv-tools/bin/clang-tidy -p build-lint --quiet

clean: ## Removes what was built; keeps .venv
	@rm -rf build build-dev build-asan build-tsan build-fuzz build-lint build-plan-only
