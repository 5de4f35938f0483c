# The two commands: `make demo` and `make test`. `make help` lists the rest.
.PHONY: help deps build test

build: deps
	cmake --preset release >/dev/null
	cmake --build --preset release

deps:
	scripts/deps.sh
