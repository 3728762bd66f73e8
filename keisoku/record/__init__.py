"""What happened, as counts and intentions, and how it is kept on disk."""
