"""One short command for every measurement and every procedure: its name, and what is given after it."""

from __future__ import annotations

_SWITCH = "--ports 1,2,3,4 --dut sim:gs908e"
_LAB = "--waits 0.1s --size 64"
_SNOOPING = "--dut lab:bridge?snooping=on&leave=fast --ports 1,2,3 --waits 0.1s"
_NAT = "--dut lab:nat?table=100000 --waits 0.2s --connections 1000"

PROCEDURES = {
    "trial": "--dut sim:gs908e --size 64,512,1518 --rate 50% --duration 50ms",
    "throughput": "--dut sim:apresia3124gt --size 64,1518 --duration 0.2s",
    "latency": "--dut sim:gs908e --size 64,1518 --rate 50% --duration 50ms --repetitions 3",
    "loss": "--dut sim:catalyst3750g --size 64,1518 --duration 50ms",
    "back-to-back": "--dut sim:apresia3124gt --size 64 --limit 0.2s --repetitions 3",
    "recovery": "--dut sim:apresia3124gt --size 64 --search 50ms --overload 50ms --watch 0.1s",
    "reset": f"--dut lab:bridge --rate 10kpps --stable 0.5s --watch 1s --repetitions 2 {_LAB}",
    "convergence": f"--dut lab:diamond --event link-down --streams 10 --rate 20kpps --watch 1s {_LAB}",
    "delay": "--dut sim:gs908e --size 64,1518 --rate 50% --duration 0.1s --repetitions 3",
    "delay-variation": "--dut sim:gs908e --size 64,1518 --rate 50% --duration 0.1s --repetitions 3",
    "reordering": "--dut sim:gs908e --size 64,1518 --duration 50ms",
    "mlr": "--dut sim:gs908e --size 64,1518 --goals rfc2544",
    "critical-load": "--dut sim:gs908e --size 64 --duration 10ms --limit 30s",
    "cost": "--dut lab:bridge --size 64 --runs 4",
    "sweep": "--dut sim:gs908e --duration 50ms",
    "buffer-over-time": "--dut sim:catalyst3750g --size 1998 --duration 20s",
    "changes": f"--dut lab:router --rate 20kpps --duration 0.3s {_LAB}",
    "clock-mismatch": "--dut sim:sf4024fl --pattern pairs --ports 1,2,3,4 --size 64,512 --duration 1s",
    "calibrate": "--dut sim:cable --length 0.20m --duration 50ms",
    "forwarding": f"{_SWITCH} --size 64,1518 --pattern mesh --duration 20ms",
    "congestion": f"{_SWITCH} --size 64,1518 --duration 50ms",
    "address-caching": "--dut lab:bridge --ports 1,2,3 --most-addresses 1000 --ageing 300s",
    "address-learning": "--dut lab:bridge --ports 1,2,3 --addresses 1000 --ageing 300s --maximum 20kpps",
    "errored-frames": "--dut sim:gs908e --duration 50ms",
    "broadcast": f"{_SWITCH} --size 64,1518 --duration 50ms",
    "multicast": f"{_SNOOPING} --size 64 --groups 1,4 --duration 0.2s --maximum 20kpps",
    "group-delay": f"{_SNOOPING} --groups 2 --repetitions 2",
    "group-capacity": f"{_SNOOPING} --groups 8 --most-groups 16",
    "line-rate": f"{_SWITCH} --size 64,1518 --duration 50ms",
    "buffering": f"{_SWITCH} --size 64",
    "microburst": f"{_SWITCH} --size 512",
    "head-of-line": "--dut sim:lsw4-gt-8ep --ports 1,2,3,4,5,6,7,8 --size 512 --duration 50ms",
    "incast": f"{_SWITCH} --size 512 --duration 0.2s",
    "qos": "--dut sim:{switch} --ports 1,2,3 --classes 0,10,26,46 --size 512 --duration 50ms",
    "marking": "--dut sim:{switch} --ports 1,2,3 --mark loss --code 10 --size 1518 --duration 0.1s",
    "port-map": "--dut sim:lsw4-gt-8ep --ports 1,2,3,4 --duration 50ms",
    "balance": "--dut lab:ecmp --ports 1,2,3 --size 128 --resolution 5% --fields --event member-lost --waits 0.1s",
    "connection-capacity": "--dut lab:nat?table=2000 --waits 0.2s --connections 1000",
    "connection-rate": f"{_NAT} --maximum 20000",
    "connection-teardown": f"{_NAT} --repetitions 2",
    "connection-throughput": f"{_NAT} --maximum 50kpps --duration 0.5s --size 64",
}
"""Of devices; braces name a file. `forward-pressure` is not there: it needs an FPGA."""

OTHERS = {
    "clock cost": "",
    "clock calibrate": "--duration 3s --reference raw",
    "clock stability": "--duration 3s --every 10ms --clock realtime --reference raw",
    "clock phase": "{phase} --tau0 1s",
    "path one-packet": "127.0.0.1 --budget 20s",
    "path packet-pair": "127.0.0.1 --port {train}",
    "path delay": "127.0.0.1 --port {delay} --packets 200 --interval 2ms",
    "path clocks": "127.0.0.1 --port {train} --repetitions 3 --pairs 10",
    "line responsiveness": "127.0.0.1 --port {stream} --repetitions 2 --no-overload --max-hops 0",
    "stream tcp": "127.0.0.1 --port {stream} --size 1024,65536 --duration 0.2s --repetitions 2 --most-repetitions 2",
    "stream udp": "127.0.0.1 --port {stream} --duration 0.2s --repetitions 2 --most-repetitions 2 --rate 100Mb/s",
    "stream file": "{file} 127.0.0.1 --port {stream}",
    "stream rr": "127.0.0.1 --port {stream} --duration 0.5s",
    "stream capacity": "127.0.0.1 --port {capacity} --duration 2s --sub-interval 0.5s",
    "outage udp": "127.0.0.1 --port {outage} --duration 1s",
    "outage tcp": "127.0.0.1 --port {outage} --duration 1s",
    "outage mesh": "127.0.0.1 127.0.0.2 --port {mesh} --duration 1s",
    "outage service": "tcp:127.0.0.1:{outage} --duration 1s",
    "stream crr": "127.0.0.1 --port {stream} --duration 0.5s",
    "stream udp-rr": "127.0.0.1 --port {stream} --duration 0.5s",
    "line survey": "127.0.0.1 --port {stream}",
    "system load": "lab:system?clients=3 --duration 1s --repetitions 2",
    "system limit": "--system sim:e4 --objective sum_requests --sweep 12 --repetitions 2",
    "system govern": "--system sim:e4-steps --objective sum_requests --duration 3min",
    "runs import": "{imported} --frame 64 --device vpp",
    "ab": "throughput --size 64 --duration 50ms --a '--dut sim:gs908e' --b '--dut sim:catalyst3750g' --pairs 8",
    "bisect": "HEAD~4 HEAD throughput --size 64 --duration 50ms --dut sim:gs908e --build true --load true",
}
"""Braces name a port of a server at the loopback, or a file."""
