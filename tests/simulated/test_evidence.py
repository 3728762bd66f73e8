"""A throughput says no less than any trial of its run has shown."""

from __future__ import annotations

import pytest
from support.one_stream import facts_of
from support.simulated_trials import carry_out, device, plan

from keisoku.ground.run.result import Result
from keisoku.subjects.device.method.evidence import agreed
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

LINE = 1e9 / (84 * 8)
HALF = "[output]\nservice_bits_per_second = 5e8\nbuffer_bytes = 2000"


def measured(toml: str = HALF, slow: bool = False) -> tuple[Result, list[TrialRecord]]:
    def limited(index: int, trial: Trial, facts: Facts) -> Facts:
        able = int(400_000 * trial.duration_ns / 1e9)
        if not slow or trial.frames <= able:
            return facts
        sent = facts.sent.model_copy(update={"offered_frames": able})
        return facts_of(sent, facts.tracked.model_copy(update={"forwarded_frames": able, "lost_frames": 0}))

    wanted = plan("throughput", frame_bytes=[64], throughput={"trial_s": 0.5, "resolution_percent": 1})
    return carry_out(wanted, device(toml), limited)


def like(record: TrialRecord, fps: float, lost: int = 0, seconds: float = 0.5, method: str = "loss") -> TrialRecord:
    """A trial of another procedure that offered this load."""
    frames, duration_ns = round(fps * seconds), round(seconds * 1e9)
    trial = record.trial.model_copy(update={"frames_per_second": fps, "duration_ns": duration_ns})
    last_ns = round((frames - 1) / fps * 1e9)
    sent = record.facts.sent.model_copy(update={"offered_frames": frames, "last_sent_ns": last_ns})
    tracked = record.facts.tracked.model_copy(update={"forwarded_frames": frames - lost, "lost_frames": lost})
    return record.model_copy(
        update={"index": 999, "method": method, "trial": trial, "facts": facts_of(sent, tracked), "invalid_because": []}
    )


def test_trials_that_agree_change_nothing() -> None:
    result, records = measured()
    assert agreed([result], records) == [result]
    lossy, clean = like(records[0], 0.7 * LINE, lost=9), like(records[0], 0.3 * LINE)
    assert agreed([result], [*records, lossy, clean]) == [result]


def test_a_bound_is_raised_to_the_highest_load_without_loss() -> None:
    result, records = measured(toml="", slow=True)
    figure = result.rows[0].figures["throughput"]
    assert figure.bound == "at least" and figure.value < 0.4e6
    (raised,) = agreed([result], [*records, like(records[0], 0.39e6, method="latency")])
    assert raised.rows[0].figures["throughput"].value == pytest.approx(0.39e6, rel=1e-4)
    assert raised.rows[0].figures["bit_rate"].value == pytest.approx(0.39e6 * 512, rel=1e-4)
    assert raised.rows[0].trial == 999


def test_a_row_without_a_figure_gets_the_bound_that_another_procedure_saw() -> None:
    result, records = measured()
    row = result.rows[0].model_copy(update={"figures": {}, "trial": None, "remark": "given up"})
    nothing = result.model_copy(update={"rows": [row]})
    (found,) = agreed([nothing], [like(records[0], 0.2e6)])
    figure = found.rows[0].figures["throughput"]
    assert figure.value == pytest.approx(0.2e6, rel=1e-4) and figure.bound == "at least"
    (found,) = agreed([nothing], [like(records[0], 0.3e6, lost=1), like(records[0], 0.2e6, lost=1)])
    figure = found.rows[0].figures["throughput"]
    assert (figure.value, figure.bound) == (0.2e6, "at most"), "a search that was cut had seen losses only"
    assert found.rows[0].remark == "given up"


@pytest.mark.parametrize(
    ("share", "lost", "said"),
    [
        (0.6, 0, "a trial of loss lost nothing at 892,857 frames/s"),
        (0.4, 3, "a trial of loss lost frames at 595,238 frames/s"),
    ],
)
def test_a_contradiction_widens_the_interval_and_is_stated(share: float, lost: int, said: str) -> None:
    result, records = measured()
    (found,) = agreed([result], [*records, like(records[0], share * LINE, lost)])
    interval = found.rows[0].figures["throughput"].interval
    assert interval is not None and share * LINE in (pytest.approx(interval.lower), pytest.approx(interval.upper))
    assert said in found.remarks[-1]
    assert found.rows[0].figures["throughput"].value == result.rows[0].figures["throughput"].value


def test_what_is_no_evidence_changes_nothing() -> None:
    result, records = measured()
    clean = like(records[0], 0.6 * LINE)
    others = [
        clean.model_copy(update={"method": "back_to_back"}),
        clean.model_copy(update={"invalid_because": ["the trial was interrupted"]}),
        like(records[0], 0.6 * LINE, seconds=0.1),  # a buffer may hide so short an overload
        clean.model_copy(update={"trial": clean.trial.model_copy(update={"frame_bytes": 128})}),
    ]
    assert agreed([result], [*records, *others]) == [result]
