"""Testbeds: ports of a tester and the engine on them, of a simulated device, a lab, this host, or an FPGA
instrument."""
