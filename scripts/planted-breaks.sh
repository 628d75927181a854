#!/usr/bin/env bash
# Plants breaks of the contract in a copy of it, one at a time, and wants scripts/contract.sh to fail for each; and to pass for
# what is only added. Part of `make bugs`.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0

plant() { # what contract.sh is to do (pass or fail), a file, a sed script
	rm -rf "$work/new"
	mkdir -p "$work/new/httpapi"
	cp -r proto "$work/new/proto"
	cp httpapi/openapi.yaml "$work/new/httpapi/"
	sed -i -E "$3" "$work/new/$2"
	if cmp -s "$2" "$work/new/$2"; then echo "planted-breaks: nothing changed: $3" >&2; exit 1; fi
	got=fail
	if BASE=HEAD scripts/contract.sh "$work/new" >"$work/log" 2>&1; then got=pass; fi
	if grep -q 'LEFT OUT' "$work/log"; then cat "$work/log" >&2; exit 1; fi
	by=$(sed -n 's/^contract: \([^ ]* [^ ]*\).*: FAILED$/\1/p' "$work/log" | paste -sd,)
	printf '%s, wanted %s (%s): %s\n' "$got" "$1" "${by:-none}" "$3"
	[ "$got" = "$1" ] || wrong=$((wrong + 1))
}

api=httpapi/openapi.yaml wire=proto/iop/v1/control.proto
plant fail $api 's|^  /fleet/models:|  /fleet/modelz:|'                             # a path is gone
plant fail $api 's|^        takeovers: .*|        takeovers: {type: string}|'        # another type in an answer
plant fail $api 's|(conflict, heartbeat_interval_ms), clock_skew_ms|\1|'             # an answer need not have a member any more
plant fail $api 's|required: \[operation\]|required: [operation, reason]|'           # a request must have more
plant fail $api '/^  license:/,/identifier:/d'                                       # lint
plant fail $wire 's|heartbeat_interval = 3;|heartbeat_interval = 33;|'               # another number
plant fail $wire '/heartbeat_interval = 4;/d'                                        # a field is gone
plant fail $wire 's|uint32 max_frame_bytes = 5;|uint64 max_frame_bytes = 5;|'        # another type
plant pass $wire 's|(heartbeat_interval = 3;)|\1\n  string further = 90;|'           # a field more
plant pass $api 's|^(  /fleet/models:)|  /fleet/more:\n    get: {operationId: more, summary: More, responses: {"200": {description: Fine}, "400": {description: Bad}}}\n\1|'
if [ "$wrong" != 0 ]; then
	echo "planted-breaks: $wrong went the wrong way" >&2
	exit 1
fi
