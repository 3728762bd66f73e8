"""Settings of the transfer of a file, with their limits. They are kept as the run's plan, without passwords."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import RunSettings, argument, not_an_option
from keisoku.ground.statistics.seed import DEFAULT
from keisoku.language import phrase
from keisoku.subjects.stream.far_end import PORT, ToFarEnd

Over = Literal["keisoku", "ftp"]
SOURCE, NETWORK, SINK, WHOLE = phrase("source disk"), phrase("network"), phrase("destination disk"), phrase("together")
STAGES = (SOURCE, NETWORK, SINK)
PASSWORD = "KEISOKU_FTP_PASSWORD"
"""Variable of the environment that holds the password, if the settings hold none."""


class FileSettings(ToFarEnd, RunSettings):
    """Settings of one transfer, which is repeated."""

    source: str = argument()
    """File that is transferred."""
    host: str = argument()
    """Name or address of the other end, where 'keisoku stream serve' runs; HOST@NAMESPACE sends from a namespace."""
    port: int = Field(PORT, ge=1, le=65535)
    """TCP port of the server."""
    name: str = Field("", pattern=r"([A-Za-z0-9_][A-Za-z0-9._-]{0,199})?")
    """Name of the file that is made in the server's directory (default: that of SOURCE)."""
    bytes: int = not_an_option(0, ge=0)
    """Size of the file."""
    over: Over = "keisoku"
    """Protocol of the transfer."""
    direct: bool = False
    """Bypass the kernel's page cache when reading and writing (O_DIRECT)."""
    limit_source_bps: float | None = Field(None, gt=0)
    """Rate to which reading is limited, to imitate a slow source disk."""
    limit_sink_bps: float | None = Field(None, gt=0)
    """Rate to which writing is limited, to imitate a slow destination disk."""
    repetitions: int = Field(3, ge=2, le=1000)
    """Least number of measurements of each stage."""
    most_repetitions: int = Field(10, ge=2, le=1000)
    """Greatest number of measurements of each stage."""
    seed: int = DEFAULT
    """Seed of the random order of stages."""
    ftp_port: int = Field(21, ge=1, le=65535)
    """TCP port of the FTP server."""
    ftp_user: str = "anonymous"
    """User of the FTP server."""
    ftp_password: str = Field("", exclude=True, repr=False)
    """Password of that user (default: KEISOKU_FTP_PASSWORD of the environment); it is never kept."""
    ftp_directory: str = "."
    """Path of the server's '--files' directory as the FTP server shows it."""

    @model_validator(mode="after")
    def _possible(self) -> FileSettings:
        if self.over == "ftp" and self.limit_sink_bps is not None:
            raise PlanError(
                "limit_sink_bps", "the FTP server writes by itself", "use its own limit, or transfer over keisoku"
            )
        return self
