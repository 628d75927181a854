#!/usr/bin/env bash
# Plants each bug of a package's testdata/bugs in turn, without touching the checkout, and wants the model test to fail for
# it. A patch that doesn't apply or doesn't compile ends this script: it would prove nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
missed=0

plant() { # the bugs of a package, for a test that must catch each, and pass without any
	local package=$1 test=$2 bug file
	go test -count=1 -run "^$test\$" -timeout 5m "./$package"
	for bug in "$package"/testdata/bugs/*.patch; do
		file=$(sed -n 's|^--- a/||p' "$bug")
		patch --quiet --output="$work/bug.go" "$file" "$bug"
		printf '{"Replace":{"%s":"%s"}}' "$PWD/$file" "$work/bug.go" >"$work/overlay.json"
		go test -overlay="$work/overlay.json" -c -o "$work/planted.test" "./$package" # it compiles
		if (cd "$package" && "$work/planted.test" -test.run "^$test\$" -test.timeout 5m) >"$work/log" 2>&1; then
			printf '%-55s MISSED\n' "$package: $(basename "$bug" .patch)"
			missed=$((missed + 1))
		elif ! grep -Eq 'seed [0-9]+[,:]' "$work/log"; then # it broke, but nobody could run it again
			printf '%-55s WITHOUT A SEED\n' "$package: $(basename "$bug" .patch)"
			missed=$((missed + 1))
		else
			printf '%-55s caught\n' "$package: $(basename "$bug" .patch)"
		fi
	done
}

plant edge/nodes TestModel
plant actors TestSystemAgainstAModel
if [ "$missed" != 0 ]; then
	echo "planted-bugs: $missed missed" >&2
	exit 1
fi
