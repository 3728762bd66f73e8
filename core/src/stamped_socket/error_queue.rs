//! The error queue of a socket: stamps of packets that left, and ICMP errors about them.
//!
//! A stamp belongs to the packet whose number it names, however late it arrives and whatever is missing before it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::clock::calibrated::Clock;

use super::clocks::UserStamps;
use super::control::Beside;

/// The most packets whose stamps are awaited; stamps of older packets never arrive.
const AWAITED: usize = 65_536;
/// The most errors that are kept until the caller takes them.
const KEPT: usize = 65_536;
/// The most bytes of a packet that are quoted (RFC 1812 §4.3.2.3 allows 576 bytes; jumbo frames have more).
const QUOTED_BYTES: usize = 9_216;
/// When a packet left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelStamps {
    /// CLOCK_REALTIME when the kernel handed the packet to the driver.
    pub kernel_ns: Option<u64>,
    /// The clock of the port's hardware.
    pub hardware_ns: Option<u64>,
}

/// An ICMP error about a packet that was sent.
#[derive(Clone, Debug)]
pub struct IcmpError {
    /// The sender of the error.
    pub source: Option<SocketAddr>,
    pub icmp_type: u8,
    pub icmp_code: u8,
    /// The next hop's MTU for "fragmentation needed", else 0.
    pub mtu: u32,
    /// Where the packet was going.
    pub destination: Option<SocketAddr>,
    /// The part of the packet's payload that the message quotes.
    pub data: Vec<u8>,
    /// CLOCK_REALTIME, when the kernel received the message.
    pub kernel_ns: Option<u64>,
    pub hardware_ns: Option<u64>,
    pub user: UserStamps,
}

struct Awaited {
    key: u32,
    sent_realtime_ns: u64,
    stamps: KernelStamps,
}

/// Everything that was read from the error queue and that the caller has not taken yet.
#[derive(Default)]
pub struct ErrorQueue {
    /// The packets by their number in the socket.
    awaited: BTreeMap<u64, Awaited>,
    /// The packet that a number of the kernel names; the kernel may restart its numbers.
    keys: HashMap<u32, u64>,
    errors: VecDeque<IcmpError>,
    unmatched: u64,
}

impl ErrorQueue {
    /// The packet `id` is about to leave: its stamps will name `key`.
    pub fn expect(&mut self, key: u32, id: u64, sent_realtime_ns: u64) {
        if self.awaited.len() >= AWAITED
            && let Some((oldest, packet)) = self.awaited.pop_first()
        {
            self.forget_key(packet.key, oldest);
        }
        let stamps = KernelStamps::default();
        self.keys.insert(key, id);
        self.awaited.insert(
            id,
            Awaited {
                key,
                sent_realtime_ns,
                stamps,
            },
        );
    }

    /// The packet did not leave.
    pub fn forget(&mut self, id: u64) {
        if let Some(packet) = self.awaited.remove(&id) {
            self.forget_key(packet.key, id);
        }
    }

    /// The kernel restarts its numbers: packets without a stamp get none any more.
    pub fn forget_keys(&mut self) {
        self.keys.clear();
    }

    /// True if the packet has a stamp of each kind, or if none will come.
    pub fn is_done(&self, id: u64, with_hardware: bool) -> bool {
        self.awaited.get(&id).is_none_or(|packet| {
            let stamps = packet.stamps;
            let complete =
                stamps.kernel_ns.is_some() && (stamps.hardware_ns.is_some() || !with_hardware);
            complete || self.keys.get(&packet.key) != Some(&id)
        })
    }

    /// Returns the stamps of a packet that have arrived. It keeps waiting for the missing ones.
    pub fn hand_over(&mut self, id: u64) -> KernelStamps {
        let stamps = self
            .awaited
            .get(&id)
            .map(|packet| packet.stamps)
            .unwrap_or_default();
        if stamps.kernel_ns.is_some() {
            self.forget(id);
        }
        stamps
    }

    /// Stamps of packets that were handed over without a stamp.
    pub fn take_late(&mut self) -> Vec<(u64, KernelStamps)> {
        let came = |packet: &Awaited| packet.stamps != KernelStamps::default();
        let late: Vec<(u64, KernelStamps)> = self
            .awaited
            .iter()
            .filter(|(_, packet)| came(packet))
            .map(|(id, packet)| (*id, packet.stamps))
            .collect();
        for (id, _) in &late {
            self.forget(*id);
        }
        late
    }

    fn forget_key(&mut self, key: u32, id: u64) {
        if self.keys.get(&key) == Some(&id) {
            self.keys.remove(&key);
        }
    }

    pub fn take_errors(&mut self) -> Vec<IcmpError> {
        self.errors.drain(..).collect()
    }

    pub fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    pub fn errors(&self) -> usize {
        self.errors.len()
    }

    /// Number of stamps that belong to no awaited packet.
    pub fn unmatched(&self) -> u64 {
        self.unmatched
    }

