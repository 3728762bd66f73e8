"""The plan: everything that defines a run, typed, with units; written into the run directory.

Parsing refuses what can be refused without access to a port, naming the field and the remedy.
Whether an engine can carry it out is checked in `ability.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, GetJsonSchemaHandler, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from keisoku.errors import PlanError, instead
from keisoku.ground.frame.headers import unaddressed
from keisoku.ground.frame.imix import is_mix, mix
from keisoku.ground.frame.modifier import check_form, modifiers
from keisoku.ground.frame.modifying import Modifying
from keisoku.ground.frame.networks import MOST_NETWORKS
from keisoku.ground.frame.stack import added_bytes
from keisoku.ground.frame.stack import parse as stack
from keisoku.ground.run.settings import Option, RunSettings, Settings, not_an_option, parsed
from keisoku.ground.statistics.seed import DEFAULT
from keisoku.subjects.device.plan.content import SHORT_NAMES, Content, pacing
from keisoku.subjects.device.plan.defaults import completed, procedures_of
from keisoku.subjects.device.plan.networks import to_networks
from keisoku.subjects.device.plan.pace import Profile
from keisoku.subjects.device.plan.pattern import Pattern, fits, pairs
from keisoku.subjects.device.plan.settings import RFC2544_SIZES, PhaseSettings, ThroughputSettings
from keisoku.subjects.device.plan.uri import is_fpga, is_lab, is_simulated
from keisoku.subjects.device.record.interference import PortEngine
from keisoku.subjects.device.record.trial import Constant, Gaps, Pacing
from keisoku.subjects.device.table import PROCEDURES, suites
from keisoku.units import frame_sizes

_PACED_WITHIN = 0.001
"""How far a load may be from that of the gaps of the pacing, as a share of it: a rate is written rounded."""
_OF_ONE_STREAM = {"headers", "modify", "pacing", "streams", "mix"}
"""Keys that together are a list of streams with one entry."""

_Own = TypeVar("_Own", bound=Settings)


class Plan(RunSettings):
    """What the user wants measured; the TOML file of `keisoku run` has these keys, and a table for each procedure.

    Tables of procedures are extra fields, of those in `methods` and those that are given: a plan loads no procedure
    that it does not name.
    """

    model_config = ConfigDict(extra="allow")

    methods: tuple[str, ...] = not_an_option(min_length=1)
    document: str = not_an_option("")
    """The document of which they are all procedures; those that the device cannot take part in are left out."""
    """Names of procedures (`keisoku/subjects/device/__init__.py`)."""
    dut: Annotated[str | None, Option("URI")] = None
    """Device under test: lab:bridge, lab:router, sim:gs908e, sim:FILE.toml."""
    tx: Annotated[str | None, Option("PORT")] = None
    """Transmitting port: eth1, xdp:eth1, afxdp:eth1, packet:eth1, fpga:/dev/ttyUSB0#0, fpga:sim#0; with --dut a port
    number."""
    # Without an engine in the name, a self-test chooses one. With 'fpga:sim#0' a simulated DUT is between the ports of
    # the instrument's own RTL.
    rx: Annotated[str | None, Option("PORT")] = None
    """Receiving port, in the same form."""
    receiver: Annotated[str | None, Option("HOST")] = None
    """Host that owns rx and runs 'keisoku port serve'."""
    clock: Annotated[str | None, Option("ptp:HOST")] = None
    """With --receiver: PTP master that both hosts hear, for one-way latencies."""
    mtu: Annotated[int | None, Option("BYTES")] = None
    """MTU of every interface of a lab device (default: 1500), as lab:bridge?mtu=9000."""
    engine: Annotated[PortEngine | None, Option("NAME")] = None
    """Engine of a lab's ports: xdp (default), afxdp or packet."""
    gateway: Annotated[tuple[str, ...], Option("IP,…")] = ()
    """IP addresses of a routing DUT at the first port, the second, …."""
    address: Annotated[tuple[str, ...], Option("IP,…")] = ()
    """The tester's own IP address at each port, for which it answers ARP itself."""
    ports: Annotated[tuple[str, ...], Option("PORTS")] = ()
    """All ports of a traffic pattern: 1,2,3,4 or xdp:eth1,xdp:eth2,…."""
    pattern: Annotated[Pattern | None, Option("NAME")] = None
    """Traffic pattern: pair (default), bidirectional, pairs, mesh, partial-mesh, …."""
    headers: Annotated[str, Option("STACK")] = "ipv4"
    """Headers: ethernet, ipv4 (default), ipv6, mpls, or a stack such as Ether()/Dot1Q(vlan=5)/IP()/UDP()."""
    vlan: int | None = None
    """VLAN of the frames, 1 to 4094: the headers get a tag of 802.1Q, and mixes by name as well as sizes that are not
    given grow by it."""
    dscp: Annotated[int | str | None, Option("CLASS")] = None
    """Differentiated services code point of the frames: 0 to 63, or a name such as ef, af41, cs6."""
    modify: Annotated[tuple[str, ...], Option("FIELD=VALUES", several=True)] = ()
    """Vary a field: 'UDP.sport=random(1024-65535)', 'IP.dst=increment(198.19.0.1, count=256)', rfc4814."""
    pacing: Annotated[Pacing, Option("KIND")] = Constant()
    """Times between frames: constant (default), bursts:64, bursts:64@1us, poisson, gaps:FILE."""
    streams: int = Field(1, ge=1, le=4096)
    """Number of streams from port to port, with different source ports."""
    stream: tuple[Content, ...] = not_an_option(())
    """Streams of different headers, sizes or shares; in place of headers, modify, pacing and streams."""
    mix: tuple[int, ...] | None = not_an_option(None)
    """Sizes of consecutive frames, in turn; `frame_bytes` is then their mean."""
    modifiers: Annotated[tuple[Modifying, ...], Option("NAME,…")] = ()
    """Additional frames beside the test frames: broadcast, management, routing."""
    filters: int | None = Field(None, ge=0)
    """Number of filters in the device (RFC 2544: 1 and 25)."""
    networks: int = Field(1, ge=1, le=MOST_NETWORKS)
    """Number of random destination networks (RFC 2544: 256)."""
    force: bool = False
    """Use a port even if it carries the default route, and send loads that look like an attack."""
    frame_bytes: Annotated[tuple[int, ...], Option("BYTES", name="size", whole=True)] = RFC2544_SIZES
    """Frame sizes with FCS: 64,1518, 64-1518:64, rfc8219, or a mix: imix, 64:7,1518:1 (default: RFC 2544's)."""
    profile: Profile = "rfc"
    """Lengths, waits and repetitions that are not given: those of the standards (rfc), of a few minutes (short) or of
    about a minute (quick: the default on a terminal, except for a simulated device)."""
    waits_s: float | None = Field(None, ge=0)
    """Length of each wait of RFC 2544 §23: after learning frames, for the last frames, between trials."""
    seed: int = Field(DEFAULT, ge=0, lt=2**63)
    """Seed of all random choices of a simulated device."""
    frames: bool = False
    """Keep a row for each frame, for 'keisoku query'."""
    why_lost: bool = False
    """Say where in this host's kernel each lost frame was dropped, and why."""
    why_late: bool = False
    """Say where in this host's kernel the slowest frames of each trial waited."""
    frames_every: int = Field(1, ge=1, lt=2**32)
    """FPGA only: keep a row for one in so many frames."""
    calibration: Annotated[str, Option("FILE")] = "auto"
    """Calibration to subtract: auto (default), none, or a calibration file."""
    cable_tolerance_m: float = Field(0.0, ge=0)
    """How much longer or shorter the cables may be than at calibration."""
    stamps: Annotated[Literal["best", "software", "hardware"], Option("KIND")] = "best"
    """Source of receive timestamps: best (default), software, hardware."""
    capture: Annotated[Path | None, Option("FILE")] = None
    """Capture all frames at the tester's ports into a new pcapng file, for 'keisoku find'."""
    snap_bytes: int = Field(0, ge=0, le=65_535)
    """Bytes to keep of each captured frame (default: all)."""
    phases: PhaseSettings = not_an_option(PhaseSettings())
    """Phases around each trial; `waits_s` sets all waits of them."""
    throughput: ThroughputSettings = not_an_option(ThroughputSettings())
    """The search for the throughput, with which many procedures begin."""

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, source: Any) -> Any:
        """With what follows from what is given, and each procedure's table as its settings."""
        if not isinstance(source, dict):
            return source
        if unknown := next((key for key in source if key not in cls.model_fields and key not in PROCEDURES), None):
            close = get_close_matches(unknown, [*cls.model_fields, *PROCEDURES], n=1)
            remedy = f"did you mean '{close[0]}'?" if close else "remove it or correct its spelling"
            raise PlanError(unknown, "there is no such setting", remedy)
        found = completed(_listed(source))
        if found.keys() & {"vlan", "dscp", "mtu"}:
            from keisoku.subjects.device.plan.shorthand import written_out

            found = written_out(found)
        found = _sized(found)
        names = dict.fromkeys((*found, *procedures_of(found)))
        tables = [name for name in names if name in PROCEDURES and name not in cls.model_fields]
        return found | {name: _table(name, found.get(name, {})) for name in tables}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """With a table for each procedure."""
        found = super().__get_pydantic_json_schema__(schema, handler)
        own = handler.resolve_ref_schema(found)
        tables = {name: handler(PROCEDURES[name].settings.__pydantic_core_schema__) for name in PROCEDURES}
        own["properties"] = {**tables, **own["properties"]}
        own["additionalProperties"] = False
        return found

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
            names = [*PROCEDURES, *suites()]
            remedy = "a document stands alone" if unknown in suites() else instead(unknown, names)
            raise PlanError("methods", f"there is no method '{unknown}'", remedy)
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
        has_own = (method for method in self.methods if PROCEDURES[method].own_flows or PROCEDURES[method].pattern)
        own = next(has_own, None)
        every = next((method for method in self.methods if PROCEDURES[method].own_flows), None)
        other = next((method for method in self.methods if PROCEDURES[method].pattern), None)
        if every and other:
            problem = f"{every} and {other} use the ports in other ways"
            raise PlanError("methods", problem, "measure them one after the other")
        if own and self.pattern is not None:
            raise PlanError("pattern", f"{own} sets its own pattern", "leave it out; list the ports with --ports")
        if not fits(self.traffic_pattern, len(self.port_fields())):
            raise PlanError(
                "pattern",
                f"{self.traffic_pattern} is not possible with {len(self.port_fields())} ports",
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
            if is_lab(self.dut or self.port_fields()[0][1]) and content.headers in SHORT_NAMES:
                check_form(content.modify)
            else:
                modifiers(content.modify, unaddressed(stack(content.headers)))
        return self

    @model_validator(mode="after")
    def _floods(self) -> Plan:
        """Loads that look like an attack."""
        flood = next((method for method in self.methods if PROCEDURES[method].floods), None)
        devices = [self.dut] if self.dut is not None else [name for _, name in self.port_fields()]
        closed = all(is_lab(name) or is_simulated(name) for name in devices)
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
        kinds = {method: PROCEDURES[method].over_two_hosts for method in self.methods}
        if other := next((method for method, kind in kinds.items() if not kind), None):
            known = [name for name, procedure in PROCEDURES.items() if procedure.over_two_hosts]
            problem = f"{other} is not measured over two hosts"
            raise PlanError("methods", problem, f"receive at this host, or use one of {', '.join(known)}")
        timed = next((method for method, kind in kinds.items() if kind == "latencies"), None)
        if self.clock is None and timed:
            problem = f"{timed} measures one-way latency, and the clocks of two hosts are not related"
            raise PlanError(
                "methods", problem, "name a PTP master that both hear with --clock, or receive at this host"
            )
        if self.frames or self.capture is not None:
            field = "frames" if self.frames else "capture"
            raise PlanError(field, "frames of two hosts are not kept", "leave it out, or measure at one host")
        for field, asked in (("why_lost", self.why_lost), ("why_late", self.why_late)):
            if asked:
                problem = "frames that another host sends or receives are not followed through this one"
                raise PlanError(field, problem, "leave it out, or send and receive at this host")
        return self

    @model_validator(mode="after")
    def _of_simulated_devices(self) -> Plan:
        """What a simulated device has not."""
        if not is_simulated(self.dut):
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
        if self.frames_every > 1 and not all(is_fpga(port) for _, port in self.port_fields()):
            raise PlanError("frames_every", "only the FPGA instrument keeps one row in so many", "leave it out")
        if self.capture is None and self.snap_bytes:
            raise PlanError("snap_bytes", "there is no capture", "name a file with --capture, or leave it out")
        return self

    def settings_of(self, kind: type[_Own]) -> _Own:
        """The settings of the procedure whose settings are of this kind; its defaults if it is none of the plan's."""
        return next((one for one in self.tables().values() if type(one) is kind), None) or kind()

    def tables(self) -> dict[str, Settings]:
        """The settings of each procedure that the plan has a table of, by its name."""
        return {"throughput": self.throughput, **(self.__pydantic_extra__ or {})}

    def own(self, name: str) -> Settings:
        """The settings of the procedure of this name."""
        return self.settings_of(PROCEDURES[name].settings)

    def port_fields(self) -> list[tuple[str, str]]:
        """Each port with the name of the field that gives it; the first two ports of a device if none is given."""
        if self.ports:
            return [("ports", port) for port in self.ports]
        return [("tx", self.tx or "1"), ("rx", self.rx or "2")]

    def pairs(self) -> list[tuple[int, int]]:
        """Which port sends to which, as indices of `port_fields`."""
        return pairs(self.traffic_pattern, len(self.port_fields()))

    def listening(self) -> tuple[int, ...]:
        """Ports at which frames count although none is meant for them, as indices of `port_fields`."""
        return tuple(range(2, len(self.port_fields()))) if self.traffic_pattern == "either" else ()

    @property
    def traffic_pattern(self) -> Pattern:
        """Which port sends to which: the procedures' own pattern, or the one that was given."""
        for method in self.methods:
            if own := PROCEDURES[method].pattern:
                return own
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
    def describes_flows(self) -> bool:
        """Whether it says more of the frames than their headers, size and pacing."""
        return bool(self.stream or self.modify or self.mix or self.streams > 1 or self.networks > 1)

    @property
    def paced_fps(self) -> float | None:
        """The only load of a sending port that the gaps of the pacing make; None without gaps.

        Raises PlanError for streams whose gaps and shares of their port need several loads.
        """
        contents = self.contents()
        whole = sum(content.weight for content in contents)
        loads = {
            content.pacing.frames_per_second * content.streams * ways * whole / content.weight
            for content in contents
            for ways in Counter(transmit for transmit, _ in self.pairs()).values()
            if isinstance(content.pacing, Gaps)
        }
        if not loads:
            return None
        if max(loads) > min(loads) * (1 + _PACED_WITHIN):
            problem = "the gaps of the streams do not fit their shares of a port's load"
            raise PlanError("pacing", problem, "give streams whose gaps make rates as their weights")
        return min(loads)

    @property
    def ip_version(self) -> str | None:
        """IP version of the first stream's outermost IP header; None if it has none."""
        return self.contents()[0].ip_version

    @property
    def all_frame_bytes(self) -> list[int]:
        """Every size that frames of the plan have."""
        own = [content.frame_bytes or self.frame_bytes for content in self.contents()]
        return sorted({size for sizes in own for size in sizes})

    @property
    def tag_bytes(self) -> int:
        """What of each frame is a VLAN tag, which no MTU counts; 0 if a stream has none."""
        # A short name has no tag, and is not worth the wait for what reads stacks.
        return min(stack(content.headers).tag_bytes if "(" in content.headers else 0 for content in self.contents())

    def paced(self, fps: float, what: str) -> float:
        """The load in frames/s that frames at this one really have, which gaps determine.

        Raises PlanError if `what` is to have a load that the gaps do not make."""
        paced_fps = self.paced_fps
        if paced_fps is None:
            return fps
        if abs(fps - paced_fps) > _PACED_WITHIN * paced_fps:
            problem = f"{what} is to have {fps:.8g} frames/s, and the gaps make {paced_fps:.8g} frames/s at each port"
            raise PlanError("pacing", problem, "leave the rate or the gaps out, or make them alike")
        return paced_fps

    def plain(self) -> dict[str, Any]:
        """The plan as values of TOML, without fields that are not set; `parse` makes an equal plan of it."""
        return self.model_dump(mode="json", exclude_none=True, exclude=_OF_ONE_STREAM if self.stream else set())


def parse(source: Mapping[str, Any]) -> Plan:
    """A plan of plain values; raises PlanError for the first thing that is wrong."""
    return parsed(Plan, source)


def plan_of(methods: Sequence[str], keys: Mapping[str, Any]) -> Plan:
    """The plan of these procedures for a plan's keys and, of a single procedure, its own settings by their names:
    `trial_s=2` is `throughput={"trial_s": 2}`.

    Raises PlanError for unknown or invalid settings.
    """
    if not methods:
        raise PlanError("methods", "no method is given", f"use one of {', '.join(PROCEDURES)}")
    names = [*PROCEDURES, *suites()]
    if unknown := next((method for method in methods if method not in names), None):
        raise PlanError("methods", f"there is no method '{unknown}'", instead(unknown, names))
    only = methods[0] if len(methods) == 1 and methods[0] in PROCEDURES else ""
    own = PROCEDURES[only].settings.model_fields if only else {}
    given = {key: value for key, value in keys.items() if value is not None}
    known = [*Plan.model_fields, *PROCEDURES, *own]
    if unknown := next((key for key in given if key not in known), None):
        raise PlanError(unknown, "there is no such setting", instead(unknown, known))
    source = {key: _values(key, value) for key, value in given.items() if key not in own}
    if settings := {key: value for key, value in given.items() if key in own}:
        source[only] = settings | dict(source.get(only, {}))
    return parse({**source, "methods": methods})


def _values(key: str, value: Any) -> Any:
    """A single port or size need not be in a list; ports of a device may be given as numbers."""
    if key == "frame_bytes" and isinstance(value, int):
        return (value,)
    if key in ("tx", "rx") and isinstance(value, int):
        return str(value)
    if key == "ports" and not isinstance(value, str):
        return tuple(str(port) for port in value)
    return (value,) if key in ("require", "modify", "ports") and isinstance(value, str) else value


def _listed(source: dict[str, Any]) -> dict[str, Any]:
    """A document in place of procedures is all of its procedures."""
    methods = source.get("methods", ())
    if not isinstance(methods, (list, tuple)) or len(methods) != 1 or methods[0] not in suites():
        return source
    return source | {"methods": suites()[methods[0]], "document": methods[0]}


def _sized(source: dict[str, Any]) -> dict[str, Any]:
    """A text is a list of sizes or a mix; the trials of a mix have its mean size. Frames of no size in particular are
    longer by their tags."""
    text, tags = source.get("frame_bytes"), added_bytes(source.get("headers", ""))
    if text is None and tags:
        return source | {"frame_bytes": tuple(size + tags for size in RFC2544_SIZES)}
    if not isinstance(text, str):
        return source
    if not is_mix(text):
        return source | {"frame_bytes": tuple(frame_sizes("frame_bytes", text))}
    sizes = mix("frame_bytes", text, tags)
    return source | {"mix": sizes, "frame_bytes": (round(sum(sizes) / len(sizes)),)}


def _table(name: str, values: Any) -> Settings:
    """The settings of a procedure of plain values. Raises PlanError, naming them as the plan does."""
    try:
        return parsed(PROCEDURES[name].settings, values)
    except PlanError as error:
        within = error.field.startswith(f"{name}.")
        field = error.field if within else name if error.field == "plan" else f"{name}.{error.field}"
        raise PlanError(field, error.problem, error.remedy) from error
