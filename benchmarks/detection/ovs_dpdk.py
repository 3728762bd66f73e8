"""Open vSwitch with DPDK between two interfaces of a namespace: a bridge whose threads poll in user space.

It needs openvswitch-switch-dpdk (Debian), and takes 512 MB of huge pages while it runs.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

DAEMON = Path("/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk")
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
PAGES = Path("/proc/sys/vm/nr_hugepages")
WANTED_PAGES = 256
"""Of 2 MB."""
BEGIN_S = 20.0


@contextmanager
def ovs_dpdk(space: str, interfaces: Sequence[str], folder: Path) -> Iterator[Path]:
    """Forwards between the interfaces of a namespace; gives the socket for OpenFlow rules. The daemon's files are in
    the folder."""
    before = PAGES.read_text()
    PAGES.write_text(str(WANTED_PAGES))
    own = os.environ | {f"OVS_{name}DIR": str(folder) for name in ("RUN", "LOG", "DB")}
    database = f"unix:{folder / 'db.sock'}"
    inside = ("ip", "netns", "exec", space)
    quiet = subprocess.DEVNULL
    running: list[subprocess.Popen[bytes]] = []

    def told(*words: str) -> None:
        subprocess.run(words, env=own, check=True, capture_output=True)

    def begun(*words: str) -> None:
        running.append(subprocess.Popen([*inside, *words], env=own, stdout=quiet, stderr=quiet, cwd=folder))

    def asked(*words: str) -> None:
        told("ovs-vsctl", f"--db={database}", f"--timeout={BEGIN_S:.0f}", *words)

    try:
        (folder / "conf.db").unlink(missing_ok=True)
        told("ovsdb-tool", "create", str(folder / "conf.db"), SCHEMA)
        begun("ovsdb-server", str(folder / "conf.db"), f"--remote=p{database}")
        until_there(folder / "db.sock")
        settings = ("dpdk-init=true", "dpdk-extra=--no-pci --iova-mode=va", "dpdk-socket-mem=512")
        cpus = ("dpdk-lcore-mask=0x1", "pmd-cpu-mask=0x2")
        asked("--no-wait", "init")
        asked("--no-wait", "set", "Open_vSwitch", ".", *(f'other_config:{key}="{value}"' for key, _, value in
              (each.partition("=") for each in (*settings, *cpus))))  # fmt: skip
        begun(str(DAEMON), database)
        asked("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
        for number, interface in enumerate(interfaces):
            driver = f"net_af_packet{number},iface={interface}"
            port = ("--", "set", "Interface", f"p{number}", "type=dpdk", f'options:dpdk-devargs="{driver}"')
            asked("add-port", "br0", f"p{number}", *port)
        until_there(folder / "br0.mgmt")
        yield folder / "br0.mgmt"
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()
        PAGES.write_text(before)


def until_there(path: Path) -> None:
    """Waits for a socket of a daemon. Raises TimeoutError."""
    deadline_s = time.monotonic() + BEGIN_S
    while not path.exists():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{path} is not there after {BEGIN_S:.0f} s")
        time.sleep(0.05)
