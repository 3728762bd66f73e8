"""`keisoku fpga`."""
