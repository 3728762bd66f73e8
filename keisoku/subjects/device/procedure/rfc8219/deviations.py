"""Where a plan differs from RFC 8219 and, for IPv6 test frames, from RFC 5180: clause first, then what was done.

Compares settings only; a method adds deviations that it finds while running.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import Relative
from keisoku.units import NAMED_SIZES

RFC5180_ADDRESSES = ip_network("2001:2::/48")
"""RFC 5180 §8 prints 2001:0200::/48; erratum 1752 and the registry have 2001:2::/48."""


def delay(
    inputs: MethodInput, clause: str, used_s: float, wanted_s: float, trials: int, rate_fps: float | Relative | None
) -> list[str]:
    """Deviations common to RFC 8219 §7.2 and §7.3, and of IPv6 test frames from RFC 5180."""
    plan = inputs.plan
    found = []
    if used_s < wanted_s:
        found.append(
            phrase(
                "RFC 8219 {clause}: the stream lasts {used_s:g} s instead of at least {wanted_s:g} s",
                clause=clause,
                used_s=used_s,
                wanted_s=wanted_s,
            )
        )
    if trials < 20:
        found.append(
            plural(
                "RFC 8219 {clause}: {count} repetition instead of at least 20",
                "RFC 8219 {clause}: {count} repetitions instead of at least 20",
                clause=clause,
                count=trials,
            )
        )
    if rate_fps is not None:
        found.append(phrase("RFC 8219 {clause}: measured at a given load, not at the throughput", clause=clause))
    elif "throughput" not in plan.methods:
        found += deviations.throughput(plan)
    missing = [size for size in NAMED_SIZES["rfc8219"] if size not in plan.frame_bytes]
    # §5.1.1: "in the IPv6 -> IPv4 translation direction, 64-byte frames SHOULD be replaced by 84-byte frames"
    if missing and not (missing == [64] and 84 in plan.frame_bytes):
        found.append(
            phrase(
                "RFC 8219 §5.1.1: frame sizes {missing} were not tested", missing=join_texts(", ", map(str, missing))
            )
        )
    found += rfc5180(plan)
    if inputs.capabilities.simulated:
        found.append(phrase("the DUT is simulated: results describe the model"))
    return found


def rfc5180(plan: Plan) -> list[str]:
    """Deviations of IPv6 test frames; none if the frames are not IPv6."""
    if plan.ip_version != "ipv6":
        return []
    found = []
    own = [ip_address(text.partition("-")[0].strip()) for text in plan.address]
    outside = [str(address) for address in own if address.version == 6 and address not in RFC5180_ADDRESSES]
    if outside:
        found.append(
            phrase(
                "RFC 5180 §5.2.2: addresses {outside} are not in {rfc5180_addresses}",
                outside=join_texts(", ", outside),
                rfc5180_addresses=RFC5180_ADDRESSES,
            )
        )
    if not any("IPv6ExtHdr" in content.headers for content in plan.contents()):
        found.append(phrase("RFC 5180 §5.3: traffic with extension headers was not tested"))
    return found
