#!/bin/sh
# Installs what is missing and says so: ./setup.sh build|check|test|fpga|drivers|bench
# Debian packages only if absent and only as root; Python packages into .venv, pinned by requirements.lock.
set -eu
cd "$(dirname "$0")"

say() { echo "keisoku: $*"; }

# The packages in "$@" that dpkg does not know as installed.
missing() {
    command -v dpkg-query >/dev/null || return 0
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = "install ok installed" ] || printf '%s ' "$package"
    done
}

# Installs Debian packages "$2"… that are absent; $1 says what goes without them.
debian() {
    without=$1
    shift
    absent=$(missing "$@")
    [ -n "$absent" ] || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        say "not root: cannot install $absent- $without"
        return 0
    fi
    say "installing Debian packages: $absent"
    apt-get update -qq
    # shellcheck disable=SC2086  # one word a package
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $absent >/dev/null
}

case "${1:-build}" in
build)
    debian "the xdp engine will be left out" clang libbpf-dev linux-libc-dev gcc libc6-dev
    command -v cargo >/dev/null || { say "no Rust tool chain: install one (rustc and cargo 1.88 or newer)"; exit 1; }
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { say "Python 3.11 or newer is needed"; exit 1; }
    python3 -c 'import ensurepip' 2>/dev/null || debian "no virtual environment can be made" python3-venv
    [ -x .venv/bin/pip ] || { say "making the virtual environment .venv"; python3 -m venv .venv; }
    say "installing Python packages pinned in requirements.lock"
    .venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
    ;;
check)
    # Without its dependencies: it asks for plots and for a documentation tool, which nothing here calls.
    .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r tests/requirements.lock
    ;;
test)
    daemons="openvswitch-switch nginx vsftpd openssh-server"
    # shellcheck disable=SC2086  # one word a package
    new=$(missing $daemons)
    # shellcheck disable=SC2086
    debian "tests that need them are skipped by name" \
        iproute2 ethtool tshark chromium chromium-driver nftables apache2-utils wrk iperf3 linuxptp openssh-client $daemons
    # Labs run daemons of their own in their namespaces; the host's, which these packages start, are not wanted.
    # shellcheck disable=SC2086
    for daemon in $new; do
        [ -z "$(missing "$daemon")" ] || continue
        [ "$daemon" != openssh-server ] || daemon=ssh
        invoke-rc.d "$daemon" stop >/dev/null 2>&1 || true
        update-rc.d "$daemon" disable >/dev/null 2>&1 || true
    done
    ./setup.sh check
    ;;
fpga)
    # The Verilated model is C++ that Verilator's make compiles; Icarus checks for unknown states.
    debian "the FPGA instrument can be neither simulated nor built" g++ make perl iverilog libusb-1.0-0
    say "installing the FPGA's tools pinned in fpga/requirements.lock"
    .venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r fpga/requirements.lock
    ;;
drivers)
    # The guest in which real drivers run: QEMU of at least version 8 (Debian 12 has it in its backports), and a kernel
    # that is unpacked and never installed. About 120 MiB.
    debian "tests of real drivers are skipped" busybox-static kmod xz-utils ethtool iproute2
    knows_igb() { qemu-system-x86_64 -device help 2>/dev/null | grep -q '"igb"'; }
    if [ "$(uname -m)" != x86_64 ] || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        say "not root on a Debian of x86_64: QEMU and the guest's kernel must be there, or tests of real drivers are skipped"
        exit 0
    fi
    if ! knows_igb; then
        codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
        list=$(mktemp --suffix=.list)
        trap 'rm -f "$list"' EXIT
        echo "deb http://deb.debian.org/debian $codename-backports main" >"$list"
        chmod 644 "$list"
        say "installing qemu-system-x86 of $codename-backports (15 MiB)"
        apt-get update -qq -o Dir::Etc::SourceList="$list" || say "there are no backports of $codename"
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            -o Dir::Etc::SourceList="$list" -t "$codename-backports" qemu-system-x86 >/dev/null ||
            say "QEMU cannot be installed: tests of real drivers are skipped"
    fi
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/keisoku/drivers
    if ! ls "$cache"/linux-image-*/lib/modules/*/modules.dep >/dev/null 2>&1; then
        apt-get update -qq
        kernel=$(apt-cache pkgnames linux-image-6.12 | grep -E '^linux-image-6\.12\.[0-9]+\+deb[0-9.]+-amd64$' |
            sort -V | tail -n 1)
        [ -n "$kernel" ] || { say "there is no package of Linux 6.12: tests of real drivers are skipped"; exit 0; }
        say "downloading the guest's kernel $kernel (102 MiB) into $cache"
        mkdir -p "$cache"
        rm -rf "$cache/new"
        mkdir "$cache/new"
        (cd "$cache/new" && apt-get download -qq "$kernel" 2>/dev/null && dpkg -x "$kernel"_*.deb "$kernel" && rm -- *.deb)
        depmod -b "$cache/new/$kernel" "${kernel#linux-image-}"
        mv "$cache/new/$kernel" "$cache/$kernel"
        rmdir "$cache/new"
    fi
    ;;
bench)
    debian "benchmarks that need them are left out" iproute2 ethtool clang libbpf-dev gcc libc6-dev \
        netsniff-ng tcpreplay iperf3 nuttcp pchar
    ;;
esac
