"""Where inside a device a frame's time goes: chains of calls with known stages, and shares that were drawn."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest
from support.cost_template import cost_template
from support.trials import record_of

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result
from keisoku.subjects.device.analysis.stages import RECEIVE, SOFTIRQ, TESTER, elsewhere, in_batches
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.cost_inside import shares
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.procedure.own.cost import PROCEDURE, CostSettings, cost
from keisoku.subjects.device.procedure.own.inside_plot import inside_plot
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.stacks import SENDER, SOFT_INTERRUPTS, Stack, Stacks
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

FORWARD, RECEIVER = "bpf_prog_aedfefe3a185621c_forward", "bpf_prog_98583469de97ad18_receive"
POLL = ["veth_xdp_rcv", "veth_poll", "__napi_poll", "net_rx_action", "handle_softirqs", "do_softirq"]
SENT = ["xdp_test_run_batch", "bpf_test_run_xdp_live", "__sys_bpf", "do_syscall_64"]
LISTED = ["__netif_receive_skb_list_core", "netif_receive_skb_list_internal", "gro_receive_skb", *POLL, *SENT]
ROUTED = ["ip_sublist_rcv", "ip_list_rcv", *LISTED]
BRIDGED = ["br_handle_frame_finish", "br_handle_frame", *LISTED]


def stacks(
    found: Sequence[tuple[str, Sequence[str], Sequence[tuple[int, int]]]], testers: Sequence[str] = ()
) -> Stacks:
    functions = sorted({call for _, calls, _ in found for call in calls})
    made = [
        Stack(
            where=where,
            calls=tuple(map(functions.index, calls)),
            count=len(batches),
            batches_ns=list(batches) if where == SENDER else [],
        )
        for where, calls, batches in found
    ]
    return Stacks(functions=functions, testers=list(testers), found=made, lost=0)


@pytest.mark.parametrize(
    ("calls", "stage"),
    [
        (["__pi_memcpy", "br_fdb_update", *BRIDGED], "bridge"),
        (["br_nf_pre_routing", *BRIDGED[1:]], "netfilter hook bridge"),
        (["nft_do_chain", "nft_do_chain_ipv4", "nf_hook_slow", "ip_forward", *ROUTED], "netfilter hook forward"),
        (["nft_do_chain", "nf_hook_slow_list", *ROUTED], "netfilter hook prerouting"),
        (["nft_do_chain", "nf_hook_slow", "ip_output", "ip_forward", *ROUTED], "netfilter hook postrouting"),
        (["hash_conntrack_raw", "nf_conntrack_in", "nf_hook_slow_list", *ROUTED], "connection tracking"),
        (["fib_table_lookup", "ip_route_input_slow", "ip_rcv_finish_core", *ROUTED], "route lookup"),
        (["ip_forward", *ROUTED], "IPv4"),
        (["kfree", "pfifo_fast_dequeue", "__qdisc_run", "__dev_queue_xmit", "ip_finish_output2", *ROUTED], "qdisc"),
        (["__dev_queue_xmit", "br_dev_queue_push_xmit", *BRIDGED], "transmit path (dev_queue_xmit)"),
        (["veth_xmit", "dev_hard_start_xmit", "__dev_queue_xmit", *BRIDGED], "transmitting interfaces"),
        (["udp4_gro_receive", "inet_gro_receive", "dev_gro_receive", "gro_receive_skb", *POLL, *SENT], "GRO"),
        (["__build_skb_around", *POLL, *SENT], RECEIVE),
        (["net_rx_action", "handle_softirqs", *SENT], SOFTIRQ),
        (["prandom_u32_state", "bpf_user_rnd_u32", FORWARD, "veth_xdp_rcv_one", *POLL, *SENT], "XDP program forward"),
        (["fib_table_lookup", "bpf_ipv4_fib_lookup", FORWARD, "veth_xdp_rcv_one", *POLL], "XDP program forward"),
        ([FORWARD], "XDP program forward"),
        ([FORWARD, "cls_bpf_classify", "tcf_classify", "__netif_receive_skb_core", *POLL], "tc program forward"),
        (["read_tsc", RECEIVER, "veth_xdp_rcv_skb", *POLL, *SENT], TESTER),
        (["bq_enqueue", "xdp_do_redirect_frame", *SENT], TESTER),
        (["xdp_do_redirect", "veth_xdp_rcv_one", *POLL, *SENT], "XDP redirect"),
        (["__x86_indirect_thunk_rax"], "not attributed"),
    ],
)
def test_a_chain_of_calls_belongs_to_the_innermost_stage(calls: list[str], stage: str) -> None:
    assert in_batches(stacks([(SENDER, calls, [(100, 100)])], [RECEIVER]), 100) == {stage: 1}


@pytest.mark.parametrize(
    "calls",
    [
        [
            "tick_nohz_handler",
            "sysvec_apic_timer_interrupt",
            "asm_sysvec_apic_timer_interrupt",
            "br_handle_frame",
            *POLL,
        ],
        ["rcu_do_batch", "rcu_core", "handle_softirqs", "do_softirq", *SENT],
        ["read_tsc", "bpf_prog_2bf89cc7316c54a2_wait_a_little", "bpf_prog_04a7cc586016676d_transmit", *SENT],
    ],
)
def test_waits_and_the_host_s_own_work_are_in_no_stage(calls: list[str]) -> None:
    assert not in_batches(stacks([(SENDER, calls, [(100, 100)])]), 100)


def test_only_looks_after_a_calm_batch_count() -> None:
    found = stacks([(SENDER, ["ip_forward", *ROUTED], [(90, 120), (101, 90), (100, 100)])])
    assert in_batches(found, 100) == {"IPv4": 2}


def test_threads_and_other_soft_interrupts_are_told_apart_from_the_sender() -> None:
    found = stacks(
        [
            (SENDER, ["ip_forward", *ROUTED], [(1, 1)]),
            (SOFT_INTERRUPTS, ["veth_poll", "net_rx_action", "handle_softirqs"], [(0, 0)] * 2),
            ("ovs-vswitchd", [], [(0, 0)] * 3),
            ("ovs-vswitchd", ["__dev_queue_xmit", "packet_sendmsg", "do_syscall_64"], [(0, 0)]),
        ]
    )
    assert elsewhere(found) == {RECEIVE: 2, "thread ovs-vswitchd": 3, "transmit path (dev_queue_xmit)": 1}


def test_the_interval_of_a_share_contains_it_where_runs_differ() -> None:
    chance, hits = random.Random(1), 0
    for _ in range(400):
        runs = []
        for _ in range(8):
            true = chance.gauss(0.3, 0.02)  # each opening of the ports has its own
            looks = chance.randint(100, 900)
            seen = sum(chance.random() < true for _ in range(looks))
            runs.append(Counter({"bridge": seen, "rest": looks - seen}))
        low, high = shares(runs)["bridge"].bounds or (0, 0)
        hits += low <= 0.3 <= high
    assert 0.92 <= hits / 400 <= 0.99
    assert shares([]) == {}


DEVICE_NS, TESTER_NS = 950.0, 300.0
BRIDGE = 0.4
"""Share of the bridge in the whole, 0.5 is the interface's."""


