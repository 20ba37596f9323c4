# make help says what there is.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
ARGS     ?=
NODES    ?= 8
FUZZTIME ?= 30s
SUITES   ?= trixie forky
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null)

# Tools, pinned. They are built on first use; nothing is installed.
GOLANGCI := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOFUMPT  := $(GO) run mvdan.cc/gofumpt@v0.12.0

TESTBED  := $(GO) run ./test/slurmtest/cmd/slurm-testbed

.PHONY: help
help: ## Say what the targets are
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/gpuctl
	$(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/gpuctl ./cmd/gpuctl

.PHONY: run
run: build ## Open the console on what this machine reaches (ARGS=... are passed on)
	bin/gpuctl $(ARGS)

.PHONY: demo
demo: build ## Open the console on a real Slurm with 8 nodes and some jobs, on loopback (needs root on Debian)
	$(TESTBED) up -jobs
	bin/gpuctl --config "$$($(TESTBED) config)" --context exec $(ARGS)

.PHONY: test
test: ## Run all tests, the end-to-end tests too; NO_INSTALL=1 installs nothing and skips what needs a real Slurm
	@$(TESTBED) install || echo "what needs a real Slurm will be skipped"
	$(GO) test -v -count=1 $(ARGS) ./... 2>&1 | awk -f test/summary.awk

.PHONY: race
race: ## Run the tests with the race detector, without the end-to-end tests
	NO_INSTALL=1 $(GO) test -race -shuffle=on ./...

.PHONY: e2e
e2e: ## Run only the tests against a real Slurm on loopback
	@$(TESTBED) install
	$(GO) test -v -count=1 $(ARGS) ./test/... 2>&1 | awk -f test/summary.awk

.PHONY: e2e-matrix
e2e-matrix: ## Run the end-to-end tests on other Slurm versions, in Debian chroots (SUITES="trixie forky")
	for suite in $(SUITES); do test/matrix.sh "$$suite"; done

.PHONY: fuzz
fuzz: ## Fuzz every FuzzXxx for FUZZTIME (30s) each
	for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
	    echo "$$pkg $$f"; \
	    $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$pkg"; \
	  done; \
	done

.PHONY: bench
bench: ## Run the benchmarks and print the numbers to hold
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: lint
lint: ## Check format, vet and linters
	@unformatted="$$($(GOFUMPT) -l .)"; if [ -n "$$unformatted" ]; then echo "gofumpt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GOLANGCI) run ./...

.PHONY: generate
generate: ## Write the generated files anew (docs/keys.md and what else go generate makes)
	$(GO) generate ./...

.PHONY: slurm-up
slurm-up: ## Bring up a real Slurm cluster on loopback and say how to use it (NODES=64)
	@$(TESTBED) up -nodes $(NODES) -jobs

.PHONY: slurm-down
slurm-down: ## End that cluster and everything it runs
	@$(TESTBED) down

.PHONY: clean
clean: ## Remove what was built, the chroots of e2e-matrix too
	rm -rf bin coverage.out /var/tmp/gpuctl-matrix
