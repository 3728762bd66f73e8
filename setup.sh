#!/bin/sh
# Installs what is missing and says so: ./setup.sh build|web|check|test|docs|fpga|drivers|virtual|wheel|deb|install|release|bench
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

# What a build cannot do without, before anything is installed: one sentence each, with the command.
tools() {
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        { say "Python 3.11 or newer is needed: apt install python3, on Debian 12 or newer"; exit 1; }
    if command -v rustup >/dev/null && ! rust_is_new "$wanted"; then
        say "installing Rust's stable tool chain by rustup, for this folder"
        rustup toolchain install --profile minimal --no-self-update stable >/dev/null 2>&1 || true
        rustup override set stable >/dev/null 2>&1 || true
    fi
    rust_is_new "$wanted" && return 0
    found=$(rustc --version 2>/dev/null | cut -d' ' -f2) || true
    say "Rust $wanted or newer is needed${found:+, and this is $found}: apt install rustup && rustup default stable" \
        "(Debian 13), or see rustup.rs"
    exit 1
}

# Whether cargo and rustc work and are of at least this version.
rust_is_new() {
    cargo --version >/dev/null 2>&1 || return 1
    version=$(rustc --version 2>/dev/null | cut -d' ' -f2)
    [ "$(printf '%s\n%s\n' "$1" "$version" | sort -V | head -n 1)" = "$1" ]
}

case "${1:-build}" in
build)
    tools
    debian "the xdp engine will be left out" clang libbpf-dev linux-libc-dev gcc libc6-dev
    python3 -c 'import ensurepip' 2>/dev/null || debian "no virtual environment can be made" python3-venv
    [ -x .venv/bin/pip ] || { say "making the virtual environment .venv"; python3 -m venv .venv; }
    say "installing Python packages pinned in requirements.lock"
    .venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
    ;;
web)
    # The one script of another project on the server's page. Its archive is checked, and nothing of it is committed.
    .venv/bin/python packaging/htmx.py || say "the server's page is without htmx: it works, and must be loaded again to see progress"
    ;;
check)
    # Without its dependencies: it asks for plots and for a documentation tool, which nothing here calls.
    .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r tests/requirements.lock
    ;;
test)
    daemons="frr lldpd keepalived tayga openvswitch-switch nginx vsftpd openssh-server prometheus"
    daemons="$daemons kea-dhcp4-server kea-dhcp6-server pmacct"
    # shellcheck disable=SC2086  # one word a package
    new=$(missing $daemons)
    # Labs run daemons of their own in their namespaces; the host's are not wanted, and lldpd would speak on its ports.
    policy=/usr/sbin/policy-rc.d
    if [ -n "$new" ] && [ "$(id -u)" = 0 ] && [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    # shellcheck disable=SC2086
    debian "tests that need them are skipped by name" \
        iproute2 bpftool ethtool tshark chromium chromium-driver nftables apache2-utils wrk iperf3 linuxptp openssh-client \
        netconfd yangcli dhcpcd-base dnsmasq-base isc-dhcp-client podman runc $daemons
    # shellcheck disable=SC2086
    for daemon in $new; do
        [ -z "$(missing "$daemon")" ] || continue
        [ "$daemon" != openssh-server ] || daemon=ssh
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
virtual)
    without="tests of devices in virtual time are skipped"
    debian "$without" flex bison m4 bc xz-utils make gcc libc6-dev perl iproute2 frr || say "not all packages can be installed: $without"
    .venv/bin/python -m keisoku vlab kernel || say "there is no virtual kernel: $without"
    ;;
