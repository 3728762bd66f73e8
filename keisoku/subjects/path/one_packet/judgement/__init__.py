"""What the fits, trains and losses of a path say together: rows, verdicts, flags and remarks."""
