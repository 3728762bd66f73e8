//! Reads capture files frame by frame: pcap and pcapng of any byte order and resolution.
//!
//! The crate pcap-parser parses the formats. This file converts all variants to ns since the epoch and to frames
//! without FCS. It stores interfaces and never frames.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, InterfaceDescriptionBlock, Linktype, PcapBlockOwned, PcapError};
use pcap_parser::{PcapNGOption, create_reader};

use crate::capture::source::Direction;
use crate::error::{EngineError, Result};

const BUFFER_BYTES: usize = 1 << 20;
const LARGEST_BUFFER_BYTES: usize = 1 << 28;
/// The obsolete Packet Block, which pcap-parser does not parse (draft-ietf-opsawg-pcapng, appendix A).
const OBSOLETE_PACKET: u32 = 2;
const OBSOLETE_HEADER_BYTES: usize = 20;
const DROPS_UNKNOWN: u16 = 0xFFFF;
/// A pcap header says with this bit that its four highest ones are the length of the FCS in words of 16 bit.
const FCS_PRESENT: u32 = 0x0400_0000;
const FCS_BYTES: usize = 4;
/// Option codes for which pcap-parser has no name. The flags have one code in both kinds of packet blocks.
const IF_FCSLEN: u16 = 13;
const EPB_FLAGS: u16 = 2;
const EPB_PACKETID: u16 = 5;
const SHB_USERAPPL: u16 = 4;

/// One interface of a file. A pcap file has exactly one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub description: String,
    pub is_ethernet: bool,
    /// Frames that the capture itself lost; `None` if the file does not say.
    pub dropped: Option<u64>,
    ticks_per_second: u128,
    offset_s: i64,
    fcs_bytes: usize,
}

/// One frame of a file, without FCS.
#[derive(Clone, Copy, Debug)]
pub struct FileFrame<'a> {
    pub interface: usize,
    /// In ns since the epoch, with the resolution of the file.
    pub time_ns: u64,
    /// Length on the wire in bytes; `bytes` holds fewer if the frame was cut.
    pub length: usize,
    pub bytes: &'a [u8],
    pub direction: Option<Direction>,
    /// Stream and sequence number of a cut frame, as `pcapng.rs` writes them.
    pub identity: Option<u64>,
}

/// What is known of a file after it was read to its end.
#[derive(Debug, Default)]
pub struct Contents {
    pub interfaces: Vec<Interface>,
    /// The file ends within a block, because the process that wrote it was killed.
    pub ends_early: bool,
}

type Visit<'a> = dyn FnMut(&FileFrame, &[Interface]) -> ControlFlow<()> + 'a;

/// Calls `visit` for each frame in the order of the file until `visit` breaks.
pub fn read(path: &Path, visit: &mut Visit) -> Result<Contents> {
    let told = |problem: &str| EngineError(format!("{}: {problem}", path.display()));
    let file = File::open(path).map_err(|error| told(&format!("cannot be read: {error}")))?;
    let no_capture = |_| told("is no pcap or pcapng file; give one that a capture wrote");
    let mut reader = create_reader(BUFFER_BYTES, file).map_err(no_capture)?;
    let mut state = State::default();
    let mut buffer_bytes = BUFFER_BYTES;
    loop {
        match reader.next() {
            Ok((size, block)) => {
                let flow = state
                    .block(&block, visit)
                    .map_err(|problem| told(&problem))?;
                reader.consume(size);
                if flow.is_break() {
                    break;
                }
                continue;
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::UnexpectedEof) => {
                state.contents.ends_early = true;
                break;
            }
            Err(PcapError::Incomplete(_) | PcapError::BufferTooSmall) => {}
            Err(_) => {
                let after = reader.consumed();
                return Err(told(&format!("is damaged {after} bytes after its begin")));
            }
        }
        let before = reader.data().len();
        if reader.refill().is_err() {
            return Err(told("cannot be read to its end"));
        }
        // A full buffer without a complete block is too small.
        if reader.data().len() == before && !reader.reader_exhausted() {
            buffer_bytes *= 2;
            if buffer_bytes > LARGEST_BUFFER_BYTES || !reader.grow(buffer_bytes) {
                return Err(told("holds a block too large to be a frame"));
            }
        }
    }
    Ok(state.contents)
}

#[derive(Default)]
struct State {
    contents: Contents,
    /// Index of the first interface of the section: each section numbers its interfaces from 0.
    first: usize,
    big_endian: bool,
    /// keisoku wrote the section, so its packet ids have the meaning that `pcapng.rs` defines.
    ours: bool,
    /// Legacy pcap: ns in one unit of the fraction of a time.
    fraction_ns: u64,
}

