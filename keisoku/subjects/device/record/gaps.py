"""Missing sequence numbers of a stream: gaps, and many of them in little memory.

Mirrors `Gap` of `core/src/account/gaps.rs`. Holds facts only; never computes.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, SerializationInfo, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from keisoku.subjects.device.record.packed import SHORT, is_stored, pack, unpack

_NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Gap:
    """Missing sequence numbers, sent after `after_ns` and before `before_ns`."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    first: int
    last: int
    count: int
    """Number of missing frames: all from first to last, or fewer where gaps were joined."""
    after_ns: int | None
    before_ns: int | None
    bitmap: str | None = None
    """In joined gaps, a bitmap of the missing numbers in base64; bit k of byte k / 8, least significant first, is
    `first + k`."""

    def numbers(self) -> list[int]:
        """The missing sequence numbers. Raises ValueError for joined gaps of which only the count was kept."""
        if self.bitmap is not None:
            octets = enumerate(b64decode(self.bitmap))
            return [self.first + 8 * place + k for place, octet in octets for k in range(8) if octet >> k & 1]
        if self.count != self.last - self.first + 1:
            raise ValueError(
                f"the numbers of the {self.count} missing frames from {self.first} to {self.last} were not kept"
            )
        return list(range(self.first, self.last + 1))


class Gaps(Sequence[Gap]):
    """Gaps in columns: 131 072 of them, which a trial with an overload has, take 5 MB, and as objects 100."""

    def __init__(self, gaps: Iterable[Gap] = ()) -> None:
        rows: list[tuple[int, ...]] = []
        self._bitmaps: dict[int, str] = {}
        for place, gap in enumerate(gaps):
            rows.append((gap.first, gap.last, gap.count, *map(_number, (gap.after_ns, gap.before_ns))))
            if gap.bitmap is not None:
                self._bitmaps[place] = gap.bitmap
        self._rows = np.array(rows, dtype=np.int64).reshape(-1, 5)

    @property
    def firsts(self) -> NDArray[np.int64]:
        """The first missing number of each gap."""
        return self._rows[:, 0]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Missing frames of each gap."""
        return self._rows[:, 2]

    @property
    def after_ns(self) -> NDArray[np.float64]:
        """`Gap.after_ns` of each; NaN where it is not known."""
        return _known(self._rows[:, 3])

    @property
    def before_ns(self) -> NDArray[np.float64]:
        """`Gap.before_ns` of each; NaN where it is not known."""
        return _known(self._rows[:, 4])

    def ranges(self) -> NDArray[np.int64]:
        """Rows of the first number of a range, the one behind it, and how many of them are missing, in ascending order:
        each gap, and pieces of up to 64 numbers of a bitmap, which bounds the memory."""
        rows = [np.column_stack([self._rows[:, 0], self._rows[:, 1] + 1, self._rows[:, 2]])]
        for place, bitmap in self._bitmaps.items():
            bits = np.unpackbits(np.frombuffer(b64decode(bitmap), np.uint8), bitorder="little")
            counts = np.pad(bits, (0, -len(bits) % 64)).reshape(-1, 64).sum(axis=1, dtype=np.int64)
            first = self._rows[place, 0] + 64 * np.arange(len(counts))
            ends = np.minimum(first + 64, self._rows[place, 1] + 1)
            rows.append(np.column_stack([first, ends, counts])[counts > 0])
        whole = np.delete(np.concatenate(rows), list(self._bitmaps), axis=0)
        return whole[np.argsort(whole[:, 0], kind="stable")]

    def hold(self, sequences: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these numbers of frames are missing; in a joined gap without a bitmap any may be."""
        order = np.argsort(self._rows[:, 0], kind="stable")
        rows = self._rows[order]
        at = np.searchsorted(rows[:, 0], sequences, "right") - 1
        found = np.zeros(len(sequences), bool)
        inside = at >= 0
        found[inside] = sequences[inside] <= rows[at[inside], 1]
        for place, bitmap in self._bitmaps.items():
            here = np.flatnonzero(found & (order[np.maximum(at, 0)] == place))
            bits = np.unpackbits(np.frombuffer(b64decode(bitmap), np.uint8), bitorder="little")
            found[here] = bits[sequences[here] - self._rows[place, 0]] > 0
        return found

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Gap: ...

    @overload
    def __getitem__(self, place: slice) -> list[Gap]: ...

    def __getitem__(self, place: int | slice) -> Gap | list[Gap]:
        if isinstance(place, slice):
            return [self._gap(index) for index in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self._gap(place % len(self))

    def __iter__(self) -> Iterator[Gap]:
        return (_gap(row, self._bitmaps.get(place)) for place, row in enumerate(self._rows.tolist()))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Gaps):
            return np.array_equal(self._rows, other._rows) and self._bitmaps == other._bitmaps
        return isinstance(other, list) and list(self) == other

    __hash__ = None  # type: ignore[assignment]  # as that of a list

    def __repr__(self) -> str:
        return f"Gaps({list(self)!r})"

    def _gap(self, place: int) -> Gap:
        return _gap(self._rows[place].tolist(), self._bitmaps.get(place))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """As a list of gaps, in JSON as well; in a run, many are packed."""
        listed = core_schema.no_info_after_validator_function(cls, handler(list[Gap]))
        bitmaps = core_schema.dict_schema(core_schema.int_schema(), core_schema.str_schema())
        packed = core_schema.typed_dict_schema(
            {
                "packed": core_schema.typed_dict_field(core_schema.str_schema()),
                "bitmaps": core_schema.typed_dict_field(bitmaps),
            },
            extra_behavior="forbid",
        )
        return core_schema.union_schema(
            [
                core_schema.is_instance_schema(cls),
                core_schema.no_info_after_validator_function(cls._unpacked, packed),
                listed,
            ],
            mode="left_to_right",
            serialization=core_schema.plain_serializer_function_ser_schema(cls._serialized, info_arg=True),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Of the list: what is packed is in runs only."""
        return handler(TypeAdapter(list[Gap]).core_schema)

    def _serialized(self, info: SerializationInfo) -> Any:
        if not is_stored(info) or len(self) <= SHORT:
            return list(self)
        return {"packed": pack(self._rows), "bitmaps": self._bitmaps}

    @classmethod
    def _unpacked(cls, stored: dict[str, Any]) -> Gaps:
        made = cls()
        made._rows, made._bitmaps = unpack(stored["packed"], 5), stored["bitmaps"]
        if not all(0 <= place < len(made) for place in made._bitmaps):
            raise ValueError("a bitmap belongs to no gap")
        return made


def _gap(row: Sequence[int], bitmap: str | None) -> Gap:
    first, last, count, after_ns, before_ns = row
    return Gap(
        first,
        last,
        count,
        None if after_ns == _NO_TIME else after_ns,
        None if before_ns == _NO_TIME else before_ns,
        bitmap,
    )


def _known(times_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(times_ns == _NO_TIME, np.nan, times_ns.astype(np.float64))


def _number(time_ns: int | None) -> int:
    return _NO_TIME if time_ns is None else time_ns
