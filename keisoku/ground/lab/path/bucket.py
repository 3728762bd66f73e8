"""`Bucket`: a hop that is a veth pair with a token bucket of the kernel at either end.

It can mislead a measurement, because a single packet passes it without delay. Rate and burst count frames with their
Ethernet header, as the kernel does. Functions act on the namespace of the calling thread, which the path has made.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyroute2 import IPRoute

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.lab.device import interface
from keisoku.ground.lab.device.topology import MERGED_BYTES
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.truth import BucketTruth, HopTruth

_ROOT, _CLASS = 0x10000, 0x10001


@dataclass(frozen=True)
class Bucket:
    """The hop of a path between two of its nodes."""

    hop: Hop
    near: Namespace
    far: Namespace

    def plug(self) -> None:
        """Make the veth pair. Raises NetlinkError."""
        self.near.run(lambda: plug("down", "up", self.far, self.hop.mtu))

    def limit(self, near_address: str, far_address: str) -> None:
        """Put a bucket at both ends, once they are up, and set their neighbours so that they need no ARP."""
        near_mac, far_mac = self.near.run(lambda: _mac("down")), self.far.run(lambda: _mac("up"))
        self.near.run(lambda: _know("down", far_address, far_mac))
        self.far.run(lambda: _know("up", near_address, near_mac))
        forward_bps, reverse_bps = self.hop.rates_bps
        self.near.run(lambda: _limit("down", self.hop, forward_bps))
        self.far.run(lambda: _limit("up", self.hop, reverse_bps))

    def truth(self) -> HopTruth:
        """What the kernel counted at both ends."""
        return HopTruth(self.near.run(lambda: _counts("down")), self.far.run(lambda: _counts("up")))


def plug(name: str, peer: str, place: Namespace, mtu: int) -> None:
    """Make a veth pair from this namespace to `place` that carries packets as they were sent."""
    interface.make_pair({"ifname": name, "mtu": mtu}, {"ifname": peer, "mtu": mtu}, place.path)
    _keep_whole(name)
    place.run(lambda: _keep_whole(peer))


def _keep_whole(name: str) -> None:
    interface.whole_frames(name)
    with IPRoute() as ip:
        ip.link("set", index=ip.link_lookup(ifname=name)[0], gro_max_size=MERGED_BYTES)


def _mac(name: str) -> str:
    with IPRoute() as ip:
        return str(ip.get_links(ip.link_lookup(ifname=name)[0])[0].get("address"))


def _know(name: str, address: str, mac: str) -> None:
    # Permanent: the kernel would probe learned neighbours again during a measurement.
    with IPRoute() as ip:
        index = ip.link_lookup(ifname=name)[0]
        ip.neigh("replace", dst=address, lladdr=mac, ifindex=index, state="permanent")


def _limit(name: str, hop: Hop, rate_bps: int) -> None:
    bytes_per_second, burst = rate_bps // 8, hop.bucket_bytes
    assert burst is not None
    with IPRoute() as ip:
        index = ip.link_lookup(ifname=name)[0]
        if hop.discipline == "tbf":
            # The limit of tbf counts waiting bytes without the bucket.
            ip.tc("add", "tbf", index, _ROOT, rate=bytes_per_second, burst=burst, limit=hop.queue_bytes)
            return
        ip.tc("add", "htb", index, _ROOT, default=_CLASS)
        bucket = {"rate": bytes_per_second, "burst": burst, "cburst": burst, "quantum": hop.mtu + 14}
        ip.tc("add-class", "htb", index, _CLASS, parent=_ROOT, **bucket)
        # Its leaf counts packets.
        ip.tc("add", "pfifo", index, 0x20000, parent=_CLASS, limit=max(1, hop.queue_bytes // hop.mtu))


def _counts(name: str) -> BucketTruth:
    with IPRoute() as ip:
        index = ip.link_lookup(ifname=name)[0]
        root = next(qdisc for qdisc in ip.get_qdiscs(index=index) if qdisc["handle"] == _ROOT)
        counted = root.get_attr("TCA_STATS")
        return BucketTruth(counted["packets"], counted["bytes"], counted["drop"])