drivers)
    # The guest in which real drivers run: QEMU of at least version 8 (Debian 12 has it in its backports), and a kernel
    # that is unpacked and never installed. About 120 MiB. What cannot be installed is said, and tests are skipped.
    without="tests of real drivers are skipped"
    debian "$without" busybox-static kmod xz-utils ethtool iproute2 || say "not all packages can be installed: $without"
    knows_igb() { qemu-system-x86_64 -device help 2>/dev/null | grep -q '"igb"'; }
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/keisoku/drivers
    has_kernel() { ls "$cache"/linux-image-*/lib/modules/*/modules.dep >/dev/null 2>&1; }
    if knows_igb && has_kernel; then
        exit 0
    fi
    if [ "$(uname -m)" != x86_64 ] || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        say "not root on a Debian of x86_64: QEMU and the guest's kernel must be there, or $without"
        exit 0
    fi
    # The host's own sources, with Debian's backports beside them for these commands alone.
    distribution=$(. /etc/os-release && echo "${ID:-}")
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    list=$(mktemp --suffix=.list)
    trap 'rm -f "$list"' EXIT
    cat /etc/apt/sources.list >"$list" 2>/dev/null || true
    mirror=$(apt-get indextargets --no-release-info --format '$(REPO_URI)' \
        "Created-By: Packages" "Component: main" "Release: $codename" | head -n 1)
    if [ "$distribution" = debian ] && [ -n "$mirror" ]; then
        echo "deb $mirror $codename-backports main" >>"$list"
    fi
    chmod 644 "$list"
    sources="-o Dir::Etc::SourceList=$list"
    # shellcheck disable=SC2086  # two words
    apt-get update -qq $sources || say "not all sources of packages answer"
    if ! knows_igb; then
        # shellcheck disable=SC2086
        version=$(apt-cache policy $sources qemu-system-x86 | sed -n 's/^ *Candidate: //p')
        from=
        if [ "$distribution" = debian ] && ! dpkg --compare-versions "${version:-0}" ge 1:8; then
            from="-t $codename-backports"
        fi
        say "installing qemu-system-x86 ${from#-t } (15 MiB)"
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $sources $from \
            qemu-system-x86 >/dev/null && knows_igb || { say "QEMU 8 or newer cannot be installed: $without"; exit 0; }
    fi
    if ! has_kernel; then
        # shellcheck disable=SC2086
        kernel=$(apt-cache pkgnames $sources linux-image-6.12 | sort -V |
            grep -E '^linux-image-6\.12\.[0-9]+\+deb[0-9.]+-amd64$' | tail -n 1)
        [ -n "$kernel" ] || { say "there is no package of Linux 6.12: $without"; exit 0; }
        say "downloading the guest's kernel $kernel (102 MiB) into $cache"
        rm -rf "$cache/new"
        mkdir -p "$cache/new"
        # shellcheck disable=SC2086
        (cd "$cache/new" && apt-get download -qq $sources "$kernel" 2>/dev/null && dpkg -x "$kernel"_*.deb "$kernel") ||
            { say "it cannot be downloaded: $without"; rm -rf "$cache/new"; exit 0; }
        depmod -b "$cache/new/$kernel" "${kernel#linux-image-}"
        mv "$cache/new/$kernel" "$cache/$kernel"
        rm -rf "$cache/new"
    fi
    ;;
docs)
    .venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r docs/requirements.lock
    ;;
wheel)
    # Zig is the C compiler and linker for both processors; Rust's library for the other one comes from rustup.
    .venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r packaging/requirements.lock
    for target in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu; do
        rustc --print target-libdir --target "$target" | xargs test -d ||
            { say "adding Rust's library for $target"; rustup target add "$target"; }
    done
    ;;
deb)
    debian "no Debian package is made" debhelper dpkg-dev lintian xz-utils
    ;;
install)
    debian "wheel and package are not tried in a clean Debian root" debootstrap buildah qemu-user-static
    ./setup.sh check
    ;;
release)
    debian "no image is made" debootstrap buildah
    ./setup.sh wheel
    command -v cargo-cyclonedx >/dev/null ||
        { say "building cargo-cyclonedx, which lists the crates"; cargo install --quiet --locked cargo-cyclonedx; }
    ;;
bench)
    debian "benchmarks that need them are left out" iproute2 ethtool clang libbpf-dev gcc libc6-dev \
        netsniff-ng tcpreplay iperf3 nuttcp pchar sockperf qperf
    ;;
esac
