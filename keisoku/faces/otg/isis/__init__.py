"""The IS-IS routers of devices: what a script wants, what FRR is told, and what it says."""
