"""Opens the engine on an instrument that a plan's ports name: a board, or its model with a simulated DUT or a cable.

Everything about ports and plan that can be refused before the first frame is refused here.
"""

from __future__ import annotations

from contextlib import ExitStack

from keisoku.device.engine.fpga.engine import FpgaEngine
from keisoku.device.engine.fpga.hosts import FpgaHosts
from keisoku.device.engine.fpga.port import FpgaAddress
from keisoku.device.engine.traffic import Traffic
from keisoku.device.plan.plan import Plan
from keisoku.errors import PlanError
from keisoku.fpga.cable import bare_cable, free_running
from keisoku.fpga.instrument import Instrument
from keisoku.simulated_device.device import SimulatedDevice, find_device


def on_fpga(plan: Plan) -> FpgaEngine:
    """The engine on the plan's ports. Raises PlanError for ports and settings that cannot be, EngineError if the
    instrument does not answer."""
    addresses = _addresses(plan)
    if plan.capture is not None:
        raise PlanError("capture", "no frame of the instrument passes this host", "leave it out")
    if plan.stamps == "software":
        raise PlanError("stamps", "the instrument's are those of its hardware", "leave it out")
    if plan.engine is not None:
        raise PlanError("engine", "ports name their own engine", "leave it out")
    device = _device(plan, addresses[0].simulated)
    with ExitStack() as stack:
        instrument = Instrument.simulated_with(device, plan.seed) if device else Instrument.at(addresses[0].target)
        stack.callback(instrument.close)
        context: dict[str, object] = {"device": _between(plan, device), "dut": plan.dut}
        context |= {"address": plan.address, "gateway": plan.gateway}
        if device is not None:
            context["model"] = device.model_dump(mode="json", by_alias=True)
        ports = [one.number for one in addresses]
        hosts = FpgaHosts(instrument, ports, plan.address, plan.gateway)
        traffic = Traffic(hosts.routes(plan.pairs()), plan.contents(), plan.seed, plan.modifiers)
        simulated = device is not None
        engine = FpgaEngine(instrument, ports, traffic, context, simulated, hosts.answer, plan.frames_every)
        stack.pop_all()
        return engine


def _addresses(plan: Plan) -> list[FpgaAddress]:
    fields = plan.port_fields()
    found = [FpgaAddress.parse(text, field) for field, text in fields]
    for place, (field, _) in enumerate(fields):
        if found[place].target != found[0].target:
            problem = f"{found[place].target} and {found[0].target} are two instruments, whose clocks are not one"
            raise PlanError(field, problem, "use both ports of one instrument")
        if found[place] in found[:place]:
            raise PlanError(field, f"is port {found[place].number}, as another one is", "use another port")
    return found


def _device(plan: Plan, simulated: bool) -> SimulatedDevice | None:
    """What is between the model's ports; None at a board."""
    kind, _, name = (plan.dut or "").partition(":")
    if plan.dut is not None and not (simulated and kind == "sim"):
        remedy = "leave it out: the DUT is what the ports are plugged into" if not simulated else "use sim:NAME"
        raise PlanError("dut", f"{plan.dut} cannot be between an instrument's ports", remedy)
    if not simulated:
        return None
    if plan.dut is None:
        return bare_cable(plan.calibrate.length_m or 0.0)
    device = free_running(find_device(name))
    return device if plan.calibrate.length_m is None else device.with_cable(plan.calibrate.length_m)


def _between(plan: Plan, device: SimulatedDevice | None) -> str:
    ports = f"{plan.port_fields()[0][1]} to {plan.port_fields()[-1][1]}"
    return ports if device is None else f"simulated {device.title} between the ports of the instrument's RTL"
