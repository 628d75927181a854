#!/usr/bin/env bash
# Lints proto/ with buf, which it gets from npm into .tools/ the first time. Part of `make lint`; no test needs it.
set -euo pipefail
cd "$(dirname "$0")/.."
version=1.75.0
buf=.tools/buf-$version/node_modules/.bin/buf
if [ ! -x "$buf" ]; then
	command -v npm >/dev/null || { echo "buf-lint: npm is needed to get buf" >&2; exit 1; }
	npm install --silent --no-fund --no-audit --prefix ".tools/buf-$version" "@bufbuild/buf@$version"
fi
"$buf" lint proto
echo "buf-lint: proto/ is clean"
