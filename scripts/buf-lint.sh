#!/usr/bin/env bash
# Lints proto/ with buf, which it gets from npm into .tools/ the first time. Part of `make lint`; no test needs it.
set -euo pipefail
cd "$(dirname "$0")/.."
buf=$(scripts/npm-tool.sh @bufbuild/buf 1.75.0 buf)
"$buf" lint proto
echo "buf-lint: proto/ is clean"
