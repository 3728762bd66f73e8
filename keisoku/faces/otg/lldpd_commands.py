"""LLDP agents in the words of lldpd: commands of lldpcli for its daemon. Starts nothing."""

from __future__ import annotations

from keisoku.faces.otg.lldp import DESCRIPTION, LldpAgent

MOST_NEIGHBOURS = 1024
"""Of an agent; lldpd keeps 32 if nothing is said."""


def commands(agent: LldpAgent, interface: str) -> list[str]:
    """What lldpcli is to tell the daemon of an agent at an interface of the kernel."""
    return [
        f"configure system max-neighbors {MOST_NEIGHBOURS}",
        f"configure lldp tx-interval {agent.interval_s}",
        f"configure lldp tx-hold {agent.hold_s // agent.interval_s}",
        f"configure system hostname {_quoted(agent.system_name)}",
        f"configure system description {_quoted(DESCRIPTION)}",
        *([f"configure system chassisid {_quoted(agent.chassis)}"] if agent.chassis is not None else []),
        "configure lldp portidsubtype " + ("ifname" if agent.mac is None else "macaddress"),
        *([f"configure ports {interface} lldp portidsubtype local {_quoted(agent.label)}"] if agent.label else []),
        *(
            f"configure ports {interface} lldp custom-tlv add oui {tlv.oui.hex(',')} subtype {tlv.subtype}"
            + (f" oui-info {tlv.content.hex(',')}" if tlv.content else "")
            for tlv in agent.tlvs
        ),
    ]


def _quoted(text: str) -> str:
    """A text as one word of lldpcli."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
