"""`NetconfServer`: the agent that speaks NETCONF, the sshd before it, and what both are told. Knows no traffic.

A client logs in by ssh with a key; whatever it asks of sshd, it gets the NETCONF subsystem. Everything is in one folder
that only the server's user can read, and ends with the server, also if that is killed.
"""

from __future__ import annotations

import json
import os
import pwd
import socket
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from keisoku.errors import KeisokuError, PlanError
from keisoku.faces.netconf.datastore import Datastore
from keisoku.faces.otg.control.controller import Controller
from keisoku.ground.host.program import Program
from keisoku.ground.host.text_file import read_text
from keisoku.ground.host.undo import record_chroot, undo
from keisoku.ground.lab.daemons import Daemons

AGENT = Program("netconfd", "netconfd")
SUBSYSTEM = Program("netconf-subsystem", "netconfd")
SSHD = Program("sshd", "openssh-server")
KEYGEN = Program("ssh-keygen", "openssh-client")
PROGRAMS = (AGENT, SUBSYSTEM, SSHD, KEYGEN)
_HERE = Path(__file__).parent
_MODULES = ("ietf-interfaces", "iana-if-type", "ietf-traffic-generator", "ietf-traffic-analyzer", "keisoku-tester")
_NOT_OFFERED = (
    "ietf-traffic-generator:ingress-direction",
    "ietf-traffic-generator:realtime-epoch",
    "ietf-traffic-analyzer:egress-direction",
    "ietf-traffic-analyzer:filter",
    "ietf-traffic-analyzer:idle-octets-counter",
    "ietf-traffic-analyzer:capture",
)
"""Features of the modules that keisoku does not have: the agent refuses what needs them."""
_SEPARATION = Path("/run/sshd")
"""Where sshd locks itself up; Debian's service makes it."""


@dataclass(frozen=True)
class SshListening:
    """Where clients reach the server, and who may."""

    address: str
    port: int
    keys: Path
    """Public keys, as in an authorized_keys file."""


class NetconfServer:
    """A context manager. Raises PlanError where a program is absent or the keys cannot be read, EngineError if the
    agent or sshd does not start."""

    def __init__(self, listening: SshListening, controller: Controller, speed: float | None) -> None:
        self._listening, self._datastore = listening, Datastore(controller, speed)
        self._stack = ExitStack()
        self.fingerprint = ""
        """Of the server's key, which is made anew for each start."""

    @property
    def user(self) -> str:
        """As whom clients log in: this process's own user."""
        return pwd.getpwuid(os.geteuid()).pw_name

    def __enter__(self) -> Self:
        if missing := next((program for program in PROGRAMS if program.path is None), None):
            problem = f"NETCONF is spoken by {missing.name}, which is not installed"
            raise PlanError("netconf_port", problem, f"install the Debian package {missing.package}")
        if os.geteuid() != 0:
            problem = "sshd and the agent are started by root only"
            raise PlanError("netconf_port", problem, "start the server as root, with --user root")
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self) -> None:
        keys = read_text("netconf_keys", self._listening.keys)
        daemons = Daemons(f"keisoku-netconf-{os.getpid()}")
        folder = daemons.make_directory()
        self._stack.callback(daemons.end)
        questions = socket.socket(socket.AF_UNIX)
        self._stack.callback(questions.close)
        questions.bind(str(folder / "keisoku.sock"))
        questions.listen(1)
        threading.Thread(target=self._answer, args=(questions,), name="keisoku-netconf", daemon=True).start()
        self._start_agent(daemons, folder)
        (folder / "keys").write_text(keys)
        self._start_sshd(daemons, folder)

    def _start_agent(self, daemons: Daemons, folder: Path) -> None:
        wire = folder / "agent.sock"
        options = [
            *(f"--module={module}" for module in _MODULES),
            f"--modpath={_HERE}:/usr/share/yuma/modules",
            f"--ncxserver-sockname={wire}",
            f"--port={self._listening.port}",
            f"--superuser={self.user}",
            "--target=candidate",
            "--no-startup",
            "--with-startup=false",
            "--with-url=false",
            "--log-level=error",
        ]
        program = Program("netconf-agent", AGENT.package, at=sys.executable)
        where = {"HOME": str(folder)}
        words = ("-I", str(_HERE / "agent.py"), str(folder / "keisoku.sock"), " ".join(_NOT_OFFERED), *options)
        daemons.start(program, *words, ready=wire, core=None, environment=where)

    def _start_sshd(self, daemons: Daemons, folder: Path) -> None:
        key, listening = folder / "host", self._listening
        KEYGEN.run("-q", "-t", "ed25519", "-N", "", "-C", "keisoku", "-f", str(key))
        self.fingerprint = KEYGEN.run("-l", "-f", f"{key}.pub").split()[1]
        netconf = f"{SUBSYSTEM.path} --ncxserver-sockname={listening.port}@{folder}/agent.sock"
        address = f"[{listening.address}]" if ":" in listening.address else listening.address
        settings = {
            "ListenAddress": f"{address}:{listening.port}",
            "HostKey": str(key),
            "AuthorizedKeysFile": f"{folder}/keys",
            "AllowUsers": self.user,
            "PermitRootLogin": "prohibit-password",
            "AuthenticationMethods": "publickey",
            "Subsystem": f'netconf "{netconf}"',
            "ForceCommand": netconf,
            "DisableForwarding": "yes",
            "PermitTTY": "no",
            "PermitUserRC": "no",
            "UsePAM": "no",
            "PidFile": "none",
        }
        (folder / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        self._stack.callback(undo, *record_chroot(_SEPARATION))
        _SEPARATION.mkdir(mode=0o755, exist_ok=True)

        def listens() -> bool:
            return "Server listening" in daemons.log(SSHD.name)

        daemons.start(SSHD, "-D", "-e", "-f", str(folder / "sshd_config"), ready=listens, core=None)

    def _answer(self, questions: socket.socket) -> None:
        """Answers the agent until it ends."""
        try:
            wire, _ = questions.accept()
        except OSError:  # the agent did not start
            return
        with wire, wire.makefile("rw", encoding="utf-8") as lines:
            for line in lines:
                lines.write(json.dumps(self._said(json.loads(line))) + "\n")
                lines.flush()

    def _said(self, question: dict[str, Any]) -> dict[str, str]:
        try:
            match question["ask"]:
                case "analyzer":
                    return {"xml": self._datastore.analyzer(question["interface"]).xml()}
                case "generator":
                    return {"xml": self._datastore.generator(question["interface"]).xml()}
            self._datastore.commit(question["config"])
        except PlanError as error:
            return {"path": error.field, "problem": f"{error.field}: {error.problem}; {error.remedy}"}
        except KeisokuError as error:
            return {"path": "", "problem": str(error)}
        return {}
