"""What reading each time source costs and resolves."""
