"""RFC 2544 throughput and latency of a simulated switch, a criterion that must be met, and a report to sign."""

import sys

import keisoku as ks

plan = {"frame_bytes": [64, 512, 1518], "waits_s": 0.1, "require": ["throughput[64] >= 1 Mpps"]}
found = ks.measure(
    "throughput",
    "latency",
    dut="sim:gs908e",
    throughput={"trial_s": 1},
    latency={"trial_s": 1, "repetitions": 3},
    **plan,
)
throughput = found.figure("throughput", 64, measurement="throughput")
print(f"64 byte: {throughput.value:.0f} {throughput.unit} ± {throughput.uncertainty} (k = 2)")
print("report:", found.report())
sys.exit(0 if found.met else 1)
