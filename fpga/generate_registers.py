"""Makes all that follows from registers.rdl: the register block, the host's Python and the documentation.

    python fpga/generate_registers.py            all three
    python fpga/generate_registers.py --rtl      the register block only: fpga/build/registers/registers{_pkg,}.sv

Never write by hand what this writes.
"""

import argparse
import keyword
import math
import re
import sys
from pathlib import Path

from peakrdl_regblock import RegblockExporter
from peakrdl_regblock.cpuif.passthrough import PassthroughCpuif
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl import RDLCompiler
from systemrdl.node import AddressableNode, AddrmapNode, FieldNode, MemNode, RegfileNode, RegNode

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "fpga" / "registers.rdl"
RTL = ROOT / "fpga" / "build" / "registers"
PYTHON = ROOT / "keisoku" / "ground" / "fpga" / "registers.py"
DOCUMENTATION = ROOT / "docs" / "registers.md"
ADDRESS_BITS = 20
PORTS = 2
WARNINGS = ("MULTIDRIVEN", "GENUNNAMED", "UNUSEDSIGNAL", "UNUSEDPARAM")

HEADER = '''"""The FPGA's register map, as fpga/generate_registers.py makes it from registers.rdl: do not edit.

`REGISTERS.memory.control.enable` is a Field, `REGISTERS.memory.control.address` a byte address.
"""

# fmt: off

'''

PAGE = """# The FPGA's registers

Which registers does the instrument have, and what do their fields mean? `fpga/generate_registers.py` makes this page
from `fpga/registers.rdl`, so do not edit it. Offsets are in bytes from the beginning of the block; a word has 32 bits.
What has no value after a reset is given by the hardware. A count of 48 bits is a pair, `_high` and `_low`: read high,
low, high again.

"""


def compiled(source: Path = SOURCE) -> AddrmapNode:
    """The elaborated address map; exits with the compiler's words if the source is wrong."""
    compiler = RDLCompiler()
    for udp in ALL_UDPS:
        compiler.register_udp(udp)
    compiler.compile_file(str(source))
    return compiler.elaborate().top