@pytest.fixture(scope="module")
def template() -> tuple[Facts, Capabilities]:
    return cost_template()


def looked(trial: Trial, batch_ns: int, number: int) -> Stacks:
    """A thousand looks; half of them after batches that were not calm, in which nothing is as it is otherwise."""
    chance = random.Random(number)
    calm, slow = (batch_ns, batch_ns + 20_000), (round(1.3 * batch_ns), round(1.5 * batch_ns))
    parts = {"receive": (POLL + SENT, 0.6), "tester": ([RECEIVER, *POLL, *SENT], 0.4)}
    if not trial.on_cable:
        parts = {
            "bridge": (BRIDGED, BRIDGE),
            "receive": (POLL + SENT, 0.5),
            "tester": ([RECEIVER, *POLL, *SENT], 0.1),
        }
    drawn = Counter(chance.choices(list(parts), [share for _, share in parts.values()], k=500))
    found = [(SENDER, calls, [calm] * drawn[name]) for name, (calls, _) in parts.items()]
    return stacks([*found, (SENDER, ["ip_forward", *ROUTED], [slow] * 500)], [RECEIVER])


def found(
    template: tuple[Facts, Capabilities], more: Callable[[Trial, int], dict[str, Any]] = lambda trial, number: {}
) -> tuple[Result, list[TrialRecord]]:
    facts, capabilities = template
    of = parse({"methods": ["cost"], "dut": "lab:bridge", "cost": {"inside": True}})
    method: Generator[Trial, TrialRecord, Result] = cost(MethodInput(of, capabilities, Bias(exact=True)))
    records: list[TrialRecord] = []
    trial = next(method)
    while True:
        assert trial.batch_frames
        batch_ns = round((TESTER_NS + (0 if trial.on_cable else DEVICE_NS)) * trial.batch_frames)
        sender = facts.transmitters[0]
        sent = sender.sent.model_copy(
            update={"batches": [(2240, batch_ns - 5, 300), (2240, batch_ns, 700), (2240, 2 * batch_ns, 100)]}
        )
        own: dict[str, Any] = {"transmitters": [sender.model_copy(update={"sent": sent})]}
        if trial.sample_every_ns:
            own["stacks"] = looked(trial, batch_ns, len(records))
        own |= more(trial, len(records))
        records.append(record_of(trial, facts.model_copy(update=own), index=len(records), method="cost"))
        try:
            trial = method.send(records[-1])
        except StopIteration as stop:
            return stop.value, records


