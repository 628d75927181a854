#!/usr/bin/env bash
# Measures what docs/performance.md tells: the daemon beside a plain baseline server, and the packages' benchmarks.
# Run it on a machine that does nothing else; the page says how long it takes. Arguments go to the first part
# (-only idle,status -sizes 1000,10000 -count 6 -write docs/performance.md). Exits with 1 when a target isn't held.
set -euo pipefail
cd "$(dirname "$0")/.."
held=0
go run ./bench "$@" || held=$?
go test -run '^$' -bench . -benchmem ./wire ./actors ./httpapi
exit $held