impl State {
    fn block(
        &mut self,
        block: &PcapBlockOwned,
        visit: &mut Visit,
    ) -> Result<ControlFlow<()>, String> {
        let packet = match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.fraction_ns = if header.is_nanosecond_precision() {
                    1
                } else {
                    1000
                };
                let network = header.network.0 as u32;
                self.contents.interfaces.push(Interface {
                    is_ethernet: network & 0xFFFF == Linktype::ETHERNET.0 as u32,
                    fcs_bytes: match network & FCS_PRESENT {
                        0 => 0,
                        _ => fcs_bytes(2 * (network >> 28)),
                    },
                    ticks_per_second: 1_000_000_000,
                    ..Interface::default()
                });
                return Ok(ControlFlow::Continue(()));
            }
            PcapBlockOwned::Legacy(frame) => FileFrame {
                interface: 0,
                time_ns: u64::from(frame.ts_sec) * 1_000_000_000
                    + u64::from(frame.ts_usec) * self.fraction_ns,
                length: frame.origlen as usize,
                bytes: frame.data,
                direction: None,
                identity: None,
            }
            .without_fcs(self.contents.interfaces[0].fcs_bytes),
            PcapBlockOwned::NG(block) => match self.block_ng(block)? {
                Some(packet) => packet,
                None => return Ok(ControlFlow::Continue(())),
            },
        };
        Ok(visit(&packet, &self.contents.interfaces))
    }

    fn block_ng<'a>(&mut self, block: &'a Block) -> Result<Option<FileFrame<'a>>, String> {
        match block {
            Block::SectionHeader(section) => {
                self.big_endian = section.big_endian();
                self.first = self.contents.interfaces.len();
                let writer = find(&section.options, SHB_USERAPPL).unwrap_or_default();
                self.ours = writer.starts_with(b"keisoku ");
            }
            Block::InterfaceDescription(description) => {
                let interface = self.interface(description)?;
                self.contents.interfaces.push(interface);
            }
            Block::InterfaceStatistics(statistics) => {
                let index = self.index(statistics.if_id)?;
                let dropped = find(&statistics.options, pcap_parser::OptionCode::IsbIfDrop.0);
                if let Some(dropped) = dropped.and_then(|value| self.number(value)) {
                    self.contents.interfaces[index].dropped = Some(dropped);
                }
            }
            Block::EnhancedPacket(packet) => {
                let option =
                    |code| find(&packet.options, code).and_then(|value| self.number(value));
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let frame = FileFrame {
                    length: packet.origlen as usize,
                    bytes: packet.packet_data(),
                    identity: option(EPB_PACKETID).filter(|_| self.ours),
                    ..self.frame(packet.if_id, ticks)?
                };
                return Ok(Some(self.flagged(frame, option(EPB_FLAGS))));
            }
            // pcap-parser reads the type of a block that it does not know as little-endian.
            Block::Unknown(block)
                if self.u32(block.block_type.to_le_bytes()) == OBSOLETE_PACKET =>
            {
                return self.obsolete_packet(block.data).map(Some);
            }
            Block::SimplePacket(_) => {
                return Err("holds frames without time stamps; capture it again with them".into());
            }
            _ => {}
        }
        Ok(None)
    }

    fn obsolete_packet<'a>(&mut self, block: &'a [u8]) -> Result<FileFrame<'a>, String> {
        let damaged = "has a damaged packet block";
        let (header, rest) = block
            .split_at_checked(OBSOLETE_HEADER_BYTES)
            .ok_or(damaged)?;
        let word =
            |at: usize| self.u32([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (ticks, kept) = (
            u64::from(word(4)) << 32 | u64::from(word(8)),
            word(12) as usize,
        );
        let options = rest.get(kept.next_multiple_of(4)..).ok_or(damaged)?;
        let frame = FileFrame {
            length: word(16) as usize,
            bytes: &rest[..kept],
            ..self.frame(self.u16([header[0], header[1]]).into(), ticks)?
        };
        let flags = self
            .option(options, EPB_FLAGS)
            .and_then(|value| self.number(value));
        let frame = self.flagged(frame, flags);
        let drops = self.u16([header[2], header[3]]);
        if drops != DROPS_UNKNOWN {
            *self.contents.interfaces[frame.interface]
                .dropped
                .get_or_insert(0) += u64::from(drops);
        }
        Ok(frame)
    }

    /// A frame of an interface of the section, still without bytes.
    fn frame<'a>(&self, interface: u32, ticks: u64) -> Result<FileFrame<'a>, String> {
        let interface = self.index(interface)?;
        Ok(FileFrame {
            interface,
            time_ns: self.contents.interfaces[interface].time_ns(ticks),
            length: 0,
            bytes: &[],
            direction: None,
            identity: None,
        })
    }

    /// The frame with what the flags of its block say: its direction, and the length of its FCS if the block knows it.
    fn flagged<'a>(&self, frame: FileFrame<'a>, flags: Option<u64>) -> FileFrame<'a> {
        let flags = flags.unwrap_or_default() as u32;
        let fcs_bytes = match flags >> 5 & 0xF {
            0 => self.contents.interfaces[frame.interface].fcs_bytes,
            told => fcs_bytes(told),
        };
        FileFrame {
            direction: Direction::try_from(flags).ok(),
            ..frame.without_fcs(fcs_bytes)
        }
    }

    fn interface(&self, block: &InterfaceDescriptionBlock) -> Result<Interface, String> {
        let text = |code: u16| {
            let value = find(&block.options, code).unwrap_or_default();
            String::from_utf8_lossy(value).into_owned()
        };
        let exponent = u32::from(block.if_tsresol & 0x7F);
        let ticks_per_second = match block.if_tsresol & 0x80 {
            0 => 10u128.checked_pow(exponent),
            _ => 1u128.checked_shl(exponent),
        };
        let offset = find(&block.options, pcap_parser::OptionCode::IfTsoffset.0);
        Ok(Interface {
            name: text(pcap_parser::OptionCode::IfName.0),
            description: text(pcap_parser::OptionCode::IfDescription.0),
            is_ethernet: block.linktype == Linktype::ETHERNET,
            dropped: None,
            ticks_per_second: ticks_per_second
                .ok_or("says that its stamps have an impossible resolution")?,
            offset_s: offset
                .and_then(|value| self.number(value))
                .map_or(0, |offset| offset as i64),
            fcs_bytes: find(&block.options, IF_FCSLEN)
                .and_then(|value| value.first())
                .map_or(0, |told| fcs_bytes((*told).into())),
        })
    }

    fn index(&self, number: u32) -> Result<usize, String> {
        let index = self.first + number as usize;
        if index < self.contents.interfaces.len() {
            Ok(index)
        } else {
            Err(format!(
                "names an interface {number} that it does not describe"
            ))
        }
    }

    /// An option's value of 4 or 8 bytes.
    fn number(&self, value: &[u8]) -> Option<u64> {
        if let Ok(four) = <[u8; 4]>::try_from(value) {
            return Some(self.u32(four).into());
        }
        let eight = <[u8; 8]>::try_from(value).ok()?;
        Some(if self.big_endian {
            u64::from_be_bytes(eight)
        } else {
            u64::from_le_bytes(eight)
        })
    }

    fn u32(&self, value: [u8; 4]) -> u32 {
        if self.big_endian {
            u32::from_be_bytes(value)
        } else {
            u32::from_le_bytes(value)
        }
    }

    fn u16(&self, value: [u8; 2]) -> u16 {
        if self.big_endian {
            u16::from_be_bytes(value)
        } else {
            u16::from_le_bytes(value)
        }
    }

    /// The value of an option in a block that pcap-parser does not parse.
    fn option<'a>(&self, mut options: &'a [u8], wanted: u16) -> Option<&'a [u8]> {
        while let Some((&[a, b, c, d], rest)) = options.split_first_chunk() {
            let (code, length) = (self.u16([a, b]), usize::from(self.u16([c, d])));
            if code == wanted {
                return rest.get(..length);
            }
            options = rest.get(length.next_multiple_of(4)..)?;
        }
        None
    }
}

/// Bytes of the FCS at the end of each frame. Some writers count bits in place of bytes, and none has more than four.
fn fcs_bytes(told: u32) -> usize {
    (told as usize).min(FCS_BYTES)
}

impl FileFrame<'_> {
    fn without_fcs(self, fcs_bytes: usize) -> Self {
        let length = self.length.saturating_sub(fcs_bytes);
        FileFrame {
            length,
            bytes: &self.bytes[..self.bytes.len().min(length)],
            ..self
        }
    }
}

impl Interface {
    fn time_ns(&self, ticks: u64) -> u64 {
        let time_ns = match self.ticks_per_second {
            1_000_000_000 => ticks,
            other => (u128::from(ticks) * 1_000_000_000 / other) as u64,
        };
        time_ns.wrapping_add_signed(self.offset_s.wrapping_mul(1_000_000_000))
    }
}

fn find<'a>(options: &'a [PcapNGOption], code: u16) -> Option<&'a [u8]> {
    let option = options.iter().find(|option| option.code.0 == code)?;
    option.as_bytes().ok()
}
