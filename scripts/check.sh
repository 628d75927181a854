#!/usr/bin/env bash
# What must hold before any test is worth running: formatting, vet, and generated code that is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."
unformatted=$(gofmt -l $(git ls-files '*.go'))
if [ -n "$unformatted" ]; then
	printf 'check: not gofmt-ed:\n%s\n' "$unformatted" >&2
	exit 1
fi
go vet ./...
go run ./scripts/protogen -check
