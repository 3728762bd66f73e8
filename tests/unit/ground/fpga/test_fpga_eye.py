"""The sweep of the pins' delays finds the middle of a modelled eye, and says so when there is none."""

import random

import pytest

from keisoku.errors import EngineError
from keisoku.ground.fpga.eye import Eye, align, align_direction, widest


class ModelledLoop:
    """Frames pass where the sender's skew and the receiver's taps are within their windows; near an edge not all do."""

    def __init__(
        self, transmit: dict[int, tuple[int, int]], receive: dict[int, tuple[int, int]], jitter: int = 2, seed: int = 1
    ) -> None:
        self.transmit, self.receive, self.jitter = transmit, receive, jitter
        self.skew, self.taps = {0: 0, 1: 0}, {0: 80, 1: 80}
        self.chance = random.Random(seed)

    def set_receive_taps(self, port: int, taps: int) -> None:
        assert 0 <= taps < 128
        self.taps[port] = taps

    def set_transmit_skew(self, port: int, taps: int) -> None:
        assert -128 < taps < 128
        self.skew[port] = taps

    def damaged(self, sender: int, receiver: int, frames: int) -> int:
        margin = min(
            self.skew[sender] - self.transmit[sender][0],
            self.transmit[sender][1] - self.skew[sender],
            self.taps[receiver] - self.receive[receiver][0],
            self.receive[receiver][1] - self.taps[receiver],
        )
        if margin >= self.jitter:
            return 0
        share = 1.0 if margin < 0 else (self.jitter - margin) / self.jitter / 50
        return sum(self.chance.random() < share for _ in range(frames))


@pytest.mark.parametrize(
    ("transmit", "receive"),
    [
        ((-20, 50), (20, 100)),  # a PHY that delays nothing
        ((-127, -60), (0, 50)),  # one that delays both
        ((30, 127), (70, 127)),
        ((60, 90), (10, 40)),
    ],
)
def test_the_middle_of_each_eye_is_found(transmit: tuple[int, int], receive: tuple[int, int]) -> None:
    loop = ModelledLoop({0: transmit, 1: (-30, 30)}, {0: (40, 120), 1: receive})
    there, back = align(loop, frames=400)
    for eye, window in (
        (there.transmit, transmit),
        (there.receive, receive),
        (back.transmit, (-30, 30)),
        (back.receive, (40, 120)),
    ):
        assert abs(eye.chosen - (window[0] + window[1]) / 2) <= 4
        assert window[0] <= eye.first and eye.last <= window[1]
        assert eye.width_ps >= (window[1] - window[0] - 12) * 25
    assert loop.taps == {0: back.receive.chosen, 1: there.receive.chosen}
    assert loop.skew == {0: there.transmit.chosen, 1: back.transmit.chosen}


def test_without_a_cable_it_says_so() -> None:
    loop = ModelledLoop({0: (200, 300), 1: (0, 50)}, {0: (0, 50), 1: (0, 50)})
    with pytest.raises(EngineError, match="from port 0 to port 1"):
        align_direction(loop, 0, 1, 100)


def test_a_narrow_eye_is_refused() -> None:
    loop = ModelledLoop({0: (-8, 8), 1: (0, 50)}, {0: (0, 50), 1: (60, 68)}, jitter=0)
    with pytest.raises(EngineError, match="receive eye of port 1 is 200 ps"):
        align_direction(loop, 0, 1, 100)


def test_the_widest_of_several_stretches_is_taken() -> None:
    assert widest([0, 2, 4, 6, 8, 10, 12, 14], [0, 0, 1, 0, 0, 0, 9, 0]) == Eye(6, 10, 8)
    assert widest([0, 2], [1, 1]) is None
    assert widest([0, 2, 4], [0, 0, 0]) == Eye(0, 4, 2)
