"""Published experiments, run again and set beside their published figures."""
