#!/usr/bin/env bash
# Runs each fuzz target of the project in turn. FUZZTIME is a duration or a number of inputs (1000000x).
#   scripts/fuzz.sh            all
#   scripts/fuzz.sh ./wire     those of one package
set -euo pipefail
cd "$(dirname "$0")/.."
for package in $(go list "${@:-./...}"); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "fuzz: $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-1000000x}" -fuzzminimizetime 5s "$package"
	done
done
