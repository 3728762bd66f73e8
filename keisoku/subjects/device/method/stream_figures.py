"""Figures of one stream: counts, loss, latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.analysis.late_load import LateLoad
from keisoku.subjects.device.analysis.loss_ratio import loss_ratio
from keisoku.subjects.device.analysis.samples import Sample
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.latency_figures import PERCENTILES, latency_figures
from keisoku.subjects.device.record.counts import Tracked


def stream_figures(
    bias: Bias,
    tracked: Tracked,
    offered_frames: int,
    frame_bytes: int,
    fps: float,
    link_bits_per_second: float | None = None,
    percents: Mapping[str, float] = PERCENTILES,
    samples: Sequence[Sample] = (),
    late: LateLoad | None = None,
) -> dict[str, Quantity]:
    """'forwarded', 'lost', 'reordered', 'duplicated' and 'corrupt' (frames), 'loss' (% of offered, RFC 2544 §26.3),
    and the figures of latency (ns) if a frame arrived whole.

    Counts are exact; a frame that arrived corrupt counts as not forwarded. `samples` are the trial's intervals of time,
    for the intervals of the loss ratio and of the latencies; `late`: what is known of losses where the load was late.
    """
    counts = {
        "forwarded": tracked.forwarded_frames,
        "lost": tracked.lost_frames,
        "reordered": tracked.reordered.count,
        "duplicated": tracked.duplicated.count,
        "corrupt": tracked.corrupt.count,
    }
    figures = {name: Quantity(value=count, unit="frames", uncertainty=0) for name, count in counts.items()}
    if offered_frames:
        figures["loss"] = loss_ratio(tracked, offered_frames, samples, late)
    if tracked.latency is not None:
        figures |= latency_figures(bias, [tracked.latency], frame_bytes, fps, link_bits_per_second, percents, [samples])
    return figures
