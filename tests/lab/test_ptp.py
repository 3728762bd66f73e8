"""A PTP master that others wrote, linuxptp's ptp4l, over a veth: by contract, to all, and what the commands make of it.

Its software stamps are this host's CLOCK_REALTIME: the truth is an offset of nothing and a rate that both see.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.veth_pair import VethPair, veth_pair

from keisoku import _core
from keisoku.faces.cli.main import keisoku
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.subjects.clock import interval_clock
from keisoku.subjects.clock.frequency import hard_bounds
from keisoku.subjects.clock.host_clocks import host_clocks
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference.kinds import parse
from keisoku.subjects.clock.reference.local import bracket
from keisoku.subjects.clock.reference.opening import open_reference
from keisoku.subjects.clock.reference.ptp.reference import PtpClient
from keisoku.subjects.clock.reference.ptp.target import target

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(shutil.which("ptp4l") is None, reason="ptp4l is not installed (Debian: linuxptp)"),
]
HOST = host_clocks()
calibrates = pytest.mark.skipif(
    _core.clock_counter(HOST.clock_source) is None, reason="this processor has no counter that promises one rate"
)
DOMAIN = 44
_SETTINGS = """[global]
domainNumber {domain}
free_running 1
logAnnounceInterval -3
announceReceiptTimeout 2
logSyncInterval -6
unicast_listen 1
hybrid_e2e 1
uds_address {folder}/uds
"""


@pytest.fixture(scope="module")
def pair() -> Iterator[VethPair]:
    with veth_pair() as made, _ptp4l(made):
        yield made


@contextmanager
def _ptp4l(pair: VethPair) -> Iterator[None]:
    """A master with software stamps, in the far namespace; it disciplines nothing."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "settings"
        settings.write_text(_SETTINGS.format(folder=folder, domain=DOMAIN))
        command = ["stdbuf", "-oL", "ptp4l", "-S", "-4", "-E", "-i", "far", "-f", str(settings), "-m", "-q"]
        daemon = run_in_namespace(
            Path(pair.far),
            lambda: subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True),
        )
        try:
            assert daemon.stdout is not None
            said = []
            for line in daemon.stdout:
                said.append(line)
                if "assuming the grand master role" in line:
                    break
            else:
                pytest.fail(f"ptp4l ended: {''.join(said)}")
            yield
        finally:
            daemon.terminate()
            daemon.communicate()


@pytest.mark.parametrize("way", ["", ",multicast"])
def test_ptp4ls_time_is_this_hosts_within_the_round_trip_and_so_is_its_rate(pair: VethPair, way: str) -> None:
    def measure() -> tuple[list[Reading], list[Reading]]:
        client = PtpClient(target(f"{pair.far_address},domain={DOMAIN}{way}"), 1 / 64)
        own, readings = [bracket()], []
        for _ in range(20):
            readings.append(client.reading())
            own.append(bracket())
            assert client.ahead is not None
            ahead_ns, bound_ns = client.ahead
            assert abs(ahead_ns) <= bound_ns
        assert client.stamped_by_kernel
        client.close()
        return readings, own

    readings, own = run_in_namespace(Path(pair.near), measure)
    # By the ends only: whatever steers this host's clock meanwhile, both have seen it.
    found, truth = (hard_bounds([some[0], some[-1]]) for some in (readings, own))
    assert found is not None and truth is not None
    # The interval of the rate's difference covers 0.
    assert found[0] - truth[1] <= 0 <= found[1] - truth[0]


def test_the_daemon_says_what_it_is(pair: VethPair) -> None:
    chosen = parse(f"ptp:{pair.far_address},domain={DOMAIN}")
    opened = run_in_namespace(Path(pair.near), lambda: open_reference(chosen, HOST, 0.01))
    opened.close()
    # ptp4l's default class: it has its time from nobody.
    assert not opened.is_real and opened.flags[0].name == "untrusted-reference"
    assert "kernel's stamps" in opened.described and "clock class 248" in opened.described
    facts = opened.facts
    assert (facts["domain"], facts["steps_removed"], facts["ptp_timescale"]) == (DOMAIN, 0, False)
    assert str(facts["master"]).replace(".", "").startswith(str(facts["grandmaster"]))
    assert facts["kernel_stamps"]


def _found(pair: VethPair, *arguments: str) -> dict[str, Any]:
    shown = run_in_namespace(
        Path(pair.near), lambda: CliRunner().invoke(keisoku, ["clock", *arguments, "--json"], standalone_mode=False)
    )
    if shown.exception is not None and not isinstance(shown.exception, SystemExit):
        raise shown.exception
    (result,) = json.loads(shown.stdout)["results"]
    assert isinstance(result, dict)
    return result


@calibrates
def test_calibrate_and_stability_take_it(pair: VethPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_clock, "calibration_folder", lambda: tmp_path / "state")
    reference = ("--reference", f"ptp:{pair.far_address},domain={DOMAIN}")
    out = tmp_path / "calibrated"
    found = _found(pair, "calibrate", *reference, "--duration", "1s", "--pause", "16ms", "--out", str(out))
    rows = {row["case"]: row["figures"] for row in found["rows"]}
    assert rows["all"]["readings"]["value"] >= 2
    assert ("hard bounds" in rows and "least squares" in rows) or rows["all"]["readings"]["value"] < 20
    context = json.loads((out / "context.json").read_bytes())
    assert not context["reference_is_real"] and context["reference_facts"]["kernel_stamps"]
    assert [flag["name"] for flag in found["flags"]][:1] == ["untrusted-reference"]  # ptp4l has its time from nobody
    ahead_ns, bound_ns = (context["reference_facts"][f"ahead_of_host_{name}ns"] for name in ("", "bound_"))
    assert abs(ahead_ns) <= bound_ns
    log = ("--duration", "0.6s", "--every", "20ms", "--out", str(tmp_path / "log"))
    found = _found(pair, "stability", *reference, *log)
    assert found["title"].endswith(reference[1])
    assert found["rows"][0]["figures"]["readings"]["value"] >= 8
