"""Devices under test in network namespaces: cable, bridge, router, firewall, NAT, tunnels, Open vSwitch, faulty."""
