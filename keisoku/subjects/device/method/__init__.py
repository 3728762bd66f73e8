"""Methods: one procedure in each file, a generator that yields trials and receives their records."""
