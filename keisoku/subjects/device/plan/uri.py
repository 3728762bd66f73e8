"""What a device or a port is, by the scheme of its URI: 'sim:gs908e', 'lab:bridge#2', 'fpga:/dev/ttyUSB0#0'."""

from __future__ import annotations


def scheme(uri: str | None) -> str:
    """What stands before the first colon; empty if nothing does."""
    before, colon, _ = (uri or "").partition(":")
    return before if colon else ""


def is_simulated(uri: str | None) -> bool:
    """Whether it is a simulated device, or a port of one."""
    return scheme(uri) == "sim"


def is_lab(uri: str | None) -> bool:
    """Whether Linux itself is the device, in a network namespace, or a port of such a one."""
    return scheme(uri) in ("lab", "vlab")


def is_virtual_lab(uri: str | None) -> bool:
    """Whether that Linux is a virtual kernel, whose clock moves on only when everything in it waits."""
    return scheme(uri) == "vlab"


def is_fpga(uri: str | None) -> bool:
    """Whether it is a port of the FPGA instrument."""
    return scheme(uri) == "fpga"


def without_scheme(uri: str) -> str:
    """The name alone: 'gs908e' of 'sim:gs908e'."""
    return uri.partition(":")[2] if scheme(uri) else uri
