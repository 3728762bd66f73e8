"""An observer that keeps what it is told."""

from __future__ import annotations

from keisoku.ground.observer import Observer


class Listening(Observer):
    def __init__(self) -> None:
        self.told: list[str] = []
        self.warned: list[str] = []

    def tell(self, line: str) -> None:
        self.told.append(line)

    def warn(self, line: str) -> None:
        self.warned.append(line)
