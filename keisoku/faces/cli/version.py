"""`keisoku --version`: what is installed, and which engines it has here. It measures nothing."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version

from keisoku._core import HAS_BPF

_NAME = re.compile(r"[\w.-]+")
_EXTRAS = ("", "board", "fit", "notebook", "query", "rows", "serve")
"""Those whose packages commands use; the others build and test keisoku."""


def version_text() -> str:
    """Lines: keisoku, its engines, the kernel, Python, and each library that it may use."""
    bpf = "" if HAS_BPF else " (left out: this build was made without clang)"
    engines = f"packet, simulated, fpga, xdp{bpf}, afxdp{bpf}"
    lines = [
        f"keisoku {version('keisoku')}",
        f"engines: {engines}",
        f"kernel: {platform.system()} {platform.release()} {platform.machine()}",
        f"Python: {platform.python_version()}",
    ]
    for requirement in requires("keisoku") or ():
        name, _, marker = requirement.partition(";")
        package = _NAME.match(name)
        extra = marker.partition("extra ==")[2].strip().strip("'\"")
        if package and package[0] != "keisoku" and extra in _EXTRAS:
            lines.append(f"{package[0]}: {_installed(package[0], extra)}")
    return "\n".join(lines)


def _installed(package: str, extra: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return f"not installed (extra '{extra}')" if extra else "not installed"
