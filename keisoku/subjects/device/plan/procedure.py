"""The table of procedures: name, standard and settings of each. Plans, commands and reports are made from it.

How a procedure proceeds is in `keisoku/subjects/device/method`, under the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from keisoku.language import phrase

if TYPE_CHECKING:
    from keisoku.ground.run.settings import Settings
    from keisoku.subjects.device.record.capabilities import Ability


@dataclass(frozen=True)
class Procedure:
    """One method of `keisoku/subjects/device/method`."""

    name: str
    """Name of the method, of its settings in a plan, and of the command, which has '-' for '_'."""
    title: str
    standard: str
    figure: str
    """The figure of a criterion that names none."""
    settings_at: str
    """Where its settings are, as 'module:class': they are loaded when they are first used, and the help of all
    commands needs none."""
    summary: str
    """One sentence, for `keisoku --help`."""
    example: str = ""
    searches: bool = False
    """It searches for the throughput first where no rate is given. `trial_s` is the length of those trials as well; of
    a procedure whose own trials have no one length, the option --search gives it."""
    own_flows: bool = False
    """It sets itself which port sends to which: every port must be able to send to every other."""
    least_ports: int = 2
    ports_in_blocks: bool = False
    """The number of ports must be `least_ports` or a multiple."""
    watches_headers: bool = False
    """It looks at the headers of frames that arrive, for which ports must be opened."""
    floods: bool = False
    """Its load looks like an attack (a SYN flood): only labs and simulated devices get it without `force`."""
    needs: tuple[Ability, ...] = ()
    """Abilities that an engine needs besides sending and receiving."""
    sizes: str | None = None
    """Frame sizes if none are given; RFC 2544's if absent."""
    simulated_sizes: str | None = None
    """Frame sizes for a simulated device, which has no MTU."""
    dut: str | None = None
    """The device if neither device nor ports are named."""
    method: str = ""
    """Where its generator is, as 'module:function'; empty: the function in `device/method` of the same name."""

    @cached_property
    def settings(self) -> type[Settings]:
        """The kind of its settings."""
        module, _, name = self.settings_at.partition(":")
        found: type[Settings] = getattr(import_module(module), name)
        return found

    @property
    def command(self) -> str:
        """Name of its command."""
        return self.name.replace("_", "-")

    @property
    def trials_have_one_length(self) -> bool:
        """Whether `trial_s`, and so the option --duration, is the length of each trial."""
        return "trial_s" in self.settings.model_fields


RFC8239_SIZES = (64, 128, 256, 512, 1024, 1518, 4096, 8000, 9216)
_RFC8239_SIZES = ",".join(map(str, RFC8239_SIZES))

