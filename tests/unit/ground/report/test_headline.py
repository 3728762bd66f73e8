"""What the first screen shows of a figure that is lost in its uncertainty, and of a maximum."""

from __future__ import annotations

from keisoku.ground.report import digits
from keisoku.ground.report.answer import confidence
from keisoku.ground.report.headline import headline
from keisoku.ground.report.points import points
from keisoku.ground.report.sentence import sentence
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.difference import Margin, change, difference, verdict
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.repeated import combined
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.latency_figures import observed


def test_a_figure_whose_interval_is_as_wide_as_itself_is_a_bound() -> None:
    """The first screen had latencies of 0 ± 40, 10 ± 190 and 500 ± 600 µs."""
    for value, uncertainty, shown in (
        (0, 40, "at most 40 µs"),
        (10, 190, "at most 200 µs"),
        (500, 600, "at most 1"),
        (80, 40, "at most 120"),
    ):
        figure = Quantity(value=1e3 * value, unit="ns", uncertainty=1e3 * uncertainty)
        assert digits.text(headline(figure)).startswith(shown)


def test_a_figure_that_says_something_stays_as_it_is() -> None:
    known = Quantity(value=1490, unit="ns", uncertainty=10)
    step, count = Quantity(value=-5, unit="ns", uncertainty=40), Quantity(value=0, unit="frames", uncertainty=0)
    bound = Quantity(value=476e3, unit="frames/s", bound="at least")
    assert [headline(each) for each in (known, step, count, bound)] == [known, step, count, bound]


def test_a_loss_that_was_not_seen_is_bounded_and_keeps_its_mark() -> None:
    loss = Quantity(value=0, unit="%", interval=Interval(lower=0, upper=7), covers="resolution")
    assert digits.digits(headline(loss)).compact == "at most 7§"
    assert digits.text(headline(loss)) == "at most 7 % (in this run)"


def test_the_sentence_says_a_bound_of_frames_and_an_offset_of_clocks() -> None:
    wide = {"mean": Quantity(value=1e4, unit="ns", uncertainty=9e4)}
    of_frames, of_clocks = (
        sentence(Result(measurement="m", rows=[row]), "mean")
        for row in (Row(frame_bytes=64, figures=wide), Row(case="eth0", figures=wide))
    )
    assert "at most 100 µs" in of_frames and "10 ± 90 µs" in of_clocks


def test_a_latency_without_calibration_has_a_dagger_and_no_interval_anywhere() -> None:
    """It was shown as 12.345 ± 0.009 µs, where the tester's own microseconds are in the value."""
    bare = Bias().corrected(12_345.6, 64, 1e3, single_frame=False, own=(budget.normal("scatter", 4.5),))
    assert digits.digits(bare).compact == "12.35†" and digits.digits(bare).interval == ""
    assert digits.text(bare) == "12.35 µs (uncertainty unknown)"
    assert digits.text(combined([bare] * 6)) == "12.35 µs (uncertainty unknown)"
    assert "error_y" not in points([bare], 1e3, "", "circle")
    assert confidence(Row(figures={"mean": bare}), bare) == "uncertainty unknown"
    assert digits.digits(observed(bare)).compact == "12.35†"
    other = bare.model_copy(update={"value": 13_345.6})  # but two runs of one tester are compared
    assert digits.digits(difference(other, bare)).compact == "1.000 ± 0.013§" and verdict(other, bare) == "higher"


def test_a_maximum_is_observed_and_decides_no_comparison() -> None:
    """It was shown as 0.2 ± 2.8 ms, and a run with a larger one is no slower for that."""
    one, other = (Quantity(value=ms * 1e6, unit="ns", uncertainty=3e3, covers="observed") for ms in (0.42, 0.9))
    assert digits.text(one) == "420 ± 3 µs, observed" and digits.digits(one).compact == "420 ± 3¶"
    assert verdict(one, other) == "cannot be told apart"
    assert change(other, one, "lower", Margin()) == "cannot be judged"
