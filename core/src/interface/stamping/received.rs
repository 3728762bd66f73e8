//! The stamps of the frames of a packet ring, converted to CLOCK_MONOTONIC, and a count of their sources.
//!
//! Hardware stamps are used if they were requested and if the driver grants them. A frame without a hardware stamp
//! gets the kernel's stamp and is counted as such.

use std::io;

use serde::Serialize;

use crate::clock::offset::RealtimeOffset;
use crate::interface::place::Place;
use crate::interface::stamping::hardware::{Direction, HardwareStamps};
use crate::interface::stamping::phc::PhcClock;

const KERNEL: &str =
    "CLOCK_REALTIME of the kernel at entry to its stack (AF_PACKET), brought to CLOCK_MONOTONIC";
/// linux/if_packet.h: the source of the stamp of a frame in the ring.
const BY_SOFTWARE: u32 = 1 << 29;
const BY_HARDWARE: u32 = 1 << 31;

/// How many arrivals hardware stamped, as it was to, and how many the kernel did instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stamped {
    pub by_hardware: u64,
    pub by_kernel: u64,
}

struct Hardware {
    clock: PhcClock,
    index: u32,
    _on: Option<HardwareStamps>,
}

/// The stamps of one receive port.
pub struct ReceivedStamps {
    offset: RealtimeOffset,
    hardware: Option<Hardware>,
    text: String,
    by_hardware: u64,
    by_kernel: u64,
    /// Frames that were stamped when the ring was filled, because the kernel's stamps were not on yet.
    at_ring: u64,
}

impl ReceivedStamps {
    /// Stamps by the hardware clock of `place`, if it names one and the driver grants it, else by the kernel.
    pub fn open(place: &Place) -> Self {
        let mut text = KERNEL.to_string();
        let mut hardware = None;
        if let Some(index) = place.phc {
            match Hardware::open(place, index) {
                Ok(opened) => {
                    text = format!("ptp{index} of the port's hardware, brought to CLOCK_MONOTONIC");
                    hardware = Some(opened);
                }
                Err(error) => text = format!("{KERNEL}; hardware refused: {error}"),
            }
        }
        ReceivedStamps {
            offset: RealtimeOffset::measure(),
            hardware,
            text,
            by_hardware: 0,
            by_kernel: 0,
            at_ring: 0,
        }
    }

    /// The value of PACKET_TIMESTAMP that requests these stamps.
    pub fn flags(&self) -> i32 {
        let hardware = match self.hardware {
            Some(_) => libc::SOF_TIMESTAMPING_RAW_HARDWARE,
            None => 0,
        };
        (libc::SOF_TIMESTAMPING_SOFTWARE | hardware) as i32
    }

    /// Resets the counts and compares the clocks again.
    pub fn begin(&mut self) {
        self.offset = RealtimeOffset::measure();
        (self.by_hardware, self.by_kernel, self.at_ring) = (0, 0, 0);
        self.track();
    }

    /// Compares the clocks again. It must be called every few ms.
    pub fn track(&mut self) {
        self.offset.track();
        if let Some(hardware) = &mut self.hardware {
            hardware.clock.track();
        }
    }

    /// CLOCK_MONOTONIC of a frame with this status and stamp.
    #[inline]
    pub fn to_monotonic(&mut self, status: u32, stamp_ns: u64) -> u64 {
        match &self.hardware {
            Some(hardware) if status & BY_HARDWARE != 0 => {
                self.by_hardware += 1;
                hardware.clock.to_monotonic(stamp_ns)
            }
            _ => {
                if status & BY_SOFTWARE != 0 {
                    self.by_kernel += 1;
                } else {
                    self.at_ring += 1;
                }
                self.offset.to_monotonic(stamp_ns)
            }
        }
    }

    /// Who stamped the frames of this trial, if hardware was granted.
    pub fn stamped(&self) -> Option<Stamped> {
        self.hardware.as_ref().map(|_| Stamped {
            by_hardware: self.by_hardware,
            by_kernel: self.by_kernel + self.at_ring,
        })
    }

    /// The clock and the point of the stamps of this trial, with the number of frames whose stamp differs.
    pub fn text(&self) -> String {
        let mut text = self.text.clone();
        if let Some(hardware) = &self.hardware {
            if self.by_kernel > 0 {
                text += &format!("; by the kernel instead: {} frames", self.by_kernel);
            }
            if hardware.clock.steps() > 0 {
                let steps = hardware.clock.steps();
                text += &format!("; ptp{} was set {steps} times", hardware.index);
            }
        }
        if self.at_ring > 0 {
            text += &format!("; stamped late, at the ring: {} frames", self.at_ring);
        }
        text
    }
}

impl Hardware {
    fn open(place: &Place, index: u32) -> io::Result<Self> {
        let on = HardwareStamps::enable(place, Direction::Receive)?;
        Ok(Hardware {
            clock: PhcClock::open(index)?,
            index,
            _on: Some(on),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::kernel_clock::{monotonic_ns, read};

    fn place(phc: Option<u32>) -> Place {
        let json = serde_json::json!({
            "engine": "packet", "interface": "lo", "namespace": null, "phc": phc
        });
        serde_json::from_value(json).expect("a place")
    }

    #[test]
    fn a_refusal_of_hardware_is_in_the_text_and_the_kernel_stamps() {
        let stamps = ReceivedStamps::open(&place(Some(0)));
        assert!(stamps.text().starts_with(KERNEL));
        assert!(stamps.text().contains("hardware refused: "));
        assert_eq!(stamps.flags(), libc::SOF_TIMESTAMPING_SOFTWARE as i32);
    }

    #[test]
    fn hardware_that_was_granted_and_never_stamps_is_counted() {
        let mut stamps = ReceivedStamps::open(&place(None));
        assert_eq!(stamps.stamped(), None);
        let clock = PhcClock::on(libc::CLOCK_REALTIME, None).expect("it runs");
        stamps.hardware = Some(Hardware {
            clock,
            index: 0,
            _on: None,
        });
        let stamp_ns = read(libc::CLOCK_REALTIME);
        let counted = |stamps: &ReceivedStamps| {
            let stamped = stamps.stamped().expect("hardware was granted");
            (stamped.by_hardware, stamped.by_kernel)
        };
        for status in [BY_SOFTWARE, 0, BY_SOFTWARE] {
            stamps.to_monotonic(status, stamp_ns);
        }
        assert_eq!(counted(&stamps), (0, 3));
        stamps.to_monotonic(BY_HARDWARE, stamp_ns);
        assert_eq!(counted(&stamps), (1, 3));
    }

    #[test]
    fn a_stamp_of_the_kernel_is_brought_and_a_late_one_counted() {
        let mut stamps = ReceivedStamps::open(&place(None));
        let before_ns = monotonic_ns();
        let stamp_ns = read(libc::CLOCK_REALTIME);
        let after_ns = monotonic_ns();
        let brought_ns = stamps.to_monotonic(BY_SOFTWARE, stamp_ns);
        assert!((before_ns - 100..=after_ns + 100).contains(&brought_ns));
        assert_eq!(stamps.text(), KERNEL);
        stamps.to_monotonic(0, stamp_ns);
        assert!(
            stamps
                .text()
                .ends_with("; stamped late, at the ring: 1 frames")
        );
        stamps.begin();
        assert_eq!(stamps.text(), KERNEL);
    }
}
