"""`keisoku runs`."""
