"""Ports of a tester and the engine on them: of a simulated device, a lab, this host, an FPGA instrument."""
