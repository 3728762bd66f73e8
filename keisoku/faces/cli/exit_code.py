"""Exit codes of commands: every criterion met; a criterion missed or undecided; could not measure."""

MEASURED, MISSED, FAILED = 0, 1, 2
