"""One flow of a configuration, as plain values: headers, rates, sizes, tags."""
