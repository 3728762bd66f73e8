"""How the two ends of a measurement talk: control over TCP, and a server that has one client at a time."""
