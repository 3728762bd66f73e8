"""`keisoku outage`."""
