//! Writes the four blocks of pcapng that a capture needs (draft-ietf-opsawg-pcapng §4).
//!
//! The byte order is little-endian and times are in ns. It knows nothing of ports or threads.

use std::io::{self, Write};

use crate::capture::source::{Direction, Frame};
use crate::frame::signature::{self, Parsed, Signature};

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const ETHERNET: u16 = 1;
const NANOSECONDS: u8 = 9;
/// Bytes of the destination and source address, after which a VLAN tag stands.
const ADDRESSES: usize = 12;

mod option {
    pub const END: u16 = 0;
    pub const COMMENT: u16 = 1;
    pub const SHB_USERAPPL: u16 = 4;
    pub const IF_NAME: u16 = 2;
    pub const IF_DESCRIPTION: u16 = 3;
    pub const IF_TSRESOL: u16 = 9;
    pub const EPB_FLAGS: u16 = 2;
    pub const EPB_PACKETID: u16 = 5;
    pub const ISB_STARTTIME: u16 = 2;
    pub const ISB_ENDTIME: u16 = 3;
    pub const ISB_IFRECV: u16 = 4;
    pub const ISB_IFDROP: u16 = 5;
}

/// The name of the writer in the first block. `reader.rs` uses packet ids of files by this writer only.
pub const WRITER: &str = concat!("keisoku ", env!("CARGO_PKG_VERSION"));

/// The content of an interface statistics block. Times are CLOCK_REALTIME.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    pub start_ns: u64,
    pub end_ns: u64,
    /// Frames written and dropped.
    pub seen: u64,
    /// Frames lost by the capture itself.
    pub dropped: u64,
}

/// A capture file that is being written. Each method writes one block.
pub struct PcapngWriter<W: Write> {
    file: W,
    block: Vec<u8>,
    /// Bytes of each frame to keep.
    snap: usize,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins the file's only section.
    pub fn new(file: W, snap: u32) -> io::Result<Self> {
        let mut writer = PcapngWriter {
            file,
            block: Vec::with_capacity(1 << 16),
            snap: snap as usize,
        };
        writer.begin(SECTION_HEADER);
        writer.u32(BYTE_ORDER);
        writer.block.extend([1, 0, 0, 0]); // version 1.0
        writer.block.extend((-1i64).to_le_bytes()); // length unknown
        writer.option(option::SHB_USERAPPL, WRITER.as_bytes());
        writer.end()?;
        Ok(writer)
    }

    /// Describes the next port; ports are numbered in the order of these calls.
    pub fn interface(&mut self, name: &str, description: &str, comment: &str) -> io::Result<()> {
        self.begin(INTERFACE_DESCRIPTION);
        self.block.extend(ETHERNET.to_le_bytes());
        self.block.extend([0; 2]);
        self.u32(u32::try_from(self.snap).unwrap_or(u32::MAX));
        self.option(option::IF_NAME, name.as_bytes());
        self.option(option::IF_TSRESOL, &[NANOSECONDS]);
        for (code, text) in [
            (option::IF_DESCRIPTION, description),
            (option::COMMENT, comment),
        ] {
            if !text.is_empty() {
                self.option(code, text.as_bytes());
            }
        }
        self.end()
    }

    pub fn frame(&mut self, frame: &Frame) -> io::Result<()> {
        let tag = frame.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
        let length = frame.length as usize + tag.len();
        let kept = (frame.bytes.len() + tag.len()).min(self.snap);
        self.begin(ENHANCED_PACKET);
        self.u32(frame.port as u32);
        self.time(frame.time_ns);
        self.u32(kept as u32);
        self.u32(length as u32);
        let start = self.block.len();
        let (addresses, rest) = frame.bytes.split_at(ADDRESSES.min(frame.bytes.len()));
        for part in [addresses, tag, rest] {
            self.block.extend_from_slice(part);
        }
        self.block.truncate(start + kept);
        self.pad();
        self.option(option::EPB_FLAGS, &(frame.direction as u32).to_le_bytes());
        if kept < length
            && let Some(identity) = identity(frame)
        {
            self.option(option::EPB_PACKETID, &identity.to_le_bytes());
        }
        self.end()
    }

