#!/bin/sh
# Builds the far end as one static program, which needs nothing of the machine that it runs on:
#   far/build.sh [PROCESSOR [FILE]]     (default: this machine's, keisoku/keisoku-far)
# It is linked with musl, by Rust's own linker, where Rust's library for that can be had. Otherwise, for this machine's
# processor alone, it is linked with the C library of the host, statically too.
set -eu
cd "$(dirname "$0")/.."
processor=${1:-$(uname -m)} file=${2:-keisoku/keisoku-far}
case $processor in
armv7*) target=armv7-unknown-linux-musleabihf ;;
riscv64) target=riscv64gc-unknown-linux-musl ;;
*) target=$processor-unknown-linux-musl ;;
esac
has() { rustc --print target-libdir --target "$1" 2>/dev/null | xargs -r test -d; }
if ! has "$target" && command -v rustup >/dev/null; then
    echo "keisoku: adding Rust's library for $target"
    rustup target add "$target" >/dev/null 2>&1 || true
fi
if has "$target"; then
    linker=$(echo "CARGO_TARGET_${target}_LINKER" | tr 'a-z-' 'A-Z_')
    export "$linker=rust-lld"
elif [ "$processor" = "$(uname -m)" ]; then
    echo "keisoku: Rust's library for $target is not to be had: the far end is linked with this host's C library"
    target=$(rustc --version --verbose | sed -n 's/^host: //p')
    RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static"
    export RUSTFLAGS
else
    echo "keisoku: Rust's library for $target is not to be had, so there is no far end for $processor" >&2
    exit 1
fi
log=$(cargo build --locked --profile far --package keisoku-far --target "$target" 2>&1) || { echo "$log" >&2; exit 1; }
install -m 755 "${CARGO_TARGET_DIR:-target}/$target/far/keisoku-far" "$file"
echo "keisoku: $file ($target): $(($(stat -c %s "$file") / 1024)) KiB"
