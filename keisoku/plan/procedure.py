"""What there is to be measured: each procedure's name, standard and settings, for plans, commands and reports.

Describes; how a procedure proceeds is in `method/`, under the same name.
"""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.plan.drift_settings import BufferOverTimeSettings, ClockMismatchSettings
from keisoku.plan.portmap_settings import PortMapSettings
from keisoku.plan.settings import (
    CalibrateSettings,
    LatencySettings,
    LossSettings,
    Settings,
    SweepSettings,
    ThroughputSettings,
)


@dataclass(frozen=True)
class Procedure:
    """One method of `keisoku/method`."""

    name: str
    """Of the method, of its settings in a plan, and of the command, which has '-' for '_'."""
    title: str
    standard: str
    figure: str
    """What a criterion means that names no figure."""
    settings: type[Settings]
    summary: str
    """One sentence, for `keisoku --help`."""
    example: str = ""
    duration: str = "trial_s"
    """The setting that the option --duration gives."""
    own_flows: bool = False
    """It says itself which port sends to which: every port must be able to send to every other."""
    sizes: str | None = None
    """Frame sizes if none are given; RFC 2544's if absent."""
    simulated_sizes: str | None = None
    """The same for a simulated device, which no MTU bounds."""
    dut: str | None = None
    """The device if neither device nor ports are named."""


PROCEDURES: dict[str, Procedure] = {
    procedure.name: procedure
    for procedure in (
        Procedure(
            "throughput",
            "Throughput",
            "RFC 2544 §26.1",
            "throughput",
            ThroughputSettings,
            "The highest load at which the device forwards every frame.",
            "keisoku throughput --dut lab:bridge --size 64,1518 --duration 2s --waits 0.1s",
        ),
        Procedure(
            "latency",
            "Latency",
            "RFC 2544 §26.2",
            "mean",
            LatencySettings,
            "Latency of every frame, and of one tagged frame a trial.",
            "keisoku latency --dut lab:router --size 64 --rate 50kpps --trials 3 --duration 2s --waits 0.1s",
        ),
        Procedure(
            "loss",
            "Frame loss rate",
            "RFC 2544 §26.3",
            "loss",
            LossSettings,
            "Frame loss at 100 %, 90 %, … of the maximum load, until two successive trials without any.",
        ),
        Procedure(
            "sweep",
            "Frame size sweep",
            "every size at the smallest gap",
            "latency",
            SweepSettings,
            "Latency against frame size at the smallest gap: line, standard errors, largest frame.",
            "keisoku sweep --dut sim:gs908e",
            duration="sample_s",
            sizes="64-1518:128",
            simulated_sizes="64-16384:510",
        ),
        Procedure(
            "buffer_over_time",
            "Buffer behaviour over time",
            "one sample a second at the smallest gap",
            "slope",
            BufferOverTimeSettings,
            "When buffers fill, drop, drain and stall: slopes, jumps and depths from latency over time.",
            "keisoku buffer-over-time --dut sim:catalyst3750g --size 1998",
        ),
        Procedure(
            "clock_mismatch",
            "Clock mismatch",
            "every frame at the throughput rate, and below it",
            "mismatch",
            ClockMismatchSettings,
            "Whether latency grows because clocks differ, by how much, and the rate at which it no longer does.",
            "keisoku clock-mismatch --dut sim:sf4024fl --pattern pairs --ports 1,2,3,4 --size 64 --lowered 99.4",
        ),
        Procedure(
            "port_map",
            "Port map",
            "from every port to every other",
            "latency",
            PortMapSettings,
            "Latency and largest frame between all ports; finds the groups of ports that share a chip.",
            "keisoku port-map --dut sim:lsw4-gt-8ep --ports 1,2,3,4,5,6,7,8",
            own_flows=True,
            sizes="64,512,1518",
            simulated_sizes="64,1518,4096,6500",
        ),
        Procedure(
            "calibrate",
            "Calibration",
            "the tester on a bare cable",
            "bias",
            CalibrateSettings,
            "What the tester itself adds: measured on a bare cable, kept, subtracted from later results.",
            "keisoku calibrate --tx xdp:eth1 --rx xdp:eth2",
            dut="lab:cable",
        ),
    )
}
"""In the order of a report."""
