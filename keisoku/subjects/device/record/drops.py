"""Where this host's kernel was seen to drop the lost frames of a trial. Holds facts only; never computes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, SerializationInfo, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from keisoku.subjects.device.record.packed import SHORT, is_stored, pack, unpack


class DroppedFrames:
    """Lost frames that the kernel was seen to drop, a row each: stream, sequence number, index of the place, and when,
    in ns since the first frame was due."""

    def __init__(self, rows: Iterable[Sequence[int]] | NDArray[np.int64] = ()) -> None:
        self.rows = np.array(rows, dtype=np.int64).reshape(-1, 4)

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DroppedFrames) and np.array_equal(self.rows, other.rows)

    __hash__ = None  # type: ignore[assignment]  # as that of a list

    def __repr__(self) -> str:
        return f"DroppedFrames({self.rows.tolist()!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """As a list of rows; in a run, many are packed."""
        return core_schema.union_schema(
            [
                core_schema.is_instance_schema(cls),
                core_schema.no_info_after_validator_function(lambda text: cls(unpack(text, 4)), handler(str)),
                core_schema.no_info_after_validator_function(cls, handler(list[tuple[int, int, int, int]])),
            ],
            mode="left_to_right",
            serialization=core_schema.plain_serializer_function_ser_schema(cls._serialized, info_arg=True),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Of the list: what is packed is in runs only."""
        return handler(TypeAdapter(list[tuple[int, int, int, int]]).core_schema)

    def _serialized(self, info: SerializationInfo) -> Any:
        return pack(self.rows) if is_stored(info) and len(self) > SHORT else self.rows.tolist()


class DropPlace(BaseModel):
    """A place in this host's kernel at which test frames were dropped, in the kernel's words."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: str
    """freed: a packet was freed as lost. program: an XDP program dropped it. redirect: XDP could not redirect it.
    devmap: the driver to which XDP redirected it had no room. cpumap: neither had the CPU."""
    reason: str
    """Name of the kernel's reason; of a program its answer, of `redirect` the error; empty: there is none."""
    function: str = ""
    """Of the kernel, in which the packet was freed."""
    interface: str = ""
    namespace: str = ""
    """Empty: that of the tester's process."""
    qdisc: str = ""
    """Kind of the interface's root qdisc."""
    rule: str = ""
    """Of nftables: family, table, chain and handle, as 'inet/filter/forward/8'; without handle the chain's policy."""
    program: str = ""
    """Name of the BPF program that dropped it, with file and line where they are known."""
    of_tester: bool = False
    """It is at a port of the tester."""
    frames: int = 0
    """Lost frames."""
    copies: int = 0
    """Test frames that were dropped here and yet not lost: copies of others that arrived, or were dropped again."""
    first_ns: int | None = None
    """When the first of the lost ones was dropped, since the first frame was due; None if none was."""
    last_ns: int | None = None
    streams: tuple[int, ...] = ()
    """Indices of their streams."""


class Drops(BaseModel):
    """Where the lost frames of a trial were dropped: lost = the sum over all places + not seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    places: tuple[DropPlace, ...]
    frames: DroppedFrames
    lost_frames: int
    not_seen: int
    """Lost frames that no part of this host's kernel was seen to drop."""
    unlisted: int = 0
    """Frames of places that are not in `frames`, for lack of room."""
    unread: int = 0
    """Dropped packets that could not be looked at: nobody knows whether they were test frames."""
    absent: tuple[tuple[str, str], ...] = ()
    """Parts of the kernel that were not watched, and why."""
