"""What a path does to people while it is loaded: its responsiveness."""
