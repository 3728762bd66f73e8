#!/bin/sh
# Makes dist/keisoku_VERSION_ARCHITECTURE.deb from the wheel in dist/ and the packages pinned in requirements.lock.
# It has Python packages of its own in /usr/lib/keisoku, because Debian's are older than those that keisoku needs.
# What only `keisoku serve`, `keisoku query` and fits need is a package of its own, keisoku-extra.
set -eu
cd "$(dirname "$0")/.."
architecture=$(dpkg --print-architecture)
wheel=$(ls dist/keisoku-*manylinux*"$(uname -m)".whl)
version=$(basename "$wheel" | cut -d- -f2)
python=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
following=$(python3 -c 'import sys; print("%d.%d" % (sys.version_info[0], sys.version_info[1] + 1))')
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
root=$made/keisoku further=$made/keisoku-extra
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/lib/keisoku" "$further/DEBIAN" "$further/usr/lib/keisoku"
chmod 755 "$root" "$further"
grep -oE '^[A-Za-z0-9._-]+==[^ ]+' requirements.lock >"$made/constraints"
pip=".venv/bin/pip install --quiet --disable-pip-version-check --constraint $made/constraints --target"
$pip "$root/usr/lib/keisoku" "${wheel}[rows,board]"
$pip "$further/usr/lib/keisoku" "${wheel}[fit,query,serve]"
for name in "$root"/usr/lib/keisoku/*; do
    rm -rf "$further/usr/lib/keisoku/${name##*/}"
done
rm -r "$root/usr/lib/keisoku/bin"
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
find "$made" -type d -name tests -prune -exec rm -r {} +
find "$made" -type f '(' -name '*.pyi' -o -name '*.p[yx][xdi]' -o -name '*.[ach]' -o -name '*.hpp' ')' -delete
(
    cd "$root/usr/lib/keisoku"
    rm -rf pyarrow/include pyarrow/src pyarrow/includes numpy/distutils numpy/f2py scapy/contrib/automotive scapy/tools
    # Arrow's clients of servers, and formats that are none of ours; each is looked for and need not be there.
    rm -f pyarrow/*flight* pyarrow/*_s3* pyarrow/_gcsfs* pyarrow/_azurefs* pyarrow/_hdfs* pyarrow/_orc*
    # The same library under further names, for builds.
    for library in pyarrow/*.so.*.*.*; do
        rm -f "$library" "${library%.so.*}.so"
    done
)
cat >"$root/usr/bin/keisoku" <<'SCRIPT'
#!/bin/sh
PYTHONPATH=/usr/lib/keisoku${PYTHONPATH:+:$PYTHONPATH} exec /usr/bin/python3 -m keisoku "$@"
SCRIPT
chmod 755 "$root/usr/bin/keisoku"
ln -s ../lib/keisoku/keisoku/keisoku-far "$root/usr/bin/keisoku-far"
cat >"$root/DEBIAN/control" <<CONTROL
Package: keisoku
Version: $version
Architecture: $architecture
Section: net
Priority: optional
Depends: python3 (>= $python), python3 (<< $following), iproute2
Recommends: ethtool
Suggests: keisoku-extra
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
cat >"$further/DEBIAN/control" <<CONTROL
Package: keisoku-extra
Version: $version
Architecture: $architecture
Section: net
Priority: optional
Depends: keisoku (= $version)
Maintainer: the developers of keisoku <keisoku@localhost>
Description: server and queries of keisoku, and fits
 What 'keisoku serve' and 'keisoku query' need, and what measurements of
 critical loads, marking curves, classes, port groups, one-packet paths and
 clocks compute with.
CONTROL
for package in "$root" "$further"; do
    name=$(basename "$package")
    echo "Installed-Size: $(du -sk --exclude=DEBIAN "$package" | cut -f1)" >>"$package/DEBIAN/control"
    dpkg-deb --build --root-owner-group -Zgzip -z1 "$package" "dist/${name}_${version}_$architecture.deb" >/dev/null
    echo "keisoku: dist/${name}_${version}_$architecture.deb: $(du -sm "$package" | cut -f1) MB installed"
done
