#!/bin/sh
# Makes dist/keisoku_VERSION.dsc and its two archives of what is committed, and has lintian look at them.
set -eu
cd "$(dirname "$0")/.."
dist=$(realpath -m dist)
mkdir -p "$dist"
rm -f "$dist"/keisoku_*.dsc "$dist"/keisoku_*.orig.tar.xz "$dist"/keisoku_*.debian.tar.xz
version=$(dpkg-parsechangelog --show-field Version)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
name=keisoku-${version%-*}
git archive --prefix="$name/" --output="$made/all.tar" HEAD
tar -C "$made" -xf "$made/all.tar" "$name/debian"
tar -f "$made/all.tar" --delete "$name/debian"
xz <"$made/all.tar" >"$dist/keisoku_${version%-*}.orig.tar.xz"
tar -C "$made" -xf "$made/all.tar"
cd "$dist"
dpkg-source --build "$made/$name" >/dev/null
lintian --fail-on error,warning --allow-root --tag-display-limit 0 "keisoku_$version.dsc"
ls "$dist"/keisoku_*.dsc "$dist"/keisoku_*.tar.xz
