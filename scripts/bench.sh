#!/usr/bin/env bash
# Measures what docs/performance.md tells: the daemon beside a plain baseline server, and the packages' benchmarks.
# Run it on a machine that does nothing else; it takes some 15 minutes. Arguments go to the first part
# (-only idle,status -sizes 1000,10000 -count 6 -write docs/performance.md).
set -euo pipefail
cd "$(dirname "$0")/.."
go run ./bench "$@"
go test -run '^$' -bench . -benchmem ./wire ./actors ./httpapi
