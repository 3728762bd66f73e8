"""Phase that other programs logged: each form is read as it is meant, and what is ambiguous is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.errors import PlanError
from keisoku.ground.entry import Work
from keisoku.ground.run.result import Result
from keisoku.running.measurement import carry_out
from keisoku.subjects.clock.stability.deviation import deviation
from keisoku.subjects.clock.stability.freedom import ADEV
from keisoku.subjects.clock.stability.phase_file.read import FilePhase, read_phase
from keisoku.subjects.clock.stability.phase_log import from_phase
from keisoku.subjects.clock.stability.phase_measurement import MEASUREMENT
from keisoku.subjects.clock.stability.settings import PhaseSettings

OFFSETS = [0, 3, -2, 5, -1, 4, 2, -3, 1, 0, -4, 2]
"""ns."""
BEGIN = 4850.947


def read(
    text: str, unit: str | None = None, tau0_s: float | None = None, column: str | None = None, name: str = "log.txt"
) -> FilePhase:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(text.encode())
        return read_phase(path, unit, tau0_s, column)


def measured(file: Path, run: Path, **settings: Any) -> Result:
    (found,) = carry_out.carry_out(Work(MEASUREMENT, PhaseSettings(file=str(file), **settings), run)).results
    return found


def nanoseconds(found: FilePhase) -> list[float]:
    return [round(value, 6) for value in (found.phase_s * 1e9).tolist()]


def lines(form: str, values: Sequence[float], step: float = 1.0) -> str:
    """One line of `form` for each value: its place is {n}, its moment {t}, its value {v}."""
    return "".join(form.format(n=n, t=BEGIN + step * n, v=value) + "\n" for n, value in enumerate(values))


PTP4L = "ptp4l[{t:.3f}]: master offset {v:10d} s2 freq  -75{n:03d} path delay      91{n:02d}"
PHC2SYS = "phc2sys[{t:.3f}]: CLOCK_REALTIME phc offset {v:9d} s2 freq   +{n} delay   12{n:02d}"


def loopstats(values: Sequence[float], poll_s: float = 64.0) -> str:
    return "".join(
        f"60676 {34.123 + poll_s * n:.3f} {value * 1e-9:.9f} -12.{n:03d} 0.000001234 0.001234 6\n"
        for n, value in enumerate(values)
    )


def tracking(values: Sequence[float]) -> str:
    bar = "=" * 40 + "\n   Date (UTC) Time     IP Address   St   Freq ppm   Skew ppm   Offset L Co\n" + "=" * 40 + "\n"
    return bar + "".join(
        f"2026-11-28 23:{59 if n < 6 else 0:02d}:{(10 * n) % 60:02d} 192.0.2.15     2     -3.{n:03d}      0.075 "
        f"{value * 1e-9: .3e} N  1  2.940e-09 -2.084e-10  1.534e-02  3.472e-04  8.304e-03\n".replace(
            "2026-11-28 23:00", "2026-11-29 00:00"
        )
        for n, value in enumerate(values)
    )


def peerstats(values: Sequence[float], peer: str = "192.0.2.1") -> str:
    return "".join(
        f"60676 {86000.5 + 64 * n:.3f} {peer} 961a {value * 1e-9:.9f} 0.000123{n:03d} 0.001 0.0002\n"
        if n < 7
        else f"60677 {86000.5 + 64 * n - 86400:.3f} {peer} 961a {value * 1e-9:.9f} 0.000123{n:03d} 0.001 0.0002\n"
        for n, value in enumerate(values)
    )


def test_ptp4ls_log_was_analysed_as_its_path_delay() -> None:
    found = read("ptp4l[4849.1]: port 1: UNCALIBRATED to SLAVE\n" + lines(PTP4L, OFFSETS))
    assert nanoseconds(found) == OFFSETS
    assert (found.form, found.column, found.unit, found.tau0_s, found.timed) == ("ptp4l", "offset", "ns", 1.0, True)
    assert [flag.name for flag in found.flags] == ["steered"]
    delays = read(lines(PTP4L, OFFSETS), column="path-delay")
    assert nanoseconds(delays)[:3] == [9100, 9101, 9102]
    assert nanoseconds(read(lines(PTP4L, OFFSETS), column="3"))[:3] == [9100, 9101, 9102]


@pytest.mark.parametrize(
    "form",
    [
        PHC2SYS,
        "phc2sys[{t:.3f}]: [0:config] eth0 sys offset {v:9d} s2 freq +{n} delay 1200",
        "ts2phc[{t:.3f}]: eth0 master offset {v:d} s2 freq -{n}",
        "Nov 29 01:00:00 host ptp4l: [{t:.3f}] master offset {v:d} s2 freq -{n} path delay 9177",
        "Nov 29 01:00:00 host ptp4l[812]: [{t:.3f}] [ptp4l.0.config] master offset {v:d} s2 freq -{n} path delay 9177",
    ],
)
def test_servos_are_read_wherever_they_log(form: str) -> None:
    found = read(lines(form, OFFSETS))
    assert (nanoseconds(found), found.tau0_s) == (OFFSETS, 1.0)


def test_a_log_of_two_clocks_is_refused_with_their_names() -> None:
    with pytest.raises(PlanError, match="2 clocks: ptp4l master, phc2sys CLOCK_REALTIME phc"):
        read(lines(PTP4L, OFFSETS) + lines(PHC2SYS, OFFSETS))
    with pytest.raises(PlanError, match=r"only summaries .*rms 12"):
        read("ptp4l[1.5]: rms   12 max   34 freq  -75000 +/-  11 delay  9177 +/-   3\n" * 20)
    with pytest.raises(PlanError, match=r"2 peers: 192.0.2.1, 192.0.2.2"):
        read(peerstats(OFFSETS) + peerstats(OFFSETS, "192.0.2.2"))


def test_ntps_loopstats_were_analysed_as_their_poll_interval() -> None:
    found = read(loopstats(OFFSETS))
    assert (nanoseconds(found), found.form, found.tau0_s) == (OFFSETS, "ntpd loopstats", 64.0)
    with pytest.raises(PlanError, match=r"'freq' of .* is a frequency, not a phase"):
        read(loopstats(OFFSETS), column="freq")


def test_peerstats_across_midnight_and_chronys_tracking_are_read() -> None:
    found = read(peerstats(OFFSETS))
    assert (nanoseconds(found), found.form, found.tau0_s) == (OFFSETS, "ntpd peerstats", 64.0)
    chrony = read(tracking(OFFSETS) + "2026-11-29 00:0")
    assert (nanoseconds(chrony), chrony.form, chrony.tau0_s) == (OFFSETS, "chrony tracking.log", 10.0)
    assert [flag.name for flag in chrony.flags] == ["steered", "lines-left-out"]


@pytest.mark.parametrize(
    ("form", "columns"),
    [
        ("chrony statistics.log", "1.2e-06 {offset} 1.1e-07 -1.2e-08  3.4e-08 1.2e-01  16   0   8  0.00"),
        (
            "chrony measurements.log",
            "N  2 111 111 1111   6  6 0.00 {offset}  1.2e-04  1.0e-06  0.0e+00  1.0e-05 50505300 4B K K",
        ),
    ],
)
def test_chronys_other_logs_were_no_list_of_numbers(form: str, columns: str) -> None:
    head = "=" * 40 + "\n   Date (UTC) Time     IP Address    Std dev'n Est offset\n" + "=" * 40 + "\n"
    text = "".join(
        f"2026-11-28 23:{n // 6:02d}:{10 * n % 60:02d} 192.0.2.15 {columns.format(offset=f'{value * 1e-9:10.3e}')}\n"
        for n, value in enumerate(OFFSETS)
    )
    found = read(head + text)
    assert (nanoseconds(found), found.form, found.tau0_s) == (OFFSETS, form, 10.0)
    with pytest.raises(PlanError, match="2 peers"):
        read(head + text + text.replace("192.0.2.15", "2001:db8::1"))


def test_a_head_of_stable32_whose_lines_are_comments_ends_where_it_says() -> None:
    found = read(
        "File: X.PHD\nDate: 01/02/26\nType: Phase\n# Header End\n" + "1e-9\n3e-9\n2e-9\n5e-9\n4e-9\n", None, 1.0
    )
    assert nanoseconds(found) == [1, 3, 2, 5, 4]


def test_a_decimal_comma_was_read_as_two_columns() -> None:
    values = [-0.25588, 0.255551, 0.029455, -0.285613, -1.215632, 0.5, 0.25, 0.125, 1.0625]
    found = read("".join(f"{value:.6f}\n".replace(".", ",") for value in values), "ns", 1.0)
    assert nanoseconds(found) == [round(value, 6) for value in values]
    (flag,) = found.flags
    assert "'-0,255880' is read as '-0.255880'" in flag.text
    of_file = deviation(ADEV, [found.phase_s], 1, 1.0)
    assert of_file == pytest.approx(deviation(ADEV, [np.array(values) * 1e-9], 1, 1.0))


@pytest.mark.parametrize("text", ["1,234E-9\n2,345E-9\n1,045E-9\n", "1234,567\n1234,067\n", "0,5 7,25\n1,0 3,5\n"])
def test_numbers_that_are_no_thousands_are_read_with_their_commas(text: str) -> None:
    meant = [float(line.split()[-1].replace(",", ".")) for line in text.splitlines()]
    assert read(text, "s", None if " " in text else 1.0).phase_s.tolist() == meant


@pytest.mark.parametrize(
    "text",
    [
        "0,100\n1,200\n2,300\n",  # a time and integers, or 0.1, 1.2, 2.3
        "12,345\n13,346\n15,347\n",  # thousands
        "12,5\n13,6\n15,8\n",
        "0;12,345\n1;13,346\n",
        "0,05\n1,05\n2,05\n",
    ],
)
def test_commas_that_may_be_either_are_refused(text: str) -> None:
    if text.startswith("0,100"):
        assert read(text, "s").phase_s.tolist() == [100.0, 200.0, 300.0]  # evenly rising integers are times
        return
    with pytest.raises(PlanError, match="commas may be decimal commas or separate columns: it begins with"):
        read(text, tau0_s=1.0)


def test_the_last_column_of_three_was_taken_silently() -> None:
    text = lines("{t:.1f} {v} {n}.5", OFFSETS)
    with pytest.raises(PlanError, match=r"columns 1, 2, 3; it begins with '4850.9 0 0.5' / '4851.9 3 1.5'") as refused:
        read(text)
    assert refused.value.field == "column" and "\n" not in str(refused.value)
    assert nanoseconds(read(text, "ns", column="2")) == OFFSETS
    with pytest.raises(PlanError, match="nothing says which column is the phase"):
        read(lines("{v} 2{v}.5", [abs(value) for value in OFFSETS]), tau0_s=1.0)
    with pytest.raises(PlanError, match="no column '4'"):
        read(text, column="4")


@pytest.mark.parametrize(
    "text",
    [
        lines("{t:.1f},{n},{v}", OFFSETS).join(["time,temperature,phase (ns)\n", ""]),
        lines("{t:.1f}\t{n}\t{v}", OFFSETS).join(["Time (s)\tTemperature\tPhase (ns)\n", ""]),
        lines("{t:.1f} {v}", OFFSETS).join(["# HP 53132A\n# time phase_ns\n", ""]),
        lines("{n},5;{v},0", OFFSETS).join(["t_s;x_ns\n", ""]),
        "\N{ZERO WIDTH NO-BREAK SPACE}" + lines("{n} {v}e-9", OFFSETS).replace("\n", "\r\n"),
    ],
)
def test_names_and_units_of_a_head_are_used(text: str) -> None:
    found = read(text)
    assert (nanoseconds(found), found.tau0_s, found.timed) == (OFFSETS, 1.0, True)


def test_a_unit_or_a_name_that_the_head_contradicts_is_refused() -> None:
    text = "time phase_ns\n" + lines("{t:.1f} {v}", OFFSETS)
    with pytest.raises(PlanError, match=r"'phase_ns' of .* is in ns, not in s"):
        read(text, "s")
    with pytest.raises(PlanError, match=r"'frequency' of .* is a frequency"):
        read("frequency\n1e-9\n2e-9\n", tau0_s=1.0)
    assert nanoseconds(read(text, column="Phase NS")) == OFFSETS


def test_a_time_column_that_contradicts_tau0_was_ignored() -> None:
    text = lines("{t:.1f} {v}e-9", OFFSETS, 0.5)
    assert read(text).tau0_s == 0.5
    assert read(text, tau0_s=0.5).tau0_s == 0.5
    for column in (None, "2"):
        with pytest.raises(PlanError, match=r"own times are 0.5 s apart, not 1 s") as refused:
            read(text, tau0_s=1.0, column=column)
        assert refused.value.field == "tau0"
    with pytest.raises(PlanError, match=r"tau0: it is not given, and .* has no times"):
        read("1e-9\n2e-9\n")


def test_phases_of_a_clock_that_cannot_be_were_taken_as_seconds() -> None:
    text = "-0,255880\n0,255551\n0,029455\n-0,285613\n-1,215632\n" * 4
    with pytest.raises(PlanError, match=r"unit: it is not given, and as seconds the phases of .* change by 5\d\.\d %"):
        read(text, tau0_s=1.0)
    assert nanoseconds(read(text, "ns", 1.0))[1] == pytest.approx(0.255551)
    assert read(text, "s", 1.0).unit == "s"


def test_gaps_of_a_time_column_were_ignored() -> None:
    phase = [7.0 * n for n in range(100)]
    kept = [n for n in range(100) if not 40 <= n < 60]
    found = read("".join(f"{2 * n} {phase[n]}\n" for n in kept), "ns")
    assert (found.tau0_s, found.place.tolist()) == (2.0, kept)
    log = from_phase(found.phase_s, found.tau0_s, found.place)
    assert [(one.reason, one.at_s, one.size_s) for one in log.breaks] == [("gap", 78.0, 42.0)]
    assert (log.missing, log.readings) == (20, 80)
    # The clock's rate goes on across the gap: nothing of it is a step of phase.
    assert deviation(ADEV, [one.phase_s for one in log.stretches], 1, 2.0) == pytest.approx(0.0, abs=1e-18)


def test_times_that_are_uneven_or_go_back_are_refused() -> None:
    with pytest.raises(PlanError, match=r"not at equal intervals \(1 to 29"):
        read("".join(f"{n * n} {n}\n" for n in range(16)))
    with pytest.raises(PlanError, match=r"do not rise after reading 12"):
        read(lines(PTP4L, OFFSETS) + lines(PTP4L, OFFSETS))
    late = [*range(40), *(n + 0.1 for n in range(40, 60))]
    steady = read("".join(f"{t:.1f} {1e-6 * t:.9f}\n" for t in late))
    assert steady.phase_s == pytest.approx(1e-6 * np.arange(60), abs=2e-7)
    twice = read("".join(f"{t} {n}e-9\n" for n, t in enumerate([*range(30), 29.4, *range(30, 60)])))
    assert [flag.name for flag in twice.flags] == ["uneven-times"]


def test_a_phase_that_was_read_late_is_brought_to_its_place() -> None:
    """A clock of 10 ppm whose readings come up to 20 ms late: their lateness is no noise of the clock."""
    late = 0.02 * np.random.default_rng(3).random(400)
    text = "".join(f"{n + x:.6f} {1e-5 * (n + x):.15e}\n" for n, x in enumerate(late))
    found = read(text)
    assert found.tau0_s == pytest.approx(1.0, rel=1e-4)
    assert deviation(ADEV, [found.phase_s], 1, found.tau0_s) < 1e-11


def test_times_like_mjd_are_only_taken_where_a_name_or_tau0_says_so() -> None:
    text = "".join(f"{60_676 + n / 86_400:.9f} {value}e-9\n" for n, value in enumerate(OFFSETS))
    with pytest.raises(PlanError, match=r"not named: they are 1.157\d*e-05 s or 1 s apart"):
        read(text)
    assert read(text, tau0_s=1.0).tau0_s == 1.0
    named = read("MJD phase\n" + text)
    assert (named.tau0_s, nanoseconds(named)) == (1.0, OFFSETS)


def test_milliseconds_since_1970_were_taken_as_seconds() -> None:
    text = "".join(f"{1_795_000_000_000 + 1000 * n} {value}e-9\n" for n, value in enumerate(OFFSETS))
    with pytest.raises(PlanError, match="they are 1000 s or 1 s apart"):
        read(text)
    assert read(text, tau0_s=1.0).tau0_s == read("time_ms phase\n" + text).tau0_s == 1.0


def test_times_behind_the_phase_are_used_too() -> None:
    text = "".join(f"{value}e-9 {2 * n}\n" for n, value in enumerate(OFFSETS) if n != 7)
    found = read(text)
    assert (found.tau0_s, found.column, len(found.place), found.place[-1]) == (2.0, "1", 11, 11)
    with pytest.raises(PlanError, match="2 s apart, not 1 s"):
        read(text, tau0_s=1.0, column="1")


def test_a_head_of_stable32_gives_the_interval_and_says_what_the_numbers_are() -> None:
    head = "File: TIC.PHD\nDate: 11/29/26\nTau={tau}\nFile Type: {kind}\nHeader End\n"
    phase = "".join(f"{value}e-9\n" for value in OFFSETS)
    found = read(head.format(tau="1.0000e+01", kind="Phase") + phase)
    assert (found.tau0_s, nanoseconds(found), found.form) == (10.0, OFFSETS, "Stable32")
    with pytest.raises(PlanError, match="says 10 s"):
        read(head.format(tau="1.0000e+01", kind="Phase") + phase, tau0_s=1.0)
    with pytest.raises(PlanError, match="is a frequency"):
        read(head.format(tau="1", kind="Frequency") + phase)


def test_phase_of_others_is_read(tmp_path: Path) -> None:
    found = read("# counter\n0 1.5\n1 nan\n2 -2.5e3\n" + "".join(f"{n} 0\n" for n in range(3, 11)), "ns")
    assert found.phase_s[:3] == pytest.approx([1.5e-9, np.nan, -2.5e-6], nan_ok=True)
    assert read("0,1\n1,2\n", "s", name="tic.csv").phase_s.tolist() == [1.0, 2.0]
    np.save(tmp_path / "tic.npy", np.arange(3000.0))
    saved = read_phase(tmp_path / "tic.npy", "s", 0.5)
    assert (len(saved.phase_s), saved.tau0_s, saved.timed) == (3000, 0.5, False)
    np.save(tmp_path / "two.npy", np.column_stack((np.arange(10.0) * 3, np.ones(10))))
    assert read_phase(tmp_path / "two.npy").tau0_s == 3.0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a b\n", "no list of numbers"),
        ("", "it is empty"),
        ("1\ninf\n", "infinite"),
        ("# only\n", "it is empty"),
        ("2026-11-29T01:00:00,1e-9\n", "begins with '2026-11-29T01:00:00,1e-9'"),
        ("1;2\n3;\n", "no list of numbers"),
        ("time phase\n1 2 3\n", "names 2 columns of 3"),
    ],
)
def test_a_file_that_is_none_is_one_sentence(content: str, said: str) -> None:
    with pytest.raises(PlanError, match=said) as refused:
        read(content, tau0_s=1.0)
    assert "\n" not in str(refused.value)
    with pytest.raises(PlanError, match="no unit 'h'"):
        read(content, "h")
    with pytest.raises(PlanError, match="cannot read"):
        read_phase(Path("none.txt"))


def test_what_was_read_is_said_in_the_result(tmp_path: Path) -> None:
    log, silent = tmp_path / "ptp4l.log", tmp_path / "tic.txt"
    log.write_text(lines(PTP4L, OFFSETS * 4), "utf-8")
    silent.write_text("".join(f"{value}e-9\n" for value in OFFSETS * 4), "utf-8")
    found = measured(log, tmp_path / "run")
    assert "Phase is 'offset' of a log of ptp4l, in ns." in found.remarks
    assert "The file's own times are 1 s apart." in found.remarks
    assert found.flagged("steered")
    blind = measured(silent, tmp_path / "blind", tau0_s=2.0)
    assert any("no times: phases are taken as 2 s apart" in said for said in blind.remarks)
    with pytest.raises(PlanError, match=r"tau: 1.5s is no whole number of the 1 s"):
        measured(log, tmp_path / "odd", tau="1.5s")
    assert not (tmp_path / "odd").exists()


phases = st.lists(st.floats(-1e3, 1e3, allow_nan=False).map(lambda value: round(value, 6)), min_size=2, max_size=30)


@given(
    values=phases,
    separator=st.sampled_from([" ", "\t", ";", ",", ", "]),
    comma=st.booleans(),
    digits=st.integers(0, 6),
    timed=st.booleans(),
    start=st.integers(0, 100_000),
    head=st.sampled_from(["", "# made by us\n", "time{0}phase\n"]),
    mark=st.booleans(),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_a_table_is_read_as_it_was_meant_or_refused(
    values: list[float],
    separator: str,
    comma: bool,
    digits: int,
    timed: bool,
    start: int,
    head: str,
    mark: bool,
    ending: str,
) -> None:
    """However numbers are spelled: never other values than were written."""
    spelled = [f"{value:.{digits}f}".replace(".", "," if comma else ".") for value in values]
    rows = [f"{start + n}{separator}{text}" if timed else text for n, text in enumerate(spelled)]
    head = head.format(separator) if timed else head.partition("{")[0].replace("time", "phase\n")
    text = ("\N{ZERO WIDTH NO-BREAK SPACE}" if mark else "") + head + "".join(row + "\n" for row in rows)
    try:
        found = read(text.replace("\n", ending), "s", None if timed else 1.0)
    except PlanError as refused:
        assert comma or "unit of the file's times" in str(refused)
        return
    meant = [float(text.replace(",", ".")) for text in spelled]
    if comma and separator in (",", ", ") and timed and "." not in text:
        assert found.phase_s.tolist() == meant or digits == 0
    else:
        assert found.phase_s == pytest.approx(meant, abs=1e-9)
        assert found.tau0_s == 1.0


@given(st.text(alphabet="0123456789.,;+-eE# \t\nnaif:[]sptx4l", max_size=200), st.sampled_from([None, "1", "2", "x"]))
def test_any_text_is_read_or_refused_in_one_sentence(text: str, column: str | None) -> None:
    try:
        found = read(text, None, None, column)
    except PlanError as refused:
        assert "\n" not in str(refused)
    else:
        assert len(found.place) == len(found.phase_s) > 0
        assert (np.diff(found.place) >= 0).all()


@given(st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=40), st.data())
def test_a_servos_log_with_gaps_keeps_each_offset_at_its_place(values: list[int], data: st.DataObject) -> None:
    steps = data.draw(st.lists(st.sampled_from([1, 1, 1, 1, 1, 2, 7]), min_size=len(values), max_size=len(values)))
    steps[:2] = [1, 1]
    if np.median(steps[1:]) != 1:
        return
    place = np.cumsum(steps) - 1
    text = "".join(
        f"ptp4l[{1000 + 0.125 * at:.3f}]: master offset {value} s2 freq +0 path delay 5\n"
        for at, value in zip(place, values, strict=True)
    )
    found = read(text)
    assert (nanoseconds(found), found.place.tolist(), found.tau0_s) == (values, place.tolist(), 0.125)
