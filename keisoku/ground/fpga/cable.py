"""The surroundings of the Verilated instrument: PHYs with realistic delays and a cable, so that calibration has an
effect.

It opens the model, but does not let time pass.
"""

from __future__ import annotations

from keisoku.ground.fpga.sim import Model, Surroundings
from keisoku.ground.simulated_device.device import Cable, SimulatedDevice, find_device

PHY_TX_NS = (200.0, 204.0)
"""From a port's GMII to its cable; the two differ, as PHYs do."""
PHY_RX_NS = (256.0, 259.913)
"""From the cable to the GMII. From port 0 to port 1 the PHYs add 459.913 ns, as the instrument of the published switch
measurements (E1)."""

_CLOCK_PPM = {1: 83.0, 2: 97.0}
"""Clock of a device whose file has no clocks. A device's crystal differs from the tester's; a slower one would build up
a queue at line rate, and one of exactly the same rate would delay every frame by the same part of a byte time."""


def free_running(device: SimulatedDevice) -> SimulatedDevice:
    """The device with these clocks, unless its file has clocks, or it is a cable."""
    if device.clock_offset_ppm or device.cable is not None:
        return device
    return device.model_copy(update={"clock_offset_ppm": _CLOCK_PPM})


def bare_cable(length_m: float) -> SimulatedDevice:
    """A cable between the two ports and nothing else, as 'keisoku calibrate' needs it."""
    shipped = find_device("cable")
    forwarding = shipped.forwarding.model_copy(update={"constant_ns": 0.0})
    ns_per_m = shipped.cable.ns_per_m if shipped.cable else Cable().ns_per_m
    changes = {"forwarding": forwarding, "cable": Cable(length_m=length_m, ns_per_m=ns_per_m), "resolution_ns": 0.0}
    return shipped.model_copy(update=changes | {"title": f"a cable of {length_m:g} m"})


def model_of(device: SimulatedDevice, seed: int, reference_ppm: float | None = None, pulse_ns: float = 1e9) -> Model:
    """The instrument with these PHYs, and `device` between its ports.

    With `reference_ppm`, PPS (a pulse every `pulse_ns`) and 10 MHz are connected, faster than its clock by so much.
    """
    around = Surroundings(
        seed=seed, phy_tx_ns=PHY_TX_NS, phy_rx_ns=PHY_RX_NS, reference_ppm=reference_ppm, pulse_ns=pulse_ns
    )
    return Model(free_running(device), around)
