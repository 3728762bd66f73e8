"""How the two ends of a measurement communicate: control over TCP, and a server with one client at a time."""
