"""The replacement of a whole configuration: opens its ports, closes those of before. Not locked: the controller is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from keisoku.faces.otg.configuration import Configuration, ConfiguredPort
from keisoku.faces.otg.control.ports import NOTHING, Document, Ports
from keisoku.faces.otg.control.traffic import Traffic
from keisoku.faces.otg.speaking.protocols import Protocols
from keisoku.faces.otg.traffic.testbed import opened
from keisoku.subjects.device.testbed.testbed import Testbed

Accept = Callable[[Testbed | None], Configuration]
"""Makes a configuration for opened ports, of which there may be none. Raises PlanError."""


class Replacement:
    """Puts another configuration in the place of the present one."""

    def __init__(self, ports: Ports, traffic: Traffic) -> None:
        self._ports, self._traffic = ports, traffic

    def adopt(self, wanted: Sequence[ConfiguredPort], accept: Accept) -> Document:
        """Replaces the configuration by these ports and what `accept` makes of them; returns warnings."""
        locations = tuple(port.location for port in wanted)
        kept = locations == self._ports.locations
        before = self._ports.testbed
        testbed = before if kept else opened(wanted, before) if wanted else None
        try:
            found = accept(testbed)
            speakers = Protocols(found)
            if testbed is not None:
                speakers.check(testbed)
        except BaseException:
            if testbed is not None and not kept:
                testbed.close()
            raise
        warnings = self._traffic.end() + self._traffic.unsaid()
        self._ports.close_engine()
        self._ports.drop_capture()
        self._ports.speakers.stop()
        if not kept:
            self._ports.leave()
            self._ports.testbed, self._ports.locations = testbed, locations
        self._ports.session.configured(NOTHING)
        try:
            self._ports.open_engine(found)
        except BaseException:
            self._ports.leave()
            raise
        self._ports.session.configured(found)
        self._ports.speakers = speakers
        self._ports.set_answers(True)
        return {"warnings": [*warnings, *found.warnings]}
