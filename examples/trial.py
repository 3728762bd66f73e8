"""One load on one device: what became of every frame. Also lab:bridge (as root), or tx="xdp:eth1", rx="xdp:eth2"."""

import keisoku as ks

found = ks.measure("trial", dut="sim:gs908e", frame_bytes=[64, 1518], rate_fps=50_000, trial_s=1, waits_s=0.1)
for row in found.result("trial").rows:
    mean, lost = row.figures["mean"], row.figures["lost"]
    print(f"{row.frame_bytes} byte: {mean.value:.1f} {mean.unit} on average, {lost.value:.0f} lost")
