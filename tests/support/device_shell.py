"""Commands in a device of the lab, and what is found out about it by other means than keisoku's."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.lab import Lab


@dataclass(frozen=True)
class DeviceShell:
    """`@one@` and `@two@` in commands are its interfaces, `@programs@` an object of BPF programs."""

    lab: Lab
    programs: Path | None

    @property
    def namespace(self) -> Path:
        path = self.lab.ports[0].dut_namespace_path
        assert path is not None
        return path

    def named(self, text: str) -> str:
        """With the names of this device."""
        a, b = self.lab.ports[:2]
        names = {
            "one": a.dut_interface,
            "two": b.dut_interface,
            "far": b.ipv4,
            "near": a.ipv4,
            "net": f"{b.ipv4.rsplit('.', 1)[0]}.0/24" if b.ipv4 else "",
            "mac": b.mac,
            "programs": self.programs,
        }
        for name, value in names.items():
            text = text.replace(f"@{name}@", str(value))
        return text

    def run(self, commands: str) -> str:
        """A script of the shell."""
        script = self.named(commands)
        done = run_in_namespace(
            self.namespace, lambda: subprocess.run(["sh", "-ec", script], capture_output=True, text=True)
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def nft(self) -> int:
        """Packets of all counters of nftables."""
        return sum(map(int, re.findall(r"counter packets (\d+)", self.run("nft list ruleset"))))

    def mib(self, group: str, name: str) -> int:
        """A counter of SNMP."""
        text = self.run("cat /proc/thread-self/net/snmp /proc/thread-self/net/netstat")
        names, values = (line.split() for line in text.splitlines() if line.startswith(f"{group}: "))
        return int(values[names.index(name)])

    def qdisc(self, interface: str, kind: str) -> int:
        """What queues of this kind dropped."""
        return self._dropped(f"tc -s qdisc show dev {interface}", f"qdisc {kind} ")

    def policed(self, interface: str) -> int:
        """What the first policer at the input dropped."""
        return self._dropped(f"tc -s filter show dev {interface} ingress", "police ")

    def _dropped(self, command: str, begin: str) -> int:
        found = re.search(r"dropped (\d+)", self.run(command).partition(begin)[2])
        assert found is not None
        return int(found[1])
