"""What the host would do, a byte a clock: requests and answers of docs/fpga-link.md on the instrument's link."""

from cocotb.triggers import FallingEdge

from keisoku.ground.fpga.framing import Unframer, framed


class Host:
    """Reads and writes words."""

    def __init__(self, dut):
        self.dut = dut
        self.sequence = 0
        self.unframer = Unframer()

    async def ask(self, opcode, address, count, words=()):
        dut, self.sequence = self.dut, self.sequence % 255 + 1
        request = bytes([self.sequence, opcode, count - 1]) + address.to_bytes(3, "big")
        for octet in framed(request + b"".join(word.to_bytes(4, "big") for word in words)):
            dut.link_in.value, dut.link_in_valid.value = octet, 1
            while not int(dut.link_in_ready.value):
                await FallingEdge(dut.clk)
            await FallingEdge(dut.clk)
        dut.link_in_valid.value = 0
        for _ in range(5000):
            if int(dut.link_out_valid.value):
                frames = self.unframer.feed(bytes([dut.link_out.value.to_unsigned()]))
                if frames:
                    answer = frames[0]
                    assert answer[:4] == bytes([self.sequence, opcode | 0x80, 0, count - 1]), answer.hex()
                    return [int.from_bytes(answer[at : at + 4], "big") for at in range(4, len(answer), 4)]
            await FallingEdge(dut.clk)
        raise AssertionError(f"no answer to {request.hex()}")

    async def write(self, address, *words):
        for at in range(0, len(words), 256):
            part = words[at : at + 256]
            await self.ask(1, address + 4 * at, len(part), part)

    async def read(self, address, count=1):
        return await self.ask(0, address, count)
