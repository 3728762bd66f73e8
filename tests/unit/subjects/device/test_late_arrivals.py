"""Late frames are those that plain loops over the same rows find, however late they are and however rows are stored."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisoku.subjects.device.record import late_arrivals as late
from keisoku.subjects.device.record.arrival import CORRUPT, DUPLICATE, ENTRY, REORDERED
from keisoku.subjects.device.record.frames import SCHEMA, arrived_rows, lost_rows

Rows = list[tuple[int, ...]]


def frames(chance: Random, count: int, streams: int, ports: int, step_ns: int, late_ns: int) -> Rows:
    """Arrivals by time and number: lost, doubled, corrupt, late by up to `late_ns`, many at equal times."""
    found: Rows = []
    for number in range(count):
        for stream in range(streams):
            for port in chance.sample(range(ports), chance.randint(1, ports)):
                sent = number * step_ns
                received = (sent + chance.choice((0, 0, 0, chance.randint(0, late_ns)))) // step_ns * step_ns
                fate = chance.random()
                if fate < 0.8:
                    found.append((number, sent, received, stream, port, 0))
                if fate < 0.1:
                    found.append((number, sent, received + chance.randint(0, late_ns), stream, port, DUPLICATE))
                if fate > 0.9:
                    found.append((chance.randint(0, 2 * count), 0, received, stream, port, CORRUPT))
    highest: dict[tuple[int, int], int] = {}
    marked: Rows = []
    for number, sent, received, stream, port, flags in sorted(found, key=lambda row: (row[2], row[0])):
        before = highest.get((stream, port), -1)
        if not flags:
            highest[stream, port] = max(before, number)
        marked.append((number, sent, received, stream, port, flags or (REORDERED if number < before else 0)))
    return marked


def by_loops(rows: Rows) -> Rows:
    """Of all pairs, by the definition."""
    found: Rows = []
    for stream, port in {row[3:5] for row in rows}:
        own = [row for row in rows if row[3:5] == (stream, port) and not row[5] & (DUPLICATE | CORRUPT)]
        for place, (number, sent, received, *_) in enumerate(own):
            first = next(index for index, row in enumerate(own) if row[0] > number or index == place)
            if first < place:
                late_ns = received - own[first][2]
                found.append((stream, port, number, sent, received, place - first, own[first][0], late_ns))
    return sorted(found)


def stored(path: Path, rows: Rows, rows_of_a_group: int) -> None:
    with pq.ParquetWriter(path, SCHEMA) as writer:
        writer.write_table(arrived_rows(np.array(rows, ENTRY)), row_group_size=rows_of_a_group)
        writer.write_table(lost_rows(0, np.array([], np.uint64)))
        writer.write_table(lost_rows(0, np.array([3, 4], np.uint64)))


def found_in(path: Path) -> Rows:
    return sorted(tuple(row.values()) for row in late.late_arrivals(path).read_all().to_pylist())


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 40),
    streams=st.sampled_from([1, 2, 10]),
    ports=st.integers(1, 2),
    late_steps=st.sampled_from([1, 5, 40, 1000]),
    piece=st.sampled_from([9, 64, 1000]),
    kept=st.sampled_from([1, 30, 1000]),
    waiting=st.sampled_from([20, 1000]),
    group=st.sampled_from([30, 10_000]),
    order=st.sampled_from(["arrival", "by port", "nearly", "any"]),
)
def test_late_frames_are_those_of_plain_loops(
    seed: int,
    count: int,
    streams: int,
    ports: int,
    late_steps: int,
    piece: int,
    kept: int,
    waiting: int,
    group: int,
    order: str,
) -> None:
    chance = Random(seed)
    rows = frames(chance, count, streams, ports, 10, 10 * late_steps)
    kept_in_order = {
        "arrival": lambda place: place,
        "by port": lambda place: (place // 40, rows[place][4], place),
        "nearly": lambda place: place + chance.randint(0, 9),
        "any": lambda place: chance.random(),
    }[order]
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(late, "_PIECE", piece)
        patch.setattr(late, "ARRIVALS_KEPT", kept)
        patch.setattr(late, "FRAMES_WAITING", waiting)
        path = Path(folder) / "000000.parquet"
        stored(path, [rows[place] for place in sorted(range(len(rows)), key=kept_in_order)], group)
        assert found_in(path) == by_loops(rows)


def test_numbers_and_streams_use_all_their_bits(tmp_path: Path) -> None:
    most, last = (1 << 48) - 1, (1 << 16) - 1
    rows: Rows = [(most, 1, 10, last, last, 0), (most - 1, 2, 30, last, last, REORDERED), (0, 3, 40, 0, last, 0)]
    stored(tmp_path / "0.parquet", rows, 10)
    assert found_in(tmp_path / "0.parquet") == [(last, last, most - 1, 2, 30, 1, most, 20)]


def test_a_frame_whose_overtaker_has_no_row_is_in_no_answer(tmp_path: Path) -> None:
    # As the FPGA instrument keeps one row in so many.
    stored(tmp_path / "0.parquet", [(5, 1, 10, 0, 0, REORDERED), (9, 2, 30, 0, 0, 0)], 10)
    assert found_in(tmp_path / "0.parquet") == []


def test_a_file_without_statistics_is_read_all_the_same(tmp_path: Path) -> None:
    rows = frames(Random(1), 40, 2, 2, 10, 300)
    table = arrived_rows(np.array(rows, ENTRY))
    pq.write_table(table, tmp_path / "0.parquet", row_group_size=20, write_statistics=False)
    assert found_in(tmp_path / "0.parquet") == by_loops(rows) != []
