# A fresh machine needs Rust and make; `make peers` needs python3 with pip too. `make help` lists the targets.
CARGO ?= cargo

.PHONY: help demo test test-core check bench fuzz peers

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

DEMO := target/demo
REYNOLDS := $(CARGO) run --quiet --release -p reynolds-cli --bin reynolds --

demo: ## projects random layers over a dozen groups; then audits, projects and audits again a ResNet-18 checkpoint
	$(CARGO) run --quiet --release -p reynolds --example demo
	mkdir -p $(DEMO)
	$(CARGO) run --quiet --release -p reynolds-cli --example resnet18 -- $(DEMO)/resnet18.safetensors
	$(REYNOLDS) audit $(DEMO)/resnet18.safetensors --group C4 --fields trivial --rank --html $(DEMO)/audit.html
	$(REYNOLDS) project $(DEMO)/resnet18.safetensors $(DEMO)/projected.safetensors --group C4 --fields trivial
	$(REYNOLDS) audit $(DEMO)/projected.safetensors --group C4 --fields trivial --require 0.999999

test: test-core ## all tests and doctests

test-core: ## the tests of the pure-Rust crates
	$(CARGO) test
	$(CARGO) test -p reynolds-cli --no-default-features

check: ## what must hold before a stop: format, lints, tests, doctests, rustdoc
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(MAKE) test
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

bench: ## the project's own measurements, as ratios; beside the peers where peers/.venv exists
	$(CARGO) bench --workspace

fuzz: ## damages checkpoints and feeds them to the readers: make fuzz EXECUTIONS=3000000 (per group of files)
	CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true \
	  $(CARGO) run --release --target-dir target/fuzz -p reynolds-data --example fuzz -- --executions $(or $(EXECUTIONS),300000)

peers: ## builds the environment of the peers (escnn, e3nn, symm-learning, PyTorch) in peers/.venv
	peers/setup.sh
