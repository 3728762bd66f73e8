"""Samples of what CPUs do: records as the kernel writes them, names by addresses, and what happens where it refuses."""

from __future__ import annotations

import os
import struct
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from keisoku.errors import PlanError
from keisoku.ground.host import cpu_samples
from keisoku.ground.host.cpu_samples import CpuSamples, records
from keisoku.ground.host.kernel_symbols import KernelSymbols

TABLE = """\
ffffffff81000000 T _stext
ffffffff81001000 t ip_forward.constprop.0
ffffffff81002000 D jiffies
ffffffffc0000000 t veth_poll\t[veth]
ffffffffc0001000 t bpf_prog_aedfefe3a185621c_forward\t[bpf]
"""


def test_records_of_a_buffer_are_told_apart() -> None:
    one = struct.pack("IHH", 9, 0, 16) + b"8 bytes."
    other = struct.pack("IHHQQ", 2, 0, 24, 1, 5)
    assert list(records(one + other + b"\0\0\0")) == [(9, b"8 bytes."), (2, struct.pack("QQ", 1, 5))]
    assert not list(records(b"\0" * 64)), "what was not written ends it"


def test_an_address_is_in_the_function_that_begins_before_it(tmp_path: Path) -> None:
    table = tmp_path / "kallsyms"
    table.write_text(TABLE)
    symbols = KernelSymbols("inside", table)
    asked = (0xFFFFFFFF81000FFF, 0xFFFFFFFF81001004, 0xFFFFFFFF81002004, 0xFFFFFFFFC0001000, 0x1000)
    names = ["_stext", "ip_forward", "ip_forward", "bpf_prog_aedfefe3a185621c_forward", ""]
    assert [symbols.name(address) for address in asked] == names


def test_a_kernel_that_hides_its_addresses_is_named(tmp_path: Path) -> None:
    table = tmp_path / "kallsyms"
    table.write_text("0000000000000000 T _stext\n0000000000000000 t ip_forward\n")
    with pytest.raises(PlanError, match=r"^inside: the kernel hides where its functions are \(kernel.kptr_restrict\)"):
        KernelSymbols("inside", table)


@pytest.mark.parametrize(
    ("number", "said"), [(13, "Permission denied"), (38, "Function not implemented"), (2, "No such file or directory")]
)
def test_a_kernel_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch, number: int, said: str) -> None:
    opened: list[int] = []

    def refused(cpu: int, period_ns: int) -> int:
        if opened:
            raise OSError(number, os.strerror(number))
        opened.append(os.memfd_create("event"))
        os.truncate(opened[0], 1 << 20)
        return opened[0]

    monkeypatch.setattr(cpu_samples, "_opened", refused)
    monkeypatch.setattr(cpu_samples, "_online", lambda: [0, 1])
    with pytest.raises(PlanError, match=rf"lets nobody here look where its CPUs are \({said}\)"):
        CpuSamples(100_000, 0.1, "inside")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])


def test_this_process_is_seen_where_it_works() -> None:
    try:
        samples = CpuSamples(100_000, 0.5, "inside")
    except PlanError as refused:
        pytest.skip(str(refused))
    # What fills such a buffer is the kernel: how dear a call itself is differs from kernel to kernel.
    buffer = bytearray(10_000_000)
    with samples, Path("/dev/zero").open("rb", buffering=0) as zeros:
        for _ in range(50):
            zeros.readinto(buffer)
    own = [sample for sample in samples.found if sample.thread == threading.get_native_id()]
    in_kernel = [sample for sample in own if sample.calls]
    assert len(own) > 50 and len(in_kernel) > len(own) / 2 and samples.lost == 0
    assert all(one.at_ns <= other.at_ns for one, other in pairwise(own) if one.cpu == other.cpu)
    symbols = KernelSymbols("inside")
    names = {symbols.name(address) for sample in in_kernel for address in sample.calls}
    assert any("read" in name for name in names)
