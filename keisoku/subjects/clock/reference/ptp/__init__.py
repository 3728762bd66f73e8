"""A PTP master as a reference."""
