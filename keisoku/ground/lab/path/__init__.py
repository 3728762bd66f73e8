"""Paths in network namespaces: routers in a row, joined by links of known rate."""
