"""`keisoku app`."""
