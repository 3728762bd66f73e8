"""Settings of a load, with their limits. They are kept as the run's plan."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from keisoku.ground.run.settings import RunSettings, argument
from keisoku.ground.statistics.seed import DEFAULT
from keisoku.subjects.system.load.client_load import MOST_CONNECTIONS
from keisoku.subjects.system.load.clients import BULK, CLIENTS, find_client
from keisoku.subjects.system.load.schedule import TOGETHER

CONCURRENCY, STREAMS, DURATION_S = 10, 1, 5.0
Count = Annotated[int, Field(ge=1, le=MOST_CONNECTIONS)]
Offset = Annotated[float, Field(ge=0)]


class LoadSettings(RunSettings):
    """Settings of one load by one or many clients."""

    target: tuple[str, ...] = argument(min_length=1)
    """A system of the lab, or one URL for each client; URL@PLACE loads from a namespace or from a host over ssh."""
    with_: str = Field("own", description=f"Program that generates the load: {', '.join(CLIENTS)}.")
    """Program that generates the load."""
    concurrency: tuple[Count, ...] = ()
    """Connections or streams of each client; every number given is measured (default: 10 connections or 1 stream)."""
    client_concurrency: dict[str, Count] = Field(default_factory=dict)
    """Connections of one client, if they differ from those of the others."""
    rate_rps: float | None = Field(None, gt=0, le=1e6)
    """Offered load of each client in requests/s (open loop; default: closed loop, a request after each answer)."""
    poisson: bool = False
    """Send the requests of an open loop as a Poisson process, with random gaps."""
    keep_alive: bool = False
    """Send many requests on each connection (default: one)."""
    requests: int | None = Field(None, ge=1)
    """Number of requests of each client after which it ends."""
    duration_s: float | None = Field(None, gt=0)
    """Length of each run (default: 5 s, if no number of requests is given)."""
    each_file: bool = False
    """Measure each file of a lab by itself instead of all files by weight."""
    offset_s: dict[str, Offset] = Field(default_factory=dict)
    """Time by which a client starts later than the others."""
    pattern: tuple[str, ...] = (TOGETHER,)
    """Clients that load at the same time: alone (one by one), together (all), or some as client1+client2."""
    repetitions: int = Field(3, ge=1, le=1000)
    """Number of runs of each pattern and concurrency."""
    rest_s: float = Field(1.0, ge=0)
    """Time between runs."""
    timeout_s: float = Field(10.0, gt=0)
    """Timeout after which a request without an answer counts as failed."""
    ssh_config: str | None = None
    """Configuration file for ssh, in place of your own."""
    seed: int = DEFAULT
    """Seed of the random order, of the files and of the gaps."""

    @model_validator(mode="after")
    def _possible(self) -> LoadSettings:
        find_client(self.with_)
        return self

    @property
    def bulk(self) -> bool:
        """Whether streams are sent instead of requests."""
        return self.with_ in BULK

    def filled_in(self) -> LoadSettings:
        """With what is the default of this program."""
        return self.model_copy(
            update={
                "concurrency": self.concurrency or (STREAMS if self.bulk else CONCURRENCY,),
                "duration_s": self.duration_s or (None if self.requests else DURATION_S),
                "pattern": tuple(dict.fromkeys(self.pattern)),
            }
        )
