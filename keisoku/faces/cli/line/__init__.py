"""`keisoku line`."""
