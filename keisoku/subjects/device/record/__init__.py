"""What happened in a trial, as counts and intentions, and the files that hold it."""
