"""The classes that a simulated device reads of frames."""

from __future__ import annotations

import pytest

from keisoku.ground.frame.codes import codes
from keisoku.ground.frame.headers import Ends
from keisoku.ground.frame.variants import frames

ENDS = Ends("02:00:00:00:00:01", "02:00:00:00:00:02", "198.18.1.2", "198.18.1.1", "02:00:00:00:00:02")
ENDS6 = Ends("02:00:00:00:00:01", "02:00:00:00:00:02", "2001:2::1", "2001:2::2", "02:00:00:00:00:02")


@pytest.mark.parametrize(
    ("stack", "ends", "dscp", "pcp", "ecn"),
    [
        ("Ether()/IP(tos=0xb8)/UDP()", ENDS, 46, 0, False),
        ("Ether()/IP(tos=0x02)/UDP()", ENDS, 0, 0, True),
        ("Ether()/IP(tos=0x03)/UDP()", ENDS, 0, 0, False),
        ("Ether()/Dot1Q(vlan=7, prio=5)/IP(tos=0x29)/UDP()", ENDS, 10, 5, True),
        ("Ether()/IPv6(tc=0xba)/UDP()", ENDS6, 46, 0, True),
        ("Ether()", ENDS, 0, 0, False),
    ],
)
def test_the_code_is_that_in_the_bytes(stack: str, ends: Ends, dscp: int, pcp: int, ecn: bool) -> None:
    made = frames(stack, (128,), ends, (), 1, streams=1)
    assert codes(made, "dscp") == [(dscp, ecn)]
    assert codes(made, "pcp") == [(pcp, ecn)]


def test_codes_that_vary_are_listed_frame_by_frame() -> None:
    made = frames("Ether()/IP()/UDP()", (128,), ENDS, ("IP.tos=list(0, 184)",), 1, streams=1)
    assert codes(made, "dscp") == [(0, False), (46, False)]
