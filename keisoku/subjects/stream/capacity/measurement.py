"""`stream capacity` as an entry of the table of measurements: IP capacity by UDP, as RFC 9097 defines it."""

from __future__ import annotations

from keisoku.errors import EngineError
from keisoku.ground.entry import Findings, Measurement, Work, without_files
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.path.stamp.key import read_key
from keisoku.subjects.stream.capacity.settings import CapacitySettings

NAME = "stream capacity"
_AROUND_S = 1.5
"""What a test takes besides its time: the set-up, its own half second more, and the end."""


def measure(work: Work[CapacitySettings]) -> None:
    """A test in each direction. Raises EngineError if the server does not answer, or refuses."""
    from keisoku.subjects.stream.capacity.near import measure as carry_out  # the command's help needs none of it
    from keisoku.subjects.stream.capacity.rows import STATUSES, table

    settings = work.settings
    key, place = read_key(settings.key_file), settings.place
    directory: RunDirectory | None = None
    for done, way in enumerate(settings.ways):
        said = phrase("upload") if way == "up" else phrase("download")

        def came_to(over_s: int, done: int = done, said: str = said) -> None:
            nonlocal directory
            directory = directory or work.begin({})
            work.observer.came_to(done + min(over_s / settings.duration_s, 1.0), len(settings.ways), said)

        test = carry_out(place, settings.port, settings.activation(way), key, settings.key_id, came_to)
        if not test.seen:
            raise EngineError(
                f"{settings.address} accepted the test, and nothing of the load came through; open UDP between both"
                " ends in their firewalls"
            )
        assert directory is not None
        directory.append(STATUSES, table(way, test))
        granted = test.parameters
        directory.know(
            **{
                way: {
                    "duration_s": granted.duration_s,
                    "sub_interval_ms": granted.sub_interval_ms,
                    "broke_off": test.silent,
                }
            }
        )


def analyse(directory: RunDirectory) -> Findings:
    """From a run's rows alone, finished or not. Raises PlanError if there are none."""
    from keisoku.subjects.stream.capacity.analysis import analyse as analyse_readings
    from keisoku.subjects.stream.capacity.plot import capacity_plot
    from keisoku.subjects.stream.capacity.rows import STATUSES, readings

    settings = CapacitySettings.model_validate(directory.plan)
    result, found = analyse_readings(settings, readings(directory.rows(STATUSES)), directory.facts)
    return Findings([result], [capacity_plot(found)] if any(one.subs for one in found) else [])


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("IP capacity"),
    settings=CapacitySettings,
    seconds=lambda settings: len(settings.ways) * (settings.duration_s + _AROUND_S),
    shortens=("duration_s",),
    measure=measure,
    analyse=analyse,
    figure="capacity",
    units={"bit/s": "capacity maximum", "ms": "added_delay least_rtt", "%": "lost"},
    same=("duration_s", "sub_interval_s"),
    summary="Measures IP capacity to HOST, where 'keisoku stream serve --capacity' runs, by UDP as RFC 9097 says.",
    help="""Speaks UDPSTP (RFC 9946), as OB-UDPST does, which can be the server, too. A search finds the rate at which
    the path is full; the capacity is what arrives then, with an interval. Says if the first seconds were faster than
    the later ones, and if this machine was the limit.

    \b
    keisoku stream capacity 192.0.2.7
    keisoku stream capacity 192.0.2.7 --direction down --require 'capacity[download] > 95 Mb/s'
    keisoku stream capacity 192.0.2.7 --key-file udpstp.key""",
    from_afar=without_files("key_file"),
)
