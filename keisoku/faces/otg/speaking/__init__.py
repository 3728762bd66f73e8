"""The devices of a configuration that speak protocols, from their start to their stop."""
