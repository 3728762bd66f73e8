"""ARP and neighbour discovery at a port of the FPGA: questions are answered, nonsense and other hosts' are not."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether

from keisoku.errors import EngineError
from keisoku.ground.fpga.mailbox import PortMailbox
from keisoku.ground.fpga.neighbour import Ask, Party, Tell, answer, ask, read, resolve, step
from keisoku.ground.fpga.registers import REGISTERS
from keisoku.ground.frame.host_range import HostRange

DUT, OURS = "02:00:00:00:00:aa", "02:00:00:00:00:01"
HOSTS = [
    HostRange(OURS, ip_address("198.18.1.2"), ip_address("198.18.1.99")),
    HostRange(OURS, ip_address("2001:2:0:1::2"), ip_address("2001:2:0:1::99")),
]
ROUTER = {4: Party(DUT, ip_address("198.18.1.1")), 6: Party(DUT, ip_address("2001:2:0:1::1"))}
TARGET = {4: ip_address("198.18.1.50"), 6: ip_address("2001:2:0:1::50")}


class Box:
    """A mailbox whose other end answers as `peer` does."""

    def __init__(self, *frames: bytes, peer: list[HostRange] | None = None) -> None:
        self.frames, self.sent, self.peer = list(frames), list[bytes](), peer or []

    def receive(self) -> bytes | None:
        return self.frames.pop(0) if self.frames else None

    def send(self, frame: bytes) -> None:
        self.sent.append(frame)
        reply = answer(frame, self.peer)
        if reply is not None:
            self.frames.append(reply)


def answered(question: bytes, hosts: list[HostRange] = HOSTS) -> bytes:
    reply = answer(question, hosts)
    assert reply is not None
    return reply


@pytest.mark.parametrize("version", [4, 6])
def test_a_question_is_answered_to_who_asked(version):
    question = ask(ROUTER[version], TARGET[version])
    assert len(question) >= 60 and read(question) == Ask(ROUTER[version], TARGET[version])
    reply = answered(question)
    assert len(reply) >= 60
    assert Ether(reply).dst == DUT and Ether(reply).src == OURS
    assert read(reply) == Tell(Party(OURS, TARGET[version]))
    assert answer(reply, HOSTS) is None


@pytest.mark.parametrize("version", [4, 6])
def test_a_question_for_another_host_is_not_answered(version):
    for target in (HOSTS[version == 6].first - 1, HOSTS[version == 6].last + 1):
        assert answer(ask(ROUTER[version], target), HOSTS) is None


def test_questions_and_answers_are_laid_out_as_scapy_reads_them():
    reply = Ether(answered(ask(ROUTER[4], TARGET[4])))
    assert (reply[ARP].op, reply[ARP].psrc, reply[ARP].pdst) == (2, "198.18.1.50", "198.18.1.1")
    question = Ether(ask(ROUTER[6], TARGET[6]))
    assert (question.dst, question[IPv6].dst) == ("33:33:ff:00:00:50", "ff02::1:ff00:50")
    reply = Ether(answered(bytes(question)))
    assert (reply[IPv6].dst, reply[IPv6].hlim) == ("2001:2:0:1::1", 255)
    assert (reply[ICMPv6ND_NA].S, reply[ICMPv6ND_NA].O, reply[ICMPv6ND_NA].R) == (1, 1, 0)
    sent = reply[ICMPv6ND_NA].cksum
    del reply[ICMPv6ND_NA].cksum
    assert Ether(bytes(reply))[ICMPv6ND_NA].cksum == sent


def test_who_has_no_address_yet_is_told_with_all_others():
    probe = Ether(src=DUT, dst="33:33:ff:00:00:50") / IPv6(src="::", dst="ff02::1:ff00:50", hlim=255)
    reply = Ether(answered(bytes(probe / ICMPv6ND_NS(tgt="2001:2:0:1::50"))))
    assert (reply.dst, reply[IPv6].dst, reply[ICMPv6ND_NA].S) == ("33:33:00:00:00:01", "ff02::1", 0)
    assert answered(bytes(Ether(src=DUT) / ARP(op=1, hwsrc=DUT, psrc="0.0.0.0", pdst="198.18.1.50")))


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        bytes(60),
        bytes(Ether(src=DUT) / IP() / UDP()),
        bytes(Ether(src=DUT) / Dot1Q(vlan=5) / ARP(op=1, hwsrc=DUT, psrc="198.18.1.1", pdst="198.18.1.50")),
        bytes(Ether(src=DUT) / ARP(op=1, hwsrc=DUT, psrc="198.18.1.50", pdst="198.18.1.50")),
        bytes(Ether(src=DUT) / ARP(op=1, hwsrc="ff:ff:ff:ff:ff:ff", psrc="198.18.1.1", pdst="198.18.1.50")),
        bytes(Ether(src=DUT) / ARP(op=1, hwtype=6, hwsrc=DUT, psrc="198.18.1.1", pdst="198.18.1.50")),
        bytes(Ether(src=DUT) / ARP(op=2, hwsrc=DUT, psrc="0.0.0.0", pdst="198.18.1.50")),
        bytes(Ether(src=DUT) / IPv6(src="2001:2:0:1::1", hlim=64) / ICMPv6ND_NS(tgt="2001:2:0:1::50")),
        bytes(Ether(src=DUT) / IPv6(src="2001:2:0:1::1", hlim=255) / ICMPv6ND_NS(tgt="2001:2:0:1::50", cksum=1)),
        bytes(Ether(src=DUT) / IPv6(src="2001:2:0:1::1", hlim=255) / ICMPv6ND_NS(tgt="ff02::50")),
        bytes(Ether(src=DUT) / IPv6(src="2001:2:0:1::1", hlim=255) / ICMPv6ND_NS(tgt="2001:2:0:1::50", code=1)),
        bytes(
            Ether(src=DUT)
            / IPv6(src="2001:2:0:1::1", hlim=255)
            / ICMPv6ND_NS(tgt="2001:2:0:1::50")
            / ICMPv6NDOptSrcLLAddr(len=0, lladdr=DUT)
        ),
        ask(ROUTER[6], TARGET[6])[:70],
    ],
)
def test_what_a_host_ignores_is_ignored(frame):
    assert read(frame) is None
    assert answer(frame, HOSTS) is None


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([4, 6]), st.data())
def test_no_bytes_are_too_wrong_to_read(version, data):
    frame = bytearray(ask(ROUTER[version], TARGET[version]))
    for _ in range(data.draw(st.integers(0, 6))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    answer(bytes(frame[: data.draw(st.integers(0, len(frame)))]), HOSTS)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_read_without_an_error(frame):
    read(frame)


def test_a_step_answers_all_that_has_come_and_says_who_told():
    told = answered(ask(Party(OURS, TARGET[4]), ROUTER[4].ip), [HostRange(DUT, ROUTER[4].ip, ROUTER[4].ip)])
    box = Box(ask(ROUTER[4], TARGET[4]), bytes(60), told, ask(ROUTER[6], TARGET[6]))
    assert step(box, HOSTS) == [ROUTER[4]]
    assert [read(frame) for frame in box.sent] == [Tell(Party(OURS, TARGET[version])) for version in (4, 6)]
    assert step(box, HOSTS) == []


@pytest.mark.parametrize("version", [4, 6])
def test_a_gateway_is_resolved_and_meanwhile_its_questions_answered(version):
    gateway = ROUTER[version].ip
    box = Box(ask(ROUTER[version], TARGET[version]), peer=[HostRange(DUT, gateway, gateway)])
    waits = list[int]()
    assert resolve(box, HOSTS, Party(OURS, TARGET[version]), gateway, 10**9, waits.append) == DUT
    assert len(box.sent) == 2 and len(waits) == 1


def test_a_silent_gateway_is_asked_four_times_a_second_and_then_an_error():
    box, waits = Box(), list[int]()
    with pytest.raises(EngineError, match=r"no answer for 198\.18\.1\.1"):
        resolve(box, HOSTS, Party(OURS, TARGET[4]), ROUTER[4].ip, 10**9, waits.append)
    assert sum(waits) == 10**9 and len(box.sent) == 4


def test_versions_are_not_mixed():
    with pytest.raises(ValueError, match="cannot ask"):
        ask(ROUTER[4], TARGET[6])


class Link:
    """A port's registers and mailbox as the hardware has them."""

    def __init__(self, port: int, frames: list[bytes]) -> None:
        self.receive, self.memory, self.frames = REGISTERS.port[port].receive, REGISTERS.mailbox[port], frames

    def read(self, address: int, words: int = 1) -> list[int]:
        shown = self.frames[0] if self.frames else b""
        if address == self.receive.mailbox.address:
            return [len(shown)]
        assert address == self.memory.address and words <= self.memory.words
        padded = shown.ljust(4 * words, b"\xee")
        return [int.from_bytes(padded[at : at + 4], "little") for at in range(0, 4 * words, 4)]

    def write(self, address: int, words: int) -> None:
        assert address == self.receive.control.address and self.receive.control.taken.extract(words) == 1
        del self.frames[0]


@pytest.mark.parametrize("port", [0, 1])
def test_frames_are_read_from_the_port_s_mailbox_once_each_and_answers_sent(port):
    sent = list[bytes]()
    frames = [ask(ROUTER[4], TARGET[4]), bytes(range(61)), bytes(range(62)), ask(ROUTER[6], TARGET[6])]
    box = PortMailbox(Link(port, [frames[1], frames[2]]), port, sent.append)
    assert [box.receive() for _ in range(3)] == [frames[1], frames[2], None]
    assert step(PortMailbox(Link(port, frames), port, sent.append), HOSTS) == []
    assert [read(frame) for frame in sent] == [Tell(Party(OURS, TARGET[version])) for version in (4, 6)]
