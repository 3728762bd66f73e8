"""LLDP agents: what a script wants, what lldpd is told, and what it says."""
