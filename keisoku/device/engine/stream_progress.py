"""What the core says of single streams of a running trial, as an engine's progress. Decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.device.engine.engine import StreamProgress


def progress_of(found: Sequence[tuple[str, int, int, int]]) -> tuple[StreamProgress, ...]:
    """State, frames offered, received and forwarded of each stream."""
    return tuple(
        StreamProgress.model_validate(
            {"state": state, "offered_frames": offered, "received_frames": received, "forwarded_frames": forwarded}
        )
        for state, offered, received, forwarded in found
    )
