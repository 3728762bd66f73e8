"""Cost and resolution of reading each time source."""
