"""What the Rust crate in core/ offers to Python. Values cross as JSON of the types in core/src."""

from collections.abc import Sequence

class Simulation:
    """A simulated device with some of its ports plugged into the tester (core/src/simulated/python.rs)."""

    def __init__(self, device_json: str, ports: list[int], receive_clock_ppm: float = 0.0) -> None: ...
    def start(self, trial_json: str, addresses_json: str | None = None) -> None: ...
    def wait(self, seconds: float) -> tuple[int, int, bool]: ...
    def stop(self) -> None: ...
    def finish(self) -> str: ...

class Wire:
    """Ports of this host (core/src/wire.rs)."""

    def __init__(self, ports_json: str, transmit: list[int], receive: list[int]) -> None: ...
    def start(self, trial_json: str, tables: list[tuple[bytes, bytes, int, bool]], log: bool = False) -> None: ...
    def progress(self) -> tuple[int, int, bool]: ...
    def stop(self) -> None: ...
    def finish(self) -> str: ...
    def take_frames(self) -> tuple[bytes, int]: ...
    def capture_rings(self) -> list[CaptureRing]: ...
    def learn(self, port: int, template: bytes, count: int) -> None: ...
    def close(self) -> None: ...

class Faulty:
    """The lab's faulty device between two interfaces of a namespace (core/src/faulty.rs)."""

    def __init__(self, namespace: str, interface_a: str, interface_b: str, faults_json: str) -> None: ...
    def applied(self) -> dict[int, dict[str, int]]: ...
    def close(self) -> None: ...

class SerialLinks:
    """Serialising links between TUN devices (core/src/serial_link/python.rs)."""

    def __init__(self, bed_json: str) -> None: ...
    def begin(self) -> None: ...
    def truth(self) -> str: ...
    def close(self) -> None: ...

class BulkFlow:
    """A TCP connection between two namespaces that always sends (core/src/bulk_flow.rs)."""

    def __init__(
        self, sender: str, receiver: str, address: str, bytes_per_second: int | None, congestion: str
    ) -> None: ...
    def bytes(self) -> tuple[int, int]: ...
    def close(self) -> None: ...

class Hiccups:
    """Measures interference on the tester's cores (core/src/hiccup.rs); `spinning`: those of the senders."""

    def __init__(self, cpus: list[int], spinning: list[int]) -> None: ...
    def end(self) -> str: ...

class Neighbours:
    """Answers ARP and IPv6 neighbour discovery for the tester's hosts at a port (core/src/neighbour.rs)."""

    def __init__(self, place_json: str, hosts_json: str) -> None: ...
    def resolve(self, ip: str, from_mac: str, from_ip: str, timeout_s: float) -> str: ...
    def answered(self) -> tuple[int, int, int]: ...
    def close(self) -> None: ...

class CaptureRing:
    """The frames that an XDP program of ports handles, for a Capture (core/src/capture/python.rs)."""

class Capture:
    """A capture of ports into a pcapng file (core/src/capture/python.rs)."""

    def __init__(
        self, path: str, ports_json: str, rings: list[CaptureRing], snap_bytes: int, count: int | None = None
    ) -> None: ...
    def counts(self) -> list[tuple[int, int]]: ...
    def has_ended(self) -> bool: ...
    def close(self) -> list[tuple[int, int]]: ...

def find_frames(path: str, stream: int | None, wanted: list[tuple[int, int]]) -> str: ...
def recorded_frames(path: str, port: str | None, most_frames: int, most_bytes: int) -> tuple[bytes, bytes, bytes]: ...
def clock_costs() -> str:
    """What one read of each clock costs here, as JSON of `Costs` (core/src/clock/cost.rs)."""
    ...

class SentPacket:
    """A packet that was sent, or why not; CLOCK_REALTIME but for `monotonic_ns` and the hardware's own clock."""

    id: int
    realtime_ns: int
    monotonic_ns: int
    kernel_ns: int | None
    hardware_ns: int | None
    error: str | None

class ReceivedPacket:
    """A packet that arrived; raw IPv4 with its header."""

    data: bytes
    source: tuple[str, int] | None
    ttl: int | None
    realtime_ns: int
    monotonic_ns: int
    kernel_ns: int | None
    hardware_ns: int | None

class IcmpMessage:
    """An ICMP error about a packet that was sent; `data` is what it quotes of the payload."""

    data: bytes
    source: str | None
    icmp_type: int
    icmp_code: int
    mtu: int
    destination: tuple[str, int] | None
    realtime_ns: int
    monotonic_ns: int
    kernel_ns: int | None
    hardware_ns: int | None

class StampedSocket:
    """A socket, 'udp' or 'icmp' (raw), that says when each packet left and arrived (core/src/stamped_socket).

    Raises EngineError if it cannot be opened. One thread may send while another receives.
    """

    def __init__(
        self,
        kind: str,
        bind: tuple[str, int],
        *,
        connect: tuple[str, int] | None = None,
        namespace: str | None = None,
        interface: str | None = None,
        do_not_fragment: bool = False,
        receive_bytes: int | None = None,
    ) -> None: ...
    @property
    def address(self) -> tuple[str, int]: ...
    @property
    def stamps(self) -> str: ...
    @property
    def dropped(self) -> int: ...
    @property
    def unmatched(self) -> int: ...
    def send(
        self, packets: Sequence[tuple[bytes, tuple[str, int] | None, int | None]], stamp_wait_ns: int = 20_000_000
    ) -> list[SentPacket]: ...
    def receive(
        self, deadline_ns: int, *, least: int = 1, most: int = 65_536, spin: bool = False
    ) -> tuple[list[ReceivedPacket], list[IcmpMessage]]: ...
    def late_stamps(self) -> list[tuple[int, int | None, int | None]]: ...
    def realtime_offset(self) -> tuple[int, int, int]: ...

def clock_read_costs(reads: int, rounds: int, stall_s: float) -> str:
    """Costs of all time sources, as JSON of `CostRecord` (core/src/clock/python.rs)."""
    ...

def clock_counter(clock_source: str) -> tuple[str, bool] | None:
    """The counter that promises one rate, and whether `clock_source` is that counter."""
    ...

def clock_brackets(clock: int, count: int, tries: int, pause_ns: int) -> list[tuple[int, int, int]]:
    """Reads of a clock between two of the counter: (ticks before, ns, ticks after). Raises OSError if there is none."""
    ...

def clock_ticks() -> int:
    """The counter, after everything before and before everything after."""
    ...
