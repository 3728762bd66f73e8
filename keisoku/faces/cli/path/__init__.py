"""`keisoku path`."""
