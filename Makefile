# Every target does its own set-up and says what it does. Needed: Rust, git and Python 3.
# CARGO_TARGET_DIR is honoured; FLEMMA_NVIM chooses a Neovim, else scripts/nvim finds or installs one.

.PHONY: help build demo test test-core test-sdk test-nvim test-peer lint bench nvim clean

help:
	@echo "make build      the native library, into build/"
	@echo "make demo       a tour with an embedded script in place of a model: no key, no network"
	@echo "make test       all tests: the core, requests against the vendors' SDKs, a real Neovim, an independent peer"
	@echo "make test-core  tests of the core; no Neovim needed"
	@echo "make test-sdk   requests against the types of the vendors' own SDKs; needs Python 3 and, once, the network"
	@echo "make test-nvim  tests in a real Neovim"
	@echo "make test-peer  conversations of a real Neovim with a server by others; needs Node.js and, once, the network"
	@echo "make lint       formatting, lints, documentation, syntax"
	@echo "make bench      measurements"
	@echo "make nvim       prints the path of the Neovim in use; installs one if there is none"
	@echo "make clean      removes everything that the other targets made"

build:
	@echo "==> building the native library"
	@scripts/build

demo: build
	@scripts/demo

test: test-core test-sdk test-nvim test-peer

test-core:
	@echo "==> testing the core"
	cargo test

# Where the SDKs cannot be had, the requests go unchecked: the other tests still say exactly what is sent.
test-sdk:
	@if python="$$(scripts/sdk)"; then \
	  echo "==> testing requests against the vendors' own SDKs ($$python)"; \
	  FLEMMA_SDK_PYTHON="$$python" cargo test --test core provider::bodies; \
	else \
	  echo "==> skipped: the requests are not tested against the vendors' own SDKs"; \
	fi

# The SDKs that test-sdk has installed check here too what is sent.
test-nvim: build
	@nvim="$$(scripts/nvim)" && echo "==> testing in $$("$$nvim" --version | head -n 1) ($$nvim)" && \
	  sdk="$${FLEMMA_SDK_PYTHON:-$$(ls "$(CURDIR)/.deps/sdk/bin/python3" 2>/dev/null || true)}" && \
	  FLEMMA_SDK_PYTHON="$$sdk" FLEMMA_NVIM="$$nvim" FLEMMA_NATIVE="$(CURDIR)/build/flemma.so" cargo test --test nvim

# Without Node.js or the network there is no peer, and that is said. One that is there and does not run is an error where
# nobody reads what was said: in CI.
test-peer: build
	@peer="$$(scripts/peer)" || { code=$$?; \
	  [ $$code -eq 3 ] || [ -z "$$CI" ] || { echo "==> the peer does not run" >&2; exit $$code; }; \
	  echo "==> skipped: no conversation is held with an independent peer"; exit 0; }; \
	nvim="$$(scripts/nvim)" && echo "==> talking to an independent peer ($$peer)" && \
	  FLEMMA_PEER="$$peer" FLEMMA_NVIM="$$nvim" FLEMMA_NATIVE="$(CURDIR)/build/flemma.so" cargo test --test peer

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
