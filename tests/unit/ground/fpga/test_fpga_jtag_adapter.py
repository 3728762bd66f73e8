"""What is said where JTAG cannot work: no package, no adapter, several of them. Opens no USB device."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from keisoku.errors import EngineError
from keisoku.ground.fpga.mpsse import MpsseWire, open_adapter
from keisoku.ground.fpga.transport import open_transport
from keisoku.subjects.device.engine.fpga.port import FpgaAddress


def with_adapters(patch: pytest.MonkeyPatch, *serials: str) -> list[tuple[int, int]]:
    """Puts a pyftdi in the place of the installed one; returns what it opens."""
    opened: list[tuple[int, int]] = []

    class Ftdi:
        @staticmethod
        def list_devices() -> list[tuple[SimpleNamespace, int]]:
            return [(SimpleNamespace(vid=1, pid=2, bus=3, address=at, sn=sn), 1) for at, sn in enumerate(serials)]

        def open_mpsse(self, vid: int, pid: int, bus: int, address: int, **_: object) -> None:
            opened.append((bus, address))

        def close(self) -> None:
            opened.clear()

    package, module = ModuleType("pyftdi"), ModuleType("pyftdi.ftdi")
    module.Ftdi = Ftdi  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "pyftdi", package)
    patch.setitem(sys.modules, "pyftdi.ftdi", module)
    return opened


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyftdi.ftdi", None)
    with pytest.raises(EngineError, match="package pyftdi"):
        open_transport(FpgaAddress.parse("fpga:jtag#0").target)


@pytest.mark.parametrize(
    ("there", "wanted", "words"),
    [
        ((), None, "no FTDI adapter is connected"),
        (("FT1",), "FT2", "no adapter has serial number FT2, but FT1"),
        (("FT1", "FT2"), None, "write fpga:jtag:SERIAL"),
    ],
)
def test_an_adapter_that_is_not_clear_is_refused(
    there: tuple[str, ...], wanted: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_adapters(monkeypatch, *there)
    with pytest.raises(EngineError, match=words):
        open_adapter(wanted)


def test_the_adapter_of_a_serial_number_is_opened_and_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = with_adapters(monkeypatch, "FT1", "FT2")
    wire = open_adapter("FT2")
    assert opened == [(3, 1)]
    wire.close()
    wire.close()
    assert opened == []


def test_an_adapter_that_goes_away_is_said() -> None:
    def gone(*_: object) -> bytes:
        raise OSError("no such device")

    silent = SimpleNamespace(write_data=len, read_data_bytes=lambda size, attempt: b"", close=lambda: None)
    with pytest.raises(EngineError, match="does not answer"):
        MpsseWire(silent).shift([0, 1], wanted=True)
    with pytest.raises(EngineError, match="no longer be written: no such device"):
        MpsseWire(SimpleNamespace(write_data=gone, read_data_bytes=gone, close=gone)).shift([0, 1], wanted=False)
