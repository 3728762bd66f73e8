"""Captures of ports in pcapng files: made, searched for test frames, and read to be sent again."""
