"""`keisoku vlab`."""
