"""Corrections by a calibration: subtracted, interpolated, with an honest uncertainty."""

from pathlib import Path

import pytest

from keisoku.errors import PlanError
from keisoku.subjects.device.calibration.bias import Bias, Calibration, Point, newest, read

HERE = {"host": "here", "engine": "xdp"}


def point(size: int, fps: float, bias: float, repeat: float = 3.0, spread: float = 40.0) -> Point:
    return Point(frame_bytes=size, frames_per_second=fps, bias_ns=bias, repeat_ns=repeat, spread_ns=spread)


def calibration(made_at: str = "2026-01-01T00:00:00+00:00", valid_for: dict[str, str] = HERE) -> Calibration:
    points = (point(64, 1e3, 400), point(64, 1e5, 412), point(1518, 1e3, 500), point(1518, 1e5, 512))
    return Calibration(made_at=made_at, valid_for=valid_for, points=points)


def test_nothing_is_subtracted_and_nothing_claimed_without_a_calibration() -> None:
    figure = Bias().corrected(1000, 64, 1e5, single_frame=False)
    assert (figure.value, figure.uncertainty) == (1000, None)


def test_simulated_time_is_known_to_the_picosecond_that_it_counts_in() -> None:
    figure = Bias(exact=True).corrected(1000, 64, 1e5, single_frame=True)
    assert figure.value == 1000 and figure.uncertainty == pytest.approx(2 * 0.0005 / 3**0.5)


def test_a_mean_is_known_better_than_a_single_frame() -> None:
    bias = Bias(calibration())
    mean = bias.corrected(1000, 64, 1e5, single_frame=False)
    frame = bias.corrected(1000, 64, 1e5, single_frame=True)
    assert mean.value == frame.value == 1000 - 412
    assert mean.uncertainty == pytest.approx(2 * 3.0)
    assert frame.uncertainty == pytest.approx(2 * (3.0**2 + 40.0**2) ** 0.5)


@pytest.mark.parametrize(
    ("size", "fps", "bias_ns"),
    [(64, 50_500, 406), (791, 1e3, 450), (791, 1e5, 462), (64, 1.0, 400), (9000, 1e9, 512)],
)
def test_between_points_it_interpolates_and_outside_takes_the_nearest(size: int, fps: float, bias_ns: float) -> None:
    correction = Bias(calibration()).correction(size, fps)
    assert correction is not None
    assert correction.bias_ns == pytest.approx(bias_ns)


def test_between_two_loads_their_difference_adds_to_the_uncertainty() -> None:
    correction = Bias(calibration()).correction(64, 50_500)
    assert correction is not None
    assert correction.mean_ns == pytest.approx((3.0**2 + 12**2 / 12) ** 0.5)


def test_the_newest_that_fits_is_used(tmp_path: Path) -> None:
    for number, (made_at, valid_for) in enumerate(
        [("2026-01-01", HERE), ("2026-02-01", HERE), ("2026-03-01", {**HERE, "host": "elsewhere"})]
    ):
        (tmp_path / f"{number}.json").write_text(calibration(made_at, valid_for).model_dump_json())
    (tmp_path / "broken.json").write_text("{")
    found = newest(tmp_path, HERE)
    assert found is not None and found.made_at == "2026-02-01"
    assert newest(tmp_path, {"host": "nowhere"}) is None


def test_what_is_no_calibration_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text('{"made_at": 3}')
    for path in (tmp_path / "file.json", tmp_path / "missing.json"):
        with pytest.raises(PlanError, match=r"calibration: .*keisoku calibrate"):
            read(path)
