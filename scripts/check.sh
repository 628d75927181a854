#!/usr/bin/env bash
# What must hold before any test is worth running: formatting, vet, and generated code that is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."
files=$(git ls-files '*.go') # a line of its own, so that git's failure ends this script
if [ -z "$files" ]; then
	echo 'check: no Go files are tracked here' >&2
	exit 1
fi
unformatted=$(gofmt -l $files)
if [ -n "$unformatted" ]; then
	printf 'check: not gofmt-ed:\n%s\n' "$unformatted" >&2
	exit 1
fi
go vet ./...
go run ./scripts/protogen -check
