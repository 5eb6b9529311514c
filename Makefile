# Every target does its own set-up and says what it does. Needed: Rust, git and Python 3.
# CARGO_TARGET_DIR is honoured; FLEMMA_NVIM chooses a Neovim, else scripts/nvim finds or installs one.

.PHONY: help build demo test test-core test-sdk test-nvim lint bench nvim clean

help:
	@echo "make build      the native library, into build/"
	@echo "make demo       a tour with an embedded script in place of a model: no key, no network"
	@echo "make test       all tests: the core, requests against the vendors' SDKs, then a real Neovim"
	@echo "make test-core  tests of the core; no Neovim needed"
	@echo "make test-sdk   requests against the types of the vendors' own SDKs; needs Python 3 and, once, the network"
	@echo "make test-nvim  tests in a real Neovim"
	@echo "make lint       formatting, lints, documentation, syntax"
	@echo "make bench      measurements"
	@echo "make nvim       prints the path of the Neovim in use; installs one if there is none"
	@echo "make clean      removes everything that the other targets made"

build:
	@echo "==> building the native library"
	@scripts/build

demo: build
	@scripts/demo

test: test-core test-sdk test-nvim

test-core:
	@echo "==> testing the core"
	cargo test

# Where the SDKs cannot be had, the requests go unchecked: the other tests still say exactly what is sent.
test-sdk:
	@if python="$$(scripts/sdk)"; then \
	  echo "==> testing requests against the vendors' own SDKs ($$python)"; \
	  FLEMMA_SDK_PYTHON="$$python" cargo test --test core provider_bodies; \
	else \
	  echo "==> skipped: the requests are not tested against the vendors' own SDKs"; \
	fi

# The SDKs that test-sdk has installed check here too what is sent.
test-nvim: build
	@nvim="$$(scripts/nvim)" && echo "==> testing in $$("$$nvim" --version | head -n 1) ($$nvim)" && \
	  sdk="$${FLEMMA_SDK_PYTHON:-$$(ls "$(CURDIR)/.deps/sdk/bin/python3" 2>/dev/null || true)}" && \
	  FLEMMA_SDK_PYTHON="$$sdk" FLEMMA_NVIM="$$nvim" FLEMMA_NATIVE="$(CURDIR)/build/flemma.so" cargo test --test nvim

lint:
	@scripts/lint

bench: build
	@nvim="$$(scripts/nvim)" && echo "==> measuring in $$("$$nvim" --version | head -n 1) ($$nvim)" && \
	  FLEMMA_NVIM="$$nvim" FLEMMA_NATIVE="$(CURDIR)/build/flemma.so" cargo bench --quiet --bench document --bench tools --bench editor

nvim:
	@scripts/nvim

clean:
	cargo clean
	rm -rf build .deps
