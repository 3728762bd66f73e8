"""Real systems in the form in which they are searched and governed."""