PROCEDURES: dict[str, Procedure] = {
    procedure.name: procedure
    for procedure in (
        Procedure(
            "trial",
            phrase("Single trials"),
            phrase("one load at each size, one trial each"),
            "loss",
            "keisoku.subjects.device.plan.settings:TrialSettings",
            "Counts, loss and latency of every frame at one given load for each size.",
            "keisoku trial --dut lab:bridge --size 64 --rate 50kpps --duration 1s --waits 0.1s",
        ),
        Procedure(
            "throughput",
            phrase("Throughput"),
            "RFC 2544 §26.1",
            "throughput",
            "keisoku.subjects.device.plan.settings:ThroughputSettings",
            "The highest load at which the device forwards every frame.",
            "keisoku throughput --dut lab:bridge --size 64,1518 --duration 2s --waits 0.1s",
        ),
        Procedure(
            "latency",
            phrase("Latency"),
            "RFC 2544 §26.2",
            "mean",
            "keisoku.subjects.device.plan.settings:LatencySettings",
            "Latency of every frame, and of one tagged frame in each trial.",
            "keisoku latency --dut lab:router --size 64 --rate 50kpps --repetitions 3 --duration 2s --waits 0.1s",
            searches=True,
        ),
        Procedure(
            "loss",
            phrase("Frame loss rate"),
            "RFC 2544 §26.3",
            "loss",
            "keisoku.subjects.device.plan.settings:LossSettings",
            "Frame loss at 100 %, 90 %, … of the maximum load, until two successive trials lose no frame.",
        ),
        Procedure(
            "delay",
            phrase("Typical and worst-case latency"),
            "RFC 8219 §7.2",
            "typical",
            "keisoku.subjects.device.plan.rfc8219_settings:DelaySettings",
            "Typical and worst-case latency: median and 99.9th percentile of every frame after 60 s, over 20 trials.",
            "keisoku delay --dut lab:bridge --size 64 --rate 50kpps --repetitions 3 --duration 2s --waits 0.1s",
            sizes="rfc8219",
            searches=True,
        ),
        Procedure(
            "delay_variation",
            phrase("Delay variation"),
            "RFC 8219 §7.3",
            "pdv",
            "keisoku.subjects.device.plan.rfc8219_settings:DelayVariationSettings",
            "Packet delay variation (PDV) and inter-packet delay variation (IPDV) of all frames, medians of 20 trials.",
            "keisoku delay-variation --dut lab:bridge --size 64 --rate 50kpps --repetitions 3 --duration 2s",
            sizes="rfc8219",
            searches=True,
        ),
        Procedure(
            "reordering",
            phrase("Reordering"),
            "RFC 4737, RFC 5236",
            "reordered",
            "keisoku.subjects.device.plan.rfc8219_settings:ReorderingSettings",
            "Share of reordered frames, and how far and how late they are, at several loads.",
            "keisoku reordering --dut lab:bridge --size 64 --maximum 200kpps --duration 2s --waits 0.1s",
        ),
        Procedure(
            "back_to_back",
            phrase("Back-to-back frames"),
            "RFC 2544 §26.4, RFC 9004",
            "burst",
            "keisoku.subjects.device.plan.rfc2544_settings:BackToBackSettings",
            "The longest burst at the maximum rate without a lost frame, and the buffer size that follows from it.",
            "keisoku back-to-back --dut lab:bridge --size 64 --search 2s --limit 2s --repetitions 3 --waits 0.1s",
            searches=True,
        ),
        Procedure(
            "recovery",
            phrase("System recovery"),
            "RFC 2544 §26.5",
            "recovery",
            "keisoku.subjects.device.plan.rfc2544_settings:RecoverySettings",
            "How long a device still loses frames after an overload of 110 % of the throughput has ended.",
            "keisoku recovery --dut lab:bridge --size 64 --search 2s --overload 2s --watch 2s --waits 0.1s",
            searches=True,
        ),
        Procedure(
            "reset",
            phrase("Reset"),
            "RFC 2544 §26.6, RFC 6201",
            "reset_by_loss",
            "keisoku.subjects.device.plan.rfc2544_settings:ResetSettings",
            "How long the device forwards nothing when it is reset, by lost frames and by timestamps.",
            "keisoku reset --dut lab:bridge --rate 50kpps --stable 1s --watch 2s --repetitions 1 --waits 0.1s",
            searches=True,
            sizes="64",
        ),
        Procedure(
            "convergence",
            phrase("Convergence"),
            phrase("RFC 6412, RFC 6413, exact"),
            "interruption",
            "keisoku.subjects.device.plan.convergence_settings:ConvergenceSettings",
            "How long each flow is interrupted by an event, how long after it, and by which port frames leave then.",
            "keisoku convergence --dut lab:faulty --event path-lost --streams 100 --watch 1s --waits 0.1s",
            sizes="64",
        ),
        Procedure(
            "sweep",
            phrase("Frame size sweep"),
            phrase("every size at the smallest gap"),
            "latency",
            "keisoku.subjects.device.plan.settings:SweepSettings",
            "Latency against frame size at the smallest gap: fitted line, standard errors, largest forwarded frame.",
            "keisoku sweep --dut sim:gs908e",
            sizes="64-1518:128",
            simulated_sizes="64-16384:510",
        ),
        Procedure(
            "line_rate",
            phrase("Line rate"),
            "RFC 8239 §2",
            "line_share",
            "keisoku.subjects.device.plan.rfc8239_settings:LineRateSettings",
            "Forwarding, latency and jitter with every port at 99.98 % of its rate, as port pairs and as a full mesh.",
            "keisoku line-rate --dut sim:lsw4-gt-8ep --ports 1,2,3,4 --size 64,1518 --duration 1s",
            own_flows=True,
            simulated_sizes=_RFC8239_SIZES,
        ),
        Procedure(
            "buffering",
            phrase("Buffer"),
            "RFC 8239 §3",
            "buffer",
            "keisoku.subjects.device.plan.rfc8239_settings:BufferingSettings",
            "Buffer size of an output, from the inflection point of the maximum latency under a known congestion.",
            "keisoku buffering --dut sim:gs908e --ports 1,2,3,4 --size 64,1518",
            own_flows=True,
            simulated_sizes=_RFC8239_SIZES,
        ),
        Procedure(
            "microburst",
            phrase("Microburst"),
            "RFC 8239 §4",
            "microburst",
            "keisoku.subjects.device.plan.rfc8239_settings:MicroburstSettings",
            "The largest simultaneous burst from all other ports that an output forwards without loss.",
            "keisoku microburst --dut lab:bridge --ports 1,2,3 --size 64 --outputs last --waits 0.1s",
            own_flows=True,
            simulated_sizes=_RFC8239_SIZES,
        ),
        Procedure(
            "head_of_line",
            phrase("Head-of-line blocking"),
            "RFC 8239 §5",
            "loss",
            "keisoku.subjects.device.plan.rfc8239_settings:HeadOfLineSettings",
            "Head-of-line blocking: whether a congested output delays or drops frames to an uncongested output.",
            "keisoku head-of-line --dut sim:lsw4-gt-8ep --ports 1,2,3,4,5,6,7,8 --size 512 --duration 0.1s",
            own_flows=True,
            simulated_sizes=_RFC8239_SIZES,
        ),
        Procedure(
            "incast",
            phrase("Incast"),
            phrase("RFC 8239 §6, stateless frames"),
            "goodput",
            "keisoku.subjects.device.plan.rfc8239_settings:IncastSettings",
            "Goodput and latency of each flow when steady load and synchronised bursts meet at one receiver.",
            "keisoku incast --dut lab:bridge --ports 1,2,3,4 --size 64 --maximum 20kpps --period 0.1s --waits 0.2s",
            own_flows=True,
            simulated_sizes=_RFC8239_SIZES,
        ),
        Procedure(
            "qos",
            phrase("Classes of traffic"),
            "RFC 4689",
            "share",
            "keisoku.subjects.device.plan.class_settings:QosSettings",
            "Share, loss, latency and marks of up to eight classes under congestion; their policers, shapers, buffers,"
            " priorities and weights.",
            "keisoku qos --dut 'lab:ets?rate=20Mbps' --classes 0,8,16,24 --size 512 --maximum 10kpps --duration 2s",
            own_flows=True,
            watches_headers=True,
            sizes="512",
        ),
        Procedure(
            "marking",
            phrase("Marking curve"),
            "RFC 3168, RFC 7567",
            "kmin",
            "keisoku.subjects.device.plan.class_settings:MarkingSettings",
            "Probability of CE, loss or a new class against the queue that the very same frame met: Kmin, Kmax, Pmax.",
            "keisoku marking --dut sim:my-switch.toml --ports 1,2,3 --size 1518 --duration 2s",
            own_flows=True,
            watches_headers=True,
            sizes="1518",
        ),
        Procedure(
            "forwarding",
            phrase("Forwarding rate"),
            phrase("RFC 2889 §5.1 to §5.4 and §5.6"),
            "throughput",
            "keisoku.subjects.device.plan.rfc2889_settings:ForwardingSettings",
            "Throughput, forwarding rates at given loads, FRMOL and maximum forwarding rate (MFR), for any pattern.",
            "keisoku forwarding --dut sim:gs908e --ports 1,2,3,4 --pattern mesh --size 64 --duration 1s",
        ),
        Procedure(
            "congestion",
            phrase("Congestion control"),
            "RFC 2889 §5.5",
            "uncongested_loss",
            "keisoku.subjects.device.plan.rfc2889_settings:CongestionSettings",
            "Loss at a congested and at an uncongested output: head-of-line blocking and back pressure.",
            "keisoku congestion --dut sim:gs908e --ports 1,2,3,4 --size 64 --duration 1s",
            own_flows=True,
            least_ports=4,
            ports_in_blocks=True,
        ),
        Procedure(
            "forward_pressure",
            phrase("Forward pressure"),
            "RFC 2889 §5.6",
            "forwarding_rate",
            "keisoku.subjects.device.plan.rfc2889_settings:ForwardPressureSettings",
            "Whether a device sends with too small a gap when it receives frames 88 bits apart; needs the FPGA engine.",
            needs=("short_gap",),
        ),
        Procedure(
            "address_caching",
            phrase("Address caching capacity"),
            "RFC 2889 §5.7",
            "addresses",
            "keisoku.subjects.device.plan.rfc2889_settings:AddressCachingSettings",
            "How many addresses a device learns, by binary search.",
            "keisoku address-caching --dut lab:bridge --ports 1,2,3 --most-addresses 1000 --ageing 300s",
            own_flows=True,
            least_ports=3,
            sizes="64",
        ),
        Procedure(
            "address_learning",
            phrase("Address learning rate"),
            "RFC 2889 §5.8",
            "learning_rate",
            "keisoku.subjects.device.plan.rfc2889_settings:AddressLearningSettings",
            "How fast a device learns addresses, by binary search.",
            "keisoku address-learning --dut lab:bridge --ports 1,2,3 --addresses 1000 --ageing 300s",
            own_flows=True,
            least_ports=3,
            sizes="64",
        ),
        Procedure(
            "errored_frames",
            phrase("Errored frames filtering"),
            "RFC 2889 §5.9",
            "forwarded",
            "keisoku.subjects.device.plan.rfc2889_settings:ErroredFramesSettings",
            "Whether a device filters frames that are too long, too short or damaged.",
            "keisoku errored-frames --dut sim:gs908e --largest 9887 --duration 1s",
            own_flows=True,
            sizes="64",
        ),
        Procedure(
            "broadcast",
            phrase("Broadcast frames"),
            "RFC 2889 §5.10",
            "throughput",
            "keisoku.subjects.device.plan.rfc2889_settings:BroadcastSettings",
            "The highest load of broadcast frames that reach every port, and their latency.",
            "keisoku broadcast --dut lab:bridge --ports 1,2,3,4 --size 64 --duration 1s --waits 0.1s",
            own_flows=True,
        ),
        Procedure(
            "multicast",
            phrase("Multicast throughput"),
            phrase("RFC 3918 §4.1 to §4.3 and §5"),
            "throughput",
            "keisoku.subjects.device.plan.rfc3918_settings:MulticastSettings",
            "The highest load to multicast groups that reaches every port without loss, and its latency at each.",
            "keisoku multicast --dut lab:bridge?snooping=on --ports 1,2,3 --size 64 --duration 2s --waits 0.1s",
            own_flows=True,
            needs=("multicast",),
        ),
        Procedure(
            "group_delay",
            phrase("Group join and leave delay"),
            phrase("RFC 3918 §6 and §8.2"),
            "join_delay",
            "keisoku.subjects.device.plan.rfc3918_settings:GroupDelaySettings",
            "How long after a port joins or leaves a multicast group the first or the last frame reaches it.",
            "keisoku group-delay --dut lab:bridge?snooping=on --ports 1,2,3 --repetitions 2 --waits 0.1s",
            own_flows=True,
            needs=("multicast",),
            sizes="64",
        ),
        Procedure(
            "group_capacity",
            phrase("Multicast group capacity"),
            "RFC 3918 §7.1",
            "groups",
            "keisoku.subjects.device.plan.rfc3918_settings:GroupCapacitySettings",
            "How many multicast groups a device can forward to the ports that joined them, by binary search.",
            "keisoku group-capacity --dut lab:bridge?snooping=on --ports 1,2,3 --most-groups 5000 --waits 0.1s",
            own_flows=True,
            needs=("multicast",),
            sizes="64",
        ),
        Procedure(
            "connection_capacity",
            phrase("Connection capacity"),
            "RFC 9693",
            "connections",
            "keisoku.subjects.device.plan.connection_settings:ConnectionCapacitySettings",
            "How many connections a NAT or firewall holds at the same time, and which ones fail beyond that.",
            "keisoku connection-capacity --dut lab:nat?table=10000 --waits 0.2s",
            own_flows=True,
            floods=True,
            needs=("connections",),
            sizes="64",
        ),
        Procedure(
            "connection_rate",
            phrase("Connection establishment rate"),
            "RFC 9693",
            "rate",
            "keisoku.subjects.device.plan.connection_settings:ConnectionRateSettings",
            "The highest rate of new connections that a NAT or firewall takes without failing one.",
            "keisoku connection-rate --dut lab:nat?table=100000 --waits 0.2s",
            own_flows=True,
            floods=True,
            needs=("connections",),
            sizes="64",
        ),
        Procedure(
            "connection_teardown",
            phrase("Connection tear-down rate"),
            "RFC 9693",
            "rate",
            "keisoku.subjects.device.plan.connection_settings:ConnectionTeardownSettings",
            "How fast a NAT or firewall removes connections when it is told to forget all of them.",
            "keisoku connection-teardown --dut lab:nat?table=100000 --waits 0.2s",
            own_flows=True,
            floods=True,
            needs=("connections",),
            sizes="64",
        ),
        Procedure(
            "connection_throughput",
            phrase("Throughput with connections"),
            "RFC 9693",
            "throughput",
            "keisoku.subjects.device.plan.connection_settings:ConnectionThroughputSettings",
            "The throughput of a NAT or firewall with connections that exist already.",
            "keisoku connection-throughput --dut lab:nat?table=100000 --duration 2s --waits 0.2s",
            own_flows=True,
            floods=True,
            needs=("connections",),
            sizes="64",
        ),
        Procedure(
            "buffer_over_time",
            phrase("Buffer behaviour over time"),
            phrase("one sample a second at the smallest gap"),
            "slope",
            "keisoku.subjects.device.plan.drift_settings:BufferOverTimeSettings",
            "When buffers fill, drop frames, drain and stall: slopes, jumps and buffer depths from latency over time.",
            "keisoku buffer-over-time --dut sim:catalyst3750g --size 1998",
        ),
        Procedure(
            "clock_mismatch",
            phrase("Clock mismatch"),
            phrase("every frame at the throughput rate, and at a lower rate"),
            "mismatch",
            "keisoku.subjects.device.plan.drift_settings:ClockMismatchSettings",
            "Whether latency grows because clocks differ, by how much, and the rate at which it stops growing.",
            "keisoku clock-mismatch --dut sim:sf4024fl --pattern pairs --ports 1,2,3,4 --size 64 --lowered 99.4",
            searches=True,
        ),
        Procedure(
            "port_map",
            phrase("Port map"),
            phrase("from every port to every other"),
            "latency",
            "keisoku.subjects.device.plan.portmap_settings:PortMapSettings",
            "Latency and largest frame between all ports, and the groups of ports that share a chip.",
            "keisoku port-map --dut sim:lsw4-gt-8ep --ports 1,2,3,4,5,6,7,8",
            own_flows=True,
            sizes="64,512,1518",
            simulated_sizes="64,1518,4096,6500",
        ),
        Procedure(
            "changes",
            phrase("Changed headers"),
            phrase("every frame against the one that is expected"),
            "changed",
            "keisoku.subjects.device.plan.changes_settings:ChangesSettings",
            "What the device changes in the headers of every frame: which field, from what to what, in which frames.",
            "keisoku changes --dut lab:router --size 64 --rate 50kpps --duration 2s --waits 0.1s",
            sizes="64",
            needs=("compare",),
            watches_headers=True,
        ),
        Procedure(
            "calibrate",
            phrase("Calibration"),
            phrase("the tester on a bare cable"),
            "bias",
            "keisoku.subjects.device.plan.settings:CalibrateSettings",
            "The tester's own latency on a bare cable, which is stored and subtracted from later results.",
            "keisoku calibrate --tx xdp:eth1 --rx xdp:eth2",
            dut="lab:cable",
        ),
        Procedure(
            "mlr",
            phrase("NDR and PDR"),
            phrase("RFC 9971 (MLRsearch)"),
            "throughput",
            "keisoku.subjects.device.plan.mlr_settings:MlrSettings",
            "The highest loads without loss (NDR) and with a given small loss (PDR), by MLRsearch.",
            "keisoku mlr --dut lab:bridge --size 64 --goals csit --waits 0.1s",
        ),
        Procedure(
            "critical_load",
            phrase("Critical load"),
            phrase("after PLRsearch"),
            "critical_load",
            "keisoku.subjects.device.plan.critical_load_settings:CriticalLoadSettings",
            "The load at which half of all short trials lose no frame, and how widely that limit is spread.",
            "keisoku critical-load --dut lab:bridge --size 64 --duration 0.2s --waits 0.05s",
        ),
    )
}
"""In the order of a report."""
