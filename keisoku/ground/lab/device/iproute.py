"""iproute2's commands in batches: one process for all lines. They act on the calling thread's namespace.

For what pyroute2 has no messages for. Raises EngineError with the first line that a command says of an error.
"""

from __future__ import annotations

import re
from contextlib import suppress

from keisoku.errors import EngineError
from keisoku.ground.host.program import Program

IP = Program("ip", "iproute2", version_option="-V")
TC = Program("tc", "iproute2", version_option="-V")
UPON_PORT = 7
"""Group of links that are upon a port of another namespace."""
_SENT = re.compile(r"Sent \d+ bytes (\d+) pkt \(dropped (\d+),")


def ip(*lines: str, family: str | None = None) -> None:
    """Commands of `ip`, each without the word; `family` as after `-f`."""
    if lines:
        IP.run(*(("-f", family) if family else ()), "-batch", "-", text="\n".join(lines) + "\n")


def remove_links_upon_ports() -> None:
    """Removes the links of the group `UPON_PORT` at once. The kernel removes those of a namespace some time after it,
    and until then a port takes no other link with their MAC addresses."""
    with suppress(EngineError):  # there is none
        ip(f"link del group {UPON_PORT}")


def tc(*lines: str) -> None:
    """Commands of `tc`, each without the word."""
    if lines:
        TC.run("-batch", "-", text="\n".join(lines) + "\n")


def tc_shows(*words: str) -> str:
    """What `tc -s WORDS` prints; not as JSON, which is damaged for some kinds (HFSC)."""
    return TC.run("-s", *words)


def tc_frames(text: str) -> tuple[int, int]:
    """Frames sent and dropped, of the first counts in a part of what `tc_shows` returns."""
    found = _SENT.search(text)
    assert found is not None, text
    return int(found[1]), int(found[2])
