#!/usr/bin/env bash
# Runs every test. With the race detector where it can be built (it needs cgo and a C compiler).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	scripts/deploy-tools.sh >/dev/null || echo "test: what deploy/ is tried with could not be installed; those tests are left out" >&2
fi
scripts/check.sh
race=()
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null; then
	race=(-race)
else
	echo "test: no C compiler here, so without the race detector" >&2
fi
go test "${race[@]}" -count=1 -timeout 10m ./...
if [ ${#race[@]} -gt 0 ]; then # under the race detector allocations can't be counted
	go test -count=1 -run 'Allocat' ./wire ./actors ./httpapi
fi
