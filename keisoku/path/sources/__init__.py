"""The same path by different sources of time, and the clock's part in the result."""
