#!/usr/bin/env bash
# Lints httpapi/openapi.yaml, and compares it and proto/ with what main has (on main with the last commit, or the one before
# when nothing of the two has changed since): whoever wrote an Edge or a client against that must not find it broken. Part of
# `make check`. Its tools are fetched the first time.
#   BASE=v1.2.0 scripts/contract.sh    compares with another commit
#   scripts/contract.sh DIR            looks at DIR/proto and DIR/httpapi/openapi.yaml instead of the checkout's
# Redocly and buf are from npm; without it their part is left out, and the whole fails: what wasn't looked at isn't fine. oasdiff is
# built with Go.
set -euo pipefail
cd "$(dirname "$0")/.."
new=${1:-.}
base=${BASE:-$(git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)}
if [ -z "${BASE:-}" ] && [ "$base" = "$(git rev-parse HEAD)" ] && git diff --quiet HEAD -- proto httpapi/openapi.yaml; then
	base=$(git rev-parse -q --verify HEAD^ || echo "$base") # a commit compared with itself proves nothing
fi
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
git archive "$base" proto httpapi/openapi.yaml | tar -x -C "$old"

failed=
run() { # a name, then a command
	if "${@:2}"; then echo "contract: $1: fine"; else echo "contract: $1: FAILED" >&2; failed=1; fi
}

oasdiff=$PWD/.tools/oasdiff-v1.38.0/oasdiff
[ -x "$oasdiff" ] || GOBIN=$(dirname "$oasdiff") go install github.com/oasdiff/oasdiff@v1.38.0
export OASDIFF_NO_TELEMETRY=1 REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
run "openapi.yaml against ${base:0:12}" "$oasdiff" breaking --fail-on ERR "$old/httpapi/openapi.yaml" "$new/httpapi/openapi.yaml"

if redocly=$(scripts/npm-tool.sh @redocly/cli 2.50.0 redocly) && buf=$(scripts/npm-tool.sh @bufbuild/buf 1.75.0 buf); then
	run "openapi.yaml lint" "$redocly" lint --extends=recommended-strict "$new/httpapi/openapi.yaml"
	run "proto against ${base:0:12}" "$buf" breaking "$new/proto" --against "$old/proto"
else
	echo "contract: LEFT OUT for want of npm: the lint of openapi.yaml, and proto against ${base:0:12}" >&2
	failed=1
fi
[ -z "$failed" ]
