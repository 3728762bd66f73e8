"""Findings about what can be measured from here: simulated devices, lab devices, and devices between ports of this
host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keisoku.ground.host.checkup.finding import Finding
from keisoku.ground.lab.available import available
from keisoku.ground.lab.device.catalogue import FAMILIES
from keisoku.ground.lab.device.kernel_part import MODULES, absence, loadable
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.testbed.host_port_list import HostPort

ABOUT = phrase("what can be measured")


def device_findings(ports: Sequence[HostPort]) -> list[Finding]:
    """Tries each part of the kernel that a lab device needs, in namespaces without a name."""
    said = phrase("simulated devices (--dut sim:NAME): 'keisoku devices' lists them")
    return [Finding(ABOUT, "good", said), *_labs(), between(ports)]


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
    said = phrase(
        "lab devices (--dut lab:NAME): {count} of {every} kinds",
        count=len(FAMILIES) - len(without),
        every=len(FAMILIES),
    )
    yield Finding(ABOUT, "good", phrase("{said}: 'keisoku lab --kinds' lists them", said=said))
    if packages:
        said = phrase("lab devices whose programs are not installed: {families}", families=_families(packages))
        yield Finding(ABOUT, "note", said, f"sudo apt install {' '.join(sorted(packages))}")
    if modules:
        said = phrase(
            "lab devices whose part of the kernel cannot be used here: {families}", families=_families(modules)
        )
        here = sorted(loadable(MODULES) & modules.keys())
        none = phrase("this kernel has no modules for them; those of most distributions have")
        yield Finding(ABOUT, "note", said, f"sudo modprobe -a {' '.join(here)}" if here else none)


def _families(by_need: dict[str, list[str]]) -> str:
    return ", ".join(sorted({family for families in by_need.values() for family in families}))


def between(ports: Sequence[HostPort]) -> Finding:
    """Whether there are two ports to measure a device between, and which."""
    free = _free(ports)
    if len(free) > 1:
        said = phrase("a device between two of these ports: {free}", free=join_texts(", ", free))
        said = phrase("{said}: keisoku throughput --tx {tx} --rx {rx}", said=said, tx=free[0], rx=free[1])
        return Finding(ABOUT, "good", said)
    has = phrase("only {port} is", port=free[0]) if free else phrase("none is")
    said = phrase(
        "no device between ports of this host: two ports are needed that are up and have a cable, and {has}",
        has=has,
    )
    return Finding(ABOUT, "note", said, phrase("connect two ports to the device: docs/measure-your-switch.md"))


def _free(ports: Sequence[HostPort]) -> list[str]:
    usable = [port for port in ports if port.takes_a_device and not port.default_route]
    return [port.name for port in usable if port.up and port.carrier]


def first_measurement(ports: Sequence[HostPort]) -> str:
    """A command that works here: of a device between two ports, else of one in a lab, else of a simulated one."""
    free = _free(ports)
    lab = "sim:gs908e" if available() else "lab:bridge"
    device = f"--tx {free[0]} --rx {free[1]}" if len(free) > 1 else f"--dut {lab}"
    return f"keisoku throughput {device} --size 64,1518 --profile quick"
