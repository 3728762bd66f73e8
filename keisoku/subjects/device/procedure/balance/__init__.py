"""How ECMP groups and LAGs spread flows over their members."""
