"""`LabDevice`: the interface of every device under test: name, parameters, requirements, building, passages.

One subclass a device, in the file of its family. A device is a plain value: running programs belong to the lab.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field, ValidationInfo, field_validator

from keisoku.frozen import Frozen
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.program import Program
from keisoku.ground.lab.daemons import Daemons
from keisoku.ground.lab.device.kernel_part import KernelPart
from keisoku.ground.lab.device.passage import Passage, bridged
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.throttle import BurstText, CapacityText, CostText, Throttle

LEAST_MTU, MOST_MTU = 1280, 9216
"""Of a lab's interfaces: the minimum of IPv6, and what carries the largest frames of RFC 5180, 8219 and 8239."""


@dataclass(frozen=True)
class Site:
    """Where a device is built: its ports (up, in its namespaces), its core, and its daemons."""

    ports: list[LabPort]
    core: int | None
    daemons: Daemons
    places: list[Namespace]
    """The device's namespaces, as many as its `place_names`; it is built in the first."""


class LabDevice(Frozen, ABC):
    """A device by family and parameters; written `family` or `family?name=value&name=value`.

    `mtu` is a parameter of every device; `capacity`, `burst` and `cost` are parameters of every device that is more
    than a cable (`Throttle`).
    """

    family: ClassVar[str]
    title: ClassVar[str]
    parameters: ClassVar[str] = ""
    """Its own parameters, as text for the user; empty if none."""
    most_ports: ClassVar[int] = 32
    l3: ClassVar[bool] = False
    """It forwards by IP address: a frame goes to the MAC of the DUT's port."""
    programs: ClassVar[tuple[Program, ...]] = ()
    parts: ClassVar[tuple[KernelPart, ...]] = ()
    """The same for every device of its family."""
    places: ClassVar[tuple[str, ...]] = ("dut",)
    """Its namespaces, where they are the same for every device of its family."""
    by_daemon: ClassVar[bool] = False
    """A process pinned to the DUT's core forwards; the kernel only passes frames to it."""

    # What of `ability.py` it can do.
    exports_to: ClassVar[str] = ""
    """Address and UDP port in its first namespace to which it exports telemetry; empty: it exports none."""
    leads: ClassVar[bool] = False
    resets: ClassVar[bool] = False
    counts: ClassVar[bool] = False

    events: ClassVar[tuple[str, ...]] = ()
    """Names of events that it can cause in itself (`keisoku/subjects/device/record/event.py`), besides 'rebooted'."""

    mtu: int = Field(1500, ge=LEAST_MTU, le=MOST_MTU)
    """Of every interface, in bytes without the Ethernet header; where the device adds headers, they are added to it
    (`LabPort.mtu_bytes`). The least is that of IPv6."""
    capacity: CapacityText | None = None
    burst: BurstText | None = None
    cost: CostText | None = None

    @field_validator("burst")
    @classmethod
    def _burst_of_a_capacity(cls, burst: str, given: ValidationInfo) -> str:
        if not given.data.get("capacity"):
            raise ValueError
        return burst

    @field_validator("cost")
    @classmethod
    def _cost_in_the_kernel(cls, cost: str) -> str:
        # A daemon takes frames before tc, so its own time would not become longer.
        if cls.by_daemon:
            raise ValueError
        return cost

    @property
    def throttle(self) -> Throttle | None:
        """The limits that it was given; None without any."""
        return Throttle.from_parameters(self.capacity, self.burst, self.cost)

    @classmethod
    def written(cls) -> str:
        """How a user writes it, with the parameters that it can have."""
        own = f"{cls.family}?{cls.parameters}" if cls.parameters else f"{cls.family} alone"
        cost = "" if cls.by_daemon else "&cost=200ns"
        return f"{own}, or with mtu=9000&capacity=300kpps&burst=1.5ms{cost}"

    @property
    def name(self) -> str:
        """The name in the form that `find_device` reads."""
        given = "&".join(f"{key}={value}" for key, value in self.model_dump(exclude_defaults=True).items())
        return f"{self.family}?{given}" if given else self.family

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of all events that it can cause in itself."""
        return self.events + (("rebooted",) if self.resets else ())

    @property
    def rewrites(self) -> bool:
        """Whether it rewrites headers, of which it must be told before each trial (`Lab.rewrite`)."""
        return False

    @property
    def wanted_parts(self) -> tuple[KernelPart, ...]:
        """What this one needs of the kernel, beyond what every lab needs."""
        return self.parts

    @property
    def place_names(self) -> tuple[str, ...]:
        """Names of its namespaces; where there are several, its second port is in the second."""
        return self.places

    @property
    def queues(self) -> int:
        """How many transmit queues each of its ports has."""
        return 1

    def headroom_bytes(self, port: int) -> int:
        """How much larger than the lab's the MTU of a port (from 1) must be, for headers that the device adds."""
        return 0

    def addressed(self, port: int) -> tuple[str, ...]:
        """The versions ('ipv4', 'ipv6') of which the DUT has an address at a port (from 1)."""
        return ("ipv4", "ipv6") if self.l3 else ()

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """How the device changes a frame from port `tx` to port `rx`."""
        return bridged(tx, rx)

    @abstractmethod
    def build(self, site: Site) -> None:
        """In the DUT's namespace, with all ports up: make the device. Raises EngineError, OSError or NetlinkError."""

    def begin(self, site: Site) -> None:
        """In the DUT's namespace, with carrier at all ports: make what a change of the link would disturb."""
