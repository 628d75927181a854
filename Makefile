# The targets. build, run, proto, fuzz, model, kill, bench, load, chaos and soak need only Go and make. So does test, and as root on
# Debian it installs the programs that deploy/ is tested with. check, lint and bugs fetch tools (npm); bugs needs patch; package
# fetches nfpm; package-test fetches a minimal Debian.
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -X iop/cmd/internal/build.version=$(VERSION) -X iop/cmd/internal/build.commit=$(COMMIT)

.PHONY: help build run test check proto lint fuzz bugs model kill bench load package package-test chaos soak clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

build: ## all commands, into bin/
	@mkdir -p bin
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

run: ## the daemon in dev mode with a small demo fleet beside it; Ctrl-C ends both
	@LDFLAGS='$(LDFLAGS)' scripts/run.sh

test: ## all tests, with the race detector where there is a C compiler
	@scripts/test.sh

check: ## formatting, vet, generated code, and no breaking change of a contract since main; fetches tools (npm) for the last
	@scripts/check.sh
	@scripts/contract.sh

proto: ## regenerate proto/**/*.pb.go
	go run ./scripts/protogen

lint: ## buf and staticcheck; fetches them first (npm for buf)
	@scripts/buf-lint.sh
	@scripts/staticcheck.sh

fuzz: ## each fuzz target for FUZZTIME (default 30s; 1000000x means that many inputs)
	@scripts/fuzz.sh

bugs: ## plant bugs (registry, operations, an Edge's nodes) and breaks of the contracts; model tests and make check must catch them
	@scripts/planted-bugs.sh
	@scripts/planted-breaks.sh

model: ## 1,000 runs of 200 steps of the real actors beside a model
	IOP_MODEL_RUNS=1000 go test -count=1 -v -run '^TestSystemAgainstAModel$$' -timeout 5m ./actors

kill: ## 20 rounds of kill -9 of Control Plane, Edge and Node agent; each view must be right within 3 s
	IOP_KILL_ROUNDS=20 go test -count=1 -v -run '^TestKilledAndRestarted$$' -timeout 20m ./cmd/iop-node

bench: ## memory and CPU beside a plain baseline server, and the packages' benchmarks; fails when a target isn't met; writes docs/performance.md
	@scripts/bench.sh -write docs/performance.md

load: build ## a simple load on its own daemon
	bin/iop-load simple --daemon bin/iop-control-plane

package: ## Debian packages, into bin/packages
	@scripts/package.sh

package-test: package ## install, upgrade, boot, remove and purge them in a minimal Debian, which it fetches; needs root on Debian
	@scripts/deploy-tools.sh debootstrap systemd-container
	@scripts/package-test.sh

chaos: ## inject 500 faults in ten minutes; everything must have recovered 5 s after each; SEED=n repeats a plan
	go run ./endure chaos $(if $(SEED),--seed $(SEED))

soak: ## half an hour of load; memory, goroutines and descriptors must stay flat; writes docs/soak.md
	go run ./endure soak --write docs/soak.md

clean: ## remove bin/ and .tools/
	rm -rf bin .tools
