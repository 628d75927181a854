#!/usr/bin/env bash
# Prints the path of a program from npm, which is put into .tools/ the first time.
#   scripts/npm-tool.sh PACKAGE VERSION PROGRAM
set -euo pipefail
cd "$(dirname "$0")/.."
into=$PWD/.tools/$3-$2
if [ ! -x "$into/node_modules/.bin/$3" ]; then
	command -v npm >/dev/null || { echo "$3 is not here, and there is no npm to get it with" >&2; exit 1; }
	npm install --silent --no-fund --no-audit --prefix "$into" "$1@$2" >&2
fi
echo "$into/node_modules/.bin/$3"
