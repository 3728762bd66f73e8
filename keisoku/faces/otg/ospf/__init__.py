"""The OSPFv2 routers of devices: what a script wants, what FRR is told, and what it says."""
