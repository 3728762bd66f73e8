"""A Debian of its own in a folder: no compiler, and nothing of the host but its kernel, its network and /proc, /sys."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PACKAGES = ("python3", "python3-venv", "iproute2", "ca-certificates", "sudo")
_SEEN = ("proc", "sys", "dev", "run")


class CleanRoot:
    """The folder `path` as the root of the commands that run in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, *command: str, before: Sequence[str] = (), at: str = "/") -> subprocess.CompletedProcess[str]:
        """The command in the root's folder `at`, with an empty environment; `before` runs it, such as setpriv."""
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        own = ["/usr/bin/env", "-i", f"--chdir={at}", path, "HOME=/root", "LANG=C.UTF-8", *before, *command]
        return subprocess.run(["chroot", str(self.path), *own], capture_output=True, text=True, check=False)

    def done(self, *command: str, before: Sequence[str] = (), at: str = "/") -> str:
        """What a command printed that must succeed."""
        ended = self.run(*command, before=before, at=at)
        assert ended.returncode == 0, f"{' '.join(command)}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}"
        return ended.stdout


@contextmanager
def clean_root(path: Path, packages: Sequence[str] = PACKAGES) -> Iterator[CleanRoot]:
    """Makes it with debootstrap, and removes it afterwards. It is this machine's release, because the Debian package is
    for its Python, and reaches packages as this machine does."""
    codename = platform.freedesktop_os_release()["VERSION_CODENAME"]
    include = [f"--include={','.join(packages)}"] if packages else []
    subprocess.run(
        ["debootstrap", "--variant=minbase", *include, codename, str(path), *mirror(codename)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    shutil.copy("/etc/resolv.conf", path / "etc/resolv.conf")
    _reach_packages(path)
    # A root is the top of a file system: only so can a command make mounts of its own there.
    subprocess.run(["mount", "--bind", str(path), str(path)], check=True)
    subprocess.run(["mount", "--make-private", str(path)], check=True)
    for name in _SEEN:
        kind = "tmpfs" if name == "run" else ""
        options = ["-t", kind, kind] if kind else ["--rbind", f"/{name}"]
        subprocess.run(["mount", *options, str(path / name)], check=True)
        subprocess.run(["mount", "--make-rslave", str(path / name)], check=True)
    _every_user_may_make_taps(path)
    try:
        yield CleanRoot(path)
    finally:
        for name in reversed(_SEEN):
            subprocess.run(["umount", "--recursive", "--lazy", str(path / name)], check=False)
        subprocess.run(["umount", "--lazy", str(path)], check=False)
        subprocess.run(["rm", "-rf", "--one-file-system", str(path)], check=False)


def _every_user_may_make_taps(path: Path) -> None:
    """As udev has it on a Debian that was booted (50-udev-default.rules), whatever this machine has."""
    folder = path / "dev" / "net"
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)
    subprocess.run(["mknod", "-m", "666", str(folder / "tun"), "c", "10", "200"], check=True)


def mirror(codename: str) -> list[str]:
    """Where this machine's apt has the release from; if nothing says it, debootstrap has a mirror of its own."""
    wanted = ["Created-By: Packages", "Component: main", f"Release: {codename}"]
    command = ["apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI)", *wanted]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[:1]


def _reach_packages(path: Path) -> None:
    """This machine's settings of pip, for networks in which packages come through a mirror or a proxy."""
    settings = subprocess.run(["pip", "config", "list"], capture_output=True, text=True, check=False).stdout
    lines = [line.partition(".")[2].replace("'", "") for line in settings.splitlines() if line.startswith("global.")]
    certificates = Path("/etc/ssl/certs/ca-certificates.crt")
    if certificates.exists():  # under a name of its own, because installing ca-certificates would make the file anew
        shutil.copy(certificates, path / "etc/pip-certificates.crt")
        lines = [*(line for line in lines if not line.startswith("cert=")), "cert=/etc/pip-certificates.crt"]
    (path / "etc/pip.conf").write_text("\n".join(["[global]", *lines, ""]))
