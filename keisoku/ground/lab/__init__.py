"""Devices, paths and whole systems in network namespaces of this host."""
