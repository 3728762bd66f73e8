"""Statistics over records: functions that do no I/O, read no clock and format nothing."""
