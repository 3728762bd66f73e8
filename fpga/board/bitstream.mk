# Bitstreams, from pip packages only: registers, Yosys, nextpnr, ecppack. The work is done by keisoku/ground/fpga/build.py.
#
# BOARDS are NAME-REVISION: all that the tree knows, unless some are chosen. What was made from these sources is kept.

BUILD := cd $(ROOT) && $(PY) -m keisoku.ground.fpga.build
SEEDS ?= 1 2 3
MADE := $(ROOT)/fpga/build
ifneq ($(filter bitstreams reproduced,$(MAKECMDGOALS)),)
BOARDS ?= $(shell $(BUILD) list)
endif

PLACED := $(foreach board,$(BOARDS),$(SEEDS:%=$(MADE)/$(board)/seed-%/top.bit))
SOURCES := $(shell find $(ROOT)/fpga/rtl $(ROOT)/fpga/soc $(ROOT)/fpga/board -name '*.sv' -o -name '*.py') \
	$(ROOT)/fpga/registers.rdl $(ROOT)/fpga/generate_registers.py $(ROOT)/keisoku/ground/fpga/output_register.py
PINS := $(wildcard $(ROOT)/fpga/board/*/top.lpf)

.PHONY: bitstreams reproduced

# Fails if no seed of a board keeps all clocks and limits, but only when all are made and their table is written.
bitstreams: $(PLACED)
	$(BUILD) table $(BOARDS) --seed $(SEEDS)

# The first seed of each board a second time from its sources: it must come out the same.
reproduced: $(PLACED)
	$(BUILD) reproduce $(BOARDS) --seed $(firstword $(SEEDS))

$(BOARDS:%=$(MADE)/%/top.json): $(MADE)/%/top.json: $(SOURCES) $(PINS)
	$(BUILD) synthesize $*

define PLACING
$(MADE)/$(1)/seed-$(2)/top.bit: $(MADE)/$(1)/top.json
	$(BUILD) place $(1) --seed $(2)
endef
$(foreach board,$(BOARDS),$(foreach seed,$(SEEDS),$(eval $(call PLACING,$(board),$(seed)))))
