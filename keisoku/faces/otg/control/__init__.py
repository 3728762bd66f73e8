"""What requests do to the ports: one controller, and who owns it. Knows no transport."""
