"""The table of testbeds: who opens which ports, what that loads, and an engine that somebody adds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

import pytest
from support.one_stream import facts_of

import keisoku as ks
from keisoku.errors import EngineError, PlanError
from keisoku.subjects.device.engine.engine import FrameSink, Progress
from keisoku.subjects.device.engine.simulated import routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.plan_testbed import open_engine
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.counts import Buckets, Ranges, Sent, Tracked
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.testbed import testbed
from keisoku.subjects.device.testbed.opening import VARIANTS, open_testbed, port_named
from keisoku.subjects.device.testbed.requirements import WantedPort, WantedTestbed, WantedTraffic

CAPACITY_FPS = 100_000.0
"""What the device between the ports `memory:1` and `memory:2` forwards; it drops the rest."""
_NONE = Ranges(count=0, ranges=[], complete=True)


class MemoryEngine:
    """Answers each trial by arithmetic, from the first port to the second."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._trial: Trial | None = None

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            engine="memory",
            link_bits_per_second=1e9,
            min_frame_bytes=self._traffic.least_frame_bytes,
            max_frame_bytes=None,
            simulated=True,
            transmit_stamp="none",
            receive_stamp="none",
            exact=True,
        )

    def start(self, trial: Trial, stream: int, seed: int, frames: FrameSink | None = None) -> None:
        if frames is not None:
            raise PlanError("frames", "this engine keeps no row for each frame", "leave out --frames")
        self._trial = trial

    def wait(self, seconds: float) -> Progress:
        return Progress(offered_frames=0, forwarded_frames=0, finished=True, elapsed_s=0.0, expected_s=0.0)

    def longest_gaps(self) -> Sequence[Gap | None]:
        return ()

    def load_begun_ns(self) -> int | None:
        return None

    def switch(self, flows: Sequence[int], state: Literal["going", "paused", "ended"]) -> bool:
        raise EngineError("this engine switches no flows")

    def stop(self) -> None:
        """It is over."""

    def finish(self) -> tuple[Facts, float]:
        trial = self._trial
        assert trial is not None
        offered = trial.frames
        forwarded = min(offered, int(CAPACITY_FPS * trial.duration_ns / NS_PER_S))
        lost = [Gap(first=forwarded, last=offered - 1, count=offered - forwarded, after_ns=None, before_ns=None)]
        sent = Sent(
            offered_frames=offered,
            first_sent_ns=0,
            last_sent_ns=round((offered - 1) * NS_PER_S / trial.frames_per_second),
            lag_max_ns=0,
            postponed_ns=0,
            gaps=Buckets(),
        )
        tracked = Tracked(
            received_frames=forwarded,
            forwarded_frames=forwarded,
            lost_frames=offered - forwarded,
            corrupt=_NONE,
            corrupt_arrivals=0,
            duplicated=_NONE,
            reordered=_NONE,
            foreign_frames=0,
            lost=lost if offered > forwarded else [],
            lost_kept_as="list",
            latency=None,
            tagged_latency_ns=None,
            series=[],
        )
        return facts_of(sent, tracked), trial.duration_ns / NS_PER_S

    def close(self) -> None:
        """Nothing was opened."""

    def context(self) -> dict[str, object]:
        return {"device": "arithmetic", "engine": "memory"}


