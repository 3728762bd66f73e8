"""Stages of a frame's way through Linux, by the names of the kernel's functions. Pure.

A chain of calls belongs to the innermost function in it that is known here: copying, allocating and freeing belong to
the stage that asks for them. So each sample is in one stage, and stages add up. A BPF program counts with all that it
calls. Functions are told by how their names begin or end, because these change less from kernel to kernel than which
of them there are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache

from keisoku.language import phrase
from keisoku.subjects.device.record.stacks import SENDER, SOFT_INTERRUPTS, Stack, Stacks

TESTER = phrase("the tester's programs")
RECEIVE = phrase("receiving interfaces")
TRANSMIT = phrase("transmitting interfaces")
SOFTIRQ = phrase("soft interrupts")
OTHERS = phrase("other stages")
REST = phrase("not attributed")
_NETFILTER = "netfilter"

_STAGES = {
    "GRO": r"dev_gro_|napi_gro_|gro_|skb_gro_|__skb_gro_|inet_gro_|\w+_gro_(receive|complete)$",
    "Open vSwitch": r"ovs_|netdev_frame_hook$|do_execute_actions$|execute_\w+_action|internal_dev_",
    phrase("connection tracking"): r"_*nf_conntrack|_*nf_ct_|_*nf_confirm|nf_nat_|nft_nat_|nft_ct_|ovs_ct_",
    _NETFILTER: r"_*nf_|nft_|br_nf_|ipt_|ip6t_|ebt_|arpt_|xt_|ip_set_|iptable_|ip6table_|selinux_ip|hook_sk",
    phrase("bridge"): r"br_",
    "VLAN": r"_*vlan_",
    phrase("MACVLAN or IPVLAN"): r"macvlan_|ipvlan_|macvtap_",
    phrase("bond or team"): r"bond_|team_",
    phrase("tunnel"): r"vxlan_|geneve_|gre\d?_|_*gre_|ipip|ip_tunnel|iptunnel|ip6_tnl|udp_tunnel|erspan|wg_|sit_|gtp_",
    "IPsec": r"_*xfrm|esp\d?_|ah\d?_",
    "MPLS": r"mpls_",
    "SRv6": r"seg6_",
    phrase(
        "route lookup"
    ): r"_*fib_|_*fib4_|_*fib6_|ip_route_|ip6_route_|ip6_pol_|rt6_|ip_mkroute|rt_cache|inet_csk_route",
    "IPv6": r"_*ip6_|_*ipv6_|ndisc_|icmpv6_|rawv6_|inet6_|udpv6_|tcp_v6_",
    "IPv4": r"_*ip_|ip4_|ipv4_|inet_|icmp_|arp_|raw_local|raw_v4|_*udp_|_*udp4_|tcp_v4_",
    phrase("neighbour"): r"_*neigh_|eth_header",
    phrase("tc filters and actions"): r"tcf_|cls_|u32_classify|fl_classify|mall_classify|tcx_|sch_handle_|act_",
    "qdisc": (
        r"sch_direct_xmit|_*qdisc_|dev_qdisc_|pfifo|bfifo|fq_|codel_|tbf_|htb_|hfsc_|netem_|red_|cake_|prio_|sfq_|mq_|drr_"
        r"|ets_|pie_|ingress_|clsact_|net_tx_action"
    ),
    "AF_PACKET": r"packet_rcv|tpacket_|dev_queue_xmit_nit",
    "AF_XDP": r"_*xsk_|xp_",
    phrase("XDP redirect"): r"_*xdp_do_|_*dev_flush|bq_|_*dev_map_|dev_xdp_enqueue|_*cpu_map_|dev_hash_map_",
    TRANSMIT: r"dev_hard_start_xmit|xmit_one|\w+_xdp_xmit$|\w+_start_xmit$|\w+_xmit$(?<!queue_xmit)|\w+_ndo_xdp_xmit",
    phrase("transmit path (dev_queue_xmit)"): r"_*dev_queue_xmit|_*dev_direct_xmit|validate_xmit|netdev_core_pick",
    phrase("receive path (netif_receive_skb)"): r"_*netif_receive_skb|deliver_skb|enqueue_to_backlog|_*netif_rx",
    RECEIVE: r"_*napi_poll|\w+_poll$|process_backlog|veth_xdp_rcv|\w+_receive_buf|\w+_clean_rx|napi_complete",
    SOFTIRQ: r"net_rx_action|handle_softirqs|_*do_softirq|skb_defer_free|run_ksoftirqd|smpboot_thread",
}
"""Beginnings of names by stage; the first that fits counts."""
_KNOWN = {stage: re.compile(rf"(?:{names})") for stage, names in _STAGES.items()}
_INTERRUPT = re.compile(r"asm_(sysvec|common_interrupt|exc)|el1h_64_(irq|fiq)|ret_from_irq|do_irq|handle_riscv_irq")
_OF_HOST = re.compile(r"rcu_core|rcu_do_batch|run_timer_|__run_timers|tasklet_|sched_balance|run_rebalance|blk_")
_SENDS = re.compile(r"xdp_test_run_batch|bpf_test_run_xdp_live")
_SOFT = re.compile(r"handle_softirqs|__do_softirq")
_WAIT = re.compile(r"bpf_prog_[0-9a-f]+_wait_a_little")
_PROGRAM = re.compile(r"bpf_prog_[0-9a-f]{16}(?:_(?P<name>.+))?")
_TC = re.compile(r"tcf_|cls_bpf|tcx_|sch_handle_|act_bpf|tc_run")
_XDP = re.compile(r"\w*xdp|\w+_poll|process_backlog|\w*netif_receive_skb")
_HOOKS = {
    "prerouting": re.compile(r"ip_rcv|ip_sublist_rcv|ip_list_rcv|ipv6_rcv|ip6_sublist_rcv|ipv6_list_rcv|ip6_rcv"),
    "input": re.compile(r"ip_local_deliver|ip6_input"),
    "forward": re.compile(r"ip_forward|ip6_forward"),
    "postrouting": re.compile(r"ip_output|ip_mc_output|ip6_output"),
    "output": re.compile(r"_*ip_local_out|_*ip6_local_out"),
    "ingress": re.compile(r"_*netif_receive_skb"),
    "egress": re.compile(r"_*dev_queue_xmit"),
    "bridge": re.compile(r"br_(?!nf_)"),
}
"""Which hook it is, by who calls it."""


def in_batches(stacks: Stacks, reach_ns: float) -> Counter[str]:
    """How many samples are in each stage, as it is called for the reader, while the sender's batches were under way:
    after batches that took at most `reach_ns`. Waits for due times and the host's other work are not among them."""
    found: Counter[str] = Counter()
    for stack in stacks.found:
        if stack.where == SENDER and (stage := _of(stack, stacks)):
            found[stage] += sum(before_ns <= reach_ns for before_ns, _ in stack.batches_ns)
    return +found


