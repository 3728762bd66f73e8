"""The host's side of the FPGA instrument: link, registers, builds. Engines of other ports do not depend on it."""
