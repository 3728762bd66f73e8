"""The counter's frequency, calibrated against a reference."""
