"""The flows of one trial: sockets, ends, reports."""
