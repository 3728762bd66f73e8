"""The receiver of a port, whole: every frame on the line is told of once and as the reference sees it."""

import json
import os
import random
import sys
from dataclasses import dataclass
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge
from gmii_line import PREAMBLE, Line
from reference_receiver import Arrival, Counts, frames, judge, signed, with_fcs
from simulate import FPGA, run_folder, simulate

SOURCES = [
    *(f"rtl/cdc/{name}.sv" for name in ("sync_bit", "async_fifo")),
    "rtl/time/stamp.sv",
    *sorted(str(path.relative_to(FPGA)) for path in (FPGA / "rtl/receive").glob("*.sv") if "_port" not in path.name),
    "tb/receive/receive_bench.sv",
]
FAST = ["--timing", "--no-sched-zero-delay", "-O3", "-CFLAGS", "-std=gnu++20 -O2"]
"""The bench makes its clocks itself, with delays that are never zero."""
CLK_PS, TIME_PS = 8000, 7804
HEADERS = {"ethernet": 14, "ipv4": 42, "ipv6": 62}
"""checked_from by kind, of docs/signature/README.md."""


@dataclass(frozen=True)
class Told:
    """A line of the bench's log, and when the frame's SFD was on the line."""

    arrival: Arrival
    received_ns: int
    sfd_ns: float | None


def parsed(text: str, sfd_ns: float | None) -> Told:
    """The struct arrival_t from its bits."""
    bits = int(text, 16)

    def take(width: int) -> int:
        nonlocal bits
        value, bits = bits & ((1 << width) - 1), bits >> width
        return value

    sent_ns, number, stream, received_ns, frame_bytes = (take(width) for width in (48, 48, 16, 48, 15))
    sums_to_zero, marked, misaligned, fcs_bad = (bool(take(1)) for _ in range(4))
    take(16)
    assert bits == 0, "the header is not compared"
    signature = (stream, number, sent_ns) if marked else (None, None, None)
    return Told(Arrival(fcs_bad, misaligned, marked, sums_to_zero, frame_bytes, *signature), received_ns, sfd_ns)


class Bench:
    """The bench with its clocks running and out of reset."""

    def __init__(self, dut, *, nibbles: bool = False, rx_ps: int = 8000, checked_from: int = 14):
        self.dut, self.nibbles, self.checked_from, self.rx_ps = dut, nibbles, checked_from, rx_ps

    async def start(self):
        """Starts the clocks and resets; returns itself."""
        dut = self.dut
        for name in (
            "play",
            "clear",
            "stalled",
            "mailbox_taken",
            "mailbox_request",
            "mailbox_request_word",
            "compare",
            "expected_header",
        ):
            getattr(dut, name).value = 0
        dut.nibbles.value, dut.checked_from.value, dut.max_frame_bytes.value = self.nibbles, self.checked_from, 1518
        dut.rst.value = 1
        dut.clk_ps.value, dut.rx_ps.value, dut.time_ps.value = CLK_PS, self.rx_ps, TIME_PS
        await ClockCycles(dut.clk, 5)
        dut.rst.value = 0
        await ClockCycles(dut.rx_clk, 10)
        await ClockCycles(dut.clk, 10)
        return self

    async def play(self, line: Line) -> list[Told]:
        """Plays a line to its end; what was told of it."""
        dut = self.dut
        line.idle(30)
        self.carried = list(frames(line.triples(), nibbles=self.nibbles))
        for one in self.carried:
            line.stamp(one.sfd_at)
        Path("line.bin").write_bytes(line.clocks)
        dut.play.value = 1
        await RisingEdge(dut.played)
        await ClockCycles(dut.clk, 60)
        dut.play.value = 0
        await ClockCycles(dut.rx_clk, 4)
        times = [int(text) / 1000 for text in Path("stamps.txt").read_text().split()]
        lines = Path("arrivals.txt").read_text().split()
        assert len(times) == len(self.carried)
        return [parsed(text, times[i] if len(times) == len(lines) else None) for i, text in enumerate(lines)]

    def expected(self) -> list[Arrival]:
        """What must have been told of the line that was played last."""
        return [
            judge(one.frame, self.checked_from, failed=one.failed, misaligned=one.misaligned) for one in self.carried
        ]

    async def check(self, line: Line, *, stamped: bool = True) -> list[Told]:
        """Plays a line and compares everything, counts included."""
        before = self.counts()
        told = await self.play(line)
        wanted = self.expected()
        for at, (one, other) in enumerate(zip([one.arrival for one in told], wanted, strict=False)):
            assert one == other, f"frame {at} of {len(wanted)}: {one} is not {other}"
        assert len(told) == len(wanted)
        counts = Counts()
        for one, arrival in zip(self.carried, wanted, strict=True):
            counts.add(one.frame, arrival)
        after = self.counts()
        for name in before:
            assert after[name] - before[name] == getattr(counts, name), name
        if stamped:
            late = [one.received_ns - one.sfd_ns for one in told]
            # Two clocks of rx_clk to the toggle; two to three of time_clk to the stamp, which is of a clock before.
            least = (2 * self.rx_ps + TIME_PS) / 1000
            assert least - 1 <= min(late) and max(late) <= least + TIME_PS / 1000, (least, min(late), max(late))
        return told

    def counts(self) -> dict[str, int]:
        """The counts as the registers show them."""
        dut = self.dut
        shown = {
            "frames": dut.frames,
            "bytes": dut.bytes,
            "fcs_bad": dut.fcs_bad_frames,
            "misaligned": dut.misaligned_frames,
            "undersize": dut.undersize_frames,
            "oversize": dut.oversize_frames,
            "fragments": dut.fragments,
            "jabbers": dut.jabbers,
        }
        return {name: signal.value.to_unsigned() for name, signal in shown.items()}


