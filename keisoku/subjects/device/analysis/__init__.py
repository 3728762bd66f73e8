"""Statistics over trials. Does no I/O."""