def decode_early(text: str) -> str:
    """The register block with a flip-flop between the bus and everything else, and addresses decoded before it.

    Comparing 20 bits of address and choosing among a hundred words does not fit in 8 ns. Requests are taken a clock
    later; the bus sees them as stalled meanwhile. Raises SystemExit if the generator's text is not as expected.
    """
    names = ("req", "req_is_wr", "addr", "wr_data", "wr_biten")
    for name in names:
        text = replaced_once(text, f"    assign cpuif_{name} = s_cpuif_{name};\n", "")
    for kind in ("wr", "rd"):
        line = f"assign s_cpuif_req_stall_{kind} = cpuif_req_stall_{kind};"
        text = replaced_once(text, line, line.replace(";", " | cpuif_req;"))

    ranges: list[str] = []

    def in_range(match: re.Match[str]) -> str:
        in_port = "i0" in match[2]
        ports = [[bound.replace("(20)'(i0)", f"20'd{port}") for bound in match.groups()[1:]] for port in range(PORTS)]
        each = [within(first, last) for first, last in (ports if in_port else ports[:1])]
        if each[0] not in ranges:
            ranges.extend(each)
        return f"range_hit[{ranges.index(each[0])}{' + i0' if in_port else ''}]"

    bound = r"((?:[^()]|\(20\)'\(i0\))*)"
    text = re.sub(rf"\((cpuif_addr|rd_mux_addr) >= {bound}\) &&? \(\1 <= {bound}\)", in_range, text)
    # Only one register is hit, which synthesis cannot know: a choice among them must be an OR, not a priority.
    text = re.sub(r"readback_data_var = (hwif_in\.[^;]*\.rd_data);", r"readback_data_var |= \1;", text)
    text, count = re.subn(r"(readback_data_var\[ad_hi[^=\n]*\]) = ", r"\1 |= ", text)
    if not count:
        raise SystemExit("fpga/generate_registers.py: the register block reads its registers in an unknown form")
    # Registers lie below 2^14: 64 pages of 64 words. A read chooses among the words of each page first, then a page.
    text = pages_read(text)
    address = r"(20'h[0-9a-f]+(?: \+ \(20\)'\(i\d\) \* 20'h[0-9a-f]+)*)"
    text = re.sub(
        rf"(?:cpuif_addr|rd_mux_addr) == {address}", r"(word_hit[6'((\1) >> 2)] & page_hit[6'((\1) >> 8)])", text
    )
    text, reads = re.subn(
        rf"ad_low\(rd_mux_addr\) == ad_low\({address}\)",
        r"word_read[6'((\1) >> 2)]",
        text,
    )
    # A write is a pulse of its own for each word, and for each register a page's word and nothing more.
    text, writes = re.subn(
        r"cpuif_req_masked & \(\(word_hit\[(.*?)\] & page_hit\[(.*?)\]\)\)( & cpuif_req_is_wr)?;",
        r"word_write[\1] & page_hit[\2];",
        text,
    )
    text, uses = re.subn(r"(decoded_reg_strb\.[\w.\[\]]+) && decoded_req_is_wr", r"\1", text)
    if writes == 0 or uses == 0:
        raise SystemExit("fpga/generate_registers.py: the register block writes its registers in an unknown form")
    if reads == 0 or re.search(r"(cpuif_addr|rd_mux_addr\)?) *[=<>]=", text.replace("s_cpuif_addr", "")) or not ranges:
        raise SystemExit("fpga/generate_registers.py: the register block compares addresses in an unknown form")
    stage = [
        "    logic [63:0] word_hit, word_read, word_write, page_hit;"
        "  // read: near what it chooses; write: for a clock",
        f"    logic [{len(ranges) - 1}:0] range_hit;",
        "    always_ff @(posedge clk) begin",
        "        cpuif_req <= s_cpuif_req & !(s_cpuif_req_is_wr ? s_cpuif_req_stall_wr : s_cpuif_req_stall_rd) & !rst;",
        "        if (s_cpuif_req & !(s_cpuif_req_is_wr ? s_cpuif_req_stall_wr : s_cpuif_req_stall_rd)) begin",
        *(f"            cpuif_{name} <= s_cpuif_{name};" for name in names[1:]),
        "            word_hit <= 64'd1 << s_cpuif_addr[7:2];",
        "            page_hit <= s_cpuif_addr[19:14] == '0 ? 64'd1 << s_cpuif_addr[13:8] : '0;",
        *(f"            range_hit[{number}] <= {bounds};" for number, bounds in enumerate(ranges)),
        "        end",
        "        if (s_cpuif_req & s_cpuif_req_is_wr & !s_cpuif_req_stall_wr & !rst)",
        "            word_write <= 64'd1 << s_cpuif_addr[7:2];",
        "        else word_write <= '0;",
        "        if (s_cpuif_req & !s_cpuif_req_is_wr & !s_cpuif_req_stall_rd)"
        " word_read <= 64'd1 << s_cpuif_addr[7:2];",
        "    end",
        "",
        "    logic cpuif_req_masked;",
    ]
    text = replaced_once(text, "    logic cpuif_req_masked;", "\n".join(stage))
    # The register takes no request that must wait, and until it is carried out no other comes: it need not wait here.
    waits = re.search(r"assign cpuif_req_masked = cpuif_req\s[^;]*;", text)
    if waits is None:
        raise SystemExit("fpga/generate_registers.py: the register block masks requests in an unknown way")
    return replaced_once(text, waits[0], "assign cpuif_req_masked = cpuif_req;")


def within(first: str, last: str) -> str:
    """The address compared with a range: its beginnings with those of the blocks of powers of two that make the range.

    Carries of a comparison of 20 bits would be half of a clock. `first` and `last` are sums of products of constants.
    """

    def value(expression: str) -> int:
        products = [term.split(" * ") for term in expression.split(" + ")]
        numbers = [[int(one[4:], 16 if one.startswith("20'h") else 10) for one in product] for product in products]
        return sum(math.prod(product) for product in numbers)

    low, high = value(first), value(last) + 1
    terms = []
    while low < high:
        bits = 0
        while low % (2 << bits) == 0 and low + (2 << bits) <= high:
            bits += 1
        terms.append(f"s_cpuif_addr[{ADDRESS_BITS - 1}:{bits}] == {ADDRESS_BITS - bits}'h{low >> bits:x}")
        low += 1 << bits
    return " | ".join(f"({term})" for term in terms)


