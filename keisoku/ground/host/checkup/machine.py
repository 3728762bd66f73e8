"""Findings about the machine: its CPUs, how quiet it is, its clocks, and what this user may do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from keisoku._core import HAS_BPF
from keisoku.ground.host.capability import missing
from keisoku.ground.host.checkup.finding import Finding, Mend
from keisoku.ground.host.context import NOT_VISIBLE, host_context
from keisoku.ground.host.governor import CPUS
from keisoku.ground.host.look import HostLook, look_at_host
from keisoku.language import join_texts, phrase, plural

HOST = phrase("host")
"""What the findings are about."""
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
        remedy = phrase("run keisoku with sudo, or give the capabilities with setpriv or systemd (docs/install.md)")
        yield Finding(
            HOST,
            "problem",
            phrase("this user may not measure on real ports: {absent} absent", absent=join_texts(", ", absent)),
            remedy,
        )
    elif missing(["CAP_SYS_ADMIN"]):
        yield Finding(
            HOST, "note", phrase("this user may measure on ports, but not build labs"), phrase("labs need root")
        )
    else:
        yield Finding(HOST, "good", phrase("this user may measure on ports and build labs"))


def _engines() -> Iterator[Finding]:
    if HAS_BPF:
        yield Finding(HOST, "good", phrase("all engines are built in"))
    else:
        remedy = phrase("install clang and libbpf-dev and build again, or install a wheel")
        yield Finding(HOST, "problem", phrase("the engines xdp and afxdp were left out of this build"), remedy)


def _cpus() -> Iterator[Finding]:
    usable = len(os.sched_getaffinity(0))
    if usable < CPUS_WANTED:
        said = plural(
            "only {count} CPU: sender, accounting and device share it",
            "only {count} CPUs: sender, accounting and device share them",
            count=usable,
        )
        yield Finding(
            HOST,
            "note",
            said,
            phrase("use a machine with {cpus_wanted} CPUs or more for the highest loads", cpus_wanted=CPUS_WANTED),
        )
    else:
        yield Finding(HOST, "good", phrase("{usable} CPUs", usable=usable))


def _quiet(look: HostLook) -> Iterator[Finding]:
    remedy = phrase("end other programs, or measure with --repeat or ab: their intervals contain the noise")
    yield Finding(HOST, "good", look.sentence()) if look.quiet else Finding(HOST, "note", look.sentence(), remedy)


def _steal() -> Iterator[Finding]:
    fields = [int(field) for field in Path("/proc/stat").read_text().partition("\n")[0].split()[1:]]
    share = fields[7] / max(1, sum(fields[:8])) if len(fields) > 7 else 0.0
    if share >= STEAL:
        said = phrase(
            "the hypervisor has given {share:.1f} % of this machine's CPU time to others since it was booted",
            share=100 * share,
        )
        remedy = phrase(
            "disturbed trials are marked and repeated; dedicated CPUs (pinned by the hypervisor) avoid this"
        )
        yield Finding(HOST, "note", said, remedy)
    else:
        yield Finding(HOST, "good", phrase("no CPU time was given to other machines by a hypervisor (steal)"))


def _governor(now: str) -> Iterator[Finding]:
    if now == NOT_VISIBLE:
        remedy = phrase("where the machine is a virtual one, set it on its host")
        yield Finding(
            HOST, "note", phrase("the CPU's frequency governor is not visible, as in most virtual machines"), remedy
        )
    elif now == "performance":
        yield Finding(HOST, "good", phrase("the CPU's frequency governor is 'performance'"))
    else:
        remedy = f"echo performance | sudo tee {CPUS}/cpu*/cpufreq/scaling_governor"
        said = phrase("the CPU's frequency governor is '{now}': latencies include the change of its speed", now=now)
        yield Finding(
            HOST, "problem", said, remedy, Mend("governor", "performance", phrase("the CPUs' governor 'performance'"))
        )


def _clock(now: str) -> Iterator[Finding]:
    if now in _STEADY:
        yield Finding(HOST, "good", phrase("the clock source is {now}", now=now))
    else:
        remedy = phrase("echo tsc | sudo tee {clock}, if the kernel offers it", clock=_CLOCK)
        yield Finding(HOST, "problem", phrase("the clock source is {now}, which is slow to read", now=now), remedy)
