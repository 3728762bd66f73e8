"""What a command's exit code says: every criterion met; a criterion missed; could not measure."""

MEASURED, MISSED, FAILED = 0, 1, 2
