"""The host's side of the FPGA instrument: link, registers, builds. Holds nothing that engines of other ports need."""
