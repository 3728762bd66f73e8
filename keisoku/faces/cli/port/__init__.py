"""`keisoku port`."""
