#!/bin/sh
# The demonstration's own data plane: a Linux bridge with a packet filter, in a namespace between two veth pairs.
#   demo-bridge.sh up | rules N | down
# The tester's ports are kdemo0 and kdemo1. It needs root, iproute2, ethtool and nft.
set -eu
space=keisoku-demo
case "$1" in
up)
    "$0" down # what a demonstration that was killed has left
    ip netns add $space
    ip -n $space link add br0 type bridge
    ip -n $space link set br0 up
    for port in 0 1; do
        ip link add kdemo$port type veth peer name dut$port netns $space
        # A veth takes frames of XDP programs only while its peer has GRO on.
        ethtool -K kdemo$port gro on
        ip netns exec $space ethtool -K dut$port gro on
        ip link set kdemo$port up
        sysctl -qw net.ipv6.conf.kdemo$port.disable_ipv6=1
        ip -n $space link set dut$port master br0 up
    done
    ;;
rules)
    # Each rule looks at every frame and matches none.
    {
        echo "table netdev filter"
        echo "delete table netdev filter"
        echo "table netdev filter { chain ingress {"
        echo "type filter hook ingress device dut0 priority 0;"
        for rule in $(seq "$2"); do echo "ip saddr 203.0.113.$rule drop"; done
        printf "}\n}\n"
    } | ip netns exec $space nft -f -
    ;;
down)
    ip netns delete $space 2>/dev/null || true
    for port in 0 1; do ip link delete kdemo$port 2>/dev/null || true; done
    ;;
esac
