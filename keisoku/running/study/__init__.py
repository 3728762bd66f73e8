"""Published experiments, repeated and compared with their published figures."""
