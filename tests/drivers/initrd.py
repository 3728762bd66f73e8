"""The guest's initial RAM disk: busybox, the modules that the root file system needs, and `init`."""

from __future__ import annotations

import lzma
import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

OF_THE_HOSTS_ROOT = ("virtio_pci", "virtio_console", "9p", "9pnet_virtio", "overlay")
"""Those that a kernel has built in are no modules of it."""


def initrd(
    kernel: Path,
    init: bytes,
    settings: Mapping[str, str],
    needed: Sequence[str] = OF_THE_HOSTS_ROOT,
    programs: Sequence[Path] = (),
) -> bytes:
    """As a cpio archive (newc); `kernel` is the folder of an unpacked kernel package, of which these modules are
    taken. `programs` are static ones, for /bin."""
    modules = next((kernel / "lib/modules").iterdir())
    found = _in_order(modules, needed)
    archive = _Archive()
    for folder in ("bin", "m"):
        archive.add(folder, stat.S_IFDIR | 0o755, b"")
    for program in (Path("/bin/busybox"), *programs):
        archive.add(f"bin/{program.name}", stat.S_IFREG | 0o755, program.read_bytes())
    for path in found:
        packed = (modules / path).read_bytes()
        name = Path(path).name.removesuffix(".xz")
        archive.add(f"m/{name}", stat.S_IFREG | 0o644, lzma.decompress(packed) if path.endswith(".xz") else packed)
    names = "\n".join(Path(path).name.removesuffix(".xz") for path in found)
    archive.add("modules", stat.S_IFREG | 0o644, names.encode())
    lines = "".join(f"{key}={shlex.quote(value)}\n" for key, value in settings.items())
    archive.add("guest", stat.S_IFREG | 0o644, lines.encode())
    archive.add("init", stat.S_IFREG | 0o755, init)
    return archive.whole()


def _in_order(modules: Path, needed: Sequence[str]) -> list[str]:
    """Paths of the modules, each after those that it depends on."""
    depends = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, needs = line.partition(":")
        depends[path] = needs.split()
    names = {Path(path).name.split(".")[0]: path for path in depends}
    found: list[str] = []
    for name in (name for name in needed if name in names):
        # modules.dep lists the farthest dependency last.
        found += [path for path in [*reversed(depends[names[name]]), names[name]] if path not in found]
    return found


class _Archive:
    def __init__(self) -> None:
        self._bytes, self._entries = bytearray(), 0

    def add(self, name: str, mode: int, content: bytes) -> None:
        self._entries += 1
        fields = (self._entries, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        self._bytes += b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        self._pad()
        self._bytes += content
        self._pad()

    def whole(self) -> bytes:
        self.add("TRAILER!!!", 0, b"")
        return bytes(self._bytes)

    def _pad(self) -> None:
        self._bytes += bytes(-len(self._bytes) % 4)
