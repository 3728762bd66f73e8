"""Findings about the machine: its CPUs, how quiet it is, its clocks, and what this user may do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from keisoku._core import HAS_BPF
from keisoku.host.capability import missing
from keisoku.host.checkup.finding import Finding, Mend
from keisoku.host.context import NOT_VISIBLE, host_context
from keisoku.host.governor import CPUS
from keisoku.host.look import HostLook, look_at_host

CPUS_WANTED = 3
"""One for the sender, one for the accounting, one for the device and everything else."""
STEAL = 0.01
"""Share of the CPUs' time that a hypervisor gives to others, since the boot, from which on it is worth a word."""
_CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_STEADY = ("tsc", "arch_sys_counter", "kvm-clock")
_NEEDED = ("CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_PERFMON", "CAP_BPF")


def machine_findings(look: HostLook | None = None) -> list[Finding]:
    """All of them; `look` is made now if it is not given, which takes a second."""
    known = host_context()
    clocks = (*_governor(str(known["governor"])), *_clock(str(known["clock_source"])))
    return [*_rights(), *_engines(), *_cpus(), *_quiet(look or look_at_host()), *_steal(), *clocks]


def _rights() -> Iterator[Finding]:
    if absent := missing(_NEEDED):
        remedy = "run keisoku with sudo, or give the capabilities with setpriv or systemd (docs/install.md)"
        yield Finding("host", "problem", f"this user may not measure on real ports: {', '.join(absent)} absent", remedy)
    elif missing(["CAP_SYS_ADMIN"]):
        yield Finding("host", "note", "this user may measure on ports, but not build labs", "labs need root")
    else:
        yield Finding("host", "good", "this user may measure on ports and build labs")


def _engines() -> Iterator[Finding]:
    if HAS_BPF:
        yield Finding("host", "good", "all engines are built in")
    else:
        remedy = "install clang and libbpf-dev and build again, or install a wheel"
        yield Finding("host", "problem", "the engines xdp and afxdp were left out of this build", remedy)


def _cpus() -> Iterator[Finding]:
    usable = len(os.sched_getaffinity(0))
    if usable < CPUS_WANTED:
        said = f"{usable} CPU{'s' if usable > 1 else ''} for sender, accounting and device: they share them"
        yield Finding("host", "note", said, f"use a machine with {CPUS_WANTED} CPUs or more for the highest loads")
    else:
        yield Finding("host", "good", f"{usable} CPUs")


def _quiet(look: HostLook) -> Iterator[Finding]:
    remedy = "end other programs, or measure with --repeat or ab: their intervals contain the noise"
    yield Finding("host", "good", look.sentence()) if look.quiet else Finding("host", "note", look.sentence(), remedy)


def _steal() -> Iterator[Finding]:
    fields = [int(field) for field in Path("/proc/stat").read_text().partition("\n")[0].split()[1:]]
    share = fields[7] / max(1, sum(fields[:8])) if len(fields) > 7 else 0.0
    if share >= STEAL:
        said = f"the hypervisor has given {100 * share:.1f} % of this machine's CPU time to others since it was booted"
        remedy = "trials that it spoils are marked and repeated; CPUs of its own (pinned by the hypervisor) have none"
        yield Finding("host", "note", said, remedy)
    else:
        yield Finding("host", "good", "no CPU time was given to other machines by a hypervisor (steal)")


def _governor(now: str) -> Iterator[Finding]:
    if now == NOT_VISIBLE:
        remedy = "where the machine is a virtual one, set it on its host"
        yield Finding(
            "host", "note", "the CPU's frequency governor is not visible, as in most virtual machines", remedy
        )
    elif now == "performance":
        yield Finding("host", "good", "the CPU's frequency governor is 'performance'")
    else:
        remedy = f"echo performance | sudo tee {CPUS}/cpu*/cpufreq/scaling_governor"
        said = f"the CPU's frequency governor is '{now}': latencies include the change of its speed"
        yield Finding(
            "host", "problem", said, remedy, Mend("governor", "performance", "the CPUs' governor 'performance'")
        )


def _clock(now: str) -> Iterator[Finding]:
    if now in _STEADY:
        yield Finding("host", "good", f"the clock source is {now}")
    else:
        remedy = f"echo tsc | sudo tee {_CLOCK}, if the kernel offers it"
        yield Finding("host", "problem", f"the clock source is {now}, which is slow to read", remedy)