class MemoryTestbed(testbed.Testbed):
    """The smallest that a testbed can be."""

    def __init__(self, wanted: WantedTestbed) -> None:
        wanted.check_apart([port.name for port in wanted.ports], [port.name for port in wanted.ports])

    def line_rate(self, port: int) -> float | None:
        return 1e9

    def mtu_bytes(self, port: int) -> int:
        return 1500

    def engine(self, wanted: WantedTraffic, capture: Any = None) -> MemoryEngine:
        return MemoryEngine(wanted.on(routes_between(wanted.pairs)))


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line."""
    monkeypatch.setitem(VARIANTS, "memory", f"{__name__}:MemoryTestbed")


def test_an_added_engine_carries_out_a_throughput_run(memory: None, tmp_path: Path) -> None:
    found = ks.measure("throughput", tx="memory:1", rx="memory:2", frame_bytes=64, trial_s=0.1, out=tmp_path / "run")
    (row,) = found.results[0].rows
    assert row.figures["throughput"].value == pytest.approx(CAPACITY_FPS, rel=0.01)


def test_an_added_engine_is_refused_what_it_cannot_do(memory: None, tmp_path: Path) -> None:
    ports = {"methods": ["throughput"], "tx": "memory:1", "frame_bytes": [64]}
    for other, refusal in (
        ({"rx": "memory:1"}, "rx: is memory:1, which is given twice"),
        ({"rx": "sim:gs908e#1"}, "rx: is not at the device of the first port"),
        ({"rx": "memory:2", "capture": str(tmp_path / "c.pcapng")}, "capture: the frames of these ports do not pass"),
    ):
        with pytest.raises(PlanError, match=refusal), open_engine(parse(ports | other)):
            pass
    assert not (tmp_path / "c.pcapng").exists()


def test_a_plan_and_an_otg_configuration_name_the_same_port() -> None:
    by_plan = port_named("2", "rx", "sim:gs908e", receives=True)
    assert by_plan == WantedPort("sim:gs908e#2", "rx")
    by_otg = WantedPort("sim:gs908e#1", "ports[0].location")
    assert open_testbed(WantedTestbed((by_otg, by_plan))).line_rate(1) == 1e9
    assert port_named("fpga:sim#0", "tx", "sim:gs908e").name == "fpga:sim#0"


@pytest.mark.parametrize(
    ("source", "refusal"),
    [
        ({"dut": "gs908e"}, "dut: 'gs908e' is not the name of a device"),
        ({"dut": "sim:gs908e", "rx": "two"}, "rx: 'two' is not a port number"),
        ({"dut": "sim:gs908e", "rx": "99"}, "ports: gs908e has no port 99"),
        ({"dut": "sim:gs908e", "tx": "2"}, "rx: is port 2, which is given twice"),
        (
            {"dut": "lab:bridge", "tx": "xdp:eth1", "rx": "xdp:eth2"},
            "dut: 'lab:bridge' cannot be between ports",
        ),
        ({"dut": "sim:gs908e", "tx": "lab:bridge#1", "rx": "lab:bridge#2"}, "tx: is not at the device of the first"),
        ({"tx": "dpdk:eth1", "rx": "dpdk:eth2"}, "tx: 'dpdk:eth1' is not the name of a port"),
        ({"tx": "sim:gs908e", "rx": "sim:gs908e#2"}, "tx: 'sim:gs908e' is not the name of a port"),
        ({"tx": "sim:gs908e#1", "rx": "sim:gs908e#2", "stamps": "hardware"}, "stamps: a simulated device has exact"),
        (
            {"tx": "lab:bridge#1", "rx": "lab:bridge#2", "address": ["::1", "::2"]},
            "address: lab:bridge needs no address",
        ),
    ],
)
def test_ports_that_cannot_be_had_are_refused_with_their_field(source: dict[str, Any], refusal: str) -> None:
    with pytest.raises(PlanError, match=refusal), open_engine(parse({"methods": ["throughput"], **source})):
        pass


def test_a_simulated_run_loads_nothing_of_other_testbeds() -> None:
    program = (
        "import sys\nfrom keisoku.subjects.device.plan.plan import parse\n"
        "from keisoku.subjects.device.plan_testbed import open_engine\n"
        "with open_engine(parse({'methods': ['throughput'], 'dut': 'sim:gs908e'})):\n    pass\n"
        "unwanted = ('keisoku.ground.fpga', 'keisoku.ground.lab', 'pyroute2')\n"
        "found = [name for name in sys.modules if name.startswith(unwanted)]\n"
        "print(found)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("scheme", VARIANTS)
def test_every_variant_can_be_loaded(scheme: str) -> None:
    assert callable(resolve_name(VARIANTS[scheme]))
