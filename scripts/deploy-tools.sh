#!/usr/bin/env bash
# Installs, on Debian and as root, the programs that deploy/ is tried with: HAProxy, nginx, Prometheus and systemd's tools, and the
# packages that its arguments name. make test calls it, as root on Debian; elsewhere it names the programs that are missing. No
# service is started.
set -euo pipefail
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "deploy-tools: this needs root on Debian" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
export RUNLEVEL=1 # what invoke-rc.d takes for "start nothing"
packages=(haproxy nginx-light libnginx-mod-stream prometheus systemd "$@")
missing=()
for package in "${packages[@]}"; do
	dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
