#!/usr/bin/env bash
# Runs every test. With the race detector where it can be built (it needs cgo and a C compiler). Programs that are missing here
# are named first, since go test says nothing of a test that is left out; with IOP_NEED_TOOLS set (to 1) such a test fails. As root
# on Debian the programs are installed, and the variable is set.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=(haproxy nginx prometheus promtool systemd-analyze) # that testkit.Tool is asked for
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	if ! scripts/deploy-tools.sh >/dev/null; then
		echo "test: what deploy/ is tried with could not be installed" >&2
	elif [ -c /dev/ptmx ]; then # which can't be installed, and is asked for by the same variable
		export IOP_NEED_TOOLS=1
	fi
fi
for tool in "${tools[@]}"; do
	PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null ||
		echo "test: $tool is missing, so what of deploy/ is tried with it is left out; scripts/deploy-tools.sh installs it on Debian" >&2
done
[ -c /dev/ptmx ] || echo "test: there is no /dev/ptmx, so iop isn't tried at a terminal" >&2
scripts/check.sh
race=()
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC)" >/dev/null; then
	race=(-race)
else
	echo "test: no C compiler here, so without the race detector" >&2
fi
go test "${race[@]}" -count=1 -timeout 10m ./...
if [ ${#race[@]} -gt 0 ]; then # under the race detector allocations can't be counted
	go test -count=1 -run 'Allocat' ./wire ./actors ./httpapi
fi