def test_frame(chance: random.Random, size: int, checked_from: int, number: int = 0) -> bytes:
    """A frame of `size` byte before the FCS whose checked region sums to zero, signed by chance."""
    filler = bytearray(chance.randbytes(size))
    at = size - 18
    if at - checked_from >= 2:
        filler[at - 2 : at] = bytes(2)
        region = bytes(filler[checked_from:at])
        padded = region + bytes(len(region) % 2)
        total = sum(int.from_bytes(padded[i : i + 2], "big") for i in range(0, len(padded), 2)) % 0xFFFF
        missing = (0xFFFF - total).to_bytes(2, "big")
        filler[at - 2 : at] = missing if len(region) % 2 == 0 else missing[::-1]
    elif at > checked_from:
        filler[checked_from:at] = bytes(at - checked_from)
    return with_fcs(signed(bytes(filler), chance.getrandbits(16), number, chance.getrandbits(48)))


test_frame.__test__ = False


@cocotb.test()
async def tells_of_every_size(dut):
    """Every size from 60 to 1600 byte before the FCS and some up to 16 383, back to back at 12 byte times."""
    chance, line = random.Random(1), Line()
    sizes = [*range(60, 1601), *chance.sample(range(1601, 16383), 40), 16382, 16383]
    for number, size in enumerate(sizes):
        line.frame(test_frame(chance, size, 14, number))
    told = await (await Bench(dut).start()).check(line)
    assert [one.arrival.number for one in told] == list(range(len(sizes)))
    assert all(one.arrival.sums_to_zero and not one.arrival.fcs_bad for one in told)


@cocotb.test()
async def tells_of_jabber_and_fragments(dut):
    """Frames of 0 to 90 byte, and frames beyond what the length can say."""
    chance, line = random.Random(2), Line()
    bench = await Bench(dut, checked_from=20).start()
    for size in range(91):
        line.frame(chance.randbytes(size))
        if size >= 4:
            line.frame(with_fcs(chance.randbytes(size - 4)))
        if size >= 22:
            line.frame(test_frame(chance, size - 4, 20))
    for size in (16384, 20000, 32766, 32767, 32768, 40000):
        line.frame(test_frame(chance, size - 4, 20))
        line.frame(chance.randbytes(size))
    await bench.check(line)


@cocotb.test()
async def keeps_frames_apart_at_any_gap(dut):
    """Gaps of 1 to 40 byte times, preambles of 0 to 9 byte, frames down to the 6 byte that a stamp needs."""
    chance, line = random.Random(3), Line()
    bench = await Bench(dut, rx_ps=8002).start()
    for gap in range(1, 41):
        for length in range(10):
            size = chance.choice([60, 61, 64, 100])
            line.frame(test_frame(chance, size, 14), gap=gap, preamble=PREAMBLE[:1] * length)
        for _ in range(6):
            runt = chance.randbytes(chance.randrange(6, 30))
            line.frame(runt, gap=gap, preamble=PREAMBLE[:1] * chance.randrange(3))
    await bench.check(line)


