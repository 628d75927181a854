#!/usr/bin/env bash
# Measures what docs/performance.md tells: memory and CPU beside a plain baseline server, and the packages' benchmarks.
# Run it on a machine that does nothing else. Arguments go to the first part (-edges 10000 -runs 5 …).
set -euo pipefail
cd "$(dirname "$0")/.."
go run ./bench "$@"
go test -run '^$' -bench . -benchmem ./wire ./actors ./httpapi
