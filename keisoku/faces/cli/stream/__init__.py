"""`keisoku stream`."""
