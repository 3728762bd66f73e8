"""Settings of a comparison of sources of time, with their limits."""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.host.two_ended.control import PORT
from keisoku.ground.run.settings import RunSettings, argument
from keisoku.subjects.path.train.probe import Direction


class SourceComparisonSettings(RunSettings):
    """Settings of one comparison."""

    host: str = argument()
    """Name or address of the other end, where 'keisoku path serve' runs; HOST@NAMESPACE measures from a namespace."""
    port: int = Field(PORT, ge=1, le=65535)
    """TCP port of the other end."""
    repetitions: int = Field(10, ge=2, le=1000)
    """Number of repetitions of the measurement, whose variance is compared."""
    pairs: int = Field(50, ge=10, le=2000)
    """Number of packet pairs in each repetition."""
    size_bytes: int = Field(0, ge=0, le=65_535)
    """Length of each IP packet of a pair; 0: the path's MTU."""
    direction: Direction = "forward"
    """Direction in which the packets are sent."""
