"""Still plots: values lie where they should, axes name round numbers, text that users chose stays text."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import keisoku
from keisoku.ground.report.plot import SYMBOLS, Plot, axis, device_colour, hover, label, size_colour
from keisoku.ground.report.points import add_bound_legend, points
from keisoku.ground.report.svg import svg
from keisoku.ground.report.svg_axis import Axis
from keisoku.ground.report.svg_colour import colour, heat
from keisoku.ground.report.svg_points import steps
from keisoku.ground.statistics.quantity import Interval, Quantity

VALUES = st.floats(-1e12, 1e12, allow_nan=False)


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=30))
@example([5e-324])
@example([0.0, 2e-320])
def test_every_value_lies_on_a_linear_axis_in_order(values: list[float]) -> None:
    across = Axis({"type": "linear"}, values, 0, 600)
    places = [across.place(value) for value in sorted(values)]
    assert all(place is not None and -1e-6 <= place <= 600 + 1e-6 for place in places)
    assert all(one <= other for one, other in pairwise(p for p in places if p is not None))
    assert len(across.ticks()) < 40


@settings(deadline=None)
@given(st.lists(st.floats(1e-9, 1e12), min_size=1, max_size=30))
def test_every_positive_value_lies_on_a_logarithmic_axis(values: list[float]) -> None:
    up = Axis({"type": "log"}, values, 400, 0)
    assert all(-1e-6 <= (up.place(value) or 0.0) <= 400 + 1e-6 for value in values)
    assert up.place(0) is None and up.place(-1) is None
    assert 1 < len(up.ticks()) < 40


PLACES = st.lists(st.none() | st.tuples(st.floats(0, 1000), st.floats(0, 1000)), max_size=200)


@settings(deadline=None)
@given(PLACES, st.booleans())
def test_the_steps_of_a_line_end_where_its_places_are(places: list[tuple[float, float] | None], stepped: bool) -> None:
    walked = re.findall("([Mlhv])(-?[0-9.]+)(?: (-?[0-9.]+))?", steps(places, stepped))
    ends: list[tuple[float, float]] = []
    for letter, one, other in walked:
        x, y = ends[-1] if ends else (0.0, 0.0)
        to = {
            "M": lambda x, y, a, b: (a, b),
            "l": lambda x, y, a, b: (x + a, y + b),
            "h": lambda x, y, a, b: (x + a, y),
            "v": lambda x, y, a, b: (x, y + a),
        }[letter]
        ends.append(to(x, y, float(one), float(other or 0)))
    known = [place for place in places if place]
    assert all(min(math.dist(place, end) for end in ends) < 0.08 for place in known)
    assert sum(letter == "M" for letter, *_ in walked) == sum(
        bool(place) and not before for before, place in zip([None, *places], places, strict=False)
    )


def test_ticks_are_round_and_start_at_zero_where_they_are_told() -> None:
    told = {"type": "linear", "rangemode": "tozero"}
    assert [name for _, name in Axis(told, [3, 97], 0, 600).ticks()] == ["0", "20", "40", "60", "80", "100"]
    assert [name for _, name in Axis({"type": "log"}, [1, 1e6], 0, 1).ticks()] == [
        "1", "10", "100", "1\u202f000", "10\u202f000", "100\u202f000", "1\u202f000\u202f000",
    ]  # fmt: skip
    named = Axis({"tickvals": [64, 1518], "ticktext": ["64", "1518"]}, [64, 1518], 0, 1)
    assert [name for _, name in named.ticks()] == ["64", "1518"]
    assert [name for _, name in Axis({"type": "category"}, ["a", "b"], 0, 1).ticks()] == ["a", "b"]


def plot(**more: object) -> Plot:
    made = Plot("p", "a < b & c", {"xaxis": axis("x <&>"), "yaxis": axis("y")})
    made.add({"x": [0, 1, 2], "y": [0.0, None, 4.0], "mode": "lines+markers", "name": label("<b>&"), **more})
    return made


def test_intervals_below_zero_lie_on_the_axis_and_so_does_zero() -> None:
    """Their lower ends were cut off."""
    ends = Interval(lower=-8, upper=-1)
    plot = Plot("name", "", {"xaxis": {"type": "category"}, "yaxis": axis("%")})
    plot.add({"x": ["one"], **points([Quantity(value=-4, unit="%", interval=ends)], 1, "black", "circle")})
    ticks = re.findall(r">(−?-?[0-9.]+)</text>", svg(plot))
    assert {"0", "-8"} <= {tick.replace("−", "-") for tick in ticks}


def test_a_small_number_is_a_power_of_ten_and_not_a_program_s_text() -> None:
    names = [name for _, name in Axis({"type": "log"}, [1e-5, 1.0], 0, 600).ticks()]
    assert "10⁻⁵" in names and not any("e" in name for name in names)


def test_a_line_is_broken_where_a_value_is_missing() -> None:
    drawn = ElementTree.fromstring(svg(plot()))
    paths = [each.get("d", "") for each in drawn.iter("{http://www.w3.org/2000/svg}path")]
    assert any(len(re.findall("M", path)) == 2 for path in paths)
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))) == 2


def test_a_bound_is_a_triangle_with_an_entry_in_the_legend() -> None:
    figures = [
        Quantity(value=1.0, unit="ns", uncertainty=0.5),
        Quantity(value=2.0, unit="ns", bound="at least"),
        None,
        Quantity(value=3.0, unit="ns", interval=Interval(lower=2.0, upper=3.5)),
    ]
    made = Plot("p", "", {"xaxis": axis("x"), "yaxis": axis("y")})
    drawn = points(figures, 1.0, device_colour(0), SYMBOLS[0])
    assert drawn["y"] == [1.0, 2.0, None, 3.0]
    assert drawn["marker"]["symbol"] == ["circle", "triangle-up-open", "circle", "circle"]
    assert (drawn["error_y"]["array"], drawn["error_y"]["arrayminus"]) == ([0.5, 0.0, 0.0, 0.5], [0.5, 0.0, 0.0, 1.0])
    made.add({"x": [0, 1, 2, 3], "mode": "lines+markers", "name": "one", **drawn})
    without = svg(made)
    add_bound_legend(made, figures)
    shown = svg(made)
    assert without.count('Z"') == 1 and "at least" not in without
    assert shown.count('Z"') == 2 and "at least: only a bound is known" in shown and "at most" not in shown
    ElementTree.fromstring(shown)


def test_only_triangles_mean_a_bound() -> None:
    assert not any(symbol.startswith("triangle") for symbol in SYMBOLS)
    made = Plot("p", "", {"xaxis": axis("x"), "yaxis": axis("y")})
    add_bound_legend(made, [Quantity(value=1.0, unit="ns"), None])
    assert not made.traces


@pytest.mark.parametrize(("width", "every"), [(358, 2), (760, 1)])
def test_names_are_written_upright_where_they_do_not_fit_beside_each_other(width: int, every: int) -> None:
    """Of twenty outputs, five had a name at 760 pixels, and two on a telephone, which now has every other one."""
    names = [f"1518 byte, {number} and 1 to 2" for number in range(20)]
    made = Plot("p", "", {"xaxis": {"type": "category"}, "yaxis": axis("y")})
    made.add({"x": names, "y": list(range(20)), "mode": "markers"})
    drawn = ElementTree.fromstring(svg(made, width))
    texts = [each for each in drawn.iter("{http://www.w3.org/2000/svg}text") if each.text in names]
    assert [each.text for each in texts] == names[::every]
    assert all("rotate(-90)" in each.get("transform", "") for each in texts)
    few = Plot("p", "", {"xaxis": {"type": "category"}, "yaxis": axis("y")})
    few.add({"x": ["a", "b"], "y": [1, 2], "mode": "markers"})
    assert svg(few, width).count("rotate") == 1  # the title of the vertical axis
    assert int(drawn.get("height", "")) > int(ElementTree.fromstring(svg(few, width)).get("height", ""))


def test_what_users_named_is_no_markup() -> None:
    text = svg(plot(text=[hover("<script>", "x")] * 3))
    ElementTree.fromstring(text)
    assert "<script" not in text and "&lt;script&gt;" in text and "&lt;b&gt;&amp;" in text


def test_bands_steps_errors_and_matrices_are_drawn() -> None:
    made = plot(line={"color": device_colour(0), "shape": "hv", "dash": "dash"}, error_y={"array": [1, 1, 1]})
    made.add({"x": [0, 2], "y": [1, 1], "mode": "lines", "fill": "tonexty", "fillcolor": device_colour(0, 0.1)})
    text = svg(made)
    assert 'z" fill=' in text and "stroke-dasharray" in text and 'fill-opacity="0.1"' in text
    matrix = Plot("m", "", {"xaxis": {"type": "category"}, "yaxis": {"type": "category", "autorange": "reversed"}})
    cells = {
        "type": "heatmap",
        "x": ["1", "2"],
        "y": ["1", "2"],
        "z": [[None, 1.0], [2.0, None]],
        "text": [["", "a"]] * 2,
    }
    matrix.add(cells)
    drawn = ElementTree.fromstring(svg(matrix))
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}rect"))) == 2


def test_only_what_a_page_shows_first_is_drawn() -> None:
    made = plot()
    made.choices = ["one", "two"]
    made.add({"x": [5], "y": [5], "name": "second"}, ["two"])
    assert "second" not in svg(made)


def test_colours_are_found_by_their_names() -> None:
    assert colour("@device:1:0.5") == ("#d55e00", 0.5)
    assert colour(size_colour(0, 1))[0].startswith("rgb(")
    assert colour("#123456") == ("#123456", 1.0) and colour("@muted") == colour(None)
    assert heat(0) != heat(1) == heat(2)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_what_is_not_finite_is_not_drawn(value: float) -> None:
    assert Axis({"type": "linear"}, [1.0, value], 0, 1).place(value) is None


def test_an_interval_that_goes_beyond_its_axis_ends_there() -> None:
    """Rates between -3000 and 10 000 requests/s were drawn across the names below the axis."""
    made = Plot("p", "", {"xaxis": {"type": "category"}, "yaxis": {"rangemode": "tozero"}})
    made.add({"x": ["one", "two"], "y": [3.0, 4.0], "mode": "markers", "error_y": {"array": [7.0, 1.0]}})
    drawn = svg(made)
    floor = max(float(at) for at in re.findall(r'<path d="M[\d.]+ ([\d.]+)H', drawn))
    (errors,) = re.findall(r'class="error" d="([^"]*)"', drawn)
    ends = [float(at) for span in re.findall(r"M[\d.]+ ([\d.]+)V([\d.]+)", errors) for at in span]
    assert len(ends) == 4 and max(ends) <= floor


def test_an_interval_through_zero_is_no_bar_over_a_whole_logarithmic_axis() -> None:
    plot = Plot("p", "P", {"xaxis": axis("x"), "yaxis": {"title": {"text": "y"}, "type": "log"}})
    figures = [Quantity(value=value, unit="", uncertainty=width) for value, width in ((1, 0.1), (1000, 2000))]
    plot.add({"x": [1, 2], "mode": "markers", **points(figures, 1.0, device_colour(0), "circle")})
    (path,) = re.findall(r'class="error" d="([^"]*)"', svg(plot))
    heights = [float(low) - float(high) for low, high in re.findall(r" ([0-9.]+)V([0-9.]+)", path)]
    assert len(heights) == 2 and max(heights) < 100, path


def test_the_page_gives_no_size_to_the_bars_of_a_plot() -> None:
    """A rule for the page's own bars drew each bar of a plot as a strip of 9 pixels."""
    style = (Path(keisoku.__file__).parent / "ground/report/templates/style.css").read_text()
    plot = Plot("one", "", {"xaxis": {"type": "category"}, "yaxis": axis("")})
    plot.add({"type": "bar", "x": ["a", "b"], "y": [1.0, 2.0]})
    names = set(re.findall(r'<rect class="([^"]+)"', svg(plot)))
    assert names
    for selectors in re.findall(r"([^{}]+)\{[^}]*\b(?:width|height)\s*:", style):
        assert not {f".{name}" for name in names} & {one.strip() for one in selectors.split(",")}
