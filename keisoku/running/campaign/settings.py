"""The settings of a campaign, and what they make: cells (a device, a measurement, a setting), and runs in their order.

It opens nothing and measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from keisoku.errors import PlanError
from keisoku.ground.entry import Measurement
from keisoku.ground.run.settings import RunSettings, not_an_option
from keisoku.ground.statistics.seed import DEFAULT
from keisoku.running.measurement.plan_values import Find, of_values

NAME = "campaign"
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
"""Of a device, a measurement or a setting: it is a part of the name of a directory."""
Tables = dict[Name, dict[str, Any]]
_EVERY = "campaign.missing == 0"
"""The criterion of every campaign: a run that could not be made is no success."""


class CampaignSettings(RunSettings):
    """Devices × measurements × settings × repetitions."""

    devices: Tables = not_an_option(min_length=1)
    """What differs from device to device, by a name for each: settings, such as `dut` or `tx` and `rx`.

    `resources` are names of what a run has for itself on a cluster, such as ports, as its worker announces them."""
    measurements: Tables = not_an_option(min_length=1)
    """Plans, by a name for each, as in a plan file; without the key `measurement` they are of device procedures."""
    settings: Tables = not_an_option({})
    """Settings that every device is measured with in turn, by a name for each."""
    repetitions: int = Field(1, ge=1, le=1000)
    """Complete runs of each device, measurement and setting."""
    order: Literal["blocked", "random"] = "blocked"
    """'blocked': each repetition has every other thing once, in random order; 'random': all runs are drawn
    together."""
    attempts: int = Field(3, ge=1, le=100)
    """A run that the tester, the host or a far end fails is made again until there were so many attempts."""
    cluster: str | None = None
    """Address of a Dask scheduler, such as tcp://192.0.2.1:8786 or tls://…: its workers make the runs."""
    seed: int = Field(DEFAULT, ge=0, lt=2**63)
    """Of the order, and of what the runs draw."""

    @model_validator(mode="before")
    @classmethod
    def _no_run_is_missing(cls, source: Any) -> Any:
        if isinstance(source, dict) and not any("campaign" in str(one) for one in source.get("require", ())):
            return {**source, "require": (*source.get("require", ()), _EVERY)}
        return source

    @model_validator(mode="after")
    def _repeated_in_it(self) -> CampaignSettings:
        if self.repeat is not None:
            raise PlanError("repeat", "a campaign repeats its runs itself", "give repetitions instead")
        return self


@dataclass(frozen=True)
class Cell:
    """One device, measured by one measurement with one setting."""

    device: str
    measurement: str
    """The name that the campaign gives it."""
    setting: str
    """Empty if the campaign has no settings."""
    entry: Measurement[Any]
    of: RunSettings
    resources: tuple[str, ...] = ()
    """What a worker of a cluster must have announced."""

    @property
    def name(self) -> str:
        """'bridge.throughput.short'."""
        return named(self.device, self.measurement, self.setting)

    def blamed(self, error: PlanError) -> PlanError:
        """The error, with the cell before the setting that it names."""
        return PlanError(f"{self.name}.{error.field}", error.problem, error.remedy)


def named(*words: str) -> str:
    """Those that are not empty, with dots between them."""
    return ".".join(filter(None, words))


@dataclass(frozen=True)
class Planned:
    """One run of a cell."""

    cell: Cell
    number: int
    """Of the repetition, from 1."""

    @property
    def name(self) -> str:
        """That of its directory."""
        return f"{self.cell.name}.{self.number:03d}"


def cells(settings: CampaignSettings, find: Find) -> list[Cell]:
    """Every combination, in the order of the plan. Raises PlanError if one of them cannot be carried out."""
    found = []
    for device, measurement, setting in product(settings.devices, settings.measurements, settings.settings or [""]):
        where = named(device, measurement, setting)
        parts = (
            settings.measurements[measurement],
            settings.devices[device],
            settings.settings.get(setting, {}),
        )
        values: dict[str, Any] = {}
        for part in parts:
            values = _merged(values, part)
        resources = values.pop("resources", ())
        if not isinstance(resources, list | tuple) or not all(isinstance(each, str) for each in resources):
            raise PlanError(f"devices.{device}.resources", "it is no list of names", 'write ["rack1-a", "rack1-b"]')
        if settings.cluster is not None and not resources:
            problem = "a cluster does not know which worker has this device"
            raise PlanError(f"devices.{device}.resources", problem, 'name what its worker announces: ["rack1-a"]')
        if "require" in values:
            raise PlanError(f"{where}.require", "criteria are the campaign's", "write them at the top of the plan")
        try:
            entry, of = of_values(values, find)
        except PlanError as error:
            raise PlanError(f"{where}.{error.field}", error.problem, error.remedy) from error
        if entry.name == NAME:
            raise PlanError(f"{where}.measurement", "a campaign cannot be a part of one", "name another measurement")
        if "seed" in type(of).model_fields and "seed" not in values:
            of = of.model_copy(update={"seed": settings.seed})
        found.append(Cell(device, measurement, setting, entry, of, tuple(resources)))
    return found


def ordered(settings: CampaignSettings, every: list[Cell]) -> list[Planned]:
    """Every run once, in the order that the settings draw: always the same for the same settings."""
    numbers = range(1, settings.repetitions + 1)
    if settings.order == "random":
        runs = [Planned(cell, number) for number in numbers for cell in every]
        return Random(f"{settings.seed} order").sample(runs, len(runs))
    return [
        Planned(cell, number)
        for number in numbers
        for cell in Random(f"{settings.seed} order {number}").sample(every, len(every))
    ]


def _merged(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """The values, those of `others` in place of their own; tables in them likewise."""
    found = dict(values)
    for name, value in others.items():
        own = found.get(name)
        found[name] = _merged(own, value) if isinstance(own, Mapping) and isinstance(value, Mapping) else value
    return found
