"""The closed loop that holds the best limit and notices that the load has changed."""
