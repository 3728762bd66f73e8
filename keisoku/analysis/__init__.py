"""Statistics over records: pure functions that do no I/O, read no clock and format nothing."""
