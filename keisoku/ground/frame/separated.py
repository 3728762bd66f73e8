"""Changes of headers in one text, with commas between them."""

from __future__ import annotations


def separated(text: str) -> tuple[str, ...]:
    """The changes of 'IP.ttl=-1,push=Dot1Q(vlan=5, prio=1)': a comma between parentheses belongs to one of them."""
    joined: list[str] = []
    for part in text.split(","):
        if joined and joined[-1].count("(") > joined[-1].count(")"):
            joined[-1] += f",{part}"
        else:
            joined.append(part.strip())
    return tuple(joined)
