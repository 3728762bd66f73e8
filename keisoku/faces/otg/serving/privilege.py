"""The server gives up root: it becomes another user, with only the capabilities that its ports need. Opens nothing.

Engines open sockets, load programs and make namespaces for each configuration, so not everything can be opened before.
The remaining capabilities are fixed when the server starts, and no program that it starts can have more.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import struct
import sys
from pathlib import Path

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.capability import BITS, effective
from keisoku.ground.lab.tester_agents import RIGHTS

PORTS = ("CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_SYS_ADMIN", "CAP_SYS_NICE", "CAP_BPF")
"""Needed for programs and sockets at interfaces, for threads with a high priority, and to enter namespaces. An XDP
program that sends is prepared in a namespace of its own, which needs CAP_SYS_ADMIN even if all ports are in the
server's."""
LABS = ("CAP_DAC_OVERRIDE", "CAP_KILL", "CAP_NET_BIND_SERVICE")
"""Needed for labs: the names of namespaces and the settings in them are files of root, and daemons in them are
ended. FRR's daemons do not start without the last one."""
ROOTS = ("CAP_CHOWN", *RIGHTS)
"""Also needed for labs where the user is root: FRR's daemons and lldpd then give it up themselves."""
USER = "nobody"

_PR_CAPBSET_DROP, _PR_SET_DUMPABLE, _PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS = 24, 4, 8, 38
_PR_CAP_AMBIENT, _AMBIENT_RAISE = 47, 2
_VERSION_3 = 0x2008_0522
_libc = ctypes.CDLL(None, use_errno=True)


def give_up_root(user: str = USER, labs: bool = True) -> tuple[str, ...] | None:
    """Becomes `user` with no more than the capabilities of ports, and of labs; returns their names, None if not root.
    If it stays root, also with those that a lab's daemons need to give it up.

    Must be called before there is another thread. Raises PlanError for a user that does not exist or that cannot read
    keisoku itself, EngineError if the kernel refuses.
    """
    if os.geteuid() != 0:
        return None
    account = _account(user)
    # Modules are loaded when they are first needed.
    modules = [Path(__file__), *(Path(place) for place in sys.path if place)]
    folders = {parent for place in modules if place.exists() for parent in place.resolve().parents}
    held = effective()
    wanted = (*PORTS, *(LABS if labs else ()), *(ROOTS if labs and account.pw_uid == 0 else ()))
    kept = {name: BITS[name] for name in wanted if held >> BITS[name] & 1}
    try:
        _keep_only(account, sum(1 << bit for bit in kept.values()))
    except OSError as error:
        raise EngineError(f"cannot give up root: {error}") from error
    for place in folders:
        if not os.access(place, os.X_OK, effective_ids=True):
            raise PlanError(
                "user", f"{user} has no access to {place}, where keisoku or its Python is", "give another user"
            )
    return tuple(sorted(kept))


def hand_over(folder: Path, user: str = USER) -> None:
    """Makes a folder that `user` can write in once root is given up; does nothing if not root.

    Raises PlanError for an unknown user, or a folder that cannot be made.
    """
    if os.geteuid() != 0:
        return
    account = _account(user)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.chown(folder, account.pw_uid, account.pw_gid)
    except OSError as error:
        raise PlanError("runs", f"{folder} cannot be made: {error.strerror}", "choose another folder") from error


def _account(user: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(user)
    except KeyError:
        raise PlanError("user", f"there is no user {user}", "name one of this host") from None


def _keep_only(account: pwd.struct_passwd, capabilities: int) -> None:
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for bit in range(last + 1):
        if not capabilities >> bit & 1:
            _prctl(_PR_CAPBSET_DROP, bit)
    if account.pw_uid != 0:
        _prctl(_PR_SET_KEEPCAPS, 1)
        os.setgroups([])
        os.setresgid(account.pw_gid, account.pw_gid, account.pw_gid)
        os.setresuid(account.pw_uid, account.pw_uid, account.pw_uid)
    _set(capabilities)
    for bit in range(last + 1):
        if capabilities >> bit & 1:  # a lab's daemons and tools have them too
            _prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, bit)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    # Without this a process that has changed its user cannot read its own namespaces.
    _prctl(_PR_SET_DUMPABLE, 1)


def _set(capabilities: int) -> None:
    """Permitted, effective and inheritable (capset(2))."""
    low, high = capabilities & 0xFFFF_FFFF, capabilities >> 32
    header, sets = struct.pack("=Ii", _VERSION_3, 0), struct.pack("=6I", low, low, low, high, high, high)
    if _libc.capset(header, sets) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"capset: {os.strerror(number)}")


def _prctl(option: int, *arguments: int) -> None:
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    if _libc.prctl(option, *padded) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")
