"""What both ends saw of trains: joined in any order, kept as a table, the same when read again."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keisoku.subjects.path.train.log import TrainLog
from keisoku.subjects.path.train.probe import ROW, Rows, TrainPlan, payloads


def _rows(train: int, indices: list[int], base: int) -> Rows:
    rows = np.zeros(len(indices), ROW)
    rows["train"], rows["index"], rows["ttl"] = train, indices, 60
    for name in ("realtime_ns", "monotonic_ns", "kernel_ns"):
        rows[name] = base + np.array(indices, np.int64) * 1500
    return rows


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 6), st.permutations(range(6))), min_size=1, max_size=5))
def test_packets_find_their_place_whatever_is_missing_doubled_or_late(trains: list[tuple[int, list[int]]]) -> None:
    log = TrainLog()
    for number, (count, order) in enumerate(trains, 1):
        sent = _rows(number, list(range(count)), 1_000_000)
        came = [index for index in order if index < count][: max(count - 1, 1)]
        received = np.concatenate((_rows(number, came, 2_000_000), _rows(number, came[:1], 9_000_000)))
        log.add(number, [TrainPlan("pair", "forward", 1500, count)], sent, received)
        train = log.trains()[-1]
        assert train.sent_ns.tolist() == [1_000_000 + index * 1500 for index in range(count)]
        expected = [2_000_000 + index * 1500 if index in came else 0 for index in range(count)]
        assert train.received_ns.tolist() == expected and train.received == len(came)
    again = TrainLog.from_table(log.table())
    assert again.table().equals(log.table()) and len(again) == len(log)


def test_time_of_day_is_cut_to_what_gettimeofday_tells() -> None:
    log = TrainLog()
    log.add(1, [TrainPlan("pair", "reverse", 1500, 2)], _rows(1, [0, 1], 1_000_999), _rows(1, [0, 1], 5_000_999))
    (train,) = log.trains("user-gettimeofday")
    assert train.sent_ns.tolist() == [1_000_000, 1_002_000] and train.complete
    assert log.trains("hardware")[0].received == 0


def test_payloads_have_the_length_asked_for_and_differ() -> None:
    for of_ipv6, headers in ((False, 28), (True, 48)):
        data = payloads(bytes(8), 7, 1500, 3, of_ipv6)
        assert {len(one) for one in data} == {1500 - headers} and len(set(data)) == 3