def test_stages_add_up_to_the_cost_and_contain_the_truth(template: tuple[Facts, Capabilities]) -> None:
    result, records = found(template)
    whole, *rows = result.rows
    parts = {row.case: row.figures["part"] for row in rows}
    true = {
        "bridge": BRIDGE * (DEVICE_NS + TESTER_NS),
        RECEIVE: 0.5 * (DEVICE_NS + TESTER_NS) - 0.6 * TESTER_NS,
        TESTER: 0.1 * (DEVICE_NS + TESTER_NS) - 0.4 * TESTER_NS,
    }
    for stage, ns in true.items():
        low, high = parts[stage].bounds or (0, 0)
        assert low <= ns <= high and high - low < 100
    assert sum(part.value for part in parts.values()) == pytest.approx(whole.figures["cost"].value)
    assert sum(row.figures["share"].value for row in rows) == pytest.approx(100)
    assert list(parts)[-1] == "not attributed" and parts["not attributed"].value == 0
    assert "each look inside took 20 µs" in result.remarks[0]
    assert "Inside: bridge 5" in result.sentence
    device_records = [record for record in records[1:] if not record.trial.on_cable]
    periods = {every_ns for record in device_records if (every_ns := record.trial.sample_every_ns)}
    assert len(periods) == 8 and min(periods) > 3 * 64 * (DEVICE_NS + TESTER_NS), "no look is in the batch before one"
    assert records[0].trial.sample_every_ns, "a kernel that does not allow it says so at once"


def test_without_a_calm_moment_nothing_is_said_of_the_inside(template: tuple[Facts, Capabilities]) -> None:
    def never(trial: Trial, number: int) -> dict[str, Any]:
        slow = stacks([(SENDER, ["ip_forward", *ROUTED], [(200_000, 200_000)] * 500)])
        return {"stacks": slow} if trial.sample_every_ns else {}

    result, _ = found(template, never)
    assert len(result.rows) == 1 and result.rows[0].figures["cost"].value == pytest.approx(DEVICE_NS, rel=0.01)
    assert result.remarks[0] == "the host never left the core undisturbed, so the inside of the device was not seen"


def test_a_pair_does_not_look_inside() -> None:
    with pytest.raises(PlanError, match="pairs are too short to look inside"):
        PROCEDURE.in_pairs(CostSettings(inside=True))


def test_bars_are_the_figures_of_the_rows(template: tuple[Facts, Capabilities]) -> None:
    result, _ = found(template)

    class One:
        name, index = "bridge", 0

        def result(self, method: str) -> Result:
            return result

    plot = inside_plot([One()])  # type: ignore[list-item]
    assert plot is not None
    (trace,) = plot.traces
    assert trace["x"] == [row.case for row in result.rows[1:]]
    assert trace["y"][0] == pytest.approx(result.rows[1].figures["part"].value)
