"""The distribution of latency over every frame of a trial, as densities over the core's own buckets.

The buckets grow with the latency; only frames per nanosecond can be compared across them.
"""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, Trace, axis, device_colour, hover, label, size_choices, size_colour
from keisoku.language import phrase
from keisoku.subjects.device.plot.device import Device, frame_sizes
from keisoku.subjects.device.record.counts import Buckets

SIZES_MAX = 12
FRAMES_MIN = 40
"""A step with fewer frames is joined with the next, because it scatters too much."""
WIDTH_MAX = 1.08
"""A joined step's upper edge over its lower one."""
ALL = phrase("all sizes")


def histogram_plot(devices: Sequence[Device], method: str) -> Plot | None:
    """Log-log histogram of latency; one device shows all sizes, several are compared at one size."""
    sizes = _spread(frame_sizes(devices, method))
    alone = len(devices) == 1
    entries: list[tuple[Device, int, Buckets]] = []
    for device in devices:
        result = device.result(method)
        for row in result.rows if result else []:
            record = device.record(row)
            if record and record.facts.tracked.latency and row.frame_bytes in sizes:
                buckets = record.facts.tracked.latency.histogram
                if buckets.counts:
                    entries.append((device, row.frame_bytes, _merged(buckets)))
    if not entries:
        return None
    divisor, unit = digits.scale("ns", max(buckets.upper_ns[-1] for _, _, buckets in entries))
    densities = [density for *_, buckets in entries for density in _densities(buckets)]
    floor = min(densities) / 3
    plot = Plot(
        name=f"{method}-histogram",
        caption=phrase(
            "Distribution of the latency of every frame of the trial; neighbouring buckets with few frames are drawn as"
            " one step."
        ),
        axes={
            "xaxis": axis(phrase("latency ({unit})", unit=unit), (), type="log"),
            "yaxis": axis(phrase("frames per ns of latency"), (), type="log", exponentformat="power", dtick=1),
        },
        choices=[*([ALL] if alone and len(sizes) > 1 else []), *size_choices(sizes)],
        choice_title=phrase("frame size"),
        scales=["xaxis"],
    )
    for device, size, buckets in entries:
        position = sizes.index(size)
        colour = size_colour(position, len(sizes)) if alone else device_colour(device.index)
        name = f"{size} byte" if alone else device.name
        trace = _outline(buckets, divisor, floor, f"{device.name}, {size} byte")
        trace["name"] = label(name)
        trace["line"] = {"color": colour, "width": 1.5}
        plot.add(trace, [f"{size} byte", *([ALL] if alone else [])])
    return plot


def _spread(sizes: Sequence[int]) -> list[int]:
    """At most `SIZES_MAX` of the sizes, first and last among them."""
    if len(sizes) <= SIZES_MAX:
        return list(sizes)
    step = (len(sizes) - 1) / (SIZES_MAX - 1)
    return [sizes[round(index * step)] for index in range(SIZES_MAX)]


def _merged(buckets: Buckets) -> Buckets:
    """Joins neighbours with few frames, up to `WIDTH_MAX`, so that a tail with few frames stays readable."""
    lower, upper, counts = [buckets.lower_ns[0]], [buckets.upper_ns[0]], [buckets.counts[0]]
    rest = zip(buckets.lower_ns[1:], buckets.upper_ns[1:], buckets.counts[1:], strict=True)
    for low, high, count in rest:
        if counts[-1] < FRAMES_MIN and high <= lower[-1] * WIDTH_MAX:
            upper[-1], counts[-1] = high, counts[-1] + count
        else:
            lower, upper, counts = [*lower, low], [*upper, high], [*counts, count]
    return Buckets(negative=buckets.negative, lower_ns=lower, upper_ns=upper, counts=counts)


def _densities(buckets: Buckets) -> list[float]:
    return [
        count / (upper - lower)
        for lower, upper, count in zip(buckets.lower_ns, buckets.upper_ns, buckets.counts, strict=True)
    ]


def _outline(buckets: Buckets, divisor: float, floor: float, name: str) -> Trace:
    """The steps of the histogram, going down to `floor` wherever a bucket is empty."""
    total = buckets.negative + sum(buckets.counts)
    xs: list[float] = []
    ys: list[float] = []
    texts: list[str] = []
    previous = None
    rows = zip(buckets.lower_ns, buckets.upper_ns, buckets.counts, _densities(buckets), strict=True)
    for lower, upper, count, density in rows:
        frames = phrase(
            "{count} of {total} frames ({percent} %)",
            count=digits.count(count),
            total=digits.count(total),
            percent=f"{100 * count / total:.3g}",
        )
        text = hover(name, f"{digits.count(lower)} … {digits.count(upper)} ns", frames)
        if previous is not None and previous < lower:
            xs, ys, texts = [*xs, previous / divisor], [*ys, floor], [*texts, texts[-1]]
        # A logarithmic axis cannot show zero.
        left, right = max(lower, 0.5) / divisor, upper / divisor
        if previous != lower:
            xs, ys, texts = [*xs, left], [*ys, floor], [*texts, text]
        xs, ys, texts = [*xs, left, right], [*ys, density, density], [*texts, text, text]
        previous = upper
    xs, ys, texts = [*xs, xs[-1]], [*ys, floor], [*texts, texts[-1]]
    return {"x": xs, "y": ys, "text": texts, "mode": "lines", "hovertemplate": "%{text}<extra></extra>"}
