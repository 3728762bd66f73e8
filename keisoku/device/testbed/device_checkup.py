"""Findings about what can be measured from here: simulated devices, lab devices, and devices between ports of this
host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keisoku.device.testbed.host_port_list import HostPort
from keisoku.host.checkup.finding import Finding
from keisoku.lab.available import available
from keisoku.lab.device.catalogue import FAMILIES
from keisoku.lab.device.kernel_part import absence

ABOUT = "what can be measured"


def device_findings(ports: Sequence[HostPort]) -> list[Finding]:
    """Tries each part of the kernel that a lab device needs, in namespaces without a name."""
    said = "simulated devices (--dut sim:NAME): 'keisoku devices' lists them"
    return [Finding(ABOUT, "good", said), *_labs(), *_real(ports)]


def _labs() -> Iterator[Finding]:
    if reason := available():
        problem, _, remedy = reason.rpartition("; ")
        yield Finding(ABOUT, "note", problem, remedy)
        return
    packages: dict[str, list[str]] = {}
    modules: dict[str, list[str]] = {}
    for family, device in FAMILIES.items():
        for program in device.programs:
            if program.path is None:
                packages.setdefault(program.package, []).append(family)
        for part in device.parts:
            if absence(part) is not None:
                modules.setdefault(part.module, []).append(family)
    without = {family for families in (*packages.values(), *modules.values()) for family in families}
    said = f"lab devices (--dut lab:NAME): {len(FAMILIES) - len(without)} of {len(FAMILIES)} kinds"
    yield Finding(ABOUT, "good", f"{said}: 'keisoku lab --kinds' lists them")
    if packages:
        said = f"lab devices whose programs are not installed: {_families(packages)}"
        yield Finding(ABOUT, "note", said, f"sudo apt install {' '.join(sorted(packages))}")
    if modules:
        said = f"lab devices whose part of the kernel cannot be used here: {_families(modules)}"
        yield Finding(ABOUT, "note", said, f"sudo modprobe -a {' '.join(sorted(modules))}, if this kernel has them")


def _families(by_need: dict[str, list[str]]) -> str:
    return ", ".join(sorted({family for families in by_need.values() for family in families}))


def _real(ports: Sequence[HostPort]) -> Iterator[Finding]:
    free = [port.name for port in ports if port.up and port.carrier and not port.default_route]
    if len(free) > 1:
        said = f"a device between two of these ports: {', '.join(free)}"
        yield Finding(ABOUT, "good", f"{said}: keisoku throughput --tx {free[0]} --rx {free[1]}")
    else:
        has = f"only {free[0]} is" if free else "none is"
        said = f"no device between ports of this host: two ports are needed that are up and have a cable, and {has}"
        yield Finding(ABOUT, "note", said, "connect two ports to the device: docs/measure-your-switch.md")
