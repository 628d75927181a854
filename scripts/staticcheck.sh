#!/usr/bin/env bash
# Runs staticcheck over everything. It takes a minute to build the first time, so it is in `make lint` and not in the
# tests' path; its version is pinned here and not in go.mod, which it would only burden.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v0.8.2
tool=$PWD/.tools/staticcheck-$version/staticcheck
[ -x "$tool" ] || GOBIN=$(dirname "$tool") go install "honnef.co/go/tools/cmd/staticcheck@$version"
"$tool" ./...
echo "staticcheck: clean"
