"""`keisoku clock`."""
