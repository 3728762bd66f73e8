"""What a measurement would do, in sentences. It measures nothing and leaves nothing."""

from __future__ import annotations

from typing import Any

from keisoku.ground.entry import Measurement
from keisoku.ground.run.settings import RunSettings
from keisoku.language import join_texts, phrase, plural
from keisoku.running.measurement.time_limit import fitted, said_before
from keisoku.units import time_text


def outlined(measurement: Measurement[Any], settings: RunSettings) -> list[str]:
    """What is done, how long it takes, and what deviates from a standard, as far as it is known beforehand.

    Raises PlanError or EngineError if it cannot be carried out.
    """
    measurement.check_criteria(settings.plain())
    times = settings.repeat or 1
    again = [plural("{count} repetition", "{count} repetitions", count=times)] if times > 1 else []
    if measurement.outlined is not None:
        return [*again, *measurement.outlined(settings)]
    planned = fitted(measurement, settings)
    measurement.check(planned)
    if said := said_before(measurement, settings, planned):
        return [*again, said]
    seconds = None if measurement.seconds is None else measurement.seconds(planned)
    if seconds is None:
        return [*again, phrase("{what}: how long it takes is not known beforehand", what=measurement.title)]
    return [*again, join_texts(": ", [measurement.title, phrase("at most {time}", time=time_text(seconds))])]
