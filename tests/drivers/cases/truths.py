"""What is said of ports is what the kernel and the emulated cards say."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from click.testing import CliRunner

from drivers.bed import Bed, of_a_slow_machine, refusal
from drivers.case import case
from keisoku.errors import PlanError
from keisoku.faces.cli.main import keisoku
from keisoku.ground.frame.rates import maximum_frames_per_second
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.testbed.host_port_list import list_ports


@case(each_engine=False)
def facts_of_ports(bed: Bed) -> None:
    """`keisoku ports` shows driver, address, MTU, speed, carrier, XDP and timestamps as they are."""
    for end in range(2):
        port = {port.name: port for port in list_ports()}[bed.port(end)]
        driver = Path("/sys/class/net", port.name, "device/driver").resolve().name
        assert driver in (port.driver, "virtio-pci") and port.driver == bed.driver.name
        assert (port.mac, port.mtu) == (bed.driver.mac(end), int(bed.fact(end, "mtu")))
        assert (port.up, port.carrier, port.speed_mbps) == (True, True, bed.driver.speed_mbps)
        assert bool(port.xdp) == bed.driver.native_xdp
        offer = port.stamps
        found = "all" if offer.rx_hardware_socket else "PTP" if offer.rx_hardware_ptp_only else "none"
        assert (found, offer.phc_index is not None) == (bed.driver.stamps, bed.driver.clock is not None)
    shown = CliRunner().invoke(keisoku, ["ports"])
    assert shown.exit_code == 0, shown.output
    row = next(line for line in shown.output.splitlines() if line.startswith(bed.port(0)))
    bed.shown = re.sub(r"\s+", " ", row)
    assert bed.driver.mac(0) in row and f" {bed.driver.speed_mbps or 'unknown'} " in row


@case(each_engine=False)
def line_rate(bed: Bed) -> None:
    """A percentage of the line is that of the link's speed; where the driver has none, it is refused in one
    sentence."""
    with bed.opened("packet", "packet", sizes=(64,)) as engine:
        known = engine.capabilities.link_bits_per_second
    speed = bed.driver.speed_mbps
    assert known == (None if speed is None else speed * 1e6)
    if known is not None:
        bed.shown = f"{maximum_frames_per_second(known, 64):.0f} frames/s of 64 bytes"
        assert bed.shown == "1488095 frames/s of 64 bytes", bed.shown
        return
    arguments = ["trial", "--tx", f"packet:{bed.port(0)}", "--rx", f"packet:{bed.port(1)}", "--rate", "1%"]
    told = CliRunner().invoke(keisoku, arguments, catch_exceptions=True)
    sentence = told.output + (str(told.exception) if told.exception else "")
    problem = "the link has no rate of its own, or the driver does not report it"
    bed.shown = next((line for line in sentence.splitlines() if problem in line), "")
    assert told.exit_code != 0 and bed.shown, sentence


@case(each_engine=False)
def unknown_port(bed: Bed) -> None:
    """A port that does not exist is refused with the names of those that do."""
    told = refusal(lambda: bed.opened("packet", "packet", rx=f"packet:{bed.port(0)}x").__enter__(), PlanError)
    assert f"there is no port {bed.port(0)}x" in told and bed.port(1) in told, told
    bed.shown = told


@case()
def command(bed: Bed) -> None:
    """`keisoku trial` from the command line loses no frame, and ends with code 0 unless the emulated machine stood
    still, which it says."""
    with_ports = ["--tx", f"{bed.sender}:{bed.port(0)}", "--rx", f"{bed.engine}:{bed.port(1)}"]
    load = ["--rate", "200", "--size", "128", "--duration", "1s", "--waits", "500ms"]
    with tempfile.TemporaryDirectory() as folder:
        told = CliRunner().invoke(keisoku, ["trial", *with_ports, *load, "--out", f"{folder}/run"])
        lines = Path(folder, "run", "trials.jsonl").read_text().splitlines()
        trials = [TrialRecord.model_validate_json(line) for line in lines]
    counts = [(one.facts.sent.offered_frames, one.facts.tracked.forwarded_frames) for one in trials]
    assert counts and all(offered == forwarded > 0 for offered, forwarded in counts), (counts, told.output[-1500:])
    bed.shown = next((line for line in told.output.splitlines() if line.startswith("keisoku: ")), "")
    assert told.exit_code == 0 or of_a_slow_machine(bed.shown), told.output[-1500:]
