"""Clocks of this machine: what a read costs, how right their rate is, how steady they run."""
