"""The interruption of a guest that is really moved, by three who know nothing of each other: packets of an outage, the
guest's own clock, which stands still meanwhile, and a capture at the bridge."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time

import pytest

from drivers.guest import NoGuestError
from drivers.migration import GUEST, MovingGuest
from keisoku.errors import EngineError
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import Control
from keisoku.subjects.stream.outage.analysis import outcome_of
from keisoku.subjects.stream.outage.measure import last_record
from keisoku.subjects.stream.outage.session import GREETING, OutageSession
from keisoku.subjects.stream.outage.settings import PORT, OutageSettings

INTERVAL_S = 0.005
PATIENCE_S = 300.0
READINGS = 20
BYTES_PER_SECOND = 64 << 20
SLACK_NS = 10_000_000
"""A guest whose instructions are translated is late by some ms now and then."""
_SO_TIMESTAMPNS = 35


class Capture:
    """When packets of the guest's far end came, by the kernel's stamps."""

    def __init__(self, guest: MovingGuest) -> None:
        self.came_ns: list[int] = []
        self._over = threading.Event()
        self._socket = run_in_namespace(guest.near.path, self._opened)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def longest_gap_ns(self) -> int:
        self._over.set()
        self._thread.join()
        self._socket.close()
        return max(after - before for before, after in zip(self.came_ns, self.came_ns[1:], strict=False))

    @staticmethod
    def _opened() -> socket.socket:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        made.settimeout(0.1)
        return made

    def _read(self) -> None:
        while not self._over.is_set():
            try:
                data, beside, _, address = self._socket.recvmsg(128, 64)
            except TimeoutError:
                continue
            header = 4 * (data[0] & 15)
            if address[2] == socket.PACKET_OUTGOING or data[9] != socket.IPPROTO_UDP:
                continue
            if struct.unpack_from("!H", data, header)[0] == PORT:
                seconds, rest_ns = struct.unpack("qq", beside[0][2])
                self.came_ns.append(seconds * 1_000_000_000 + rest_ns)


def ahead_ns(place: Place) -> tuple[int, int]:
    """Between which two times the guest's clock is ahead of this host's."""
    control = Control(place.connect(PORT, 5.0), "the guest", GREETING)
    lows, highs = [], []
    try:
        control.greet(5.0)
        for _ in range(READINGS):
            before_ns = time.monotonic_ns()
            theirs_ns = int(control.ask({"do": "look", "tokens": []})[0]["now_ns"])
            lows.append(theirs_ns - time.monotonic_ns())
            highs.append(theirs_ns - before_ns)
    finally:
        control.close()
    return max(lows), min(highs)


def begun(guest: MovingGuest) -> OutageSession:
    """When the guest has booted."""
    settings = OutageSettings(host=f"{GUEST}@{guest.near.name}", interval_s=INTERVAL_S)
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return OutageSession(settings)
        except EngineError as error:
            assert time.monotonic() < until_s, f"{error}: {guest.console()}"
            time.sleep(0.5)


def until_received(session: OutageSession, more: int) -> None:
    wanted = int(json.loads(session.near.glance())["received"]) + more
    until_s = time.monotonic() + PATIENCE_S
    while int(json.loads(session.near.glance())["received"]) < wanted:
        assert time.monotonic() < until_s, "nothing comes"
        time.sleep(0.05)


@pytest.mark.long_form
@pytest.mark.timeout(900)
@pytest.mark.flaky(reruns=2)  # the host may stop the guest itself for longer than it is moved
def test_three_agree_on_how_long_a_guest_was_gone_while_it_was_moved() -> None:
    try:
        moving = MovingGuest()
    except NoGuestError as error:
        pytest.skip(str(error))
    with moving as guest:
        session = begun(guest)
        place = Place(GUEST, guest.near.name)
        until_received(session, 400)
        before, capture = ahead_ns(place), Capture(guest)
        until_received(session, 200)
        told = guest.move(BYTES_PER_SECOND)
        until_received(session, 400)
        gap_ns, after = capture.longest_gap_ns(), ahead_ns(place)
        try:
            found = outcome_of(json.loads(last_record(session, [])))
        finally:
            session.close()
    by_clock = before[0] - after[1], before[1] - after[0]
    by_capture = gap_ns - INTERVAL_S * 1e9, float(gap_ns)
    longest = {
        name: max(flows[0].of_path, key=lambda one: one.length.likely).length
        for name, flows in found.directions.items()
    }
    print(
        f"clock {by_clock[0] / 1e6:.1f} to {by_clock[1] / 1e6:.1f} ms, capture {by_capture[0] / 1e6:.1f} to"
        f" {by_capture[1] / 1e6:.1f} ms, QEMU {told['downtime']} ms;",
        *(f"{name} {one.lowest / 1e6:.1f} to {one.highest / 1e6:.1f} ms;" for name, one in longest.items()),
    )
    for one in longest.values():
        assert one.lowest - SLACK_NS <= by_clock[1] and by_clock[0] <= one.highest + SLACK_NS
        assert one.lowest - SLACK_NS <= by_capture[1] and by_capture[0] <= one.highest + SLACK_NS
    assert by_capture[0] - SLACK_NS <= by_clock[1] and by_clock[0] <= by_capture[1] + SLACK_NS
    assert not any(flows[0].never for flows in found.directions.values())
