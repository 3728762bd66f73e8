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
/// Option codes for which pcap-parser has no name.
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
                self.contents.interfaces.push(Interface {
                    is_ethernet: header.network == Linktype::ETHERNET,
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
            },
            PcapBlockOwned::NG(block) => match self.block_ng(block)? {
                Some(packet) => packet,
                None => return Ok(ControlFlow::Continue(())),
            },
        };
        let fcs_bytes = self.contents.interfaces[packet.interface].fcs_bytes;
        let length = packet.length.saturating_sub(fcs_bytes);
        let packet = FileFrame {
            length,
            bytes: &packet.bytes[..packet.bytes.len().min(length)],
            ..packet
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
                let interface = self.index(packet.if_id)?;
                let option =
                    |code| find(&packet.options, code).and_then(|value| self.number(value));
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                return Ok(Some(FileFrame {
                    interface,
                    time_ns: self.contents.interfaces[interface].time_ns(ticks),
                    length: packet.origlen as usize,
                    bytes: packet.packet_data(),
                    direction: option(EPB_FLAGS)
                        .and_then(|flags| Direction::try_from(flags as u32).ok()),
                    identity: option(EPB_PACKETID).filter(|_| self.ours),
                }));
            }
            Block::SimplePacket(_) => {
                return Err("holds frames without time stamps; capture it again with them".into());
            }
            _ => {}
        }
        Ok(None)
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
                .map_or(0, |bytes| usize::from(*bytes)),
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
        let big = self.big_endian;
        if let Ok(four) = <[u8; 4]>::try_from(value) {
            let value = if big {
                u32::from_be_bytes(four)
            } else {
                u32::from_le_bytes(four)
            };
            return Some(value.into());
        }
        let eight = <[u8; 8]>::try_from(value).ok()?;
        Some(if big {
            u64::from_be_bytes(eight)
        } else {
            u64::from_le_bytes(eight)
        })
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
