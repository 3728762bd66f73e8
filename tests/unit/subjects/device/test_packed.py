"""Long lists of integers are packed in a run, and nothing of them is lost."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from support.simulated_trials import carry_out, device, plan

from keisoku.subjects.device.record.counts import Buckets, Ranges
from keisoku.subjects.device.record.gaps import Gap, Gaps
from keisoku.subjects.device.record.packed import SHORT, STORED, pack, unpack
from keisoku.subjects.device.record.trial_record import TrialRecord

INT64 = st.integers(-(2**63), 2**63 - 1)
GAPS = [Gap(20 * number, 20 * number, 1, 1000 * number or None, 1000 * number + 2000) for number in range(1000)]


@given(st.integers(1, 5).flatmap(lambda columns: st.lists(st.lists(INT64, min_size=columns, max_size=columns))))
def test_rows_of_any_numbers_are_the_same_again(rows: list[list[int]]) -> None:
    columns = len(rows[0]) if rows else 1
    packed = np.array(rows, dtype=np.int64).reshape(-1, columns)
    assert unpack(pack(packed), columns).tolist() == rows


@pytest.fixture(scope="module")
def overload() -> TrialRecord:
    """A trial that loses every tenth frame."""
    slow = device("[output]\nservice_bits_per_second = 9e8\n[jitter]\ndistribution = 'uniform'\nspread_ns = 5000")
    return carry_out(plan("loss", frame_bytes=[64], loss={"trial_s": 0.1}), slow)[1][0]


def test_an_overloads_gaps_and_buckets_take_a_tenth_of_their_json(overload: TrialRecord) -> None:
    assert len(overload.facts.tracked.lost) > 1000
    listed, stored = overload.model_dump_json(), overload.model_dump_json(context=STORED)
    assert len(stored) < len(listed) / 10
    for text in (listed, stored):  # lists are what runs held before, and what the server answers
        assert TrialRecord.model_validate_json(text).model_dump_json() == listed
    assert isinstance(json.loads(listed)["facts"]["streams"][0]["tracked"]["lost"], list)


def test_bitmaps_of_joined_gaps_are_kept() -> None:
    gaps = Gaps([*GAPS, Gap(30_000, 30_007, 2, None, None, "AQE=")])
    adapter = TypeAdapter(Gaps)
    assert adapter.validate_json(adapter.dump_json(gaps, context=STORED)) == gaps


def test_pairs_are_pairs_again() -> None:
    ranges = Ranges(count=600, ranges=[(5 * number, 5 * number + 1) for number in range(300)], complete=True)
    text = ranges.model_dump_json(context=STORED)
    assert "[" not in text
    assert Ranges.model_validate_json(text) == ranges


def test_short_lists_stay_lists_that_people_can_read() -> None:
    short = Buckets(lower_ns=list(range(SHORT)), upper_ns=[], counts=[])
    assert json.loads(short.model_dump_json(context=STORED))["lower_ns"] == list(range(SHORT))


@pytest.mark.parametrize("text", ["", "!", "AAAA", pack(np.arange(7).reshape(-1, 1)), pack(np.arange(90))[:-8]])
def test_what_is_no_packed_list_is_refused(text: str) -> None:
    refused: tuple[Any, Any] = (
        {"packed": text, "bitmaps": {}},
        {"packed": pack(np.ones((40, 5), int)), "bitmaps": {40: ""}},
    )
    for stored in refused:
        with pytest.raises(ValidationError):
            TypeAdapter(Gaps).validate_python(stored)
