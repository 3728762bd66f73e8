"""Methods: one procedure a file, as a generator that yields trials and is told what came of each."""
