"""`Queued`: a learning bridge with a queueing discipline of the kernel at the output of each port.

Acts on the namespace of the calling thread, never on the host's own.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import ClassVar

from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.ability import CountingDevice
from keisoku.ground.lab.device.bridge import Bridge
from keisoku.ground.lab.device.counted import Counted
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.topology import await_silence


class Queued(Bridge, CountingDevice):
    """Each direction has a discipline of its own, with the same parameters."""

    programs: ClassVar[tuple[Program, ...]] = (iproute.TC,)

    @abstractmethod
    def disciplines(self) -> list[str]:
        """What follows `qdisc add dev PORT`, from the root on. Its handle is 1:."""

    def branches(self) -> list[str]:
        """What follows `class add dev PORT`, after the root and before further disciplines."""
        return []

    def filters(self) -> list[str]:
        """What follows `filter add dev PORT`, at the input of each port."""
        return []

    def begin(self, site: Site) -> None:
        """Make the disciplines last: a change of the link would empty their queues, and the kernel deactivates a port
        to add `clsact`, which stops the timer of a cycle of gates (taprio) for good."""
        await_silence({str(port.dut_interface) for port in site.ports})
        root, *leaves = self.disciplines()
        filters = self.filters()
        for port in site.ports:
            at = f"add dev {port.dut_interface}"
            iproute.tc(
                *([f"qdisc {at} clsact"] if filters else []),
                *(f"filter {at} {line}" for line in filters),
                f"qdisc {at} {root}",
                *(f"class {at} {line}" for line in self.branches()),
                *(f"qdisc {at} {line}" for line in leaves),
            )

    def counted(self, port: LabPort) -> Counted:
        """Of its output, by the discipline itself."""
        shown = iproute.tc_shows("qdisc", "show", "dev", str(port.dut_interface))
        queues = [part for part in re.split(r"^(?=qdisc )", shown, flags=re.M) if part and "clsact" not in part]
        frames = {queue: iproute.tc_frames(queue) for queue in queues}
        root = next(queue for queue in queues if " root " in queue.partition("\n")[0])
        passed, dropped = frames.pop(root)
        # A root counts what its leaves drop, except where it gives each class a queue of its own (taprio).
        leaves = sum(of_leaf for _, of_leaf in frames.values())
        marked = sum(int(count) for marks in _MARKS.findall(shown) for count in marks.split())
        return Counted(passed, max(dropped, leaves), marked)


_MARKS = re.compile(r"\b(?:ecn_mark|marked|marks)((?: +\d+)+)")
"""CAKE shows a count for each tin."""
