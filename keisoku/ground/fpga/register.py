"""Registers and their fields: addresses and places of bits. Accesses no hardware; see link.py."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """Some neighbouring bits of the word at a byte address."""

    address: int
    low: int
    width: int

    @property
    def mask(self) -> int:
        """The field's bits within its word."""
        return ((1 << self.width) - 1) << self.low

    def extract(self, word: int) -> int:
        """The field's value in a word that was read."""
        return (word & self.mask) >> self.low

    def insert(self, value: int, word: int = 0) -> int:
        """The word with the field set to `value` and its other bits as they are.

        Raises ValueError if the value does not fit.
        """
        if not 0 <= value < 1 << self.width:
            raise ValueError(f"{value} does not fit in {self.width} bits of register {self.address:#x}")
        return (word & ~self.mask) | value << self.low


@dataclass(frozen=True, slots=True)
class Memory:
    """Words of 32 bit one after another, from a byte address on."""

    address: int
    words: int


class Register:
    """A word of 32 bit at a byte address; the subclasses in registers.py have its fields as attributes."""

    def __init__(self, address: int) -> None:
        self.address = address
