"""TCP and UDP streams and file transfers between two ends: how fast, at what cost, and what limits them."""
