"""A run of any measurement: its directory, its result, criteria on it, and runs compared."""
