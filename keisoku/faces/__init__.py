"""What a user meets: commands, Python, the server, OTG and NETCONF."""
