#!/bin/sh
# The example's data plane in a namespace of its own: two veth pairs, and an XDP program between them.
#   dataplane.sh up | build SOURCE.c OBJECT.o [FLAG…] | load OBJECT.o | down
# The tester's ports are kci0 and kci1. It needs root, iproute2, ethtool, clang and libbpf's headers.
set -eu
space=keisoku-ci
case "$1" in
up)
    "$0" down # what a measurement that was killed has left
    ip netns add $space
    for port in 0 1; do
        ip link add kci$port type veth peer name dut$port netns $space
        ethtool -K kci$port gro on # a veth takes redirected frames only then
        ip link set kci$port up
        sysctl -qw net.ipv6.conf.kci$port.disable_ipv6=1
        ip netns exec $space sysctl -qw net.ipv6.conf.dut$port.disable_ipv6=1
        ip -n $space link set dut$port up
    done
    ;;
build)
    source=$2 object=$3
    shift 3
    # Frames go from the tester's first port to its second one; what comes in at the second is not sent on.
    out=$(ip netns exec $space cat /sys/class/net/dut1/ifindex)
    clang -O2 -g -target bpf -I"/usr/include/$(uname -m)-linux-gnu" -DOUT="$out" "$@" -c "$source" -o "$object"
    ;;
load)
    ip -n $space -force link set dut0 xdpdrv obj "$2" sec xdp
    ;;
down)
    ip netns delete $space 2>/dev/null || true
    for port in 0 1; do ip link delete kci$port 2>/dev/null || true; done
    ;;
esac
