"""Sends the packets of a comparison of sources of time; the session keeps them."""

from __future__ import annotations

from collections.abc import Callable

from keisoku.errors import EngineError
from keisoku.language import phrase
from keisoku.subjects.path.clocks.analysis import LONE, PAIR
from keisoku.subjects.path.clocks.settings import SourceComparisonSettings
from keisoku.subjects.path.packet_pair.stages import MTU_SIZES, SMALL_SIZES, Know, larger_noise
from keisoku.subjects.path.stamp_noise import stamp_noise
from keisoku.subjects.path.train.probe import TrainPlan
from keisoku.subjects.path.train.session import TrainSession

_LONE_PACKETS = 10
"""Of each size in a repetition."""
_ROUGH_PACKETS = 20
_LEAST_GAP_S, _MOST_GAP_S = 0.003, 0.1


def measure(
    session: TrainSession,
    settings: SourceComparisonSettings,
    told: Callable[[str], None] = lambda _: None,
    know: Know = lambda _: None,
) -> dict[str, object]:
    """All repetitions; the trains are in `session.log`. Returns facts. Raises EngineError if nothing passes."""
    told(phrase("the path's MTU"))
    mtu = session.path_mtu(sorted({*MTU_SIZES, *([settings.size_bytes] if settings.size_bytes else [])}))
    if mtu == 0 or settings.size_bytes > mtu:
        problem = f"packets of {settings.size_bytes or MTU_SIZES[0]} byte do not pass to {settings.host} and back"
        raise EngineError(f"{problem}; choose shorter ones")
    told(phrase("the stamps' own noise"))
    noise = larger_noise(stamp_noise(session.local, session.place.path), session.remote_noise())
    facts: dict[str, object] = {"path_mtu_bytes": mtu, "stamp_noise_ns": noise, "stamps": list(session.stamps)}
    know(facts)
    ip_bytes = settings.size_bytes or mtu
    sizes = sorted({*(size for size in SMALL_SIZES if size < ip_bytes), ip_bytes // 2 + 40, ip_bytes})
    gap_s = _gap_s(session, settings, ip_bytes)
    for number in range(settings.repetitions):
        told(phrase("repetition {number} of {repetitions}", number=number + 1, repetitions=settings.repetitions))
        plans = [TrainPlan(f"{PAIR} {number}", settings.direction, ip_bytes, 2)] * settings.pairs
        plans += [
            TrainPlan(f"{LONE} {number}", settings.direction, size, 1) for _ in range(_LONE_PACKETS) for size in sizes
        ]
        session.run(plans, gap_s, watch=True)
    return facts


def _gap_s(session: TrainSession, settings: SourceComparisonSettings, ip_bytes: int) -> float:
    """From train to train: four times what a pair takes, by the rate at which a train arrives."""
    (train,) = session.run([TrainPlan("rough", settings.direction, ip_bytes, _ROUGH_PACKETS)], 0.0).trains()
    came = train.received_ns[train.received_ns > 0]
    packet_s = float(came[-1] - came[0]) / 1e9 / (len(came) - 1) if len(came) > 1 else 0.0
    return min(max(8 * packet_s, _LEAST_GAP_S), _MOST_GAP_S)