def pages_read(text: str) -> str:
    """The register block whose read multiplexer has a register for each page of 64 words, not for each 2 KiB.

    The page is chosen where the block chose among the latter. Raises SystemExit if the text is not as expected.
    """
    text = text.replace("readback_data_var[512]", "readback_data_var[64]").replace("i<512;", "i<64;")
    text = text.replace("readback_data_rt_c[512]", "readback_data_rt_c[64]")
    text = replaced_once(text, "logic [31:0] readback_data_rt[512];", "logic [31:0] readback_data_rt[64];")
    text = replaced_once(text, "function automatic bit [8:0] ad_hi", "function automatic bit [5:0] ad_hi")
    text = replaced_once(text, "return addr[19:11];", "return addr[13:8];")
    offsets = re.findall(r"readback_data_var\[ad_hi\(20'h([0-9a-f]+)( \+ \(20\)'\(i\d\) \* 20'h([0-9a-f]+))?\)\]", text)
    if not offsets:
        raise SystemExit("fpga/generate_registers.py: the register block reads its registers in an unknown form")
    places = [int(offset, 16) + port * int(step or "0", 16) for offset, _, step in offsets for port in range(PORTS)]
    pages = sorted({place >> 8 for place in places})
    chosen = "".join(f" | {{32{{page_hit[{page}]}}}} & readback_data_rt[{page}]" for page in pages)
    choice = re.search(r"if\(readback_is_ext_block\) begin.*?end else begin.*?end\n", text, re.DOTALL)
    if choice is None:
        raise SystemExit("fpga/generate_registers.py: the register block chooses what it read in an unknown way")
    # A block's word is zero where the read is of a register, and the other way around.
    return replaced_once(text, choice[0], f"readback_data = readback_ext_block_data_rt{chosen};\n")


def read_on_demand(text: str) -> str:
    """The register block with a read multiplexer that works in the one clock of a read only: for the Verilated model.

    Nobody sees more of it than that, because its result is taken in no other clock, and the model is twice as fast.
    Raises SystemExit if the generator's text is not as expected.
    """
    patterns = (
        r"always_comb begin(\s+automatic logic \[31:0\] readback_data_var\[\d+\];)",
        r"            for\(int i=0; i<\d+; i\+\+\) readback_data_rt\[i\] <= '0;\n",
        r"    logic \[31:0\] readback_data_rt\[\d+\];\n",
    )
    found = [re.search(pattern, text) for pattern in patterns]
    begins, resets, declares = found
    if begins is None or resets is None or declares is None:
        raise SystemExit("fpga/generate_registers.py: the register block has an unknown read multiplexer")
    text = replaced_once(replaced_once(text, resets[0], ""), declares[0], "")
    clocked = f"{declares[0].strip()}\n    always_ff @(posedge clk) if (decoded_req) begin{begins[1]}"
    text = replaced_once(text, begins[0], clocked)
    text = replaced_once(text, "readback_data_rt_c = readback_data_var;", "readback_data_rt <= readback_data_var;")
    return replaced_once(text, "            readback_data_rt <= readback_data_rt_c;\n", "")


def replaced_once(text: str, old: str, new: str) -> str:
    """`text` with the only `old` replaced."""
    if text.count(old) != 1:
        raise SystemExit(f"fpga/generate_registers.py: the register block has no single {old.strip()!r}")
    return text.replace(old, new)


def write_rtl(top: AddrmapNode, directory: Path = RTL, on_demand: bool = False) -> list[Path]:
    """Writes the register block; returns the files in the order in which they are read.

    The read path is the long one: it has a register after the multiplexer and, in a large map, one within it.
    """
    RegblockExporter().export(
        top,
        str(directory),
        cpuif_cls=PassthroughCpuif,
        module_name="registers",
        package_name="registers_pkg",
        address_width=ADDRESS_BITS,
        retime_read_response=True,
        retime_read_fanin=True,
    )
    files = [directory / "registers_pkg.sv", directory / "registers.sv"]
    for file in files:  # what the generator writes is right, but not in our style
        off = "".join(f"/* verilator lint_off {warning} */\n" for warning in WARNINGS)
        on = "".join(f"/* verilator lint_on {warning} */\n" for warning in WARNINGS)
        text = file.read_text()
        if file.name == "registers.sv":
            text = decode_early(text)
            if on_demand:
                text = read_on_demand(text)
        file.write_text(off + text + on)
    return files


