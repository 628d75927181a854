#!/usr/bin/env bash
# Plants each bug of edge/nodes/testdata/bugs in turn, without touching the checkout, and wants the model test to fail
# for it. A patch that doesn't apply or doesn't compile ends this script: it would prove nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

verdict() { # of the tests that a pattern names
	if go test -overlay="$work/overlay.json" -count=1 -run "$1" ./edge/nodes >"$work/log" 2>&1; then
		echo MISSED
	else
		echo caught
	fi
}

missed=0
for bug in edge/nodes/testdata/bugs/*.patch; do
	file=$(sed -n 's|^--- a/||p' "$bug")
	patch --quiet --output="$work/bug.go" "$file" "$bug"
	printf '{"Replace":{"%s":"%s"}}' "$PWD/$file" "$work/bug.go" >"$work/overlay.json"
	go test -overlay="$work/overlay.json" -run '^$' ./edge/nodes >/dev/null # it compiles
	model=$(verdict '^TestModel$')
	tables=$(verdict '^Test(Ownership|ANodeWithoutOwner|StatementsStand)')
	printf '%-42s model test: %s, table tests: %s\n' "$(basename "$bug" .patch)" "$model" "$tables"
	[ "$model" = caught ] || missed=$((missed + 1))
done
if [ "$missed" != 0 ]; then
	echo "planted-bugs: the model test missed $missed" >&2
	exit 1
fi
