"""Which frames a device lost, as Arrow tables and by SQL: a simulated switch that loses one frame in a thousand."""

from pathlib import Path

import keisoku as ks

Path("leaky.toml").write_text("ports = 4\n[loss]\nratio = 0.001\n", encoding="utf-8")
found = ks.measure("trial", dut="sim:leaky.toml", frame_bytes=64, trial_s=0.2, waits_s=0.1, seed=7)
lost = found.arrow("lost")
print(f"{sum(lost['count'].to_pylist())} frames were lost in {len(lost)} gaps; the first:")
for gap in lost.slice(0, 3).to_pylist():
    print(f"  number {gap['first']} to {gap['last']}, sent between {gap['after_ns']} and {gap['before_ns']} ns")
print(
    found.query(
        "select trial, offered_frames, lost_frames, 100.0 * lost_frames / offered_frames as percent from trials"
    )
)
