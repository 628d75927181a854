#!/usr/bin/env bash
# Part of package-test.sh: boots the Debian in $1, where the packages are installed, and has its own systemd run the services:
# start, reload, a hang, a crash, a wrong configuration, a long drain, a stop.
set -euo pipefail
root=$1
fail() {
	echo "package-test: $*" >&2
	inside journalctl --no-pager -n 60 -u iop-control-plane -u iop-edge >&2 || true
	exit 1
}
eventually() { # what, command...
	local what=$1 end=$((SECONDS + 90))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "not so in time: $what"
		sleep 0.2
	done
}

# The unit's LimitNOFILE, or what this machine allows to anybody.
ulimit -n 524288 2>/dev/null || true
descriptors=$(($(ulimit -Hn) < 524288 ? $(ulimit -Hn) : 524288))
# A network of its own: no port here is taken, nobody is reached.
systemd-nspawn --quiet --directory="$root" --register=no --keep-unit --private-network --boot >"$root.console" 2>&1 &
nspawn=$!
init=
stop() {
	kill -TERM "$nspawn" 2>/dev/null || true # it ends all that runs in there
	wait "$nspawn" 2>/dev/null || true
	rm -f "$root.console"
}
trap stop EXIT
child() { init=$(pgrep -P "$nspawn" -x systemd); [ -n "$init" ]; }
for _ in $(seq 50); do child && break; sleep 0.1; done
[ -n "$init" ] || { cat "$root.console" >&2; echo "package-test: systemd-nspawn can't boot here" >&2; exit 1; }
inside() { nsenter --target "$init" --all /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@"; }
show() { inside systemctl show -P "$2" "$1"; }
is() { [ "$(show "$1" "$2")" = "$3" ]; }
signal() { inside sh -c "kill -$1 $2"; } # a minimal Debian has the shell's kill alone
cp=iop-control-plane
config=$root/etc/iop/control-plane.yaml
loopback='wire_listen: 127.0.0.1:19080, edge_wire_listen: 127.0.0.1:19081'
write() { cat >"$config"; } # stays its owner's

echo "package-test: booted: start"
eventually "$cp is active after the boot" is $cp ActiveState active
inside curl -fsS http://127.0.0.1:18080/readyz >/dev/null || fail "it is active and not ready"
for metric in process_start_time_seconds process_max_fds; do # of /proc, which the sandbox narrows
	inside curl -fsS http://127.0.0.1:18080/metrics | grep "^$metric " >/dev/null || fail "$metric is missing in the sandbox"
done
! inside journalctl --no-pager -u $cp | grep -i "not permitted\|denied" || fail "the sandbox is in its way"
pid=$(show $cp MainPID)
[ "$(inside stat -c %U /proc/"$pid")" = iop-control-plane ] || fail "it runs as $(inside stat -c %U /proc/"$pid")"
inside grep -qE "Max open files +$descriptors +$descriptors" "/proc/$pid/limits" || fail "its limits: $(inside grep open "/proc/$pid/limits")"

echo "package-test: booted: reload"
write <<<"{server: {$loopback}, log: {level: debug}}"
inside systemctl reload $cp || fail "the reload failed"
eventually "it was reloaded" inside sh -c "journalctl --no-pager -u $cp | grep -q 'the configuration was reloaded'"
write <<<'nonsense: 1'
! inside systemctl reload $cp >/dev/null 2>&1 || fail "a wrong configuration was reloaded"
is $cp ActiveState active && is $cp MainPID "$pid" || fail "a wrong configuration ended what ran"

echo "package-test: booted: a hang and a crash"
write <<<"server: {$loopback}"
inside mkdir -p /run/systemd/system/$cp.service.d
printf '[Service]\nWatchdogSec=3s\nTimeoutAbortSec=1s\n' | inside tee /run/systemd/system/$cp.service.d/quick.conf >/dev/null
inside systemctl daemon-reload
inside systemctl restart $cp
sleep 7
is $cp NRestarts 0 || fail "the watchdog ended a daemon that was well"
signal STOP "$(show $cp MainPID)"
eventually "the hung daemon was restarted" is $cp NRestarts 1
inside journalctl --no-pager -u $cp | grep "Watchdog timeout" >/dev/null || fail "not by the watchdog"
eventually "it is active again" is $cp ActiveState active
signal ABRT "$(show $cp MainPID)"
eventually "the broken daemon was restarted" is $cp NRestarts 2
eventually "it is active again" is $cp ActiveState active
inside curl -fsS http://127.0.0.1:18080/readyz >/dev/null || fail "it is active and not ready"

echo "package-test: booted: a wrong configuration"
write <<<'nonsense: 1'
! inside systemctl restart $cp >/dev/null 2>&1 || fail "it started with a wrong configuration"
sleep 4
is $cp ActiveState failed || fail "with a wrong configuration it is $(show $cp ActiveState)"

echo "package-test: booted: an Edge, and a drain that is longer than the unit's TimeoutStopSec"
write <<<"server: {$loopback, shutdown_timeout: 8s}"
inside rm /run/systemd/system/$cp.service.d/quick.conf
printf '[Service]\nTimeoutStopSec=2s\n' | inside tee /run/systemd/system/$cp.service.d/quick.conf >/dev/null
inside systemctl daemon-reload
inside systemctl restart $cp
inside systemctl enable --now --quiet iop-edge
eventually "the Edge is connected" inside sh -c 'iop edges get seoul-1 -o json | grep -q "\"connected\": *true"'
eventually "the Edge tells its status" inside iop-edge status --config /etc/iop/edge.yaml
edge=$(show iop-edge MainPID)
signal STOP "$edge"
inside curl -sS -m 60 -H 'Content-Type: application/json' -d '{"operation":"node.drain","timeout":"60s"}' \
	http://127.0.0.1:18080/edges/seoul-1/commands >"$root/tmp/answer" 2>&1 &
asked=$!
eventually "a command is under way" inside sh -c 'iop ops ls seoul-1 -o json | grep -q "\"state\": *\"sent\""'
began=$SECONDS
inside systemctl stop $cp
took=$((SECONDS - began))
wait "$asked" || true
is $cp Result success || fail "the drain ended with $(show $cp Result) after $took s"
[ $took -ge 5 ] || fail "nothing was waited for: $took s"
grep -q shutting_down "$root/tmp/answer" || fail "who waited was told: $(cat "$root/tmp/answer")"
signal CONT "$edge"
inside systemctl stop iop-edge
is iop-edge Result success || fail "the Edge ended with $(show iop-edge Result)"
inside rm -r /run/systemd/system/$cp.service.d
inside systemctl daemon-reload

echo "package-test: booted: upgrade and remove what runs"
inside systemctl start $cp
pid=$(show $cp MainPID)
inside sh -c 'dpkg --force-unsafe-io -i /root/newer/iop-control-plane*.deb' >/dev/null 2>&1 </dev/null || fail "the upgrade failed"
eventually "the upgrade restarted it" inside sh -c "systemctl is-active $cp && [ \$(systemctl show -P MainPID $cp) != $pid ]"
inside dpkg -r $cp >/dev/null 2>&1 || fail "the removal failed"
! inside curl -fsS -m 2 http://127.0.0.1:18080/healthz 2>/dev/null || fail "it runs on after its removal"
inside sh -c 'dpkg --force-unsafe-io -i /root/iop-control-plane*.deb' >/dev/null 2>&1 </dev/null || fail "it doesn't install over its rest"
