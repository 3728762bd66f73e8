"""docs/recipes.md, "A new lab device": a class and its place in the catalogue, and it is measured by its name."""

from __future__ import annotations

from typing import ClassVar

import pytest
from pyroute2 import IPRoute
from support.lab_frames import headers
from support.lab_trials import FRAMES, carry_out, plan_for

from keisoku.ground.lab.device.bridge import bridge
from keisoku.ground.lab.device.catalogue import FAMILIES
from keisoku.ground.lab.device.device import LabDevice, Site
from keisoku.ground.lab.device.lab import Lab

pytestmark = pytest.mark.lab


class Hub(LabDevice):
    """Repeats every frame at all other ports: a bridge that forgets at once what it has learned."""

    family: ClassVar[str] = "hub"
    title: ClassVar[str] = "hub"

    def build(self, site: Site) -> None:
        """Make the bridge, and let it forget."""
        with IPRoute() as ip:
            bridge(ip, [str(port.dut_interface) for port in site.ports])
            ip.link("set", index=ip.link_lookup(ifname="bridge")[0], kind="bridge", br_ageing_time=0)


@pytest.fixture(autouse=True)
def the_place_in_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAMILIES, Hub.family, Hub)


def test_it_repeats_what_a_bridge_would_keep_from_the_third_port(tap) -> None:
    with Lab("hub", ports=3) as lab:
        taps = [tap(port) for port in lab.ports]
        learning = headers(lab.ports[1], lab.ports[0], 64, l3=False)
        taps[1].send(learning)
        assert [taps[0].receive(), taps[2].receive()] == [learning, learning]
        frame = headers(lab.ports[0], lab.ports[1], 64, l3=False)
        taps[0].send(frame)
        assert [taps[1].receive(), taps[2].receive()] == [frame, frame]


def test_it_is_measured_by_its_name() -> None:
    facts, _ = carry_out(plan_for("hub", frame_bytes=[64], frames=True))
    assert facts.tracked.forwarded_frames == facts.sent.offered_frames == FRAMES
