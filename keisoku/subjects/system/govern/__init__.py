"""The closed loop that holds the best limit and detects that the load has changed."""