    /// Reads all entries of the error queue.
    pub fn drain(&mut self, socket: &OwnedFd, clock: &mut Clock) {
        let mut quoted = [0u8; QUOTED_BYTES];
        let (socket, flags) = (socket.as_raw_fd(), libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT);
        while let Ok((bytes, beside, destination, user)) =
            Beside::receive(socket, &mut quoted, flags, || UserStamps::now(clock))
        {
            self.take(beside, destination.get(), &quoted[..bytes], user);
        }
    }

    fn take(
        &mut self,
        beside: Beside,
        destination: Option<SocketAddr>,
        quoted: &[u8],
        user: UserStamps,
    ) {
        let Some((error, source)) = beside.error else {
            self.unmatched += 1;
            return;
        };
        match error.ee_origin {
            libc::SO_EE_ORIGIN_TIMESTAMPING => {
                self.stamped(error.ee_data, beside.kernel_ns, beside.hardware_ns)
            }
            libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6 => {
                if self.errors.len() >= KEPT {
                    self.errors.pop_front();
                }
                self.errors.push_back(IcmpError {
                    source,
                    icmp_type: error.ee_type,
                    icmp_code: error.ee_code,
                    mtu: error.ee_info,
                    destination,
                    data: quoted.to_vec(),
                    kernel_ns: beside.kernel_ns,
                    hardware_ns: beside.hardware_ns,
                    user,
                });
            }
            // An error of this host itself, which `send` has returned already.
            _ => {}
        }
    }

    /// A stamp earlier than its packet belongs to another packet, or the time of day was set back: neither counts.
    fn stamped(&mut self, key: u32, kernel_ns: Option<u64>, hardware_ns: Option<u64>) {
        let packet = self.keys.get(&key).and_then(|id| self.awaited.get_mut(id));
        match packet {
            Some(packet)
                if kernel_ns.is_none_or(|stamp_ns| stamp_ns >= packet.sent_realtime_ns) =>
            {
                packet.stamps.kernel_ns = packet.stamps.kernel_ns.or(kernel_ns);
                packet.stamps.hardware_ns = packet.stamps.hardware_ns.or(hardware_ns);
            }
            _ => self.unmatched += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_find_their_packets_in_any_order_and_when_some_are_missing() {
        let mut queue = ErrorQueue::default();
        for number in 0..4u32 {
            queue.expect(number, 100 + u64::from(number), 1_000_000_000);
        }
        queue.stamped(3, Some(1_000_000_300), None);
        queue.stamped(0, Some(1_000_000_000), Some(7));
        assert!(
            queue.is_done(100, true) && !queue.is_done(101, false) && !queue.is_done(103, true)
        );
        assert_eq!(queue.hand_over(100).kernel_ns, Some(1_000_000_000));
        assert_eq!(queue.hand_over(101), KernelStamps::default());
        assert_eq!(queue.hand_over(102), KernelStamps::default());
        assert_eq!(queue.hand_over(103).kernel_ns, Some(1_000_000_300));
        queue.stamped(1, Some(1_000_000_100), None);
        let late = queue.take_late();
        assert_eq!(late.len(), 1);
        assert_eq!((late[0].0, late[0].1.kernel_ns), (101, Some(1_000_000_100)));
        assert_eq!(queue.take_late().len(), 0);
        assert_eq!(queue.unmatched(), 0);
    }

    #[test]
    fn a_stamp_of_another_packet_is_never_passed_off() {
        let mut queue = ErrorQueue::default();
        queue.expect(5, 1, 2_000_000_000);
        queue.stamped(5, Some(1_000_000_000), None);
        queue.stamped(6, Some(2_000_000_001), None);
        assert_eq!(queue.hand_over(1), KernelStamps::default());
        assert_eq!(queue.unmatched(), 2);
    }

    #[test]
    fn numbers_that_begin_anew_mean_the_new_packets() {
        let mut queue = ErrorQueue::default();
        queue.expect(0, 10, 0);
        queue.expect(1, 11, 0);
        queue.stamped(0, Some(5), None);
        queue.forget_keys();
        assert!(queue.is_done(11, false));
        queue.expect(0, 12, 0);
        queue.stamped(0, Some(9), None);
        queue.stamped(1, Some(9), None);
        let stamps = [10, 11, 12].map(|id| queue.hand_over(id).kernel_ns);
        assert_eq!(stamps, [Some(5), None, Some(9)]);
        assert_eq!(queue.unmatched(), 1);
    }

    #[test]
    fn packets_that_did_not_leave_and_old_ones_are_forgotten() {
        let mut queue = ErrorQueue::default();
        queue.expect(0, 0, 0);
        queue.forget(0);
        queue.stamped(0, Some(1), None);
        assert_eq!(queue.unmatched(), 1);
        for number in 0..=AWAITED as u32 {
            queue.expect(number, u64::from(number), 0);
        }
        assert_eq!((queue.awaited.len(), queue.keys.len()), (AWAITED, AWAITED));
    }
}
