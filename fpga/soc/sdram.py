"""The SDRAM's controller: LiteDRAM's, with a small sequencer that initialises the chip in place of a processor.

    python fpga/soc/sdram.py            writes fpga/build/sdram/sdram_controller.v

It runs at half the frequency of the rest: the chip has far more to give than the instrument takes, and no pin then
needs a delay that somebody must find by trial. Never holds a pin: rtl/io/ecp5_sdram.sv does.
"""

import sys
from pathlib import Path

from litedram.common import PhySettings
from litedram.core.controller import ControllerSettings, LiteDRAMController
from litedram.core.crossbar import LiteDRAMCrossbar
from litedram.init import get_sdr_phy_init_sequence
from litedram.modules import M12L64322A
from litex.gen.fhdl import verilog
from migen import Array, ClockDomain, Constant, If, Module, Signal

CLOCK_HZ = 62.5e6
CAS_LATENCY = 2
OUTPUT = Path(__file__).resolve().parent.parent / "build" / "sdram"
# What LiteDRAM's words for a command mean: low on these pins.
PINS = {"DFII_COMMAND_WE": 1, "DFII_COMMAND_CAS": 2, "DFII_COMMAND_RAS": 4}


class SdramController(Module):  # type: ignore[misc]  # migen has no types
    """LiteDRAM for one M12L64322A (2 Mi words of 32 bit) with a port of one word and signals for the chip."""

    def __init__(self) -> None:
        self.clock_domains.cd_sys = ClockDomain("sys")
        chip = M12L64322A(CLOCK_HZ, "1:1")
        phy = PhySettings(
            phytype="GENSDRPHY",
            memtype="SDR",
            databits=32,
            dfi_databits=32,
            nranks=1,
            nphases=1,
            rdphase=0,
            wrphase=0,
            cl=CAS_LATENCY,
            # A flip-flop on the way out, the chip, and two flip-flops on the way in: ecp5_sdram.sv.
            read_latency=CAS_LATENCY + 2,
            write_latency=0,
        )
        settings = ControllerSettings(cmd_buffer_depth=8, with_bandwidth=False)
        controller = LiteDRAMController(phy, chip.geom_settings, chip.timing_settings, CLOCK_HZ, settings)
        crossbar = LiteDRAMCrossbar(controller.interface)
        port = crossbar.get_port()
        self.submodules += controller, crossbar

        def out(width: int, name: str) -> Signal:
            return Signal(width, name_override=name)

        # The port: LiteDRAM's native one.
        self.command_valid, self.command_ready = out(1, "command_valid"), out(1, "command_ready")
        self.command_write, self.command_address = out(1, "command_write"), out(21, "command_address")
        self.write_data, self.write_valid, self.write_ready = (
            out(32, "write_data"),
            out(1, "write_valid"),
            out(1, "write_ready"),
        )
        self.read_data, self.read_valid = out(32, "read_data"), out(1, "read_valid")
        self.initialised = out(1, "initialised")
        # The chip.
        self.address, self.bank = out(11, "address"), out(2, "bank")
        self.ras_n, self.cas_n, self.we_n = out(1, "ras_n"), out(1, "cas_n"), out(1, "we_n")
        self.data_out, self.data_drive, self.data_in = out(32, "data_out"), out(1, "data_drive"), out(32, "data_in")

        self.comb += [
            port.cmd.valid.eq(self.command_valid & self.initialised),
            self.command_ready.eq(port.cmd.ready & self.initialised),
            port.cmd.we.eq(self.command_write),
            port.cmd.addr.eq(self.command_address),
            port.wdata.valid.eq(self.write_valid),
            port.wdata.data.eq(self.write_data),
            port.wdata.we.eq(0b1111),
            self.write_ready.eq(port.wdata.ready),
            port.rdata.ready.eq(1),
            self.read_data.eq(port.rdata.data),
            self.read_valid.eq(port.rdata.valid),
        ]

        # The sequencer: each step gives a command for a clock and waits.
        sequence, _ = get_sdr_phy_init_sequence(phy, chip.timing_settings)
        steps = [
            (address, bank, sum(bit for word, bit in PINS.items() if word in command), max(wait, 16))
            for _, address, bank, command, wait in sequence
        ]
        step, waited, pause = Signal(max=len(steps) + 1), Signal(16), Signal(16)
        now = Signal()
        address, bank, pins = Signal(11), Signal(2), Signal(3)
        self.comb += [
            address.eq(Array(Constant(s[0], 11) for s in steps)[step]),
            bank.eq(Array(Constant(s[1], 2) for s in steps)[step]),
            pins.eq(Array(Constant(s[2], 3) for s in steps)[step]),
            pause.eq(Array(Constant(s[3], 16) for s in steps)[step]),
            now.eq((waited == 0) & ~self.initialised),
        ]
        self.sync += If(
            ~self.initialised,
            waited.eq(waited + 1),
            If(
                waited == pause,
                waited.eq(0),
                If(step == len(steps) - 1, self.initialised.eq(1)).Else(step.eq(step + 1)),
            ),
        )

        dfi = controller.dfi.p0
        self.comb += [
            If(
                self.initialised,
                self.address.eq(dfi.address),
                self.bank.eq(dfi.bank),
                self.ras_n.eq(dfi.ras_n | dfi.cs_n),
                self.cas_n.eq(dfi.cas_n | dfi.cs_n),
                self.we_n.eq(dfi.we_n | dfi.cs_n),
                self.data_drive.eq(dfi.wrdata_en),
            ).Else(
                self.address.eq(address),
                self.bank.eq(bank),
                self.we_n.eq(~(pins[0] & now)),
                self.cas_n.eq(~(pins[1] & now)),
                self.ras_n.eq(~(pins[2] & now)),
            ),
            self.data_out.eq(dfi.wrdata),
            dfi.rddata.eq(self.data_in),
        ]

    def signals(self) -> set[Signal]:
        """The ports of the Verilog module."""
        return {self.cd_sys.clk, self.cd_sys.rst} | {
            value for value in vars(self).values() if isinstance(value, Signal)
        }


def write(directory: Path = OUTPUT) -> Path:
    """Writes the controller's Verilog into `directory`; the same each time."""
    controller = SdramController()
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "sdram_controller.v"
    text = verilog.convert(controller, controller.signals(), name="sdram_controller")
    # LiteX writes the date into its comments; the same sources shall give the same file.
    file.write_text("\n".join(line for line in str(text).splitlines() if not line.startswith("//")) + "\n")
    return file


if __name__ == "__main__":
    print(write(Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT))
