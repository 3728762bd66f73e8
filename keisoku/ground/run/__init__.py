"""A run of any measurement: its directory, its result, criteria, and comparison of runs."""
