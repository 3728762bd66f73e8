# Bitstreams, from pip packages only: registers, Yosys, nextpnr, ecppack. The work is done by keisoku/fpga/build.py.

BOARD ?= colorlight_5a_75b
SEED ?= 1
BUILD := cd $(ROOT) && $(PY) -m keisoku.fpga.build --board $(BOARD) $(if $(REVISION),--revision $(REVISION))

.PHONY: bitstream bitstreams

# One bitstream; fails if a clock misses its frequency or the design is too large.
bitstream:
	$(BUILD) --seed $(SEED)

# Three seeds, of which the first is made twice and must come out the same.
bitstreams:
	$(BUILD) --seed 1 2 3 --reproduce
