"""What the build says of a bitstream, what it refuses, and the words that load one."""

from dataclasses import replace
from pathlib import Path

import pytest

from keisoku.errors import EngineError, PlanError
from keisoku.ground.fpga import build, flash
from keisoku.ground.fpga.board import FPGA, Board, board, boards, every_board, named
from keisoku.ground.fpga.build import (
    BEGIN,
    END,
    Bitstream,
    Clock,
    described,
    overfull,
    run,
    sources,
    table,
    write_table,
)


def bitstream(**changed: object) -> Bitstream:
    good = Bitstream(
        board("colorlight_5a_75b"),
        1,
        Path("top.bit"),
        "0" * 64,
        (Clock("clk", 126.0, 125.0), Clock("time_clk", 130.0, 128.125)),
        {"DP16KD": (40, 56)},
    )
    return replace(good, **changed)  # type: ignore[arg-type]


def test_a_good_bitstream_has_no_faults() -> None:
    assert bitstream().faults() == []
    assert "126.0 MHz" in described(bitstream())


def test_a_clock_that_misses_its_frequency_is_a_fault() -> None:
    slow = bitstream(clocks=(Clock("time_clk", 128.1, 128.125),))
    assert slow.faults() == ["clock time_clk reaches 128.1 MHz and must reach 128.125 MHz"]
    assert "MISSED" in described(slow)


@pytest.mark.parametrize(("slow_seeds", "code"), [((), 0), ((2,), 0), ((1, 2), 1)])
def test_a_board_needs_one_seed_that_keeps_all_clocks(
    slow_seeds: tuple[int, ...], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def placed(target: Board, seed: int) -> Bitstream:
        return bitstream(board=target, seed=seed, clocks=(Clock("clk", 124.0 if seed in slow_seeds else 126.0, 125.0),))

    monkeypatch.setattr(build, "placed", placed)
    monkeypatch.setattr(build, "write_table", lambda *_: None)
    assert build.main(["table", "colorlight_5a_75b-8.0", "--seed", "1", "2"]) == code
    assert capsys.readouterr().err.count("must reach 125.000 MHz") == len(slow_seeds)


def test_a_design_that_leaves_no_room_is_a_fault() -> None:
    assert bitstream(cells={"DP16KD": (56, 56)}).faults() == ["56 DP16KD are used and at most 55 are allowed"]


def test_a_design_that_does_not_fit_is_named() -> None:
    log = "Info: \t          TRELLIS_FF:   19685/  24288    81%\nInfo: \t        TRELLIS_COMB:   29742/  24288   122%\n"
    assert overfull(log) == ["29742 of 24288 TRELLIS_COMB"]


def test_every_board_has_what_it_needs() -> None:
    assert boards() == ["colorlight_5a_75b", "versa_ecp5"]
    for name in boards():
        folder = board(name).folder
        assert all((folder / file).is_file() for file in ("top.sv", "top.lpf", "README.md"))
    assert board("colorlight_5a_75b", "8.2").part == "LFE5U-25F-7BG256I"


def test_no_pin_is_used_twice_and_none_is_left_out() -> None:
    for name in boards():
        lines = (board(name).folder / "top.lpf").read_text().splitlines()
        located = [line.split('"')[1::2] for line in lines if line.startswith("LOCATE")]
        assert len({pin for _, pin in located}) == len(located) == len({port for port, _ in located})
        assert not name.startswith("colorlight") or "R6" not in {pin for _, pin in located}, "the PHYs' reset"


def test_all_revisions_of_all_boards_are_made() -> None:
    names = [one.full_name for one in every_board()]
    assert names == ["colorlight_5a_75b-8.0", "colorlight_5a_75b-8.2", "versa_ecp5-1"]
    assert [named(name) for name in names] == every_board()


def test_the_table_has_a_row_for_each_bitstream_and_replaces_the_one_before(tmp_path: Path) -> None:
    slow = bitstream(
        seed=2, clocks=(Clock("clocks.clk", 124.0, 125.0), Clock("rgmii_rx_clk[1]$TRELLIS_IO_IN", 150.0, 125.0))
    )
    lines = table([bitstream(), slow]).splitlines()
    assert "| `clk` (125) | `rgmii_rx_clk` (125) | `time_clk` (128.125) | DP16KD |" in lines[0]
    assert lines[2].endswith("| 1 | 126.0 | — | 130.0 | 40 of 56, 71 % |")
    assert lines[3].endswith("| 2 | 124.0 (missed) | 150.0 | — | 40 of 56, 71 % |")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nstale\n{END}\nafter\n")
    write_table([slow], page)
    text = page.read_text()
    assert (
        "stale" not in text
        and text.startswith("before\n")
        and text.endswith("\nafter\n")
        and "| 2 | 124.0 (missed) |" in text
    )


def test_an_unknown_board_or_revision_is_refused() -> None:
    with pytest.raises(PlanError, match="colorlight_5a_75b, versa_ecp5"):
        board("netfpga")
    with pytest.raises(PlanError, match=r"8\.0, 8\.2"):
        board("colorlight_5a_75b", "7.0")


def test_models_are_no_part_of_a_bitstream() -> None:
    files = sources(board("colorlight_5a_75b"))
    assert not [file for file in files if "behavioural" in file.name]
    assert Path("rtl/instrument_pkg.sv") in files and len(files) == len(set(files))


def test_a_tool_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"sh failed: ERROR: no such pin"):
        run(["/bin/sh", "-c", "echo ERROR: no such pin; exit 1"], tmp_path / "log")


def test_loading_names_the_board_and_the_cable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flash, "loader", lambda: "openFPGALoader")
    file = tmp_path / "top.bit"
    file.touch()
    target = board("colorlight_5a_75b")
    assert flash.command(target, file, "ft232") == [
        "openFPGALoader", "--board", "colorlight", "--cable", "ft232", "--write-sram", str(file),
    ]  # fmt: skip
    assert flash.command(target, file, permanent=True)[3:] == ["--write-flash", "--unprotect-flash", str(file)]
    with pytest.raises(PlanError, match="there is no file"):
        flash.command(target, tmp_path / "other.bit")


def test_the_source_tree_is_where_the_package_is() -> None:
    assert (FPGA / "registers.rdl").is_file()
