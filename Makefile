# Everything a fresh machine needs: Rust, g++, make, python3. `make help` lists the targets.
CARGO ?= cargo

.PHONY: help demo test test-core check bench peers

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

demo: ## projects random layers over a dozen groups and prints what it finds
	$(CARGO) run --quiet --release -p reynolds --example demo

test: test-core ## all tests and doctests

test-core: ## the tests of the pure-Rust crates
	$(CARGO) test --workspace

check: ## what must hold before a stop: format, lints, tests, doctests, rustdoc
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(MAKE) test
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

bench: ## the project's own measurements, as ratios; beside the peers where peers/.venv exists
	$(CARGO) bench --workspace

peers: ## builds the environment of the peers (escnn, e3nn, symm-learning, PyTorch) in peers/.venv
	peers/setup.sh
