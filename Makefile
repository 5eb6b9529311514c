# Every target sets up what it needs and reports what it does. Requires Rust, git and Python 3.
# CARGO_TARGET_DIR is respected. FLEMMA_NVIM selects a Neovim; otherwise scripts/nvim finds or installs one.

.PHONY: help build cli demo test test-fast test-core test-sdk test-nvim test-peer test-fleet dist lint bench nvim clean

help:
	@echo "make build      the native library, into build/"
	@echo "make dist       a release for this processor, into dist/: library, command line, wheel, npm package; TARGET=… names another"
	@echo "make cli        the command line, into build/"
	@echo "make demo       a guided tour with a scripted model: no key, no network"
	@echo "make test       all tests: the core, requests against the vendors' SDKs, a real Neovim, an independent peer"
	@echo "make test-fast  the fast tests of the core"
	@echo "make test-core  tests of the core; no Neovim needed"
	@echo "make test-sdk   requests against the types of the vendors' SDKs; needs Python 3 and, the first time, the network"
	@echo "make test-nvim  tests in a real Neovim"
	@echo "make test-peer  conversations between a real Neovim and an independent server; needs Node.js and, the first time, the network"
	@echo "make test-fleet 200 conversations on Ray, while processes are killed; needs Python 3 and, the first time, the network"
	@echo "make lint       formatting, lints, documentation, syntax"
	@echo "make bench      measurements"
	@echo "make nvim       prints the path of the Neovim in use, and installs one if there is none"
	@echo "make clean      removes everything that the other targets created"

build:
	@echo "==> building the native library"
	@scripts/build

# What is built once for many: optimised across crates, which takes ten minutes. Needs the network the first time, for zig.
dist:
	@echo "==> building a release"
	@scripts/dist $(TARGET)

cli:
	@echo "==> building the command line"
	@cargo build --release --bin flemma --features nvim && mkdir -p build && \
	  cp "$${CARGO_TARGET_DIR:-target}/release/flemma" build/flemma.new && mv -f build/flemma.new build/flemma && \
	  build/flemma man > build/flemma.1 && echo "build: build/flemma, and its manual page build/flemma.1"

demo: build
	@scripts/demo

test: test-core test-sdk test-nvim test-peer

# For the time between two edits: without the tests that take seconds, such as those that kill processes at every moment.
test-fast:
	@echo "==> testing the core, without the slow tests"
	cargo test --workspace

test-core:
	@echo "==> testing the core"
	cargo test --workspace -- --include-ignored --skip what_is_sent_is_what_the_vendors_own_types_allow

# If the SDKs are not available, this is skipped. The other tests still check exactly what is sent.
test-sdk:
	@if python="$$(scripts/sdk)"; then \
	  echo "==> testing requests against the vendors' own SDKs ($$python)"; \
	  FLEMMA_SDK_PYTHON="$$python" cargo test --test core provider::bodies:: -- --include-ignored; \
	else \
	  echo "==> skipped: the tests against the vendors' own SDKs"; \
	fi

# If test-sdk has installed the SDKs, they also check what is sent here.
test-nvim: build
	@nvim="$$(scripts/nvim)" && echo "==> testing in $$("$$nvim" --version | head -n 1) ($$nvim)" && \
	  sdk="$${FLEMMA_SDK_PYTHON:-$$(ls "$(CURDIR)/.deps/sdk/bin/python3" 2>/dev/null || true)}" && \
	  FLEMMA_SDK_PYTHON="$$sdk" FLEMMA_NVIM="$$nvim" FLEMMA_NATIVE="$(CURDIR)/build/flemma.so" cargo test --test nvim

# Without Node.js or the network, this is skipped with a message. In CI, where nobody reads the message, an installed peer
# that does not run is an error.
test-peer: build
	@peer="$$(scripts/peer)" || { code=$$?; \
	  [ $$code -eq 3 ] || [ -z "$$CI" ] || { echo "==> the peer does not run" >&2; exit $$code; }; \
	  echo "==> skipped: the tests with an independent peer"; exit 0; }; \
	nvim="$$(scripts/nvim)" && echo "==> talking to an independent peer ($$peer)" && \
	  FLEMMA_PEER="$$peer" FLEMMA_NVIM="$$nvim" FLEMMA_NATIVE="$(CURDIR)/build/flemma.so" cargo test --test peer

# Not part of `make test`: it takes minutes, and Ray is large.
test-fleet: build cli
	@python="$$(scripts/ray)" && nvim="$$(scripts/nvim)" && echo "==> 200 conversations on Ray ($$python)" && \
	  "$$python" tests/fleet/ray_test.py build/flemma "$$nvim" build/flemma.so

lint:
	@scripts/lint

bench: build
	@nvim="$$(scripts/nvim)" && echo "==> measuring in $$("$$nvim" --version | head -n 1) ($$nvim)" && \
	  FLEMMA_NVIM="$$nvim" FLEMMA_NATIVE="$(CURDIR)/build/flemma.so" cargo bench --quiet --bench document --bench journal --bench tools --bench editor

nvim:
	@scripts/nvim

clean:
	cargo clean
	rm -rf build .deps
