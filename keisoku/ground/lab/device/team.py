"""The mode of a team device, which only generic netlink can set (uapi/linux/if_team.h). Without it a team drops all."""

from __future__ import annotations

import errno
from typing import ClassVar

from pyroute2 import IPRoute, NetlinkError
from pyroute2.netlink import NLM_F_ACK, NLM_F_REQUEST, genlmsg, nla
from pyroute2.netlink.generic import GenericNetlinkSocket

_SET_OPTIONS = 1
_NLA_STRING = 5


class _Message(genlmsg):  # type: ignore[misc]
    prefix = "TEAM_ATTR_"
    nla_map: ClassVar = (
        ("TEAM_ATTR_UNSPEC", "none"),
        ("TEAM_ATTR_TEAM_IFINDEX", "uint32"),
        ("TEAM_ATTR_LIST_OPTION", "options"),
    )

    class options(nla):  # type: ignore[misc]
        nla_map: ClassVar = (("TEAM_ATTR_ITEM_OPTION_UNSPEC", "none"), ("TEAM_ATTR_ITEM_OPTION", "option"))

        class option(nla):  # type: ignore[misc]
            nla_map: ClassVar = (
                ("TEAM_ATTR_OPTION_UNSPEC", "none"),
                ("TEAM_ATTR_OPTION_NAME", "asciiz"),
                ("TEAM_ATTR_OPTION_CHANGED", "flag"),
                ("TEAM_ATTR_OPTION_TYPE", "uint8"),
                ("TEAM_ATTR_OPTION_DATA", "asciiz"),
            )


def set_mode(name: str, mode: str) -> None:
    """Of a team that has no members yet. Raises NetlinkError."""
    with IPRoute() as ip:
        index = ip.link_lookup(ifname=name)[0]
    option = {
        "attrs": [
            ["TEAM_ATTR_OPTION_NAME", "mode"],
            ["TEAM_ATTR_OPTION_TYPE", _NLA_STRING],
            ["TEAM_ATTR_OPTION_DATA", mode],
        ]
    }
    message = _Message()
    message["cmd"], message["version"] = _SET_OPTIONS, 1
    message["attrs"] = [
        ["TEAM_ATTR_TEAM_IFINDEX", index],
        ["TEAM_ATTR_LIST_OPTION", {"attrs": [["TEAM_ATTR_ITEM_OPTION", option]]}],
    ]
    with GenericNetlinkSocket() as netlink:
        netlink.bind("team", _Message)
        try:
            netlink.nlm_request(message, msg_type=netlink.prid, msg_flags=NLM_F_REQUEST | NLM_F_ACK)
        except NetlinkError as error:
            # The kernel has set it, and says that nobody listened to its announcement.
            if error.code != errno.ESRCH:
                raise
