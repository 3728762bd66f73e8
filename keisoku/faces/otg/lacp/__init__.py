"""LAGs that run: LACP and static ones, which Open vSwitch speaks."""
