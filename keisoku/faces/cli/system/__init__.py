"""`keisoku system`."""