def elsewhere(stacks: Stacks) -> Counter[str]:
    """The same in all other threads and soft interrupts."""
    found: Counter[str] = Counter()
    for stack in stacks.found:
        if stack.where != SENDER and (stage := _of(stack, stacks)):
            found[stage] += stack.count
    return found


def _of(stack: Stack, stacks: Stacks) -> str:
    return _stage(stack.where, [stacks.functions[call] for call in stack.calls], stacks.testers)


def _stage(where: str, calls: Sequence[str], testers: Collection[str]) -> str:
    """Of one chain; empty if it does not count."""
    found = ""
    for place, call in enumerate(calls):
        if _WAIT.match(call) or _INTERRUPT.match(call) or _OF_HOST.match(call):
            return ""
        if _PROGRAM.match(call):
            return TESTER if set(testers) & set(calls) else _program(calls, place)
        found = found or _known(call)
        if found == _NETFILTER:
            found = _hook(calls[place:])
        if _SOFT.match(call):
            return found or SOFTIRQ
    if where == SENDER and any(map(_SENDS.match, calls)):  # before the device: the sender hands frames over
        return TESTER
    return found or (REST if where in (SENDER, SOFT_INTERRUPTS) else phrase("thread {name}", name=where))


@lru_cache(maxsize=4096)
def _known(call: str) -> str:
    return next((stage for stage, names in _KNOWN.items() if names.match(call)), "")


def _program(calls: Sequence[str], place: int) -> str:
    """The BPF program to which one of its functions at `place` belongs: the outermost before the kernel's caller."""
    outer = place
    while outer + 1 < len(calls) and (_PROGRAM.match(calls[outer + 1]) or calls[outer + 1].startswith("bpf_")):
        outer += 1
    match = next(found for call in reversed(calls[place : outer + 1]) if (found := _PROGRAM.match(call)))
    name = match["name"] or "?"
    if outer + 1 == len(calls):  # the kernel's trampoline for XDP alone has no frame that can be followed
        return phrase("XDP program {name}", name=name)
    if _TC.match(calls[outer + 1]):
        return phrase("tc program {name}", name=name)
    if _XDP.match(calls[outer + 1]):
        return phrase("XDP program {name}", name=name)
    return phrase("BPF program {name}", name=name)


def _hook(calls: Sequence[str]) -> str:
    """The hook of netfilter from which the first of the calls came."""
    for call in calls:
        for hook, callers in _HOOKS.items():
            if callers.match(call):
                return phrase("netfilter hook {hook}", hook=hook)
    return _NETFILTER
