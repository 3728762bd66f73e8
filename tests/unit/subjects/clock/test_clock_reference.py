"""Which reference is meant, which there is, and what must be said of it; pulses and hardware clocks as readings."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.ntp_responder import NtpResponder

from keisoku.errors import EngineError, PlanError
from keisoku.subjects.clock import relation as clocks
from keisoku.subjects.clock.host_clocks import STA_UNSYNC, HostClocks, Steering
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference import ntp as reference_ntp
from keisoku.subjects.clock.reference.kinds import Chosen, automatic, flags, is_real, parse
from keisoku.subjects.clock.reference.local import against_ticks, bracket, nearest_second, of_pulse
from keisoku.subjects.clock.reference.ntp import NtpClient

FREE = HostClocks(0, "tsc", Steering(0.0, STA_UNSYNC, 0, 10_000), (0, 0), (0, 0))
DISCIPLINED = HostClocks(0, "tsc", Steering(1234.5, 0x2001, 500, 10_000), (0, 0), (0, 0))


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("raw", "raw", ""),
        ("phc", "phc", "0"),
        ("phc:3", "phc", "3"),
        ("ntp:10.0.0.1", "ntp", "10.0.0.1"),
        ("ntp:[fd00::1]:1123", "ntp", "[fd00::1]:1123"),
        ("http:example.net", "http", "example.net"),
        ("http:http://example.net:8080/x", "http", "http://example.net:8080/x"),
        ("http://example.net/", "http", "http://example.net/"),
        ("https://example.net/", "http", "https://example.net/"),
        ("AUTO", "auto", ""),
    ],
)
def test_references_are_named_by_kind_and_target(text: str, kind: str, target: str) -> None:
    assert parse(text) == Chosen(kind, target)


@pytest.mark.parametrize("text", ["", "gps", "raw:1", "ntp:", "ntp", "phc:eth0", "pps:-1"])
def test_what_is_no_reference_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(PlanError, match=r"^reference: "):
        parse(text)


def test_the_best_that_is_here_is_chosen(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="keeps time by the counter itself"):
        automatic(FREE, True, tmp_path)
    assert automatic(FREE, False, tmp_path).kind == "raw"
    assert automatic(DISCIPLINED, True, tmp_path).kind == "realtime"
    (tmp_path / "pps0").touch()
    assert automatic(DISCIPLINED, True, tmp_path) == Chosen("pps", "0")
    for name in ("ptp2", "ptp10", "ptp_kvm"):
        (tmp_path / name).touch()
    assert automatic(DISCIPLINED, True, tmp_path) == Chosen("phc", "2")


@pytest.mark.parametrize(
    ("kind", "host", "kept_time", "names", "real"),
    [
        ("raw", FREE, True, ["circular"], False),
        ("raw", FREE, False, [], True),
        ("realtime", FREE, True, ["circular", "disciplined-clock"], False),
        ("monotonic", DISCIPLINED, True, ["disciplined-clock"], False),
        ("realtime", DISCIPLINED, False, ["disciplined-clock"], False),
        ("ntp", FREE, True, [], True),
        ("phc", FREE, True, [], True),
    ],
)
def test_circular_and_steered_references_are_labelled_and_never_kept(
    kind: str, host: HostClocks, kept_time: bool, names: list[str], real: bool
) -> None:
    chosen = Chosen(kind)
    found = list(flags(chosen, host, kept_time))
    assert [flag.name for flag in found] == names
    assert is_real(chosen, kept_time) == real
    if "disciplined-clock" in names:
        assert f"{host.steering.frequency_ppb:+.1f} ppb" in found[-1].text


def test_a_pulse_is_the_whole_second_nearest_to_its_stamp() -> None:
    assert nearest_second(1_800_000_000_400_000_000) == 1_800_000_000_000_000_000
    stamp = 1_800_000_000_000_003_000
    first, last = Reading(0, stamp - 1_000_000, 40), Reading(2_600_000, stamp, 2_600_040)
    found = of_pulse(stamp - 500_000, first, last)
    assert found.reference_ns == 1_800_000_000_000_000_000
    assert found.before <= 1_300_020 <= found.after and found.width < 50
    with pytest.raises(EngineError, match="pulse was awaited"):
        of_pulse(stamp, last, first)


def test_a_hardware_clock_is_brought_to_ticks_by_the_time_of_day() -> None:
    of_day = iter([Reading(1000, 10_000, 1020), Reading(27_000, 20_000, 27_020)])
    wide, narrow = clocks.Reading(10_000, 5, 19_000), clocks.Reading(15_000, 77, 15_200)
    found = against_ticks(lambda: [wide, narrow], lambda: next(of_day))
    assert found.reference_ns == 77
    # 2.6 ticks a ns: 5000 to 5200 ns after the first.
    assert found.before <= 1010 + 13_000 and found.after >= 1010 + 13_520
    assert found.width <= 520 + 2 * 11 + 2


@pytest.mark.parametrize("target", ["127.0.0.1:99999", "127.0.0.1:x", "no.such.host.invalid"])
def test_a_server_that_cannot_be_is_named(target: str) -> None:
    with pytest.raises(EngineError, match=f"ntp:{target.split(':')[0]}"):
        NtpClient(target)


def test_an_exchange_is_stamped_by_the_kernel_both_ways_and_holds_the_time() -> None:
    with NtpResponder(ahead_ns=10**12) as server:
        # The kernel begins to stamp a moment after the first socket asks for it, and stops when no socket does.
        asking = [NtpClient(server.target)]
        while not (asking[-1].reading() and asking[-1].stamped_by_kernel) and len(asking) < 50:
            asking.append(NtpClient(server.target))
        client = NtpClient(server.target)
        readings = [client.reading() for _ in range(5)]
        first, last = bracket(), bracket()
    assert client.stamped_by_kernel
    assert client.last is not None and client.last.stratum == 1
    assert all(one.before <= one.after <= last.before for one in readings)
    assert all(abs(one.reference_ns - 10**12 - first.reference_ns) < 60 * 10**9 for one in readings)


def test_a_server_that_says_nothing_or_is_not_there_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_ntp, "PATIENCE_S", 0.05)
    with NtpResponder(answers=0) as server, pytest.raises(EngineError, match=r"no answer to 5 requests within 0\.05 s"):
        NtpClient(server.target).reading()
    with pytest.raises(EngineError, match=r"ntp:127\.0\.0\.2:\d+: (cannot be reached|no answer)"):
        NtpClient(server.target).reading()
