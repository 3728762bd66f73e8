"""`clock stability` as an entry of the table of measurements: the log of a clock, and its analysis so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work, without_files
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Flag, translatable_flag
from keisoku.language import phrase, plural
from keisoku.subjects.clock.host_clocks import HostClocks, counter, host_clocks
from keisoku.subjects.clock.reading import Reading, narrowest
from keisoku.subjects.clock.reference.kinds import KERNEL, Chosen, Reference, flags
from keisoku.subjects.clock.reference.local import CLOCKS, bracket
from keisoku.subjects.clock.reference.opening import choose, open_reference
from keisoku.subjects.clock.stability.analysis import NAME, UNITS, Clock, stability
from keisoku.subjects.clock.stability.averaging import OCTAVE
from keisoku.subjects.clock.stability.log import NS_PER_S, Logger, host_flags, logged, place
from keisoku.subjects.clock.stability.plot import stability_plots
from keisoku.subjects.clock.stability.settings import COUNTER, MEASURED, StabilitySettings

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_STEERED = ("monotonic", "realtime", "boottime")
_KERNEL_NAMES = {"raw": "CLOCK_MONOTONIC_RAW", "monotonic": "CLOCK_MONOTONIC", "realtime": "CLOCK_REALTIME"}


def measure(work: Work[StabilitySettings]) -> None:
    """Logs until the duration is over, sessions before an interruption included.

    Raises EngineError if the reference does not answer the first time.
    """
    settings, host = work.settings, host_clocks()
    measured, every_s, duration_s = settings.clock, settings.every_s, settings.duration_s
    name, kept_time = counter(host)
    chosen = choose(settings.reference, host)
    said = list(flags(chosen, host, kept_time)) if measured == COUNTER else _steered(measured, chosen, host)
    with _reading(chosen, host, every_s) as (reference, read):
        directory = work.begin(
            {
                "clock": name if measured == COUNTER else f"CLOCK_{measured.upper()}",
                "reference": reference.described,
                "said": [flag.model_dump(mode="json") for flag in (*said, *reference.flags)],
            },
            settings.model_copy(update={"reference": chosen.name}),
        )
        clock = None if measured == COUNTER else (lambda: bracket(MEASURED[measured]))
        logger = Logger(directory, read, clock, host_clocks, _boot())
        try:
            for logged_s in logger.run(every_s, duration_s, place(directory, every_s)):
                work.observer.came_to(logged_s, duration_s, phrase("{logged_s:.6g} s logged", logged_s=logged_s))
        except KeyboardInterrupt:
            logger.keep()
            raise
    if logger.failures:
        work.observer.warn(
            plural(
                "the reference did not answer {count} time; that reading is missing",
                "the reference did not answer {count} times; those readings are missing",
                count=logger.failures,
            )
        )


def analyse(directory: RunDirectory) -> Findings:
    """From the readings alone. Raises PlanError if there are too few."""
    plan = directory.plan
    log = logged(directory, float(plan["every_s"]))
    said = [translatable_flag(flag) for flag in directory.context["said"]]
    if {plan["clock"], plan["reference"]} & set(_STEERED):
        said += host_flags(directory)
    reference = str(plan["reference"])
    nominal_rate = None if plan["clock"] == COUNTER else float(NS_PER_S)
    clock = Clock(str(directory.context["clock"]), _KERNEL_NAMES.get(reference, reference), nominal_rate)
    result = stability(log, clock, said, tau=str(plan.get("tau", OCTAVE)))
    return Findings([result], stability_plots(result, log, clock.nominal_rate))


@contextmanager
def _reading(chosen: Chosen, host: HostClocks, every_s: float) -> Iterator[tuple[Reference, Callable[[], Reading]]]:
    """The reference, and how it is read once."""
    reference = open_reference(chosen, host, every_s)
    try:
        if chosen.kind in KERNEL:
            clock = CLOCKS[chosen.kind]
            yield reference, lambda: bracket(clock)
        else:
            if every_s < reference.at_least_s / 2 or every_s < reference.pause_s:
                least = max(reference.at_least_s / 2, reference.pause_s)
                raise PlanError("every", f"{chosen.name} cannot be read so often", f"read every {least:g} s at most")
            yield reference, lambda: narrowest(reference.read())
    finally:
        reference.close()


def _steered(measured: str, chosen: Chosen, host: HostClocks) -> list[Flag]:
    """Flags for one of the kernel's clocks against another, whatever the kernel's clock source is."""
    if chosen.kind not in KERNEL:
        return []
    if measured == chosen.kind:
        raise PlanError("reference", f"{measured} against itself shows nothing", "choose another reference")
    text = phrase(
        "both clocks are made by the kernel from one clock source ({clock_source}): their "
        "difference is how the kernel steers them, not how stable the source is",
        clock_source=host.clock_source,
    )
    return [Flag(name="one-source", text=text)]


def _boot() -> str:
    try:
        return _BOOT.read_text(encoding="utf-8").strip()
    except OSError:
        return "unknown"


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Stability of a clock"),
    settings=StabilitySettings,
    measure=measure,
    analyse=analyse,
    figure="adev",
    units=UNITS,
    seconds=lambda settings: settings.duration_s,
    shortens=("duration_s",),
    resumes=True,
    summary="Logs a clock against a reference, and computes ADEV, MDEV, TDEV, HDEV, MTIE and drift from the log.",
    help="""The log survives kill -9. It can be analysed while it grows, and continued after an interruption.

    \b
    keisoku clock stability --duration 3d --every 1s --out log
    keisoku run --resume log    # after an interruption
    keisoku analyse log         # the analysis so far""",
    from_afar=without_files(),
)
