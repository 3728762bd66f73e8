"""Where a plan differs from the procedure it is named after: clause first, then what was done.

Compares settings only; a method adds deviations that it finds while running.
"""

from __future__ import annotations

from keisoku.ground.frame.stack import ALIASES
from keisoku.language import phrase, plural
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.settings import RFC2544_SIZES, RFC5695_SIZES, PhaseSettings, ThroughputSettings

FIFO = phrase(
    "RFC 1242 §3.8: latency is from the transmit to the receive timestamp of a frame, as for a"
    " bit-forwarding device (FIFO), also where the device is store-and-forward"
)


def rfc2544(plan: Plan, simulated: bool) -> list[str]:
    """Deviations common to all methods of RFC 2544."""
    phases, standard = plan.phases, PhaseSettings()
    found = []
    labels = _labels(plan)
    clause, sizes = ("RFC 5695 §4.1.5.1", RFC5695_SIZES) if labels else ("RFC 2544 §9.1", RFC2544_SIZES)
    missing = [str(size) for size in sizes if size not in plan.frame_bytes]
    if missing:
        found.append(phrase("{clause}: frame sizes {names} were not tested", clause=clause, names=", ".join(missing)))
    if labels > 1:
        found.append(phrase("RFC 5695 §4.1.4.1: frames have {labels} labels instead of exactly one", labels=labels))
    if labels or "mpls" in (plan.dut or ""):
        found.append(phrase("RFC 5695 §4.1.3: labels are static, not learned by a label distribution protocol"))
    elif plan.headers != "ipv4":
        found.append(phrase("RFC 2544 appendix C.2.6.4: test frames are {headers}, not IPv4/UDP", headers=plan.headers))
    if not phases.learning:
        found.append(phrase("RFC 2544 §23 b: no learning frames were sent"))
    for clause, name, used, wanted in (
        ("b", phrase("wait after the learning frames"), phases.learning_wait_s, standard.learning_wait_s),
        ("d", phrase("wait for the last frames"), phases.drain_s, standard.drain_s),
        ("e", phrase("pause between trials"), phases.rest_s, standard.rest_s),
    ):
        if used < wanted:
            found.append(
                phrase(
                    "RFC 2544 §23 {clause}: {name} is {used:g} s instead of {wanted:g} s",
                    clause=clause,
                    name=name,
                    used=used,
                    wanted=wanted,
                )
            )
    if "management" in plan.modifiers:
        found.append(phrase("RFC 2544 §11.2: the answers to the management queries are not verified"))
    if "routing" in plan.modifiers:
        found.append(phrase("RFC 2544 §11.3: it is not verified that the device processed the routing updates"))
    if plan.filters is not None and plan.dut is None:
        found.append(
            plural(
                "RFC 2544 §11.4: the operator states that the device has {count} filter; this is not verified",
                "RFC 2544 §11.4: the operator states that the device has {count} filters; this is not verified",
                count=plan.filters,
            )
        )
    if simulated:
        found.append(phrase("the DUT is simulated: results describe the model"))
    return found


def throughput(plan: Plan) -> list[str]:
    """RFC 2544 §24: the final trial lasts at least 60 s."""
    return short(
        "§24", phrase("the final trial"), plan.settings_of(ThroughputSettings).trial_s, ThroughputSettings().trial_s
    )


def searched(plan: Plan) -> list[str]:
    """Deviations of a method that searches for the throughput itself, unless the throughput method of the run states
    them."""
    return [] if "throughput" in plan.methods else throughput(plan)


def ceiling(percent: float) -> list[str]:
    """Deviation of a search below the full line rate: later RFCs ask for it, RFC 2544 has no such ceiling."""
    if percent == 100:
        return []
    return [
        phrase(
            "RFC 2544 §26.1 at {percent:g} %: no load above {percent:g} % of the link's maximum is"
            " tried. Clocks may be off by ±100 ppm (RFC 8238 §5.2, hence 99.98 % in §5.3 and RFC 8239"
            " §2.2): at 100 % a tester that is faster than the DUT's output fills its buffer by itself",
            percent=percent,
        )
    ]


def _labels(plan: Plan) -> int:
    """MPLS labels that the test frames have."""
    return ALIASES.get(plan.headers, plan.headers).count("MPLS(")


def short(clause: str, what: str, used_s: float, wanted_s: float) -> list[str]:
    """Deviation of `what` that lasts less than RFC 2544 wants; none if it lasts long enough."""
    return (
        [
            phrase(
                "RFC 2544 {clause}: {what} lasts {used_s:g} s instead of at least {wanted_s:g} s",
                clause=clause,
                what=what,
                used_s=used_s,
                wanted_s=wanted_s,
            )
        ]
        if used_s < wanted_s
        else []
    )
