"""The plan: everything that defines a run, typed, with units; written into the run directory.

Parsing refuses what can be refused without access to a port, naming the field and the remedy.
Whether an engine can carry it out is checked by `check` against the engine's capabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import Field, ValidationInfo, create_model, field_validator, model_validator

from keisoku.errors import PlanError, instead
from keisoku.ground.frame.headers import unaddressed
from keisoku.ground.frame.imix import is_mix, mix
from keisoku.ground.frame.modifier import check_form, modifiers
from keisoku.ground.frame.modifying import Modifying
from keisoku.ground.frame.networks import MOST_NETWORKS
from keisoku.ground.frame.stack import parse as stack
from keisoku.ground.run.settings import RunSettings, Settings, parsed
from keisoku.subjects.device.plan.content import SHORT_NAMES, Content, pacing
from keisoku.subjects.device.plan.convergence_settings import ConvergenceSettings
from keisoku.subjects.device.plan.networks import to_networks
from keisoku.subjects.device.plan.pace import LONGEST_TRIAL_S, Profile, paced
from keisoku.subjects.device.plan.pattern import Pattern, fits, pairs
from keisoku.subjects.device.plan.procedure import PROCEDURES
from keisoku.subjects.device.plan.rate import LinePercent, no_line_rate
from keisoku.subjects.device.plan.rfc2889_settings import ErroredFramesSettings
from keisoku.subjects.device.plan.rfc8219_settings import DelaySettings
from keisoku.subjects.device.plan.settings import RFC2544_SIZES, RFC5695_SIZES, LatencySettings, PhaseSettings
from keisoku.subjects.device.record.capabilities import Ability, Capabilities
from keisoku.subjects.device.record.interference import PortEngine
from keisoku.subjects.device.record.trial import Constant, Pacing
from keisoku.units import frame_sizes

_OF_ONE_STREAM = {"headers", "modify", "pacing", "streams", "mix"}
"""Keys that together are a list of streams with one entry."""

_NO_NIC_SENDS: dict[Ability, str] = {
    "short_gap": "frames 88 bits apart",
    "undersize": "undersize frames",
    "crc": "frames with a wrong FCS",
    "dribble": "frames with dribble bits",
    "alignment": "frames with an incomplete octet",
}
_NEEDED_FOR: dict[Ability, tuple[str, str]] = {
    "multicast": ("counts each frame at several ports", "use ports of a host, a lab device or a simulated one"),
    "compare": ("compares the headers of frames", "receive with xdp, afxdp or packet"),
    "connections": ("opens connections", "use ports of a host, a lab device or a simulated one"),
}
"""What a procedure does with an ability, and the remedy where an engine has it not."""
OVER_TWO_HOSTS = ("trial", "throughput", "loss", "reordering", "back_to_back", "changes")
"""Procedures whose figures need no clock in common: counts, order and changes of frames."""
ONE_WAY = ("latency", "delay", "delay_variation", "calibrate")
"""Procedures that are measured over two hosts if their clocks are related."""

_Own = TypeVar("_Own", bound=Settings)

if TYPE_CHECKING:
    _OfProcedures = RunSettings
else:
    _OfProcedures = create_model(
        "_OfProcedures",
        __base__=RunSettings,
        **{procedure.name: (procedure.settings, procedure.settings()) for procedure in PROCEDURES.values()},
    )


class Plan(_OfProcedures):
    """What the user wants measured; the TOML file of `keisoku run` has these keys, and a table for each procedure."""

    methods: tuple[str, ...] = Field(min_length=1)
    """Names of procedures (`keisoku/subjects/device/plan/procedure.py`)."""
    profile: Profile = "rfc"
    """Defaults of lengths, waits, repetitions and resolutions: the standards' (rfc), or shorter ones (short, quick)."""
    dut: str | None = None
    """'lab:bridge', 'sim:gs908e', 'sim:FILE.toml'; or None with `tx` and `rx`."""
    tx: str | None = None
    """Transmitting port: 'eth1', 'xdp:eth1', 'afxdp:eth1', 'packet:eth1', 'fpga:/dev/ttyUSB0#0'; with a lab or a
    simulated DUT: a port number. Without an engine in the name, a self-test chooses one.

    With 'fpga:sim#0' a simulated DUT is between the ports of the instrument's own RTL."""
    rx: str | None = None
    receiver: str | None = None
    """Host at which `rx` is, where 'keisoku port serve' lends it: HOST or HOST:PORT. None: this host."""
    clock: str | None = None
    """With `receiver`: PTP master that both hosts hear, such as 'ptp:192.0.2.9', by which their clocks are related for
    one-way latencies."""
    engine: PortEngine | None = None
    """For `dut = "lab:…"`: the engine of the lab's ports; xdp if not given."""
    ports: tuple[str, ...] = ()
    """For patterns of more than two ports, in place of `tx` and `rx`: all of them."""
    pattern: Pattern | None = None
    """Which ports send to which; a pair if not given. Some methods set their own pattern."""
    headers: str = "ipv4"
    """Header stack of all streams: ethernet, ipv4, ipv6, mpls, or one in Scapy's notation."""
    modify: tuple[str, ...] = ()
    """Fields of the headers that vary from frame to frame."""
    pacing: Pacing = Constant()
    streams: int = Field(1, ge=1, le=4096)
    """Number of streams on each way from port to port, which share its load and differ by their source port."""
    stream: tuple[Content, ...] = ()
    """Streams of different headers, sizes or shares; in place of the four keys above."""
    mix: tuple[int, ...] | None = None
    """Sizes of consecutive frames, in turn; `frame_bytes` is then their mean."""
    address: tuple[str, ...] = ()
    """The tester's own IP address at each port, for which the tester itself answers; FIRST-LAST for many hosts."""
    gateway: tuple[str, ...] = ()
    """IP address of a routing DUT at the first port, at the second and so on; its MAC address is resolved."""
    modifiers: tuple[Modifying, ...] = ()
    """Frames beside the test frames (RFC 2544 §11): broadcast, management, routing."""
    filters: int | None = Field(None, ge=0)
    """Number of filters in the device (RFC 2544 §11.4: 1 and 25); the operator sets those of a real device."""
    networks: int = Field(1, ge=1, le=MOST_NETWORKS)
    """Number of random destination networks (RFC 2544 §12: 1 and 256), all behind one receiving port."""
    frame_bytes: tuple[int, ...] = RFC2544_SIZES
    seed: int = Field(1, ge=0, lt=2**63)
    calibration: str = "auto"
    """'auto' (the newest valid one), 'none', or a calibration file."""
    cable_tolerance_m: float = Field(0.0, ge=0)
    """By how much the total length of the cables may differ from that at the calibration."""
    frames: bool = False
    """Keep a row for each frame of each trial."""
    frames_every: int = Field(1, ge=1, lt=2**32)
    """Keep a row for one in so many frames that arrive whole; lost and corrupt frames have one each."""
    stamps: Literal["best", "software", "hardware"] = "best"
    """Source of receive timestamps; 'best': hardware where driver and engine offer it."""
    capture: Path | None = None
    """A pcapng file to be made of all frames at the tester's ports."""
    snap_bytes: int = Field(0, ge=0, le=65_535)
    """Bytes of each frame that the capture keeps; 0: all."""
    require: tuple[str, ...] = ()
    force: bool = False
    """Use a port even if it carries the default route, and send loads that look like an attack."""
    phases: PhaseSettings = PhaseSettings()

    @model_validator(mode="before")
    @classmethod
    def _profile(cls, source: Any) -> Any:
        """Settings that are not given are those of the profile."""
        profile = source.get("profile") if isinstance(source, dict) else None
        return paced(source, LONGEST_TRIAL_S[profile]) if profile in LONGEST_TRIAL_S else source

    @model_validator(mode="before")
    @classmethod
    def _sizes(cls, source: Any) -> Any:
        """A text is a list of sizes or a mix; the trials of a mix have its mean size."""
        text = source.get("frame_bytes") if isinstance(source, dict) else None
        if text is None and isinstance(source, dict) and source.get("headers") == "mpls":
            return source | {"frame_bytes": RFC5695_SIZES}
        if not isinstance(text, str):
            return source
        if not is_mix(text):
            return source | {"frame_bytes": tuple(frame_sizes("frame_bytes", text))}
        sizes = mix("frame_bytes", text)
        return source | {"mix": sizes, "frame_bytes": (round(sum(sizes) / len(sizes)),)}

    @field_validator("address", "gateway", "modifiers", mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value

    @field_validator("pacing", mode="before")
    @classmethod
    def _pacing(cls, value: Any) -> Any:
        return pacing("pacing", value) if isinstance(value, str) else value

    @field_validator("methods")
    @classmethod
    def _known(cls, methods: tuple[str, ...]) -> tuple[str, ...]:
        unknown = next((method for method in methods if method not in PROCEDURES), None)
        if unknown is not None:
            raise PlanError("methods", f"there is no method '{unknown}'", instead(unknown, list(PROCEDURES)))
        return methods

    @field_validator("methods", "frame_bytes")
    @classmethod
    def _each_once(cls, listed: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        twice = next((one for place, one in enumerate(listed) if one in listed[:place]), None)
        if twice is not None:
            raise PlanError(str(info.field_name), f"{twice} is listed twice", "list each once")
        return listed

    @model_validator(mode="after")
    def _device_and_ports(self) -> Plan:
        """A device or ports, as many as the procedures need."""
        if not self.frame_bytes:
            raise PlanError("frame_bytes", "no frame size is given", "give at least one, such as 64")
        for procedure in (PROCEDURES[method] for method in self.methods):
            ports, least = len(self.port_fields()), procedure.least_ports
            if ports < least or (procedure.ports_in_blocks and ports % least):
                wanted = f"{least} ports" + (" or a multiple" if procedure.ports_in_blocks else " or more")
                raise PlanError("ports", f"{procedure.name} needs {wanted}, not {ports}", "list them with --ports")
        if self.dut is None and not self.ports and (self.tx is None) != (self.rx is None):
            present, absent = ("tx", "rx") if self.rx is None else ("rx", "tx")
            raise PlanError(absent, f"is not given, but {present} is", "give both, or --dut")
        if self.dut is None and not self.ports and self.tx is None:
            raise PlanError(
                "dut", "no device under test is given", "give --dut lab:bridge, --dut sim:gs908e, or both --tx and --rx"
            )
        if self.ports and (self.tx is not None or self.rx is not None):
            raise PlanError("ports", "all ports are given, and also tx or rx", "give either")
        if self.dut is None and self.engine is not None:
            raise PlanError("engine", "the port's name contains the engine", "leave it out: write --tx xdp:eth1")
        for field, given in (("address", self.address), ("gateway", self.gateway)):
            if self.dut is not None and given:
                raise PlanError(
                    field, "a device named by --dut needs no address", "leave it out, or give --tx and --rx"
                )
        return self

    @model_validator(mode="after")
    def _flows(self) -> Plan:
        """Which ports send to which, and what."""
        own = next((method for method in self.methods if PROCEDURES[method].own_flows), None)
        if own and self.pattern is not None:
            raise PlanError("pattern", f"{own} sets its own pattern", "leave it out; list the ports with --ports")
        if not fits(self._pattern(), len(self.port_fields())):
            raise PlanError(
                "pattern",
                f"{self._pattern()} is not possible with {len(self.port_fields())} ports",
                "list the ports: pair and bidirectional need 2, pairs an even number, the others 2 or more",
            )
        if self.networks > 1 and len({receive for _, receive in self.pairs()}) > 1:
            raise PlanError(
                "networks", "several ports receive, but all networks are behind one port", "use two ports, one way"
            )
        alone = _OF_ONE_STREAM & self.model_fields_set
        if self.stream and alone:
            raise PlanError(
                sorted(alone)[0], "is given beside a list of streams", "write it into each [[stream]] instead"
            )
        return self

    @model_validator(mode="after")
    def _varying(self) -> Plan:
        """Fields that vary are fields of the headers, as far as those are known: a lab's device has its own ones for
        short names."""
        for content in self.contents():
            if not content.modify:
                continue
            if (self.dut or self.port_fields()[0][1]).startswith("lab:") and content.headers in SHORT_NAMES:
                check_form(content.modify)
            else:
                modifiers(content.modify, unaddressed(stack(content.headers)))
        return self

    @model_validator(mode="after")
    def _floods(self) -> Plan:
        """Loads that look like an attack."""
        flood = next((method for method in self.methods if PROCEDURES[method].floods), None)
        closed = all(name.startswith(("lab:", "sim:")) for _, name in self.port_fields())
        closed = closed or (self.dut or "").startswith(("lab:", "sim:"))
        if flood and not closed and not self.force:
            raise PlanError(
                "force",
                f"{flood} opens connections as a SYN flood does",
                "use a lab or a simulated device, or add --force if everything behind these ports is yours",
            )
        others = self.stream or self.modify or self.mix or self.modifiers or self.streams > 1 or self.networks > 1
        if flood and (others or self.headers != "ipv4"):
            raise PlanError(
                "headers",
                f"{flood} makes its frames itself, of UDP or TCP over IPv4",
                "leave out --headers, --modify, --modifiers, --streams, --networks, mixes and [[stream]]",
            )
        return self

    @model_validator(mode="after")
    def _at_two_hosts(self) -> Plan:
        """What is measured where frames leave at one host and arrive at another."""
        if self.receiver is None and self.clock is not None:
            raise PlanError("clock", "one host has one clock", "leave it out, or give --receiver")
        if self.receiver is None:
            return self
        if self.clock is not None:
            from keisoku.subjects.clock.reference.kinds import (
                check_master,  # clocks, which plans of one host do without
            )

            check_master("clock", self.clock)
        if self.tx is None or self.rx is None or self.pairs() != [(0, 1)]:
            raise PlanError("receiver", "one port sends and one receives there", "give --tx and --rx, and no pattern")
        known = OVER_TWO_HOSTS + ONE_WAY
        if other := next((method for method in self.methods if method not in known), None):
            problem = f"{other} is not measured over two hosts"
            raise PlanError("methods", problem, f"receive at this host, or use one of {', '.join(known)}")
        if self.clock is None and (timed := next((method for method in self.methods if method in ONE_WAY), None)):
            problem = f"{timed} measures one-way latency, and the clocks of two hosts are not related"
            raise PlanError(
                "methods", problem, "name a PTP master that both hear with --clock, or receive at this host"
            )
        if self.frames or self.capture is not None:
            field = "frames" if self.frames else "capture"
            raise PlanError(field, "frames of two hosts are not kept", "leave it out, or measure at one host")
        return self

    @model_validator(mode="after")
    def _of_simulated_devices(self) -> Plan:
        """What a simulated device has not."""
        if self.dut is None or not self.dut.startswith("sim:"):
            return self
        if self.filters is not None:
            raise PlanError(
                "filters", "a simulated device has no filters", "leave it out, or use lab:firewall?rules=25"
            )
        if self.capture is not None:
            raise PlanError("capture", "a simulated device has no wire to capture", "leave it out, or use a lab")
        if self.stamps != "best":
            raise PlanError("stamps", "a simulated device has exact timestamps", "leave it out")
        return self

    @model_validator(mode="after")
    def _rows_and_captures(self) -> Plan:
        """What is kept of single frames, and which of them are tagged."""
        if self.frames_every > 1 and not self.frames:
            raise PlanError("frames_every", "no rows of frames are kept", "add --frames, or leave it out")
        if self.frames_every > 1 and not all(port.startswith("fpga:") for _, port in self.port_fields()):
            raise PlanError("frames_every", "only the FPGA instrument keeps one row in so many", "leave it out")
        if self.capture is None and self.snap_bytes:
            raise PlanError("snap_bytes", "there is no capture", "name a file with --capture, or leave it out")
        for name, own_settings in (("delay", self.of(DelaySettings)), ("latency", self.of(LatencySettings))):
            if own_settings.tag_after_s >= own_settings.trial_s:
                raise PlanError(
                    f"{name}.tag_after_s",
                    "the first tagged frame would leave after the end of the trial",
                    f"choose a time below {name}.trial_s",
                )
        return self

    def of(self, kind: type[_Own]) -> _Own:
        """The settings of the procedure whose settings are of this kind."""
        name = next(procedure.name for procedure in PROCEDURES.values() if procedure.settings is kind)
        found = getattr(self, name)
        assert isinstance(found, kind)
        return found

    def port_fields(self) -> list[tuple[str, str]]:
        """Each port with the name of the field that gives it; the first two ports of a device if none is given."""
        if self.ports:
            return [("ports", port) for port in self.ports]
        return [("tx", self.tx or "1"), ("rx", self.rx or "2")]

    def pairs(self) -> list[tuple[int, int]]:
        """Which port sends to which, as indices of `port_fields`."""
        return pairs(self._pattern(), len(self.port_fields()))

    def listening(self) -> tuple[int, ...]:
        """Ports at which frames count although none is meant for them, as indices of `port_fields`."""
        return tuple(range(2, len(self.port_fields()))) if self._pattern() == "either" else ()

    def _pattern(self) -> Pattern:
        if any(PROCEDURES[method].own_flows for method in self.methods):
            return "mesh"
        return self.pattern or "pair"

    def contents(self) -> tuple[Content, ...]:
        """The contents of the streams on each way."""
        found = self.stream or (
            Content(
                headers=self.headers,
                frame_bytes=self.mix,
                modify=self.modify,
                pacing=self.pacing,
                streams=self.streams,
            ),
        )
        return tuple(to_networks(content, self.networks) for content in found) if self.networks > 1 else found

    @property
    def ip_version(self) -> str | None:
        """IP version of the first stream's outermost IP header; None if it has none."""
        return self.contents()[0].ip_version

    @property
    def all_frame_bytes(self) -> list[int]:
        """Every size that frames of the plan have."""
        own = [content.frame_bytes or self.frame_bytes for content in self.contents()]
        return sorted({size for sizes in own for size in sizes})

    def check(self, capabilities: Capabilities) -> None:
        """Raises PlanError if the engine cannot carry out what is asked."""
        for method in self.methods:
            wanted: set[Ability] = set(PROCEDURES[method].needs)
            if method == "errored_frames":
                wanted |= {error for error in self.of(ErroredFramesSettings).errors if error != "oversize"}
            if method == "convergence" and self.of(ConvergenceSettings).hops:
                wanted.add("compare")
            missing = sorted(wanted - capabilities.abilities)
            for ability in missing:
                if ability in _NEEDED_FOR:
                    what, remedy = _NEEDED_FOR[ability]
                    problem = f"{method} {what}, which the engine {capabilities.engine} cannot"
                    raise PlanError("methods", problem, remedy)
            if missing:
                what = " and ".join(_NO_NIC_SENDS[ability] for ability in missing)
                problem = f"{method} needs the FPGA engine: no NIC sends {what}"
                raise PlanError("methods" if PROCEDURES[method].needs else "errors", problem, "leave it out")
        if self.frames and capabilities.engine == "simulated":
            plain = [name for name in self.methods if not PROCEDURES[name].watches_headers and name != "convergence"]
            if plain:
                problem = f"a simulated device keeps no row for each frame of {plain[0]}"
                raise PlanError("frames", problem, "leave it out")
        if "changes" in self.methods and any(content.frame_bytes for content in self.contents()):
            raise PlanError("mix", "changes compares frames of one size in a trial", "list sizes with --size instead")
        if "convergence" in self.methods:
            self.of(ConvergenceSettings).check(capabilities)
        if self._pattern() == "either" and "anywhere" not in capabilities.abilities:
            problem = "these ports count flows where they are meant for"
            raise PlanError("pattern", problem, "use ports of this host, or a lab")
        if "reset" in self.methods and capabilities.resets is None:
            raise PlanError(
                "methods",
                f"{self.dut} cannot be reset",
                "use lab:bridge, lab:router, ports, or a simulated device with [reset]",
            )
        if capabilities.link_bits_per_second is None:
            self._check_loads()
        for size in self.all_frame_bytes:
            if size < capabilities.min_frame_bytes:
                raise PlanError(
                    "frame size",
                    f"{size} byte is too small for the headers and the signature",
                    f"use at least {capabilities.min_frame_bytes} byte",
                )
            if capabilities.max_frame_bytes is not None and size > capabilities.max_frame_bytes:
                raise PlanError(
                    "frame size",
                    f"{size} byte is larger than the port's MTU allows",
                    f"use at most {capabilities.max_frame_bytes} byte or raise the MTU",
                )

    def _check_loads(self) -> None:
        """Raises PlanError for a percentage of the line, where that has no rate of its own."""
        for method in dict.fromkeys((*self.methods, "throughput")):
            for name, value in self.of(PROCEDURES[method].settings):
                if isinstance(value, LinePercent):
                    raise no_line_rate(f"{method}.{name}", value)

    def plain(self) -> dict[str, Any]:
        """The plan as values of TOML, without fields that are not set; `parse` makes an equal plan of it."""
        return self.model_dump(mode="json", exclude_none=True, exclude=_OF_ONE_STREAM if self.stream else set())


def parse(source: Mapping[str, Any]) -> Plan:
    """A plan of plain values; raises PlanError for the first thing that is wrong."""
    return parsed(Plan, source)
