"""Exports of network devices about the traffic that they forward: sFlow, NetFlow and IPFIX, as their bytes say it."""
