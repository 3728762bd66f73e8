"""Shares of the members of a group, as a parameter of a lab device has them: '1:2:1'."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

_MOST = 255
"""Of the kernel's next hops (`struct nexthop_grp`, uapi/linux/nexthop.h)."""


def _whole(text: str) -> str:
    if not all(part.isdecimal() and 1 <= int(part) <= _MOST for part in text.split(":")):
        raise ValueError
    return text


WeightsText = Annotated[str, AfterValidator(_whole)]
"""Whole numbers from 1 to 255 with colons between them; validation raises ValueError for anything else."""


def weights_of(text: str | None, members: int) -> list[int]:
    """One for each member, in order: the last ones given are those of further members, equal ones without any."""
    given = [int(part) for part in text.split(":")] if text else [1]
    return [given[min(place, len(given) - 1)] for place in range(members)]
