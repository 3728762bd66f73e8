"""References that a clock is compared with."""