@cocotb.test()
async def keeps_fragments_apart_at_any_gap(dut):
    """Fragments too close for stamps of their own spoil nothing else of one another or of frames between them."""
    chance, line = random.Random(4), Line()
    bench = await Bench(dut, rx_ps=7998).start()
    for _ in range(3000):
        size = chance.choice([0, 0, 1, 1, 2, 3, 4, 5, 18, 22, 23, 60])
        frame = test_frame(chance, size, 14) if size >= 18 and chance.random() < 0.7 else chance.randbytes(size)
        line.frame(frame, gap=chance.choice([1, 1, 2, 3, 8]), preamble=PREAMBLE[: chance.choice([0, 0, 1, 7])])
    await bench.check(line, stamped=False)


@cocotb.test()
async def notices_every_wrong_bit(dut):
    """A bit wrong on the line spoils the FCS; one with a right FCS over it the sums, or the mark."""
    chance, line = random.Random(5), Line()
    bench = await Bench(dut, checked_from=42).start()
    kinds = []
    for size in (60, 61, 77):
        frame = test_frame(chance, size, 42, 7)
        for bit in range(8 * len(frame)):
            wrong = bytearray(frame)
            wrong[bit // 8] ^= 1 << bit % 8
            line.frame(bytes(wrong), gap=8)
            kinds.append("fcs")
            if bit // 8 < size:
                line.frame(with_fcs(bytes(wrong[:-4])), gap=8)
                at = bit // 8 - (size - 18)
                kinds.append("header" if bit // 8 < 42 else "magic" if 0 <= at < 2 else "region")
    told = [one.arrival for one in await bench.check(line)]
    for kind, arrival in zip(kinds, told, strict=True):
        assert arrival.fcs_bad == (kind == "fcs")
        if kind == "header":
            assert arrival.marked and arrival.sums_to_zero
        if kind == "magic":
            assert not arrival.marked
        if kind == "region":
            assert arrival.marked and not arrival.sums_to_zero


@cocotb.test()
async def reads_the_published_vectors(dut):
    """docs/signature/vectors.json, at even and odd places."""
    chance, line = random.Random(6), Line()
    bench = await Bench(dut, checked_from=255).start()
    vectors = json.loads((FPGA.parent / "docs/signature/vectors.json").read_text())["vectors"]
    for vector in vectors:
        for size in (42, 43):
            line.frame(with_fcs(chance.randbytes(size) + bytes.fromhex(vector["bytes"])))
    told = [one.arrival for one in await bench.check(line)]
    for vector, pair in zip(vectors, zip(told[::2], told[1::2], strict=True), strict=True):
        for arrival in pair:
            assert arrival.marked and arrival.sums_to_zero and not arrival.fcs_bad
            assert (arrival.stream, arrival.number, arrival.sent_ns) == (
                vector["stream"],
                vector["sequence"],
                vector["sent_ns"],
            )


@cocotb.test()
async def accepts_the_software_s_frames(dut):
    """Frames of keisoku's own template maker, of the kind in KIND."""
    from keisoku.ground.frame.headers import Ends, Headers
    from keisoku.ground.frame.stack import parse

    kind = os.environ["KIND"]
    chance, line = random.Random(7), Line()
    bench = await Bench(dut, checked_from=HEADERS[kind]).start()
    headers = Headers(parse(kind), Ends("02:00:00:00:00:01", "02:00:00:00:00:02"))
    assert headers.header_bytes == HEADERS[kind]
    least = headers.least_frame_bytes
    for number, size in enumerate([*range(least, least + 40), 1517, 1518, 9000, 16387]):
        line.frame(with_fcs(signed(headers.frame(size), chance.getrandbits(16), number, chance.getrandbits(48))))
    told = [one.arrival for one in await bench.check(line)]
    assert all(one.marked and one.sums_to_zero and not one.fcs_bad for one in told)
    assert [one.number for one in told] == list(range(44))


@cocotb.test()
async def believes_the_phy_s_errors(dut):
    """rx_er in any byte of frame or preamble spoils that frame only; without a carrier it says nothing."""
    chance, line = random.Random(8), Line()
    bench = await Bench(dut).start()
    frame = test_frame(chance, 60, 14)
    for at in range(8 + 64):
        line.frame(frame, errors=frozenset([at]))
        line.frame(frame)
        line.idle(5, 0x0F, error=True)
    told = [one.arrival for one in await bench.check(line)]
    assert [one.fcs_bad for one in told] == [True, False] * (8 + 64)


@cocotb.test()
async def reads_halves_of_bytes(dut):
    """At 100 or 10 Mb/s: sizes, gaps, preambles of odd length, half a byte too much, errors."""
    chance, line = random.Random(9), Line(nibbles=True)
    fast = os.environ["SPEED"] == "100"
    bench = await Bench(dut, nibbles=True, rx_ps=40_000 if fast else 400_000).start()
    sizes = (*range(60, 100), 1514, 1515) if fast else (60, 61, 64)
    for size in sizes:
        line.frame(test_frame(chance, size, 14), gap=chance.choice([8, 12, 30]))
        line.frame(test_frame(chance, size, 14), dribble=True)
        line.frame(test_frame(chance, size, 14), errors=frozenset([chance.randrange(size)]))
        line.idle(chance.randrange(1, 4))
        line.raw([(1, 0, 0x5)] * chance.randrange(4))
    line.frame(test_frame(chance, 60, 14))
    told = [one.arrival for one in await bench.check(line)]
    assert sum(one.misaligned for one in told) == len(sizes)


@cocotb.test()
async def survives_garbage(dut):
    """Whatever the line carries, what looks like a frame is judged as the reference does, and the next one is right."""
    chance = random.Random(int(os.environ.get("SEED", "10")))
    nibbles = chance.random() < 0.5
    line = Line(nibbles=nibbles)
    bench = await Bench(dut, nibbles=nibbles, rx_ps=40000 if nibbles else 8002).start()
    likely = (0x5, 0xD, 0x55, 0xD5)
    good = []
    for number in range(400):
        busy = chance.random()
        line.idle(1)
        line.raw(
            [
                (
                    chance.random() < busy,
                    chance.random() < 0.02,
                    chance.choice(likely) if chance.random() < 0.6 else chance.getrandbits(8),
                )
                for _ in range(chance.randrange(120))
            ]
        )
        line.idle(1)
        line.frame(test_frame(chance, chance.randrange(60, 90), 14, number))
        good.append(number)
    told = [one.arrival for one in await bench.check(line, stamped=False)]
    whole = [one for one in told if not one.fcs_bad and one.marked and one.sums_to_zero]
    assert [one.number for one in whole] == good


@cocotb.test()
async def says_how_many_it_could_not_tell(dut):
    """While accounting takes nothing the queue fills; what does not fit is counted, the rest comes through in order."""
    chance, line = random.Random(11), Line()
    bench = await Bench(dut).start()
    for number in range(200):
        line.frame(test_frame(chance, 60, 14, number))
    dut.stalled.value = 1

    async def resume():
        await ClockCycles(dut.clk, 84 * 100)
        dut.stalled.value = 0

    cocotb.start_soon(resume())
    told = [one.arrival.number for one in await bench.play(line)]
    lost = dut.lost_arrivals.value.to_unsigned()
    assert len(told) + lost == 200 and 70 < lost < 100
    assert told == [*range(len(told[:17])), *range(200 - len(told) + 17, 200)]
    assert dut.frames.value.to_unsigned() == len(told)
    dut.clear.value = 1
    await ClockCycles(dut.clk, 1)
    dut.clear.value = 0
    await ClockCycles(dut.clk, 20)
    assert dut.lost_arrivals.value == 0 and dut.frames.value == 0 and dut.bytes.value == 0


@cocotb.test()
async def begins_anew_after_a_reset(dut):
    """A reset at any place in a frame costs that frame and perhaps a neighbour; counts and the rest are as if new."""
    chance = random.Random(13)
    slow = os.environ["SPEED"] == "10"
    bench = await Bench(dut, nibbles=slow, rx_ps=400_000 if slow else 8000).start()
    clocks = 2 * 84 if slow else 84
    for place in range(0, clocks + 8, 29 if slow else 3):
        line = Line(nibbles=slow)
        for number in range(8):
            line.frame(test_frame(chance, 60, 14, number))

        async def reset(after):
            await ClockCycles(dut.rx_clk, after)
            dut.rst.value = 1
            await ClockCycles(dut.clk, 2)
            dut.rst.value = 0

        cocotb.start_soon(reset(3 * clocks + place))
        told = await bench.play(line)
        numbers = [one.arrival.number for one in told]
        missing = sorted(set(range(8)) - set(numbers))
        assert all(not one.arrival.fcs_bad for one in told)
        assert numbers == [number for number in range(8) if number not in missing]
        assert missing in ([], [2], [3], [4], [2, 3], [3, 4])
        after = 7 - missing[-1] if missing else 4
        assert dut.frames.value.to_unsigned() in (after, after + 1)
        assert dut.fcs_bad_frames.value == 0 and dut.lost_arrivals.value == 0


@cocotb.test()
async def hands_foreign_frames_to_the_host(dut):
    """Unmarked frames that are whole come into the mailbox in order, as many as it has room for; others never."""
    chance, line = random.Random(12), Line()
    bench = await Bench(dut).start()
    offered = []
    for size in (*range(60, 70), 1513, 1514):
        offered.append(chance.randbytes(size))
    unfit = [
        chance.randbytes(70),  # no FCS
        with_fcs(chance.randbytes(1515)),
        with_fcs(chance.randbytes(59)),
        with_fcs(chance.randbytes(9000)),
        test_frame(chance, 100, 14),
    ]
    frames_in = [with_fcs(one) for one in offered] + unfit * 3
    chance.shuffle(frames_in)
    for frame in frames_in:
        line.frame(frame, gap=chance.choice([1, 8, 12, 1500]))
    read = []

    async def word(at):
        dut.mailbox_request_word.value, dut.mailbox_request.value = at, 1
        await RisingEdge(dut.clk)
        dut.mailbox_request.value = 0
        for _ in range(10):
            await RisingEdge(dut.clk)
            if dut.mailbox_read_ack.value:
                return dut.mailbox_read_answer.value.to_unsigned()
        raise AssertionError("no answer")

    async def serve(patience):
        while True:
            await ClockCycles(dut.clk, patience)
            length = dut.mailbox_bytes.value.to_unsigned()
            if length:
                words = [await word(at) for at in range((length + 3) // 4)]
                read.append(b"".join(one.to_bytes(4, "little") for one in words)[:length])
                dut.mailbox_taken.value = 1
                await RisingEdge(dut.clk)
                dut.mailbox_taken.value = 0
                await RisingEdge(dut.clk)

    patient = cocotb.start_soon(serve(40))
    await bench.check(line)
    await ClockCycles(dut.clk, 10000)
    patient.cancel()
    order = [frame[:-4] for frame in frames_in if frame[:-4] in offered]
    assert read == order and dut.mailbox_missed_frames.value == 0

    # Nobody reads: four stay, whatever comes after them.
    crowd, line = [chance.randbytes(60 + at) for at in range(9)], Line()
    for one in crowd:
        line.frame(with_fcs(one), gap=8)
    read.clear()
    await bench.check(line)
    assert dut.mailbox_missed_frames.value == 5
    patient = cocotb.start_soon(serve(10))
    await ClockCycles(dut.clk, 2000)
    patient.cancel()
    assert read == crowd[:4]


RUNS = {
    "sizes": ("tells_of_every_size", {}),
    "lengths": ("tells_of_jabber_and_fragments", {}),
    "gaps": ("keeps_frames_apart_at_any_gap", {}),
    "fragments": ("keeps_fragments_apart_at_any_gap", {}),
    "bits": ("notices_every_wrong_bit", {}),
    "vectors": ("reads_the_published_vectors", {}),
    **{kind: ("accepts_the_software_s_frames", {"KIND": kind}) for kind in HEADERS},
    "errors": ("believes_the_phy_s_errors", {}),
    **{f"{speed}-megabit": ("reads_halves_of_bytes", {"SPEED": str(speed)}) for speed in (100, 10)},
    **{f"garbage-{seed}": ("survives_garbage", {"SEED": str(seed)}) for seed in range(6)},
    "overflow": ("says_how_many_it_could_not_tell", {}),
    **{f"reset-{speed}": ("begins_anew_after_a_reset", {"SPEED": str(speed)}) for speed in (1000, 10)},
    "mailbox": ("hands_foreign_frames_to_the_host", {}),
}


@pytest.mark.parametrize("run", RUNS)
def test_receive(run):
    """One cocotb test after another on the same build."""
    case, environment = RUNS[run]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), **environment}
    simulate("receive_bench", SOURCES, __file__, testcase=case, environment=environment, arguments=FAST)


def test_two_runs_on_one_build_once_shared_their_files():
    """Beside one another each read the other's line and stamps."""
    folders = {run_folder(Path("build"), "receive", [case], environment, (), 1) for case, environment in RUNS.values()}
    assert len(folders) == len(RUNS)