def camel(name: str) -> str:
    """register_file -> RegisterFile."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def docstring(node: AddressableNode | RegNode) -> str:
    """One line: the node's name."""
    name = node.get_property("name")
    return f'    """{name}{"" if name.endswith((".", "?")) else "."}"""'


class PythonWriter:
    """Collects one class for each type of register and register file, in the order in which they are needed."""

    def __init__(self) -> None:
        self.classes: dict[str, list[str]] = {}

    def add(self, name: str, lines: list[str]) -> str:
        """Adds a class, or finds that it is there; two different ones of one name are an error of the source."""
        if self.classes.setdefault(name, lines) != lines:
            raise SystemExit(f"registers.rdl: two different types would be the class {name}; rename one")
        return name

    def enumeration(self, owner: str, field: object) -> None:
        """Adds the names of a field's values, if the source has any."""
        encode = field.get_property("encode")  # type: ignore[attr-defined]
        if encode is None:
            return
        lines = [f"class {camel(encode.type_name)}(IntEnum):"]
        lines.append(f'    """Values of {owner}.{field.inst_name}."""')  # type: ignore[attr-defined]
        lines.append("")
        lines += [f"    {member.name.upper()} = {member.value}" for member in encode]
        self.add(camel(encode.type_name), lines)

    def register(self, node: RegNode, owner: str) -> str:
        """Adds the class of a register; returns its name."""
        name = owner + camel(node.type_name or node.inst_name)
        said = docstring(node)
        only, *others = node.fields()
        if not others and only.low == 0 and only.get_property("encode") is None:
            # One class for all registers with that field alone; docs/registers.md says what each of them is.
            name = f"{camel(only.inst_name)}{only.width}"
            said = f'    """A register whose only field has {only.width} bits."""'
        lines = [f"class {name}(Register):", said, ""]
        lines += ["    def __init__(self, address: int) -> None:", "        super().__init__(address)"]
        for field in node.fields():
            if keyword.iskeyword(field.inst_name) or field.inst_name == "address":
                raise SystemExit(
                    f"registers.rdl: {name} has a field called {field.inst_name}; Python needs another name"
                )
            self.enumeration(name, field)
            lines.append(f"        self.{field.inst_name} = Field(address, {field.low}, {field.width})")
        return self.add(name, lines)

    def one(self, node: AddressableNode, owner: str, base: str) -> str:
        """The expression that makes a child at a base."""
        if isinstance(node, MemNode):
            return f"Memory({base}, {node.get_property('mementries')})"
        if isinstance(node, RegNode):
            return f"{self.register(node, owner)}({base})"
        return f"{self.block(node)}({base})"

    def block(self, node: AddrmapNode | RegfileNode) -> str:
        """Adds the class of a register file or the whole map; returns its name."""
        name = camel(node.type_name or node.inst_name)
        owner = name.removesuffix("Registers")
        members: dict[str, str] = {}
        pairs: dict[str, list[str]] = {}
        for child in node.children(unroll=False):
            offset = child.raw_address_offset
            if child.is_array:
                (count,) = child.array_dimensions  # one dimension is enough for a port's slots and patches
                items = [self.one(child, owner, f"base + 0x{offset + i * child.array_stride:X}") for i in range(count)]
                members[child.inst_name] = "(\n" + "".join(f"            {item},\n" for item in items) + "        )"
                continue
            stem, _, index = child.inst_name.rpartition("_")
            if isinstance(child, MemNode) and index.isdigit():
                pairs.setdefault(stem, []).append(self.one(child, owner, f"base + 0x{offset:X}"))
                members[stem] = f"({', '.join(pairs[stem])},)"
                continue
            members[child.inst_name] = self.one(child, owner, f"base + 0x{offset:X}")
        lines = [f"class {name}:", docstring(node), "", "    def __init__(self, base: int = 0) -> None:"]
        lines += [f"        self.{member} = {value}" for member, value in members.items()]
        return self.add(name, lines)


def python_text(top: AddrmapNode) -> str:
    """The host's Python."""
    writer = PythonWriter()
    name = writer.block(top)
    bodies = ["\n".join(lines) for lines in writer.classes.values()]
    imports = "from keisoku.ground.fpga.register import Field, Memory, Register\n"
    if any("(IntEnum):" in body for body in bodies):
        imports = "from enum import IntEnum\n\n" + imports
    return HEADER + imports + "\n\n" + "\n\n\n".join(bodies) + f"\n\n\nREGISTERS = {name}()\n"


