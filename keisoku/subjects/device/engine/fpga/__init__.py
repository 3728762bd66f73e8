"""The engine on the FPGA instrument, a board or its Verilated model."""
