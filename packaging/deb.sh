#!/bin/sh
# Makes dist/keisoku_VERSION_ARCHITECTURE.deb from the wheel in dist/ and the packages pinned in requirements.lock.
# It has Python packages of its own in /usr/lib/keisoku, because Debian's are older than those that keisoku needs.
set -eu
cd "$(dirname "$0")/.."
architecture=$(dpkg --print-architecture)
wheel=$(ls dist/keisoku-*manylinux*"$(uname -m)".whl)
version=$(basename "$wheel" | cut -d- -f2)
python=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
following=$(python3 -c 'import sys; print("%d.%d" % (sys.version_info[0], sys.version_info[1] + 1))')
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/lib/keisoku"
grep -oE '^[A-Za-z0-9._-]+==[^ ]+' requirements.lock >"$root/constraints"
.venv/bin/pip install --quiet --disable-pip-version-check --target "$root/usr/lib/keisoku" \
    --constraint "$root/constraints" "${wheel}[serve,board]"
rm -r "$root/constraints" "$root/usr/lib/keisoku/bin"
mkdir -p "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
    "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
mv "$root"/usr/lib/keisoku/share/man/man1/keisoku*.1 "$root/usr/share/man/man1/"
gzip -9n "$root"/usr/share/man/man1/*.1
rm -r "$root/usr/lib/keisoku/share"
.venv/bin/python -m keisoku completion bash >"$root/usr/share/bash-completion/completions/keisoku"
.venv/bin/python -m keisoku completion zsh >"$root/usr/share/zsh/vendor-completions/_keisoku"
.venv/bin/python -m keisoku completion fish >"$root/usr/share/fish/vendor_completions.d/keisoku.fish"
# What only tests, builds and type checkers of these packages need: a seventh of their size. dpkg syncs every file to the
# disk, so their number is what an installation waits for.
find "$root/usr/lib/keisoku" -type d -name tests -prune -exec rm -r {} +
rm -rf "$root/usr/lib/keisoku/pyarrow/include" "$root/usr/lib/keisoku/pyarrow/src"
find "$root/usr/lib/keisoku" -type f '(' -name '*.pyi' -o -name '*.pxd' -o -name '*.pyx' -o -name '*.[ch]' -o -name '*.hpp' ')' -delete
cat >"$root/usr/bin/keisoku" <<'SCRIPT'
#!/bin/sh
PYTHONPATH=/usr/lib/keisoku${PYTHONPATH:+:$PYTHONPATH} exec /usr/bin/python3 -m keisoku "$@"
SCRIPT
chmod 755 "$root" "$root/usr/bin/keisoku"
cat >"$root/DEBIAN/control" <<CONTROL
Package: keisoku
Version: $version
Architecture: $architecture
Section: net
Priority: optional
Depends: python3 (>= $python), python3 (<< $following), iproute2
Recommends: ethtool
Maintainer: the developers of keisoku <keisoku@localhost>
Description: measures what a network device does to every frame
 Latency, loss, order, buffers and throughput of switches, routers, hosts and
 paths, with the uncertainty of each figure.
CONTROL
cat >"$root/DEBIAN/postrm" <<'SCRIPT'
#!/bin/sh
# What Python wrote beside the package's own files.
rm -rf /usr/lib/keisoku
SCRIPT
chmod 755 "$root/DEBIAN/postrm"
dpkg-deb --build --root-owner-group -Zgzip -z1 "$root" "dist/keisoku_${version}_$architecture.deb" >/dev/null
echo "keisoku: dist/keisoku_${version}_$architecture.deb"
