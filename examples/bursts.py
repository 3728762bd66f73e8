"""A question that no standard asks: how long does the worst frame wait when two ports burst into a third?"""

import keisoku as ks

for burst in (1, 4, 16, 64):
    found = ks.measure(
        "trial",
        dut="sim:gs908e",
        ports=[1, 2, 3],
        pattern="many-to-one",
        pacing=f"bursts:{burst}",
        frame_bytes=64,
        rate_fps=100_000,
        trial_s=0.2,
        waits_s=0.1,
    )
    worst, lost = found.figure("max", case="all streams"), found.figure("lost", case="all streams")
    print(f"bursts of {burst:2}: the worst frame took {worst.value:7.0f} {worst.unit}, {lost.value:.0f} were lost")
