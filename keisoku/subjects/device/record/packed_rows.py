"""Rows of integers in a record: a list in JSON, and packed in a run where they are many. Holds facts only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, SerializationInfo, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from keisoku.subjects.device.record.packed import SHORT, is_stored, pack, unpack


class PackedRows:
    """Rows with as many columns as its class says."""

    columns: ClassVar[int]

    def __init__(self, rows: Iterable[Sequence[int]] | NDArray[np.int64] = ()) -> None:
        self.rows = np.array(rows, dtype=np.int64).reshape(-1, self.columns)

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and np.array_equal(self.rows, other.rows)

    __hash__ = None  # type: ignore[assignment]  # as that of a list

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rows.tolist()!r})"

    @classmethod
    def _listed(cls) -> Any:
        return list[tuple[(int,) * cls.columns]]  # type: ignore[misc]  # a type that is made here

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """As a list of rows; in a run, many are packed."""
        return core_schema.union_schema(
            [
                core_schema.is_instance_schema(cls),
                core_schema.no_info_after_validator_function(lambda text: cls(unpack(text, cls.columns)), handler(str)),
                core_schema.no_info_after_validator_function(cls, handler(cls._listed())),
            ],
            mode="left_to_right",
            serialization=core_schema.plain_serializer_function_ser_schema(cls._serialized, info_arg=True),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Of the list: what is packed is in runs only."""
        return handler(TypeAdapter(cls._listed()).core_schema)

    def _serialized(self, info: SerializationInfo) -> Any:
        return pack(self.rows) if is_stored(info) and len(self) > SHORT else self.rows.tolist()
