# rocelab. `make` prints what there is. Every target works from a clean clone.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN      := bin
GO       ?= go
GOFLAGS  += -trimpath
PKGS     := ./...
FUZZTIME ?= 10s
OUT      ?= demo-out
PAPERS   ?= experiments-out

# What `make test` promises that its machine has: a test that lacks one of these fails.
FEATURES := root,xdp,netns,tshark,tcpdump,promtool,prometheus,chromium,clang,ip,rxe,qemu-aarch64
# And what no package brings: CI promises amd64v3, a processor with fused multiplication.
PROMISED ?=
LINT     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help
help: ## this text
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## bin/switchd, bin/nicd, bin/rocelab
	@mkdir -p $(BIN)
	@CGO_ENABLED=0 $(GO) build $(GOFLAGS) -o $(BIN)/ ./cmd/...

.PHONY: demo
demo: build ## 4:1 incast on real frames, PFC alone and DCQCN; report in $(OUT)/ (root)
	@$(BIN)/rocelab demo --out $(OUT)

# A claim that does not hold (exit status 3) is a result like any other.
.PHONY: experiments
experiments: build ## what the papers measured, in virtual time; report in $(PAPERS)/
	@$(BIN)/rocelab run all --out $(PAPERS) || test $$? -eq 3

.PHONY: experiments-real
experiments-real: build ## the same on real frames, into the same report (root)
	@$(BIN)/rocelab run all --real --out $(PAPERS) || test $$? -eq 3

# OUT is nightly-out here, unless the command line says another.
.PHONY: nightly
nightly: OUT = nightly-out
nightly: build ## both, and whether each claim stands as docs/papers.md says; report in $(OUT)/ (root)
	@deploy/nightly.sh $(BIN)/rocelab $(OUT) docs/papers.md

.PHONY: test
test: tools build ## everything there is; installs what it needs (root)
	@ROCELAB_REQUIRE=$(FEATURES),$(PROMISED) $(GO) test -timeout 20m \
		$$($(GO) list $(PKGS) | grep -v '/tests/interop$$')
	@# By itself: its other end keeps real time, and does not wait for a machine that is busy.
	@ROCELAB_REQUIRE=$(FEATURES),$(PROMISED) $(GO) test -timeout 20m ./tests/interop

.PHONY: tools
tools: # Debian packages that tests use
	@deploy/tools.sh

.PHONY: unit
unit: ## tests that need neither root nor tools
	@$(GO) test -short $(PKGS)

.PHONY: race
race: ## the drivers and daemons under the race detector (root)
	@CGO_ENABLED=1 $(GO) test -race -timeout 20m ./dataplane/... ./deploy/experiment ./deploy/lab ./deploy/suite \
		./switchd ./nicd/... ./tests/conformance ./tests/host ./tests/switchplan

.PHONY: sim
sim: ## scenarios in virtual time
	@$(GO) test ./dataplane/sim ./tests/scenarios

.PHONY: golden
golden: tools ## rewrite golden files; say why they changed in the commit (root)
	@$(GO) test ./roce/cc ./roce/fluid ./nicd ./deploy/twin ./switchd/pipeline ./deploy/report ./deploy/show ./tests/experiments \
		./tests/scenarios ./tests/switchplan -update

.PHONY: accept
accept: tools build ## real frames on veth (root)
	@ROCELAB_REQUIRE=$(FEATURES),$(PROMISED) $(GO) test -count=1 ./dataplane/daemon ./bpf ./tests/accept

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME each
	@deploy/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: build ## ns and allocations per frame; forwarders side by side as ratios (root)
	@$(GO) test -p 1 -run '^$$' -bench . -benchtime 200ms $(PKGS) | grep -E '^(Benchmark|pkg:)'

.PHONY: lint
lint: ## gofmt, go vet, golangci-lint
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	@$(GO) vet $(PKGS)
	@$(GO) run $(LINT) run

.PHONY: generate
generate: ## compile the BPF programs (clang)
	@$(GO) generate ./bpf

.PHONY: check-generate
check-generate: tools generate ## the committed BPF objects are what the sources give
	@git diff --exit-code -- bpf

.PHONY: clean
clean: ## remove what was built
	@rm -rf $(BIN) $(OUT) $(PAPERS) nightly-out
