"""The hosts of a configuration as plain values: interfaces, addresses, LAGs, routes, gateways."""
