"""`keisoku lab`."""
