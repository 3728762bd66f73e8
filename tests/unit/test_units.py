import pytest

from keisoku.errors import PlanError
from keisoku.units import duration_ns, frame_sizes, rate


@pytest.mark.parametrize(
    ("text", "fps"),
    [("1000", 1000), ("0.5 Mpps", 5e5), ("50kpps", 5e4), ("2 kframes/s", 2000), ("1e3 fps", 1000)],
)
def test_rates_are_read(text: str, fps: float) -> None:
    assert rate("--rate", text) == fps


@pytest.mark.parametrize(("text", "ns"), [("2", 2e9), ("200ms", 2e8), ("1.5 s", 1.5e9), ("10us", 1e4), ("1 min", 6e10)])
def test_times_are_read(text: str, ns: float) -> None:
    assert duration_ns("--duration", text) == ns


@pytest.mark.parametrize("text", ["0", "-5", "0 s", "-1ms"])
def test_zero_and_negative_are_refused_by_name(text: str) -> None:
    with pytest.raises(PlanError, match=r"--duration.*not above zero"):
        duration_ns("--duration", text)


@pytest.mark.parametrize("text", ["fast", "", "5 parsecs", "nan", "1 2"])
def test_what_is_no_rate_is_refused_by_name(text: str) -> None:
    with pytest.raises(PlanError, match="--rate"):
        rate("--rate", text)


def test_sizes_and_ranges() -> None:
    assert frame_sizes("--size", "1518, 64,64") == [64, 1518]
    assert frame_sizes("--size", "64-200:64") == [64, 128, 192, 200]


@pytest.mark.parametrize("text", ["64-", "big", "200-100:10", "64-100:0", "-64", ""])
def test_bad_sizes_are_refused(text: str) -> None:
    with pytest.raises(PlanError, match="--size"):
        frame_sizes("--size", text)