    pub fn statistics(&mut self, port: usize, statistics: &Statistics) -> io::Result<()> {
        self.begin(INTERFACE_STATISTICS);
        self.u32(port as u32);
        self.time(statistics.end_ns);
        for (code, time_ns) in [
            (option::ISB_STARTTIME, statistics.start_ns),
            (option::ISB_ENDTIME, statistics.end_ns),
        ] {
            // A time is written as two halves, the high one first, in either byte order.
            self.option(code, &time_ns.rotate_left(32).to_le_bytes());
        }
        self.option(option::ISB_IFRECV, &statistics.seen.to_le_bytes());
        self.option(option::ISB_IFDROP, &statistics.dropped.to_le_bytes());
        self.end()
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.u32(kind);
        self.u32(0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend_from_slice(value);
        self.pad();
    }

    fn time(&mut self, time_ns: u64) {
        self.u32((time_ns >> 32) as u32);
        self.u32(time_ns as u32);
    }

    fn u32(&mut self, value: u32) {
        self.block.extend(value.to_le_bytes());
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Ends the options, sets both lengths and writes the block.
    fn end(&mut self) -> io::Result<()> {
        self.option(option::END, &[]);
        let length = self.block.len() as u32 + 4;
        self.u32(length);
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        self.file.write_all(&self.block)
    }
}

/// Stream and sequence number in one word. A packet id has to be the same wherever the frame is captured.
fn identity(frame: &Frame) -> Option<u64> {
    let whole = frame.bytes.len() == frame.length as usize;
    let end = if whole {
        frame.bytes.last_chunk()
    } else {
        frame.end
    };
    match Signature::parse(end?) {
        Parsed::Intact(signature) => {
            Some(u64::from(signature.stream) << 48 | signature.sequence & signature::MASK_48)
        }
        _ => None,
    }
}

impl TryFrom<u32> for Direction {
    type Error = ();

    /// The direction in the flags of a packet block (§4.3.1).
    fn try_from(flags: u32) -> Result<Self, ()> {
        match flags & 3 {
            1 => Ok(Direction::Incoming),
            2 => Ok(Direction::Outgoing),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::find::find;
    use crate::capture::reader::read;
    use proptest::prelude::*;
    use std::ops::ControlFlow;
    use std::path::PathBuf;

    /// A file that goes with the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let name = format!("keisoku-{}-{name}.pcapng", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, bytes).unwrap();
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn frame<'a>(port: usize, time_ns: u64, bytes: &'a [u8]) -> Frame<'a> {
        Frame {
            port,
            time_ns,
            direction: Direction::Outgoing,
            length: bytes.len() as u32,
            bytes,
            tag: None,
            end: None,
        }
    }

    fn signed(stream: u16, sequence: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![7; length];
        let signature = Signature {
            stream,
            sequence,
            sent_ns: 5,
        };
        signature.emit(bytes.last_chunk_mut().unwrap());
        bytes
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            frames in proptest::collection::vec(
                (0usize..3, any::<u64>(), any::<bool>(), proptest::collection::vec(any::<u8>(), 0..2000),
                 proptest::option::of(any::<[u8; 4]>())),
                0..20,
            ),
            snap in 1u32..2100,
        ) {
            let mut writer = PcapngWriter::new(Vec::new(), snap).unwrap();
            for name in ["a", "behind", ""] {
                writer.interface(name, "role", "").unwrap();
            }
            let mut expected = Vec::new();
            for (port, time_ns, incoming, bytes, tag) in &frames {
                let direction = if *incoming { Direction::Incoming } else { Direction::Outgoing };
                writer.frame(&Frame { direction, tag: *tag, ..frame(*port, *time_ns, bytes) }).unwrap();
                let mut whole = bytes.clone();
                if let Some(tag) = tag {
                    let at = whole.len().min(ADDRESSES);
                    whole.splice(at..at, *tag);
                }
                let length = whole.len();
                whole.truncate(snap as usize);
                expected.push((*port, *time_ns, Some(direction), length, whole));
            }
            let counts = Statistics { start_ns: 1, end_ns: 2, seen: 9, dropped: 4 };
            writer.statistics(1, &counts).unwrap();
            let file = Scratch::new("written", &writer.file);
            let mut got = Vec::new();
            let contents = read(&file.0, &mut |packet, _| {
                got.push((packet.interface, packet.time_ns, packet.direction, packet.length, packet.bytes.to_vec()));
                ControlFlow::Continue(())
            }).unwrap();
            prop_assert_eq!(got, expected);
            let names: Vec<_> = contents.interfaces.iter().map(|one| one.name.as_str()).collect();
            prop_assert_eq!(names, ["a", "behind", ""]);
            let dropped: Vec<_> = contents.interfaces.iter().map(|one| one.dropped).collect();
            prop_assert_eq!(dropped, [None, Some(4), None]);
            prop_assert!(!contents.ends_early);
        }

        #[test]
        fn a_damaged_file_is_refused_or_read_but_never_a_panic(
            place in 0usize..600, flip in 1u8.., length in 0usize..600,
        ) {
            let mut writer = PcapngWriter::new(Vec::new(), 100).unwrap();
            writer.interface("a", "", "").unwrap();
            for sequence in 0..4 {
                writer.frame(&frame(0, 1, &signed(1, sequence, 60))).unwrap();
            }
            let mut bytes = writer.file;
            let at = place % bytes.len();
            bytes[at] ^= flip;
            bytes.truncate(length);
            let file = Scratch::new("damaged", &bytes);
            let _ = find(&file.0, Some(1), &[(0, 9)]);
        }
    }

    #[test]
    fn frames_are_found_by_stream_and_sequence_cut_or_whole() {
        let mut writer = PcapngWriter::new(Vec::new(), 70).unwrap();
        writer.interface("before", "", "").unwrap();
        writer.interface("behind", "", "").unwrap();
        let (whole, long, other) = (signed(3, 12, 60), signed(3, 13, 500), signed(4, 12, 60));
        let mut broken = signed(3, 14, 60);
        broken[55] ^= 1;
        for (time_ns, bytes) in [(10, &whole), (20, &long), (30, &other), (40, &broken)] {
            writer.frame(&frame(0, time_ns, bytes)).unwrap();
        }
        writer.frame(&frame(1, 50, &whole)).unwrap();
        // The source cut this frame and handed over the end of the frame separately.
        let cut = Frame {
            end: long.last_chunk(),
            length: 500,
            ..frame(1, 60, &long[..64])
        };
        writer.frame(&cut).unwrap();
        writer.frame(&Frame { end: None, ..cut }).unwrap();
        let file = Scratch::new("found", &writer.file);
        let found = find(&file.0, Some(3), &[(12, 13), (14, 20)]).unwrap();
        let seen: Vec<_> = found
            .sightings
            .iter()
            .map(|one| (one.port, one.sequence, one.time_ns, one.length, one.intact))
            .collect();
        assert_eq!(
            seen,
            [
                (0, 12, 10, 60, true),
                (0, 13, 20, 500, true),
                (0, 14, 40, 60, false),
                (1, 12, 50, 60, true),
                (1, 13, 60, 500, true),
            ]
        );
        assert_eq!(found.ports[0].streams, [(3, 2), (4, 1)].into());
        assert_eq!((found.ports[1].frames, found.ports[1].unreadable), (3, 1));
    }

    #[test]
    fn a_file_cut_off_within_a_frame_says_so() {
        let mut writer = PcapngWriter::new(Vec::new(), 100).unwrap();
        writer.interface("a", "", "").unwrap();
        writer.frame(&frame(0, 1, &signed(1, 0, 60))).unwrap();
        writer.frame(&frame(0, 2, &signed(1, 1, 60))).unwrap();
        let bytes = &writer.file[..writer.file.len() - 10];
        let file = Scratch::new("early", bytes);
        let found = find(&file.0, Some(1), &[(0, 9)]).unwrap();
        assert!(found.ends_early);
        assert_eq!(found.sightings.len(), 1);
    }
}
