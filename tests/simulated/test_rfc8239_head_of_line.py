"""Head-of-line blocking on a simulated device that has it: its inputs are queues (`[input]`)."""

from __future__ import annotations

import pytest
from support.simulated_trials import carry_out, device, plan

FREE_SLOW = "service_bits_per_second = 4e8"
"""Less than the half of the line rate that the free output is sent: it loses frames without any blocking."""


@pytest.mark.parametrize(("service", "lost_alone"), [("", False), (FREE_SLOW, True)])
def test_a_device_with_head_of_line_blocking_loses_frames_to_a_free_output(service: str, lost_alone: bool) -> None:
    own = plan(
        "head_of_line", ports=["1", "2", "3", "4"], frame_bytes=[512], head_of_line={"trial_s": 0.1, "shifts": 1}
    )
    toml = f"ports = 4\n[input]\nbuffer_bytes = 20_000\n[output]\nbuffer_bytes = 20_000\n{service}"
    result, _ = carry_out(own, device(toml))
    row = result.rows[0]
    alone = row.figures["alone"].value
    assert (alone > 0) == lost_alone
    # A third of what the input sends to the congested output waits, and so does what comes behind it.
    assert row.figures["loss"].value > alone + 25
    assert row.figures["congested"].value > 30
    assert row.remark.startswith("head-of-line blocking: ")
