"""What records of `cost` are made of in tests: facts of a real trial, and an engine that can tell the cost."""

from __future__ import annotations

from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.facts import Facts
from support.simulated_trials import carry_out, device, plan


def cost_template() -> tuple[Facts, Capabilities]:
    """Facts of any trial of one stream."""
    _, records = carry_out(plan("trial", trial={"trial_s": 0.01, "rate_fps": 1000}), device(""))
    capabilities = Capabilities(
        engine="xdp",
        link_bits_per_second=None,
        min_frame_bytes=64,
        max_frame_bytes=1518,
        simulated=False,
        transmit_stamp="",
        receive_stamp="",
        abilities=frozenset({"cost"}),
    )
    # Without the totals that were computed of it, which copies would keep.
    return Facts.model_validate(records[0].facts.model_dump()), capabilities
