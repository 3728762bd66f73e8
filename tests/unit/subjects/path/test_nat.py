"""The look at NATs: random ones in virtual time, whose behaviour is found without seeing it; and its datagrams."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.virtual_far_end import MOST_BINDINGS, VirtualFarEnd
from support.virtual_nat import FAR, INSIDE, OTHER, OUTSIDE, SECOND, Nat, VirtualNat, random_nat

from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.subjects.path.nat.behaviour import Behaviour, behaviour
from keisoku.subjects.path.nat.message import Action, BindingReport, DatagramType, MessageError, Request
from keisoku.subjects.path.nat.observation import Observation
from keisoku.subjects.path.nat.sockets import NatProbing
from keisoku.subjects.path.nat.timeout_search import NEAR_NS, NEAR_SHARE, TimeoutSearch
from keisoku.subjects.stream.session import StreamSession

MINUTE_S = 48.0


def looked_at(nat: Nat, seed: int, over_s: float = MINUTE_S) -> Behaviour:
    return behaviour(VirtualNat(nat, seed).run(MINUTE_S, over_s))


@pytest.mark.parametrize("seed", range(2001, 2025))
def test_what_a_nat_does_is_found_whatever_it_is(seed: int) -> None:
    chance = random.Random(seed)
    nat = random_nat(chance)
    found = looked_at(nat, seed, chance.choice([MINUTE_S, 30, 20]))
    assert (found.mapping, found.filtering) == nat.told
    if not nat.translates:
        assert found.translation == ("none" if nat.filtering is None else "firewall")
        assert found.hairpins is None and found.addresses == (INSIDE,)
    else:
        assert found.translation == "address" and found.addresses == (OUTSIDE,)
        assert found.hairpins == (nat.hairpins and "independent" in (nat.mapping, nat.filtering))
        assert found.ports == ("preserved" if nat.preserves and nat.mapping == "independent" else "changed")
    for timeout, truth_s in ((found.unanswered, nat.unanswered_s), (found.answered, nat.answered_s)):
        assert timeout is not None and not timeout.differs
        lower, upper = timeout.quantity.bounds or (0.0, 0.0)
        truth_s = float("inf") if found.translation == "none" else truth_s
        assert lower <= SECOND * truth_s <= upper


def test_a_timeout_is_narrowed_as_far_as_the_time_allows() -> None:
    nat = Nat(unanswered_s=5.3, answered_s=13.0)
    found = looked_at(nat, 7)
    assert found.unanswered is not None and found.answered is not None
    for timeout, truth_s, width in ((found.unanswered, 5.3, 0.12), (found.answered, 13.0, 0.15)):
        lower, upper = timeout.quantity.bounds or (0.0, 0.0)
        assert lower <= SECOND * truth_s <= upper and (upper - lower) / upper < width
    # Told to finish, it tries what is open as late as that.
    early = looked_at(Nat(), 7, over_s=17.0)
    assert early.unanswered is not None and early.unanswered.closed_ns is None
    assert 16.5 * SECOND < (early.unanswered.open_ns or 0) < 17 * SECOND


def test_a_copy_that_is_lost_behind_a_nat_has_refreshed_it_nevertheless() -> None:
    """Seed 7141 of benchmarks/detection/nat.py, on which a timeout of 4.83 s was said to be 4.88 s at least."""
    nat = random_nat(random.Random(7141))
    found = looked_at(nat, 7141)
    assert found.unanswered is not None and nat.inbound_refreshes and nat.loss == 0.2
    lower, upper = found.unanswered.quantity.bounds or (0.0, 0.0)
    assert lower <= SECOND * nat.unanswered_s <= upper


def test_a_binding_whose_datagrams_were_lost_does_not_disagree() -> None:
    """Seed 7071 of benchmarks/detection/nat.py, of which one socket did not reach the other address."""
    assert looked_at(random_nat(random.Random(7071)), 7071).mapping == "independent"


def test_a_path_without_udp_says_that_nothing_is_known() -> None:
    found = looked_at(Nat(loss=2.0), 1)
    assert (found.translation, found.mapping, found.filtering, found.bindings) == ("unknown",) * 3 + (0,)
    assert found.answered is None and found.unanswered is None and found.hairpins is None


def test_an_address_of_the_far_end_that_is_not_reached_counts_as_none() -> None:
    class Unreachable(VirtualNat):
        def _outwards(self, source: tuple[str, int], to: tuple[str, int], data: bytes) -> None:
            if to[0] != OTHER:
                super()._outwards(source, to, data)

    found = behaviour(Unreachable(Nat(), 3).run(MINUTE_S))
    assert not found.two_addresses and found.mapping == "not-port" and found.filtering == "address-and-port"


@given(st.floats(0.01, 400), st.floats(0.1, 400), st.floats(0, 0.3))
def test_a_search_ends_around_the_truth(truth_s: float, longest_s: float, late_s: float) -> None:
    search, now_s = TimeoutSearch(round(longest_s * SECOND)), 0.0
    wave = search.first()
    assert wave == sorted(wave) and len(set(wave)) == len(wave)
    for _ in range(30):
        tried = [one for one in wave if one <= longest_s * SECOND - now_s * SECOND and search.is_useful(one)]
        for idle_ns in tried:
            # What is tried a little late, and by whom it is told, is between these.
            search.add(idle_ns, idle_ns + round(late_s * SECOND), idle_ns + late_s * SECOND / 2 < truth_s * SECOND)
        now_s += max(tried, default=0) / SECOND
        assert search.open_ns <= truth_s * SECOND <= search.closed_ns
        wave = search.next((longest_s - now_s) * SECOND)
        if not wave:
            break
    narrow = max(NEAR_SHARE * search.closed_ns, NEAR_NS)
    assert search.closed_ns - search.open_ns <= narrow or search.closed_ns > (longest_s - now_s) * SECOND or late_s


@given(st.binary(max_size=80))
def test_bytes_are_a_datagram_or_refused(data: bytes) -> None:
    for kind in (Request, BindingReport):
        try:
            found = kind.parse(data)
        except MessageError:
            continue
        assert kind.parse(found.pack()) == found


@given(st.lists(st.tuples(st.sampled_from(list(Action)), st.integers(0, 5), st.integers(0, 70_000)), max_size=40))
def test_the_far_end_sends_to_its_client_only_and_no_more_than_twice_what_it_was_sent(
    asked: list[tuple[Action, int, int]],
) -> None:
    end = VirtualFarEnd(5, INSIDE, 2)
    for number, (action, far, target) in enumerate(asked):
        data = Request(5, target % 7, number, action, far, target).pack()
        sent = end.heard(number, number % 2, (INSIDE, 999), data)
        assert sum(len(out) for _, _, out in sent) <= 2 * len(data)
        assert all(to[0] == INSIDE and 0 <= at < 2 for at, to, _ in sent)
        assert end.heard(number, 0, (OUTSIDE, 999), data) == []
        assert end.heard(number, 0, (INSIDE, 999), Request(6, 1, 1, action, far, target).pack()) == []
    assert end.from_elsewhere == len(asked) and len(end.came_from) <= 7


def test_the_far_end_remembers_a_limited_number_of_bindings() -> None:
    end = VirtualFarEnd(5, INSIDE, 2)
    for binding in range(MOST_BINDINGS + 10):
        answered = end.heard(1, 0, (INSIDE, 999), Request(5, binding, 1, Action.ECHO).pack())
        assert bool(answered) == (binding < MOST_BINDINGS)
    assert len(end.came_from) == MOST_BINDINGS
    (about,) = end.heard(8, 1, (INSIDE, 7), Request(5, 1, 2, Action.ASK, target=3).pack())
    assert BindingReport.parse(about[2]) == BindingReport(5, 3, 2, DatagramType.TWIN, 7, (INSIDE, 999))


def test_a_server_refuses_an_other_address_that_is_not_its_own() -> None:
    for address, said in (("203.0.113.1", "cannot be used"), ("nowhere.invalid", "is no IP address")):
        with pytest.raises(EngineError, match=f"other-address.*{said}.*second address of this host"):
            FarEnd("stream", Place("127.0.0.1"), "--other-address", address).__enter__()


@pytest.mark.parametrize("at", ["127.0.0.1", "0.0.0.0", "::"])
def test_a_look_over_loopback_finds_neither_nat_nor_firewall(at: str) -> None:
    """At any IPv6 address, a client of IPv4 was told that it has a NAT ('::ffff:127.0.0.1')."""
    with (
        FarEnd("stream", Place(at), "--other-address", "127.0.0.2") as server,
        StreamSession(Place("127.0.0.1"), server.port) as session,
    ):
        told, _ = session.control.ask({"do": "nat"})
        probing = NatProbing(session.place, session.local, session.remote, told, 30.0)
        probing.settle()
        probing.finish()
        probing.wait()
        assert session.control.ask({"do": "nat-end"})[0] == {"from_elsewhere": 0}
    found = behaviour(probing.drain())
    assert (found.translation, found.mapping, found.filtering) == ("none", "independent", "independent")
    assert found.unanswered is not None and found.unanswered.closed_ns is None
    assert found.two_addresses and probing.failure is None


def test_bindings_that_do_not_agree_are_said_to_differ() -> None:
    def tried(binding: int, idle_s: float, arrived: bool) -> Observation:
        idle_ns = round(idle_s * SECOND)
        ports = 4000, FAR, 4001, OUTSIDE, 4000
        more = {"asked": 4, "told": 4, "idle_least_ns": idle_ns, "idle_most_ns": idle_ns}
        return Observation("answered", binding, INSIDE, *ports, arrived, **more)  # type: ignore[arg-type]

    rows = [tried(1, 10, True), tried(2, 20, False), tried(3, 30, True), tried(4, 40, False)]
    found = behaviour(rows).answered
    assert found is not None and found.differs
    assert found.quantity.bounds == (10 * SECOND, 40 * SECOND)