class PageWriter:
    """Collects a table for each type of register file, its rows being registers, their fields, and memories."""

    def __init__(self) -> None:
        self.sections: dict[str, list[str]] = {}

    def block(self, node: AddrmapNode | RegfileNode, place: str = "") -> None:
        """Adds what lies at `place`, and then what lies in it. A type that is there already is not repeated."""
        name = node.get_property("name")
        if name in self.sections:
            return
        lines = self.sections[name] = [f"## {name}", ""]
        if place:
            lines += [f"`{place}`. {text(node)}".strip(), ""]
        lines += ["| offset | register | bits | access | reset | meaning |", "|---|---|---|---|---|---|"]
        memories: dict[str, list[MemNode]] = {}
        for child in node.children(unroll=False):
            offset = f"0x{child.raw_address_offset:X}"
            if isinstance(child, RegNode):
                lines += rows(child, offset)
            elif isinstance(child, MemNode):
                memories.setdefault(child.type_name, []).append(child)
            else:
                is_array, inside = child.is_array, child.inst_name
                if is_array:
                    offset += f" + 0x{child.array_stride:X} · n, n < {child.array_dimensions[0]}"
                    inside += "[n]"
                lines.append(f"| {offset} | `{inside}` | | | | {child.get_property('name')}, see below |")
                self.block(child, f"{place}.{inside}".strip("."))
        lines += [of_memory(alike) for alike in memories.values()]


def of_memory(alike: list[MemNode]) -> str:
    """The row of a memory, or of those of both ports."""
    offsets = ", ".join(f"0x{one.raw_address_offset:X}" for one in alike)
    names = ", ".join(f"`{one.inst_name}`" for one in alike)
    meaning = f"{alike[0].get_property('name')}: {alike[0].get_property('mementries')} words. {text(alike[0])}".strip()
    return f"| {offsets} | {names} | | {access(alike[0])} | | {meaning} |"


def rows(node: RegNode, offset: str) -> list[str]:
    """The rows of a register: one if its only field is its value, otherwise one more for each field."""
    meaning = ". ".join(filter(None, [node.get_property("name").rstrip("."), text(node)]))
    fields = list(node.fields())
    if len(fields) == 1 and not text(fields[0]):
        return [f"| {offset} | `{node.inst_name}` | {of_field(fields[0])} | {meaning} |"]
    of_each = [f"| | `{node.inst_name}.{field.inst_name}` | {of_field(field)} | {text(field)} |" for field in fields]
    return [f"| {offset} | `{node.inst_name}` | | | | {meaning} |", *of_each]


def of_field(field: FieldNode) -> str:
    """Bits, access and the value after a reset."""
    bits = f"{field.high}" if field.width == 1 else f"{field.high}:{field.low}"
    reset = field.get_property("reset")
    return f"{bits} | {access(field)} | {'' if reset is None else f'0x{reset:X}'}"


def access(node: MemNode | FieldNode) -> str:
    """Whether the host can read and write it: 'r', 'w' or 'rw'."""
    return "r" * node.is_sw_readable + "w" * node.is_sw_writable


def text(node: AddressableNode | FieldNode) -> str:
    """The node's description in one line."""
    return " ".join((node.get_property("desc") or "").split())


def page_text(top: AddrmapNode) -> str:
    """The documentation of all registers and fields."""
    writer = PageWriter()
    writer.block(top)
    return PAGE + "\n".join("\n".join([*lines, ""]) for lines in writer.sections.values())


def main(arguments: list[str]) -> None:
    """Writes what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rtl", action="store_true", help="the register block only")
    parser.add_argument("--on-demand", action="store_true", help="reads cost the model nothing in other clocks")
    parser.add_argument("--directory", type=Path, default=RTL, help="where the register block goes")
    options = parser.parse_args(arguments)
    top = compiled()
    write_rtl(top, options.directory, options.on_demand)
    if not options.rtl:
        PYTHON.write_text(python_text(top))
        DOCUMENTATION.write_text(page_text(top))


if __name__ == "__main__":
    main(sys.argv[1:])
