"""FRR's daemons of one router, in a namespace: how they are started, asked and killed. Knows no protocol.

FRR speaks the protocols; nothing here does. Acts on namespaces that keisoku made, never on the host's own.
"""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.ground.host.program import Program
from keisoku.ground.lab.daemons import Daemons

_PACKAGE = USER = "frr"
ZEBRA, STATICD, OSPFD, ISISD, BGPD, BFDD, VTYSH = PROGRAMS = tuple(
    Program(name, _PACKAGE) for name in ("zebra", "staticd", "ospfd", "isisd", "bgpd", "bfdd", "vtysh")
)
_ORDER = (ZEBRA, STATICD, BFDD, OSPFD, ISISD, BGPD)
"""Those that others connect to come first."""
_BEGIN, _END = "XFRR_start_configuration", "XFRR_end_configuration"
"""Between them a daemon takes thousands of lines as one change. For each change it copies all that it has, which takes
minutes for 2000 static routes."""


@dataclass(frozen=True)
class FrrRouter:
    """A router by its name, which is that of its folder; `daemons` are those of its namespace, with their directory."""

    daemons: Daemons
    name: str

    @property
    def folder(self) -> Path:
        """Where its daemons have their configurations and sockets."""
        return self.daemons.directory / self.name

    def start(
        self, texts: Mapping[Program, str], core: int | None, options: Mapping[Program, Sequence[str]] | None = None
    ) -> None:
        """In its namespace: these daemons with these configurations. Raises EngineError if one does not start, and
        where the user of this process may not run them."""
        self._make_folder()
        for program in sorted(texts, key=_ORDER.index):
            file = self.folder / f"{program.name}.conf"
            file.write_text(f"hostname {self.name}\n{_BEGIN}\n{texts[program]}\n{_END}\n")
            socket = self.folder / f"{program.name}.vty"
            socket.unlink(missing_ok=True)
            arguments = [
                *("-f", str(file), "-i", str(self.folder / f"{program.name}.pid")),
                *("-z", str(self.folder / "zserv.api"), "--vty_socket", str(self.folder), "-A", "127.0.0.1", "-P", "0"),
                *((options or {}).get(program, ())),
            ]
            if program is BFDD:
                arguments += ["--bfdctl", str(self.folder / "bfdd.sock")]
            name = f"{self.name}-{program.name}"
            self.daemons.start(program, *arguments, ready=socket, core=core, name=name, urgent=True)

    def kill(self, *programs: Program) -> None:
        """Without a word to their neighbours."""
        for program in programs:
            self.daemons.kill(f"{self.name}-{program.name}")

    def log(self, program: Program) -> str:
        """What one of its daemons printed."""
        return self.daemons.log(f"{self.name}-{program.name}")

    def ask(self, *commands: str) -> str:
        """What its daemons answer to commands of `vtysh`."""
        words = [word for command in commands for word in ("-c", command)]
        return VTYSH.run("--vty_socket", str(self.folder), *words)

    def _make_folder(self) -> None:
        self.folder.mkdir(exist_ok=True)
        # The daemons give up the rights of root themselves.
        if os.geteuid() == 0:
            shutil.chown(self.folder, USER, USER)
        if own := other_user():
            raise EngineError(f"FRR's daemons do not run as the user {own}: run keisoku as root, or as the user {USER}")


def other_user() -> str | None:
    """Name of this process's user, if FRR's daemons do not run as it."""
    if os.geteuid() == 0:
        return None
    with suppress(KeyError):
        if pwd.getpwnam(USER).pw_uid == os.geteuid():
            return None
    with suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return str(os.geteuid())
