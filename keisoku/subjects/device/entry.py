"""What is declared of a procedure, in the file of its generator: its entry in the table of procedures (`table.py`)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from keisoku.ground.entry import StandIn
from keisoku.ground.report.plot import Plot
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.record.capabilities import Ability, Capabilities
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

LATENCIES = "min mean max fifo lifo filo lilo p50 p99 p99.9 pdv"
"""Figures of `method/latency_figures.py`, in ns."""
COSTS: Mapping[str, str] = {
    "ns": "cost whole tester batches elsewhere part pace",
    "frames/s": "core",
    "%": "calm loss",
    "frames": "lost",
    "": "instructions cycles cache_misses",
}
"""Figures of `method/frame_cost.py`, by their unit."""
Rows = Iterable[Sequence[object]]
"""Of a CSV file."""


@dataclass(frozen=True)
class Procedure:
    """One way to measure a network device by trials."""

    name: str
    """Its name in plans and results, and of its command, which has '-' for '_'."""
    title: str
    standard: str
    summary: str
    """One sentence, for `keisoku --help`."""
    settings: type[Settings]
    generator: Callable[[Any], Generator[Trial, TrialRecord, Result]]
    """The method, which takes a `MethodInput` (`method/method_input.py`)."""
    figure: str
    """The figure of a criterion that names none."""
    units: Mapping[str, str]
    """Every figure that its rows may have, those of one unit in one text, by the unit: what a criterion may name."""
    example: str = ""
    of_line: tuple[str, ...] = ()
    """Figures that only a link with a rate of its own has."""
    stand_in: StandIn | None = None
    """What pairs are compared by where `figure` is a bound on both sides; the procedure of the same name as its figure
    measures it alone."""

    sizes: str | None = None
    """Frame sizes if none are given; RFC 2544's if absent."""
    simulated_sizes: str | None = None
    """Frame sizes for a simulated device, which has no MTU."""
    dut: str | None = None
    """The device if neither device nor ports are named."""
    searches: bool = False
    """It searches for the throughput first where no rate is given. Those trials are as long as its own; where these
    have no one length, its setting `search_s` says it."""
    pace: Mapping[str, float] = field(default_factory=dict)
    """Settings whose shortened values are others than usual (`plan/pace.py`), as multiples of the longest trial."""
    usual: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda given: {}
    """Defaults that depend on the settings that are given."""

    own_flows: bool = False
    """It sets itself which port sends to which: every port must be able to send to every other."""
    pattern: Literal["", "either"] = ""
    """The only traffic pattern that it has, where that is not each port to every other."""
    foretells: Callable[[Any, Capabilities], Iterable[str]] = lambda plan, capabilities: ()
    """What is said of it before the first frame beside how long it takes, in phrases."""
    least_ports: int = 2
    ports_in_blocks: bool = False
    """The number of ports must be `least_ports` or a multiple."""
    watches_headers: bool = False
    """It looks at the headers of frames that arrive, for which ports must be opened."""
    rows_when_simulated: bool = False
    """A simulated device keeps a row for each of its frames, too."""
    times_batches: bool = False
    """Its trials may time batches of frames through the device and over a cable, and open ports again for that."""
    floods: bool = False
    """Its load looks like an attack (a SYN flood): only labs and simulated devices get it without `force`."""
    needs: tuple[Ability, ...] = ()
    """Abilities that an engine needs besides sending and receiving."""
    packages: tuple[str, ...] = ()
    """Packages of extras that its result is computed with."""
    also_needs: Callable[[Any], Iterable[Ability]] = lambda settings: ()
    """Further ones, by its settings."""
    connections: Callable[[Any], int] = lambda settings: 0
    """The most connections of one of its trials, by its settings."""
    cable_m: Callable[[Any], float | None] = lambda settings: None
    """The length of the cable between the tester's ports, by its settings, where they say it."""
    over_two_hosts: Literal["", "counts", "latencies"] = ""
    """Which of its figures are measured where frames leave at one host and arrive at another: counts need no clock in
    common, latencies do; empty: none."""
    check: Callable[[Any, Capabilities], None] = lambda plan, capabilities: None
    """Raises PlanError if the engine cannot carry out what the plan asks of it."""
    from_afar: Callable[[Mapping[str, Any]], None] = lambda settings: None
    """Raises PlanError for settings, sent by a client of the server, that would act on the server."""

    in_pairs: Callable[[Any], Settings] = lambda settings: settings
    """Its settings in a run that is one side of a pair: as short as may be, but for what was given."""
    among: Callable[[Any, Sequence[Result]], Settings] = lambda settings, earlier: settings
    """Its settings in one of many runs of the same side, with what the latest ones before it show of the host."""
    alike: Callable[[Sequence[Result]], Sequence[Result]] = lambda results: results
    """Results of many runs of the same side, in their order, without figures that the others show to be the host's."""
    incomparable: Callable[[str, Sequence[Row | None], Sequence[Row | None]], str] = lambda figure, a, b: ""
    """Why this figure of a row cannot be compared, in a phrase, by that row in the results of A and of B (None: one
    has no such row); empty if nothing is against it."""
    near: Callable[[Any, Result], Settings] = lambda settings, result: settings
    """Its settings with what an earlier result of it lets a run do without."""

    plots: tuple[Callable[[Any], Plot | None], ...] = ()
    """Each draws the `Device`s (`plot/device.py`) that have something to show; None if there is none. Without any, its
    main figure is drawn."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Its figures in the table of frame sizes on the first screen, by the title of the column."""
    words: Mapping[str, Callable[[Row], str]] = field(default_factory=dict)
    """What is said of a size in that table after its figures, by the title of the column."""
    sentence: Callable[[Result], str] | None = None
    """What the report says of it first, where that is more than its main figure; empty if there is nothing to say."""
    adds: Callable[[Result], list[str]] = lambda result: []
    """What the result's sentence says after its main figure."""
    tables: Callable[[Result], list[Result]] = lambda result: [result]
    """The rows of its result as they stand together in a table of the page."""
    files: Callable[[Sequence[TrialRecord]], Mapping[str, Rows]] = lambda records: {}
    """Rows for further CSV files, by the name of the file."""
    keep: Callable[[Any, Result, Capabilities], str | None] = lambda plan, result, capabilities: None
    """Stores a further part of the result; returns a sentence with the place."""

    of_cpu: bool = False
    """Its figures are how fast a device works, which virtual time does not show: work takes none of it."""
    is_of_tester: bool = False
    """Its figures are the tester's: nothing is subtracted from them, and no device is judged by them."""
    is_steady: bool = False
    """Its trials are meant to show what a device does for any length of time."""
    over_time: bool = False
    """What happens in one of its trials is drawn against time."""
    several_loads: bool = False
    """The rows of a size differ by their load."""
    bounds_throughput: bool = False
    """Each of its trials is one constant load of one size between the plan's ports."""
    fills_device: bool = False
    """It looks for how many connections a device holds."""
    lossless: str = ""
    """The clause that says that its latencies are those of a load that loses nothing."""

    @property
    def command(self) -> str:
        """Name of its command."""
        return self.name.replace("_", "-")

    @property
    def unit_of(self) -> dict[str, str]:
        """The unit of each figure, by its name."""
        return {name: unit for unit, names in self.units.items() for name in names.split()}
