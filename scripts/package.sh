#!/usr/bin/env bash
# Builds the Debian packages iop-control-plane, iop-edge and iop into bin/packages: static programs, units, default configuration,
# shell completions, docs. The version is git's; PACKAGE_VERSION sets another, ARCH (amd64) another machine than this one.
set -euo pipefail
cd "$(dirname "$0")/.."
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
out=bin/packages

# v1.2.3 → 1.2.3, v1.2.3-4-gabc → 1.2.3+4.gabc, and without a tag 0~git-count.hash, which sorts before any release.
version() {
	local described
	if described=$(git describe --tags --match 'v[0-9]*' 2>/dev/null); then
		sed -E 's/^v//; s/-([0-9]+)-g/+\1.g/; s/-/~/g' <<<"$described"
	else
		echo "0~git$(git rev-list --count HEAD).$(git rev-parse --short HEAD)"
	fi
}

export ARCH=${ARCH:-$(go env GOARCH)} VERSION=${PACKAGE_VERSION:-$(version)}
export MAINTAINER=${MAINTAINER:-"IOP Control Plane <root@localhost>"}
stage=bin/stage # where the packages' descriptions look
rm -rf "$stage"
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage"/{bin,here,complete} "$out"
rm -f "$out"/*.deb # of other versions

flags=(-trimpath -ldflags "-s -w -X iop/cmd/internal/build.version=$VERSION -X iop/cmd/internal/build.commit=$(git rev-parse HEAD)")
commands=(./cmd/iop-control-plane ./cmd/iop-edge ./cmd/iop-node ./cmd/iop)
CGO_ENABLED=0 GOOS=linux GOARCH=$ARCH go build "${flags[@]}" -o "$stage/bin/" "${commands[@]}"
programs=$stage/bin
if [ "$ARCH" != "$(go env GOHOSTARCH)" ]; then # completions are printed by programs that run here
	programs=$stage/here
	CGO_ENABLED=0 GOOS= GOARCH= go build "${flags[@]}" -o "$programs/" "${commands[@]}"
fi
for program in iop-control-plane iop-edge iop; do
	for shell in bash zsh fish; do
		"$programs/$program" completion "$shell" >"$stage/complete/$program.$shell"
	done
done

script() { # unit, configuration, what a first installation does
	for step in postinst prerm postrm; do
		sed "s|@UNIT@|$1|g; s|@CONFIG@|$2|g; s|@FIRST@|$3|g" "deploy/debian/$step.in" >"$stage/$1.$step"
	done
}
script iop-control-plane /etc/iop/control-plane.yaml start
script iop-edge /etc/iop/edge.yaml wait # it has no edge_id yet

for package in iop-control-plane iop-edge iop; do
	go run "$nfpm" package --packager deb --config "deploy/debian/nfpm.$package.yaml" --target "$out/${package}_${VERSION}_$ARCH.deb"
done
