#!/usr/bin/env bash
# Builds and runs the Control Plane in dev mode with a demo fleet beside it, until Ctrl-C or SIGTERM.
# Leaves nothing behind: no process, no file outside bin/. For a larger fleet: EDGES=20 make run; for another fate: SEED=7 make run.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "Building ..."
mkdir -p bin
# With the flags of make build, so that neither compiles again what the other has compiled.
go build -trimpath -ldflags "${LDFLAGS:-}" -o bin/ ./cmd/iop-control-plane ./cmd/iop-demo ./cmd/iop

scratch=$(mktemp -d)
daemon= demo=

# The fleet says goodbye first, then the daemon drains. A second signal doesn't wait for that.
stop() {
	trap 'kill -KILL $demo $daemon 2>/dev/null' INT TERM
	[ -z "$demo" ] || { kill -TERM "$demo" 2>/dev/null || true; wait "$demo" 2>/dev/null || true; }
	[ -z "$daemon" ] || { kill -TERM "$daemon" 2>/dev/null || true; wait "$daemon" 2>/dev/null || true; }
	rm -rf "$scratch"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Each child gets a process group of its own: Ctrl-C must reach this script alone, or the daemon would take the
# script's SIGTERM for its second signal and not drain.
set -m
bin/iop-control-plane --dev --addresses-file "$scratch/addresses.json" &
daemon=$!
set +m

# The addresses are written once all listen, by our daemon alone: another one on the same port can't be mistaken for it.
for _ in $(seq 100); do
	[ ! -s "$scratch/addresses.json" ] || break
	kill -0 "$daemon" 2>/dev/null || break
	sleep 0.1
done
if [ ! -s "$scratch/addresses.json" ]; then
	if kill -0 "$daemon" 2>/dev/null; then
		echo "The Control Plane was not ready within 10 s." >&2
		exit 1
	fi
	code=0
	wait "$daemon" || code=$?
	daemon=
	echo "The Control Plane did not start; its last lines say why." >&2
	exit $((code > 0 ? code : 1))
fi
address() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$scratch/addresses.json"; }
http="http://$(address http)"

set -m
bin/iop-demo --edge-wire "$(address edge_wire)" --edges "${EDGES:-5}" ${SEED:+--seed "$SEED"} &
demo=$!
set +m

cat <<TEXT

A Control Plane and a demo fleet are running. Try, in another terminal:

  bin/iop fleet status --trouble --addr $http
  curl -s $http/fleet/summary
  curl -s $http/edges/seoul-1/status
  curl -s -H 'Content-Type: application/json' -d '{"operation":"model.load","node_id":"gpu-1","parameters":{"model":"qwen3-32b"}}' $http/edges/seoul-1/commands

Live events: curl -sN -H 'Accept: text/event-stream' $http/fleet/events
Everything there is: $http/openapi.yaml          Ctrl-C ends it all.

TEXT

wait "$daemon" # only when it ends by itself
