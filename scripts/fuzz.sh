#!/usr/bin/env bash
# Runs each fuzz target of the project in turn. FUZZTIME is a duration or a number of inputs: 30s each take a quarter of an hour on
# two cores, 1000000x some three hours.
#   scripts/fuzz.sh            all
#   scripts/fuzz.sh ./wire     those of one package
set -euo pipefail
cd "$(dirname "$0")/.."
count=0
packages=$(go list "${@:-./...}") # a line of its own, so that its failure ends this script
for package in $packages; do
	listed=$(go test -list '^Fuzz' "$package") # of a package that doesn't compile nothing is left out in silence
	for target in $(sed -n '/^Fuzz/p' <<<"$listed"); do
		echo "fuzz: $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 5s "$package"
		count=$((count + 1))
	done
done
[ "$count" != 0 ] || { echo "fuzz: there is no target" >&2; exit 1; }
echo "fuzz: $count targets, none failed"
