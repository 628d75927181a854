#!/usr/bin/env bash
# Part of "make package-test": installs, upgrades, rolls back, removes and purges the packages of bin/packages in a minimal Debian, and looks
# for what they leave. Where systemd-nspawn can boot that Debian its systemd also runs the services (scripts/package-test-booted.sh).
# Needs root and debootstrap; "scripts/deploy-tools.sh debootstrap systemd-container" installs both programs. The minimal Debian is kept in .tools; DEBIAN_MIRROR and
# DEBIAN_SUITE say where it is from. Takes one to four minutes, the first time one more.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "package-test: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail "needs root: it makes a Debian to install into"
command -v debootstrap >/dev/null || fail "debootstrap is missing; \"scripts/deploy-tools.sh debootstrap systemd-container\" installs it"
suite=${DEBIAN_SUITE:-bookworm}
packages=$PWD/bin/packages
[ "$(ls "$packages"/*.deb 2>/dev/null | wc -l)" = 3 ] || fail "bin/packages must hold the three packages of one version; run \"make package\""

base=$PWD/.tools/debian-$suite.tar
if [ ! -e "$base" ]; then
	making=$(mktemp -d)
	echo "package-test: making a minimal Debian $suite"
	debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,bash-completion,curl "$suite" "$making" \
		"${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$making.log" 2>&1 || { cat "$making.log" >&2; fail "debootstrap failed"; }
	mkdir -p .tools
	tar -C "$making" -cf "$base.part" .
	mv "$base.part" "$base"
	rm -rf "$making" "$making.log"
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
tar -C "$root" -xf "$base"
chmod 0755 "$root" # mktemp made it for root alone; services run as others
inside() { chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@"; }
# left is all that packages could leave: files and links, users, groups. What dpkg and systemd note for themselves isn't.
left() {
	inside find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /root -o -path /var/lib/dpkg -o -path /var/log \
		-o -path /var/cache -o -path /var/lib/systemd/linger -o -path /var/lib/systemd/timers -o -name '*-' -path '/etc/*' \) -prune -o -print | sort
	cut -d: -f1 "$root"/etc/{passwd,group,shadow,gshadow} | sort
	inside dpkg-query -W -f '${Package} ${Status}\n' | grep -w iop || true
}
installed() { inside dpkg-query -W -f '${Version}' "$1"; }

left >"$root/tmp/before"
cp "$packages"/*.deb "$root/root/"
mkdir "$root/root/newer"
for deb in "$root"/root/*.deb; do # the same as a later version
	dpkg-deb -R "$deb" "$root/tmp/unpacked"
	sed -i 's/^Version: .*/&+next/' "$root/tmp/unpacked/DEBIAN/control"
	dpkg-deb -Znone --root-owner-group -b "$root/tmp/unpacked" "$root/root/newer" >/dev/null
	rm -rf "$root/tmp/unpacked"
done

echo "package-test: install"
inside sh -c 'dpkg --force-unsafe-io -i /root/*.deb' >"$root/tmp/log" 2>&1 || { cat "$root/tmp/log" >&2; fail "the packages don't install"; }
version=$(installed iop-control-plane)
inside iop-control-plane version | grep -F "version: $version" >/dev/null || fail "iop-control-plane is another version than its package"
inside iop version | grep -F "$version" >/dev/null || fail "iop is another version than its package"
inside iop-edge version | grep -F "$version" >/dev/null || fail "iop-edge is another version than its package"
inside iop-node version >/dev/null
# By the users that the services run as: they must be able to read what is theirs, and nobody else.
as() { inside setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }
as iop-control-plane iop-control-plane config check --config /etc/iop/control-plane.yaml
! as iop-edge iop-control-plane config check --config /etc/iop/control-plane.yaml 2>/dev/null || fail "anybody can read the configuration"
code=0
as iop-edge iop-edge check --config /etc/iop/edge.yaml 2>"$root/tmp/said" || code=$?
[ $code = 2 ] && grep -q edge.id "$root/tmp/said" || fail "an Edge without an id: exit code $code, $(cat "$root/tmp/said")"
sed -i 's/#id: seoul-1/id: seoul-1/' "$root/etc/iop/edge.yaml"
as iop-edge iop-edge check --config /etc/iop/edge.yaml
for program in iop iop-edge iop-control-plane; do
	inside bash -c ". /usr/share/bash-completion/bash_completion && _completion_loader $program; complete -p $program" >/dev/null || fail "$program has no completion"
done
inside test -L /etc/systemd/system/multi-user.target.wants/iop-control-plane.service || fail "iop-control-plane is not enabled"
! inside test -L /etc/systemd/system/multi-user.target.wants/iop-edge.service || fail "iop-edge is enabled before it has an id"

echo "package-test: upgrade and roll back"
echo "# an operator's line" >>"$root/etc/iop/control-plane.yaml"
chmod 0600 "$root/etc/iop/control-plane.yaml" && inside chown iop-control-plane: /etc/iop/control-plane.yaml
kept=$(inside stat -c '%a %U %G' /etc/iop/control-plane.yaml; inside sha256sum /etc/iop/control-plane.yaml)
for debs in '/root/newer/*.deb' '/root/*.deb'; do
	inside sh -c "dpkg --force-unsafe-io -i $debs" >"$root/tmp/log" 2>&1 </dev/null || { cat "$root/tmp/log" >&2; fail "$debs don't install over what is there"; }
	[ "$kept" = "$(inside stat -c '%a %U %G' /etc/iop/control-plane.yaml; inside sha256sum /etc/iop/control-plane.yaml)" ] || fail "the operator's configuration was changed"
done
[ "$(installed iop-control-plane)" = "$version" ] || fail "rolled back to $(installed iop-control-plane)"

if command -v systemd-nspawn >/dev/null; then
	scripts/package-test-booted.sh "$root"
else
	echo "package-test: no systemd-nspawn here (Debian: systemd-container), so no service was started"
fi

echo "package-test: remove and purge"
inside dpkg -r iop-control-plane iop-edge iop >"$root/tmp/log" 2>&1 || { cat "$root/tmp/log" >&2; fail "remove failed"; }
inside test -e /etc/iop/control-plane.yaml || fail "removing took the configuration away"
! inside sh -c 'command -v iop iop-edge iop-node iop-control-plane' || fail "removing left a program"
inside dpkg -P iop-control-plane iop-edge iop >"$root/tmp/log" 2>&1 || { cat "$root/tmp/log" >&2; fail "purge failed"; }
left >"$root/tmp/after"
diff "$root/tmp/before" "$root/tmp/after" || fail "purging left the above"
echo "package-test: nothing is left"
