"""What the transfer of a file is told, with its limits. It is kept as the run's settings.toml, without passwords."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from keisoku.stream.session import PORT

Over = Literal["keisoku", "ftp"]
SOURCE, NETWORK, SINK, WHOLE = "source disk", "network", "destination disk", "together"
STAGES = (SOURCE, NETWORK, SINK)


class FileSettings(BaseModel):
    """Of one transfer, which is repeated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str
    port: int = Field(PORT, ge=1, le=65535)
    """TCP port of 'keisoku stream serve' there."""
    source: str
    name: str = Field(pattern=r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
    """Of the file that is made there, in the server's directory."""
    bytes: int = Field(gt=0)
    over: Over = "keisoku"
    direct: bool = False
    """Disks are read and written past the kernel's cache (O_DIRECT)."""
    source_bps: float | None = Field(None, gt=0)
    """The source is held back to that, as if its disk was so slow."""
    sink_bps: float | None = Field(None, gt=0)
    least_runs: int = Field(3, ge=2)
    most_runs: int = Field(10, ge=2)
    seed: int = 1
    ftp_port: int = Field(21, ge=1, le=65535)
    ftp_user: str = "anonymous"
    ftp_directory: str = "."
    """The server's directory as the FTP server names it."""
