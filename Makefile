# A fresh machine needs Rust, g++, make and python3 with pip (for libtorch; a LIBTORCH of your own is used instead where it is set).
# `make help` lists the targets.
CARGO ?= cargo
TORCH := 2.11.0
TORCHVISION := 0.26.0

.PHONY: help demo demo-project demo-audit test-page test test-core test-python wheel test-wheel check bench fuzz torture mutants package peers compare results libtorch libtorch-cuda

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

DEMO := target/demo

demo: libtorch ## trains the models of the paper's first figure (SO(2), the λ path) and draws it
	$(CARGO) build --release -p reynolds-cli -p reynolds-paper
	target/release/reynolds reproduce fig-so2 --budget quick

# Built to be there soon, not to be fast (the profile says how), in a folder of its own beside the programs of `make demo`. Both steps
# choose the same packages, so that the second builds nothing of the first again.
DEMO_BUILD := $(CARGO) build --quiet --profile quick --target-dir target/core -p reynolds -p reynolds-cli

demo-project: ## projects random layers over a dozen groups: the first result after a clone; no libtorch
	$(DEMO_BUILD) --example layers
	target/core/quick/examples/layers

demo-audit: demo-project ## that; then audits two trained networks from PyPI, and projects and audits again a ResNet-18; no libtorch
	$(DEMO_BUILD) --example resnet18 --bin reynolds
	mkdir -p $(DEMO)
	scripts/demo_audit.sh target/core/quick/reynolds $(DEMO) || echo "without them: a generated ResNet-18"
	target/core/quick/examples/resnet18 $(DEMO)/resnet18.safetensors
	target/core/quick/reynolds audit $(DEMO)/resnet18.safetensors --group C4 --fields trivial --rank --html $(DEMO)/audit.html
	target/core/quick/reynolds project $(DEMO)/resnet18.safetensors $(DEMO)/projected.safetensors --group C4 --fields trivial
	target/core/quick/reynolds audit $(DEMO)/projected.safetensors --group C4 --fields trivial --require 0.999999

test-page: demo-audit ## the demo's pages in headless Chromium at 400, 1280 and 1700 px (apt install chromium; not in .ci/run)
	python3 scripts/test_page.py $(wildcard $(DEMO)/*.html) $(DEMO)/audit.html

# One call for all packages, so that nothing is compiled for two sets of features; not incremental, which costs a first build much and is
# what `cargo test` is for.
test: export CARGO_INCREMENTAL := 0
test: libtorch ## all tests and doctests
	$(CARGO) test --workspace
	$(CARGO) check -p reynolds-paper --no-default-features
	$(PEERS_TEST)

test-core: ## the tests of what builds without libtorch
	$(CARGO) test
	$(PEERS_TEST)

wheel: ## a wheel for every Linux with glibc 2.28 or newer into python/dist, by zig from PyPI
	scripts/wheel.sh

test-wheel: ## the wheel under every Python that is here (3.10 to 3.14), with torch 2.4, 2.11 and the newest: 4.7 GB each
	scripts/test_wheel.sh

test-python: ## the tests of the Python package, with torch in a virtual environment of their own (4.7 GB)
	scripts/test_python.sh $(TORCH) $(TORCHVISION)

PEERS_TEST := python3 -m unittest discover --quiet -s peers -p 'test_*.py' && python3 -m unittest discover --quiet -s scripts/results -p 'test_*.py'

results: ## writes RESULTS.md, docs/results/ and the numbers of README.md from results/
	python3 scripts/results/main.py

check: libtorch ## what must hold before a stop: format, lints, tests, doctests, rustdoc
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy -p reynolds-paper --no-default-features --all-targets -- -D warnings
	$(MAKE) test
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

# P on kernels of C4 beside a copy, in memory and in the cache; all 32! permutations of order-2 tensors beside one transposition.
PROJECTION = $(CARGO) run --release -q -p reynolds-paper -- bench projection --group
bench: libtorch ## the project's own measurements, as ratios
	$(CARGO) bench --workspace
	$(PROJECTION) C4 --domain "100 regular" --codomain "100 regular" --kernel 5
	$(PROJECTION) C4 --domain "9 regular" --codomain "9 regular" --kernel 5
	$(PROJECTION) S32 --domain permutation^2 --codomain permutation^2
	$(PROJECTION) "<(0 1)>[32]" --domain permutation^2 --codomain permutation^2

fuzz: ## damages checkpoints and feeds them to the readers: make fuzz EXECUTIONS=3000000 (per group of files)
	CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true \
	  $(CARGO) run --release --target-dir target/fuzz -p reynolds-checkpoint --example fuzz -- --executions $(or $(EXECUTIONS),300000)

torture: libtorch ## attacks the built programs: kills, full disks, damaged files, a hostile server, mutated inputs: make torture MINUTES=60 SEED=1
	$(CARGO) build --release -p reynolds-cli -p reynolds-paper
	python3 scripts/torture.py --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1) --programs $(or $(CARGO_TARGET_DIR),target)/release

mutants: libtorch ## changes a line at a time and sees whether the tests notice; hours, resumable: make mutants SAMPLE=150
	SAMPLE=$(or $(SAMPLE),150) scripts/mutants.sh

package: libtorch ## packs the crates that are published, and builds each from what was packed
	$(CARGO) package --workspace --exclude reynolds-bench --exclude reynolds-paper --exclude reynolds-python --exclude reynolds-testkit

peers: ## builds the environment of the peers (escnn, e3nn, symm-learning, PyTorch) in peers/.venv
	peers/setup.sh

compare: libtorch peers ## reynolds beside the peers, in turn, into results/ and docs/results/: QUICK=1 (a look), CLONE=1 (from clone on too), ARGS=--resume or --fresh
	$(CARGO) build --release -p reynolds-cli -p reynolds-paper
	peers/.venv/bin/pip install --quiet --force-reinstall --no-deps ./python
	peers/.venv/bin/python peers/compare.py --reynolds $(or $(CARGO_TARGET_DIR),target)/release/reynolds \
	  $(if $(QUICK),--quick) $(if $(CLONE),--clone) $(ARGS)
	$(or $(CARGO_TARGET_DIR),target)/release/reynolds bench scaling $(if $(QUICK),--quick --out target/compare/scaling,--out results/scaling)
	$(if $(QUICK),,$(MAKE) results)

# libtorch comes once: a stamp, which moves into place with the rest, says that it is whole.
ifneq ($(strip $(LIBTORCH)$(LIBTORCH_USE_PYTORCH)),)
libtorch libtorch-cuda:
	@echo "libtorch: yours is used (LIBTORCH=$(LIBTORCH) LIBTORCH_USE_PYTORCH=$(LIBTORCH_USE_PYTORCH))"
else
# An empty LIBTORCH would hide the one of .cargo/config.toml.
unexport LIBTORCH LIBTORCH_USE_PYTORCH
STAMP := .libtorch/stamp-$(TORCH)

libtorch: $(STAMP)-cpu ## libtorch for the CPU into .libtorch, once: 1.2 GB
libtorch-cuda: $(STAMP)-cuda ## libtorch with the CUDA libraries, for --device cuda:0: several GB

$(STAMP)-cpu $(STAMP)-cuda: $(STAMP)-%:
	crates/reynolds-torch/libtorch.sh $(TORCH) $*
endif
