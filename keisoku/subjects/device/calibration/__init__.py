"""What the tester itself adds to a latency: how it is stored, selected and subtracted."""
