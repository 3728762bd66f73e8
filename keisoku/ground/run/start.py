"""When a run began: its ISO 8601 text as an instant, so that runs of several time zones can be ordered. No I/O."""

from __future__ import annotations

from datetime import UTC, datetime

NEVER = datetime.min.replace(tzinfo=UTC)
"""Before all others: of a run whose start is not known."""


def instant(started_at: str) -> datetime | None:
    """In UTC, whatever zone the text names; a text without one is of UTC. None: the text is no time."""
    try:
        found = datetime.fromisoformat(started_at)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
