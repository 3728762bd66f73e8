"""Values that a script gives and FRR's configuration takes: words such as keys, and numbers in FRR's ranges."""

from __future__ import annotations

from keisoku.faces.otg.reading.node import Node


def word(node: Node, name: str, text: str, most: int = 80) -> str:
    """The text, in which a space would end the word. Raises PlanError, with the path, if it is none."""
    if not text or not text.isascii() or not text.isprintable() or " " in text or len(text) > most:
        node.refuse(f"is not a word of at most {most} printable ASCII characters", "use another one", name)
    return text


def number_in_range(node: Node, name: str, least: int, most: int) -> int:
    """The number in a field. Raises PlanError, with the path, if FRR does not take it."""
    value = int(node.scalar(name))
    if not least <= value <= most:
        node.refuse(f"FRR takes {least} to {most}", "give such a value", name)
    return value
