"""The user's plan, parsed and checked before the first frame is sent. Accesses no port."""
