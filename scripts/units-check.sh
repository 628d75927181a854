#!/usr/bin/env bash
# Checks the units of deploy/systemd without installing anything: that systemd takes every line of them, and that what they leave
# open stays at 2.5 or better of "systemd-analyze security" (0 is nothing, 10 everything). scripts/deploy-tools.sh installs systemd.
set -euo pipefail
cd "$(dirname "$0")/.."
export SYSTEMD_LOG_LEVEL=notice
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# Units name programs, which must be there: a root with nothing else in it.
install -d "$root"/{bin,usr/bin,etc,usr/lib/systemd/system}
install /bin/true "$root/bin/sh"
cp deploy/systemd/*.service "$root/usr/lib/systemd/system/"
cp /lib/systemd/system/*.target "$root/usr/lib/systemd/system/"
for unit in deploy/systemd/*.service; do
	name=$(basename "$unit" .service)
	install /bin/true "$root/usr/bin/$name"
	said=$(systemd-analyze verify --man=no --root="$root" "$name.service" 2>&1) || true
	if [ -n "$said" ]; then
		printf 'units-check: %s:\n%s\n' "$unit" "$said" >&2
		exit 1
	fi
	if ! said=$(systemd-analyze security --offline=true --threshold=25 --no-pager "$unit" 2>&1); then
		printf 'units-check: %s is more open than 2.5:\n%s\n' "$unit" "$(grep -v '✓' <<<"$said")" >&2
		exit 1
	fi
	echo "units-check: $name: $(sed -n 's/.*Overall exposure level for [^ ]*: //p' <<<"$said")"
done
