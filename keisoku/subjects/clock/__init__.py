"""Clocks of this machine: cost of a read, accuracy of the rate, stability."""
