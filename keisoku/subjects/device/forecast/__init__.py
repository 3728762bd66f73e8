"""How long a plan of device procedures will take, before its first frame, and a plan that fits a given time."""
