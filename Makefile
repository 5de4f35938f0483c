# The two commands are `make demo` and `make test`; `make help` lists the rest.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
TARGET ?= longhaul

.PHONY: help deps build demo test check format tidy asan tsan fuzz golden-docs clean

help: ## this list
	@sed -nE 's/^([a-z-]+):[a-z ]*## *(.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

deps: ##             install Debian packages that the build needs
	@scripts/deps.sh

build: deps ##       build/release/longhaul
	@cmake --preset release > build-release.log 2>&1 || { cat build-release.log; exit 1; }; rm -f build-release.log
	cmake --build --preset release -j $(JOBS) --target $(TARGET)

demo: build ##       install, build, train on 40 MB of English, resume, print a sample (a few minutes)
	scripts/demo.sh

test: ##             install, build, run all tests
	@scripts/deps.sh test
	@$(MAKE) --no-print-directory build TARGET=all
	ctest --preset release -j $(JOBS)

check: format tidy asan tsan fuzz ##    what CI runs beside the tests

format: ##           clang-format in check mode
	@scripts/deps.sh test
	scripts/check_format.sh

tidy: build ##       clang-tidy over src/
	@scripts/deps.sh test
	scripts/check_tidy.sh

# Rooms whose tests run under each sanitizer: what handles raw memory, and what has threads. All would take an hour.
ASAN_ROOMS ?= base tensor spec data kernels model
TSAN_ROOMS ?= base data

asan: ##             fast tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/deps.sh test
	cmake --preset asan > /dev/null
	cmake --build --preset asan -j $(JOBS) --target $(ASAN_ROOMS:%=test_%)
	for room in $(ASAN_ROOMS); do build/asan/tests/test_$$room --gtest_brief=1 || exit 1; done

tsan: ##             fast tests under ThreadSanitizer
	@scripts/deps.sh test
	cmake --preset tsan > /dev/null
	cmake --build --preset tsan -j $(JOBS) --target $(TSAN_ROOMS:%=test_%)
	for room in $(TSAN_ROOMS); do build/tsan/tests/test_$$room --gtest_brief=1 || exit 1; done

FUZZ_SECONDS ?= 60
fuzz: ##             each libFuzzer target for FUZZ_SECONDS
	@scripts/deps.sh test
	cmake --preset fuzz > /dev/null
	cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS)

golden-docs: build ## docs/configuration.md anew from the list of options
	build/release/longhaul train --help-config > docs/configuration.md.new
	mv docs/configuration.md.new docs/configuration.md

clean: ##            remove build folders
	rm -rf build
