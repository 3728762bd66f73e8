"""What of a plan an engine is able to carry out, by its capabilities."""

from __future__ import annotations

from keisoku.errors import PlanError
from keisoku.ground.frame.rates import HEADER_AND_FCS_BYTES
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import LinePercent, no_line_rate
from keisoku.subjects.device.plan.uri import is_lab
from keisoku.subjects.device.record.capabilities import Ability, Capabilities
from keisoku.subjects.device.table import PROCEDURES

_NO_NIC_SENDS: dict[Ability, str] = {
    "short_gap": "frames 88 bits apart",
    "undersize": "undersize frames",
    "crc": "frames with a wrong FCS",
    "dribble": "frames with dribble bits",
    "alignment": "frames with an incomplete octet",
}
_NEEDED_FOR: dict[Ability, tuple[str, str]] = {
    "cost": (
        "takes the CPU time of a device that works on this host, from XDP ports",
        "use a lab: device, or veth or tap interfaces that 'keisoku doctor' finds fit for the engine xdp; elsewhere"
        " compare 'throughput' or 'latency'",
    ),
    "multicast": ("counts each frame at several ports", "use ports of a host, a lab device or a simulated one"),
    "compare": ("compares the headers of frames", "receive with xdp, afxdp or packet"),
    "connections": ("opens connections", "use ports of a host, a lab device or a simulated one"),
}
"""What a procedure does with an ability, and the remedy where an engine has it not."""


def able_part(plan: Plan, capabilities: Capabilities) -> tuple[Plan, dict[str, PlanError]]:
    """The plan with those of a document's procedures that the device can take part in, and why of the others.

    Raises PlanError if it can take part in none, or not in one that a plan names.
    """
    why: dict[str, PlanError] = {}
    for method in plan.methods:
        try:
            check_ability(plan.model_copy(update={"methods": (method,)}), capabilities)
        except PlanError as error:
            why[method] = error
    able = tuple(method for method in plan.methods if method not in why)
    if why and not (plan.document and able):
        raise next(iter(why.values()))
    return plan.model_copy(update={"methods": able}), why


def check_ability(plan: Plan, capabilities: Capabilities) -> None:
    """Raises PlanError if the engine cannot carry out what is asked."""
    if plan.paced_fps is not None:
        _check_paced(plan)
    for method in plan.methods:
        procedure = PROCEDURES[method]
        wanted: set[Ability] = {*procedure.needs, *procedure.also_needs(plan.own(method))}
        missing = sorted(wanted - capabilities.abilities)
        for ability in missing:
            if ability in _NEEDED_FOR:
                what, remedy = _NEEDED_FOR[ability]
                problem = f"{method} {what}, which the engine {capabilities.engine} cannot"
                raise PlanError("methods", problem, remedy)
        if missing:
            what = " and ".join(_NO_NIC_SENDS[ability] for ability in missing)
            problem = f"{method} needs the FPGA engine: no NIC sends {what}"
            raise PlanError("methods" if PROCEDURES[method].needs else "errors", problem, "leave it out")
    for field, asked in (("why_lost", plan.why_lost), ("why_late", plan.why_late)):
        if asked and "drops" not in capabilities.abilities:
            problem = f"the frames of the engine {capabilities.engine} do not pass this host's kernel"
            raise PlanError(field, problem, "leave it out, or use a lab or ports of this host")
    if plan.frames and capabilities.engine == "simulated":
        plain = [name for name in plan.methods if not PROCEDURES[name].rows_when_simulated]
        if plain:
            problem = f"it does not work with simulated devices ({plain[0]})"
            raise PlanError("frames", problem, "leave it out")
    for method in plan.methods:
        PROCEDURES[method].check(plan, capabilities)
    if plan.traffic_pattern == "either" and "anywhere" not in capabilities.abilities:
        problem = "these ports count flows where they are meant for"
        raise PlanError("pattern", problem, "use ports of this host, or a lab")
    if capabilities.link_bits_per_second is None:
        _check_loads(plan)
    for size in plan.all_frame_bytes:
        if size < capabilities.min_frame_bytes:
            raise PlanError(
                "frame size",
                f"{size} byte is too small for the headers and the signature",
                f"use at least {capabilities.min_frame_bytes} byte",
            )
        if capabilities.max_frame_bytes is not None and size > capabilities.max_frame_bytes:
            mtu = max(plan.all_frame_bytes) - HEADER_AND_FCS_BYTES - plan.tag_bytes
            how = f"give --mtu {mtu}" if is_lab(plan.dut) else "raise the MTU"
            problem = f"{size} byte is larger than the port's MTU allows"
            raise PlanError("frame size", problem, f"use at most {capabilities.max_frame_bytes} byte, or {how}")


def _check_paced(plan: Plan) -> None:
    """Raises PlanError for procedures whose loads are not that of the gaps. Each trial's load is checked again."""
    for method in plan.methods:
        rate = getattr(plan.own(method), "rate_fps", None)
        if isinstance(rate, float):
            plan.paced(rate, method)
        elif rate is None and method != "trial":  # whose only load is that of the gaps
            problem = f"{method} chooses its loads, and gaps make only {plan.paced_fps:.8g} frames/s at each port"
            remedy = "use another pacing, 'trial', or a procedure with that --rate"
            raise PlanError("pacing", problem, remedy)


def _check_loads(plan: Plan) -> None:
    """Raises PlanError for a percentage of the line, where that has no rate of its own."""
    for method in dict.fromkeys((*plan.methods, "throughput")):
        for name, value in plan.own(method):
            if isinstance(value, LinePercent):
                raise no_line_rate(f"{method}.{name}", value)
