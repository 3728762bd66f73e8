#!/bin/sh
# What debian/rules installs: packaging/deb.sh KEISOKU EXTRA fills these two folders from the wheel in dist/ and the packages
# pinned in requirements.lock.
# It has Python packages of its own in /usr/lib/keisoku, because Debian's are older than those that keisoku needs.
# What only `keisoku serve`, `keisoku query` and fits need is a package of its own, keisoku-extra.
set -eu
root=$(realpath -m "$1") further=$(realpath -m "$2")
cd "$(dirname "$0")/.."
wheel=$(ls dist/keisoku-*manylinux*"$(uname -m)".whl)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir -p "$root/usr/bin" "$root/usr/lib/keisoku" "$further/usr/lib/keisoku"
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
rm -r "$root/usr/lib/keisoku/share"
.venv/bin/python -m keisoku completion bash >"$root/usr/share/bash-completion/completions/keisoku"
.venv/bin/python -m keisoku completion zsh >"$root/usr/share/zsh/vendor-completions/_keisoku"
.venv/bin/python -m keisoku completion fish >"$root/usr/share/fish/vendor_completions.d/keisoku.fish"
# What only tests, builds and type checkers of these packages need: a seventh of their size. dpkg syncs every file to the
# disk, so their number is what an installation waits for.
find "$root" "$further" -type d -name tests -prune -exec rm -r {} +
find "$root" "$further" -type f '(' -name '*.pyi' -o -name '*.p[yx][xdi]' -o -name '*.[ach]' -o -name '*.hpp' ')' -delete
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
