"""What a load is told, with its limits. It is kept as the run's plan."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from keisoku.run.settings import RunSettings, argument
from keisoku.system.load.client_load import MOST_CONNECTIONS
from keisoku.system.load.clients import BULK, CLIENTS, find_client
from keisoku.system.load.schedule import TOGETHER

CONCURRENCY, STREAMS, DURATION_S = 10, 1, 5.0
Count = Annotated[int, Field(ge=1, le=MOST_CONNECTIONS)]
Offset = Annotated[float, Field(ge=0)]


class LoadSettings(RunSettings):
    """Of one load by one or many clients."""

    target: tuple[str, ...] = argument(min_length=1)
    """A system of the lab, or one URL for each client, from the namespace named or a host over ssh."""
    with_: str = Field("own", description=f"Program that loads: {', '.join(CLIENTS)}.")
    """Program that loads."""
    concurrency: tuple[Count, ...] = ()
    """Connections of each client, or streams; each number is a measurement (default: 10 connections or 1 stream)."""
    client_concurrency: dict[str, Count] = Field(default_factory=dict)
    """Connections of one client, whatever those of the others are."""
    rate_rps: float | None = Field(None, gt=0, le=1e6)
    """Requests of each client in a second, answered or not (open loop; default: the next when one is answered)."""
    poisson: bool = False
    """Leave random gaps between the requests of an open loop."""
    keep_alive: bool = False
    """Send many requests on a connection (default: one)."""
    requests: int | None = Field(None, ge=1)
    """Number of requests of each client after which it ends."""
    duration_s: float | None = Field(None, gt=0)
    """Length of each run (default: 5 s, if no number of requests is given)."""
    each_file: bool = False
    """Ask for one file of a lab after the other, not for all by weight."""
    offset_s: dict[str, Offset] = Field(default_factory=dict)
    """Time by which a client begins later than the others."""
    pattern: tuple[str, ...] = (TOGETHER,)
    """Who loads at the same time: alone, together, or some as client1+client2."""
    repetitions: int = Field(3, ge=1, le=1000)
    """Number of runs of each pattern and concurrency."""
    rest_s: float = Field(1.0, ge=0)
    """Time between runs."""
    timeout_s: float = Field(10.0, gt=0)
    """Time after which a request without an answer has failed."""
    ssh_config: str | None = None
    """File of ssh's configuration, in place of your own."""
    seed: int = 1
    """Seed of the random order, of the files and of the gaps."""

    @model_validator(mode="after")
    def _possible(self) -> LoadSettings:
        find_client(self.with_)
        return self

    @property
    def bulk(self) -> bool:
        """Whether streams are sent, and nothing is asked for."""
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
