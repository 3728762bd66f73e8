"""Mistakes, each with the one sentence that answers it: what is wrong, and what to type."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.command_line import NO_CAPABILITIES, keisoku, outcome_of, start

SIM = "--dut sim:gs908e"
PLANS = {
    "spelling.toml": 'methods = ["throughput"]\ndut = "sim:gs908e"\nframe_byte = [64]\n',
    "unit.toml": 'methods = ["throughput"]\ndut = "sim:gs908e"\n[throughput]\ntrial_s = "10ms"\n',
    "method.toml": 'methods = ["troughput"]\ndut = "sim:gs908e"\n',
    "empty.toml": "",
    "no.toml": "methods = [",
}
MISTAKES = {
    # commands and options
    "througput": "No such command 'througput' (did you mean 'throughput'?); see 'keisoku --help'",
    f"throughput {SIM} --sise 64": "No such option '--sise'. (Did you mean one of: '--seed', '--size', '--waits'?);"
    " see 'keisoku throughput --help'",
    f"throughput {SIM} --profile fast": "Invalid value for '--profile': 'fast' is not one of 'quick', 'short', 'rfc';"
    " see 'keisoku throughput --help'",
    f"throughput {SIM} --lang de": "Invalid value for '--lang': 'de' is not one of 'en', 'ja';"
    " see 'keisoku throughput --help'",
    "path delay": "Missing argument 'HOST'; see 'keisoku path delay --help'",
    "ab": "Missing argument 'COMMAND…'; see 'keisoku ab --help'",
    "run": "run: give either a plan file or --resume; write 'keisoku run PLAN.toml' or 'keisoku run --resume RUN'",
    # devices and ports
    "throughput": "--dut: no device under test is given;"
    " give --dut lab:bridge, --dut sim:gs908e, or both --tx and --rx",
    "throughput --tx eth9": "--rx: is not given, but tx is; give both, or --dut",
    "throughput --dut gs908e": "--dut: 'gs908e' is not the name of a device;"
    " use lab:bridge, lab:router, sim:NAME or sim:FILE.toml",
    "throughput --dut lab:brigde": "--dut: there is no lab device 'brigde'; did you mean 'bridge'?",
    "lab brigde": "device: there is no lab device 'brigde'; did you mean 'bridge'?",
    f"throughput {SIM} --tx 1 --rx 1": "--rx: is port 1, which is given twice; use another port",
    f"throughput {SIM} --ports 1,2,3": "--pattern: pair is not possible with 3 ports; list the ports: pair and"
    " bidirectional need 2, pairs an even number, the others 2 or more",
    f"throughput {SIM} --engine xdp": "--engine: a simulated device has no ports of the kernel; leave it out, or use a"
    " lab",
    f"throughput {SIM} --receiver far": "--receiver: one port sends and one receives there; give --tx and --rx, and no"
    " pattern",
    "connection-rate --tx eth1 --rx eth2": "--force: connection_rate opens connections as a SYN flood does; use a lab"
    " or a simulated device, or add --force if everything behind these ports is yours",
    f"cost {SIM}": "cost: takes the CPU time of a device that works on this host, from XDP ports, which the engine"
    " simulated cannot; use a lab: device, or veth or tap interfaces that 'keisoku doctor' finds fit for the engine"
    " xdp; elsewhere compare 'throughput' or"
    " 'latency'",
    # sizes and headers
    f"throughput {SIM} --size 20": "--size: 20 byte is too small for the headers and the signature;"
    " use at least 64 byte",
    f"throughput {SIM} --size 64k": "--size: '64k' is not a frame size; write '64,128' or '64-1518:64' (bytes)",
    f"throughput {SIM} --size 1518-64:64": "--size: the range '1518-64:64' is empty; put the smaller size first",
    f"throughput {SIM} --size 64,64:1": "--size: '64' is no size with a weight;"
    " write '64:7,570:4,1518:1', 'imix' or 'genome:aafgfg'",
    f"throughput {SIM} --size 64 --vlan 5": "--size: 64 byte is too small for the headers and the signature;"
    " use at least 68 byte",
    f"throughput {SIM} --vlan 5000": "--vlan: there is no VLAN of 5000; give 1 to 4094",
    f"throughput {SIM} --dscp gold": "--dscp: there is no class 'gold';"
    " give 0 to 63, or a name such as ef, af41 or cs6",
    f"throughput {SIM} --mtu 9000": "--mtu: a simulated device has no MTU, and takes every size; leave it out",
    f"throughput {SIM} --headers ipv5": "--headers: 'ipv5' is a name without parentheses;"
    " write ipv5(), or one of ethernet, ipv4, ipv6, mpls",
    f"throughput {SIM} --headers Ether()/Foo()": "--headers: Scapy has no layer 'Foo';"
    " write for example 'Ether()/IP()/UDP()'",
    f"throughput {SIM} --streams 5000": "--streams: '5000' is above 4096; give at most 4096",
    f"throughput {SIM} --streams two": "--streams: 'two' is no whole number; give a whole number",
    # times, rates and figures
    f"throughput {SIM} --duration 5parsec": "--duration: unknown unit 'parsec';"
    " use one of s, ms, us, µs, ns, min, h, d",
    f"throughput {SIM} --duration fast": "--duration: 'fast' is not a number with a unit; write for example '1.5 s'",
    f"throughput {SIM} --duration 0s": "--duration: '0s' is not above zero; give a positive value",
    f"throughput {SIM} --within soon": "--within: 'soon' is not a number with a unit; write for example '1.5 s'",
    f"throughput {SIM} --repeat 0": "--repeat: '0' is below 1; give at least 1",
    f"throughput {SIM} --seed -1": "--seed: '-1' is below 0; give at least 0",
    f"trial {SIM} --rate 500mbps": "--rate: 'mbps' is no unit of a rate; did you mean 'Mbps'?",
    f"trial {SIM} --rate 5apples": "--rate: 'apples' is no unit of a rate; write for example 50kpps, 500Mbps or 50%",
    f"trial {SIM} --rate fast": "--rate: 'fast' is no rate; write for example 50kpps, 500Mbps or 50%",
    f"trial {SIM} --rate 120%": "--rate: '120%' is no share of the line rate; give more than 0% and at most 100%",
    f"trial {SIM} --rate 0": "--rate: '0' is not above zero; give a positive value",
    f"throughput {SIM} --calibration no.json": "--calibration: latencies are exact here, so none is subtracted;"
    " leave it out",
    f"throughput {SIM} --capture a.pcapng": "--capture: a simulated device has no wire to capture; leave it out, or use"
    " a lab",
    f"throughput {SIM} --frames-every 10": "--frames-every: no rows of frames are kept; add --frames, or leave it out",
    f"qos {SIM} --classes 64,65": "--classes: '64' is above 63; give at most 63",
    "clock cost --reads 0": "--reads: '0' is below 100; give at least 100",
    "clock calibrate --reference gps": "--reference: there is no reference 'gps'; use auto, phc:N, pps:N, ptp:HOST,"
    " ntp:HOST, http:URL, realtime, monotonic or raw",
    f"ab throughput {SIM} --margin 5ns": "--margin: unknown unit 'ns'; use one of %",
    # criteria
    f"throughput {SIM} --require throughput": "--require: 'throughput' is not a criterion;"
    " write for example 'throughput[64] >= 0.5 Mpps'",
    f"throughput {SIM} --require bitrate>=1Gbps": "--require: 'bitrate>=1Gbps': throughput has no figure 'bitrate';"
    " did you mean 'bit_rate'?",
    f"latency {SIM} --require latency<=1apple": "--require: 'latency<=1apple': no such figure is in apple;"
    " write one of ns, us, µs, ms, s",
    f"latency {SIM} --require p99<=50": "--require: 'p99<=50': the criterion has no unit, and the figure has;"
    " write one of ns, us, µs, ms, s",
    f"throughput {SIM} --size 64 --require throughput[128]>=1Mpps": "--require: 'throughput[128]>=1Mpps': frames of 128"
    " byte are not measured in this run; use one of 64",
    f"rfc2544 {SIM} --require offered>=1Mpps": "--require: latency and loss and recovery and reset have a figure"
    " 'offered'; write for example 'latency.offered>=1Mpps'",
    # plans and runs
    "run nosuch.toml": "plan file: cannot read nosuch.toml: No such file or directory;"
    " check the path and its permissions",
    "run spelling.toml": "frame_byte: there is no such setting; did you mean 'frame_bytes'?",
    "run unit.toml": "throughput.trial_s: '10ms' is no number; give a number of seconds",
    "run method.toml": "methods: there is no method 'troughput'; did you mean 'throughput'?",
    "run --resume nosuch": "run: nosuch holds no run; give a directory that a run was written to",
    "report nosuch": "run: nosuch holds no run; give a directory that a run was written to",
    "compare nosuch": "runs: there is nothing to compare; give two runs or more, or --against an earlier one",
    "query nosuch": "query: a run and a query are needed; write keisoku query RUN 'select * from figures'",
    f"throughput {SIM} --size 64 --duration 1ms --out /proc/none/x": "run directory: cannot write"
    " /proc/none/x/context.json: No such file or directory; choose another --out",
}


def test_there_are_fifty() -> None:
    assert len(MISTAKES) >= 50


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_answered_by_one_sentence(tmp_path: Path, command: str) -> None:
    for name, text in PLANS.items():
        (tmp_path / name).write_text(text)
    done = keisoku(*command.split(), cwd=tmp_path)
    assert (done.code, done.stdout) == (2, ""), done.stdout + done.stderr
    assert done.stderr == f"keisoku: {MISTAKES[command]}\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to lose")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "throughput --dut lab:bridge --size 64",
            "lab: a lab needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN); run it as root, or use a simulated device"
            " (sim:NAME)",
        ),
        (
            "capture lo --out lo.pcapng",
            "lo: not allowed to open a packet socket; run as root or give CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF and"
            " CAP_PERFMON",
        ),
    ],
)
def test_a_missing_right_is_named(tmp_path: Path, command: str, said: str) -> None:
    done = outcome_of(start(*command.split(), cwd=tmp_path, prefix=NO_CAPABILITIES))
    assert (done.code, done.stdout, done.stderr) == (2, "", f"keisoku: {said}\n")
