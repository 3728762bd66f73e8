"""Finds the delays of the RGMII pins: the middle of the widest range in which no frame is damaged.

The tester's two ports are joined by a cable and send to each other. The loop sets the delays and counts damaged
frames; this file accesses no register. It never leaves delays that did not work.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from keisoku.errors import EngineError

# Of the ECP5's delay elements.
TAPS = 128
TAP_PS = 25
# A shorter range is not reliable: temperature and voltage move an edge by more.
LEAST_TAPS = 12


class Loop(Protocol):
    """Two ports of a tester with a cable between them."""

    def set_receive_taps(self, port: int, taps: int) -> None:
        """Delays what the port receives by 0 to 127 taps."""

    def set_transmit_skew(self, port: int, taps: int) -> None:
        """Sends the clock `taps` later than the data; if negative, the data later than the clock."""

    def damaged(self, sender: int, receiver: int, frames: int) -> int:
        """Sends `frames` and returns how many did not arrive whole, with a right FCS.

        Raises EngineError if they could not be sent.
        """


@dataclass(frozen=True, slots=True)
class Eye:
    """An error-free range of settings, in taps, and the chosen one in its middle."""

    first: int
    last: int
    chosen: int
    settings: tuple[int, ...] = field(default=(), compare=False)
    """All that were tried."""
    damaged: tuple[int, ...] = field(default=(), compare=False)
    """Frames that did not arrive whole at each of them."""

    @property
    def width_ps(self) -> int:
        """From the first to the last setting without an error, in ps; the length of a tap is nominal, so this is ± 30
        %."""
        return (self.last - self.first) * TAP_PS


@dataclass(frozen=True, slots=True)
class Direction:
    """What was chosen for the frames from one port to the other."""

    sender: int
    receiver: int
    transmit: Eye  # of the sender's skew
    receive: Eye  # of the receiver's taps


def widest(settings: Sequence[int], damaged: Sequence[int]) -> Eye | None:
    """The widest run of settings, in ascending order, without damage; None if there is none. The first if two tie."""
    best: tuple[int, int] | None = None
    start: int | None = None
    for place, count in enumerate([*damaged, 1]):
        if count == 0 and start is None:
            start = place
        elif count and start is not None:
            run = (start, place - 1)
            if best is None or settings[run[1]] - settings[run[0]] > settings[best[1]] - settings[best[0]]:
                best = run
            start = None
    if best is None:
        return None
    first, last = settings[best[0]], settings[best[1]]
    return Eye(first, last, (first + last) // 2, tuple(settings), tuple(damaged))


def swept(settings: Sequence[int], put: Callable[[int], None], count: Callable[[], int]) -> Eye | None:
    """The eye over `settings`; `put` applies a setting, `count` counts the damaged frames at it."""
    damaged = []
    for setting in settings:
        put(setting)
        damaged.append(count())
    return widest(settings, damaged)


def align_direction(loop: Loop, sender: int, receiver: int, frames: int, step: int = 2, coarse: int = 16) -> Direction:
    """Sets the sender's skew and the receiver's taps to the middles of their eyes, and returns the eyes.

    A coarse grid of both finds where frames pass at all, because one cannot be swept while the other is wrong; then
    each is swept in steps of `step` taps with `frames` a setting, and the first once more at the other's middle.
    Raises EngineError if no setting passes frames or an eye is narrower than LEAST_TAPS.
    """
    receive_settings = range(0, TAPS, step)
    transmit_settings = range(-TAPS + step, TAPS, step)

    def sweep_receive(settings: Sequence[int], frames: int) -> Eye | None:
        return swept(
            settings,
            lambda taps: loop.set_receive_taps(receiver, taps),
            lambda: loop.damaged(sender, receiver, frames),
        )

    coarse_receive = range(0, TAPS, coarse)
    rows: list[tuple[int, int, Eye]] = []
    for skew in range(-(TAPS // coarse) * coarse + coarse, TAPS, coarse):
        loop.set_transmit_skew(sender, skew)
        row = sweep_receive(coarse_receive, max(1, frames // 10))
        if row is not None:
            rows.append((row.last - row.first, skew, row))
    if not rows:
        raise EngineError(
            f"no delay of the pins lets frames pass from port {sender} to port {receiver}: "
            "check that a cable joins the ports and that both links are up"
        )
    # The middle of the skews with the widest row, so that the sender is not at the edge of its eye.
    most = max(width for width, _, _ in rows)
    candidates = [(skew, row) for width, skew, row in rows if width == most]
    skew, row = candidates[len(candidates) // 2]
    loop.set_transmit_skew(sender, skew)
    loop.set_receive_taps(receiver, row.chosen)
    receive = sweep_receive(receive_settings, frames)
    if receive is None:
        raise EngineError(f"frames from port {sender} to port {receiver} pass only sometimes: check the cable")
    loop.set_receive_taps(receiver, receive.chosen)
    transmit = swept(
        transmit_settings,
        lambda taps: loop.set_transmit_skew(sender, taps),
        lambda: loop.damaged(sender, receiver, frames),
    )
    if transmit is None:
        raise EngineError(f"frames from port {sender} to port {receiver} pass only sometimes: check the cable")
    loop.set_transmit_skew(sender, transmit.chosen)
    receive = sweep_receive(receive_settings, frames)
    for name, port, eye in (("transmit", sender, transmit), ("receive", receiver, receive)):
        if eye is None or eye.last - eye.first < LEAST_TAPS:
            width = 0 if eye is None else eye.width_ps
            raise EngineError(
                f"the {name} eye of port {port} is {width} ps wide and must be at least {LEAST_TAPS * TAP_PS} ps:  "
                "check the cable and the PHY's own delays"
            )
    assert receive is not None
    loop.set_receive_taps(receiver, receive.chosen)
    return Direction(sender, receiver, transmit, receive)


def align(loop: Loop, frames: int = 1000, step: int = 2) -> list[Direction]:
    """Sets all delays of ports 0 and 1, joined by a cable. Raises EngineError as align_direction does."""
    return [align_direction(loop, 0, 1, frames, step), align_direction(loop, 1, 0, frames, step)]
