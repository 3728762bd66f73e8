//! A socket whose packets are stamped, for one thread that sends and one that receives.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock::calibrated::Clock;
use crate::clock::offset::RealtimeOffset;
use crate::host::kernel_clock::monotonic_ns;
use crate::host::netns;
use crate::interface::place::{Engine, Place};
use crate::interface::stamping::hardware::{Direction, HardwareStamps};

use super::address::KernelAddress;
use super::clocks::UserStamps;
use super::error_queue::{ErrorQueue, IcmpError, KernelStamps};
use super::options::Options;
use super::receiving::{Packet, receive};
use super::sending::{Outgoing, Prepared, Sent, is_of_an_earlier_packet};
use super::urgent::Urgent;

/// The longest payload of an IP packet.
const PACKET_BYTES: usize = 65_535;
/// How often a call is repeated that returned an ICMP error about an earlier packet, because there may be several.
const RETRIES: usize = 8;
/// A packet for which the send buffer has no room waits; the kernel signals when there is room, so this only limits
/// the wait.
const ROOM_WAIT_NS: u64 = 100_000_000;
/// So many peers are kept in mind; then it begins again with the next ones.
const PEERS: usize = 4096;
/// The longest wait of `poll`, so that signals are noticed.
const POLL_NS: u64 = 100_000_000;

struct Sender {
    clock: Clock,
    next_id: u64,
    next_key: u32,
    /// The kernel accepts the caller's numbers of packets; before Linux 6.13 it counts packets itself.
    own_keys: bool,
}

struct Receiver {
    clock: Clock,
    room: Vec<u8>,
    dropped: u64,
    last_dropped: u32,
}

pub struct StampedSocket {
    socket: OwnedFd,
    options: Options,
    send: Mutex<Sender>,
    receive: Mutex<Receiver>,
    queue: Mutex<ErrorQueue>,
    offset: Mutex<RealtimeOffset>,
    /// Of a socket at any address, at which of them each peer asked.
    asked_at: Mutex<HashMap<SocketAddr, IpAddr>>,
    /// The kinds of stamps that are available, in words.
    stamps: String,
    _hardware: Vec<HardwareStamps>,
}

impl StampedSocket {
    /// Opens the socket in the namespace at `namespace` (`None`: the own one), with hardware stamps of `interface` if
    /// the driver grants them.
    pub fn open(
        mut options: Options,
        namespace: Option<&str>,
        interface: Option<&str>,
    ) -> io::Result<Self> {
        let (hardware, stamps) = hardware_of(namespace, interface);
        options.hardware = !hardware.is_empty();
        let socket = netns::within(namespace, || options.open())?;
        Ok(StampedSocket {
            socket,
            options,
            send: Mutex::new(Sender {
                clock: Clock::new(),
                next_id: 0,
                next_key: 0,
                own_keys: true,
            }),
            receive: Mutex::new(Receiver {
                clock: Clock::new(),
                room: vec![0; PACKET_BYTES],
                dropped: 0,
                last_dropped: 0,
            }),
            queue: Mutex::new(ErrorQueue::default()),
            offset: Mutex::new(RealtimeOffset::measure()),
            asked_at: Mutex::default(),
            stamps,
            _hardware: hardware,
        })
    }

    pub fn stamps(&self) -> &str {
        &self.stamps
    }

    /// The local address, with the port that the kernel chose.
    pub fn address(&self) -> io::Result<SocketAddr> {
        let mut address = KernelAddress::empty();
        let storage = (&raw mut address.storage).cast();
        // SAFETY: the kernel writes no more than the length given.
        if unsafe { libc::getsockname(self.socket.as_raw_fd(), storage, &raw mut address.length) }
            != 0
        {
            return Err(io::Error::last_os_error());
        }
        address
            .get()
            .ok_or_else(|| io::Error::other("the socket has no address"))
    }

    /// Sends all packets back-to-back, then waits up to `stamp_wait_ns` for all their stamps.
    pub fn send(&self, packets: &[Outgoing<'_>], stamp_wait_ns: u64) -> Vec<Sent> {
        let asked_at = lock(&self.asked_at);
        let source = |packet: &Outgoing<'_>| asked_at.get(&packet.destination?).copied();
        let mut prepared: Vec<Prepared<'_>> = packets
            .iter()
            .map(|packet| Prepared::new(packet, source(packet), self.options.is_ipv6()))
            .collect();
        drop(asked_at);
        let mut sender = lock(&self.send);
        let mut sent: Vec<Sent> = Vec::with_capacity(packets.len());
        // The first call is the slowest and would delay the stamp of the first packet.
        let _ = UserStamps::now(&mut sender.clock);
        {
            let _first = (prepared.len() > 1).then(Urgent::now);
            for packet in &mut prepared {
                sent.push(self.send_one(&mut sender, packet));
            }
        }
        self.await_stamps(&mut sender, &sent, stamp_wait_ns);
        let mut queue = lock(&self.queue);
        for packet in &mut sent {
            let stamps = queue.hand_over(packet.id);
            (packet.kernel_ns, packet.hardware_ns) = (stamps.kernel_ns, stamps.hardware_ns);
        }
        sent
    }

    fn send_one(&self, sender: &mut Sender, packet: &mut Prepared<'_>) -> Sent {
        let id = sender.next_id;
        sender.next_id += 1;
        let mut tries = 0;
        let (user, error) = loop {
            let key = sender.next_key;
            let user = UserStamps::now(&mut sender.clock);
            // This comes before sending: on a virtual link the stamp exists before the call returns.
            lock(&self.queue).expect(key, id, user.realtime_ns);
            let Err(error) = packet.send(&self.socket, sender.own_keys.then_some(key)) else {
                sender.next_key = key.wrapping_add(1);
                break (user, None);
            };
            lock(&self.queue).forget(id);
            tries += 1;
            let number = error.raw_os_error();
            if sender.own_keys && id == 0 && number == Some(libc::EINVAL) {
                sender.own_keys = false;
                continue;
            }
            self.refused(sender);
            let again = match number {
                Some(libc::EINTR) => true,
                Some(libc::EAGAIN) => self.poll(libc::POLLOUT, ROOM_WAIT_NS) & libc::POLLOUT != 0,
                _ => is_of_an_earlier_packet(&error),
            };
            if !again || tries > RETRIES {
                break (user, Some(error.to_string()));
            }
        };
        Sent {
            id,
            user,
            kernel_ns: None,
            hardware_ns: None,
            error,
        }
    }

    /// The kernel refused a packet. If it counts packets itself, it is unknown whether this one got a number, so the
    /// numbering is restarted.
    fn refused(&self, sender: &mut Sender) {
        let mut queue = lock(&self.queue);
        queue.drain(&self.socket, &mut sender.clock);
        if !sender.own_keys {
            queue.forget_keys();
            sender.next_key = 0;
            // This cannot fail for options that were accepted before.
            let _ = self.options.number_from_zero(&self.socket);
        }
    }

    fn await_stamps(&self, sender: &mut Sender, sent: &[Sent], wait_ns: u64) {
        let deadline_ns = monotonic_ns() + wait_ns;
        let mut waiting = sent;
        loop {
            {
                let mut queue = lock(&self.queue);
                queue.drain(&self.socket, &mut sender.clock);
                let is_done = |packet: &&Sent| queue.is_done(packet.id, self.options.hardware);
                waiting = &waiting[waiting.iter().take_while(is_done).count()..];
            }
            let now_ns = monotonic_ns();
            if waiting.is_empty() || now_ns >= deadline_ns {
                return;
            }
            // A packet to be received would end a wait for POLLIN at once; errors are always reported.
            self.poll(0, (deadline_ns - now_ns).min(POLL_NS));
        }
    }

    /// Packets and ICMP errors that have arrived, after waiting until there are `least` of both, until `deadline_ns`
    /// (CLOCK_MONOTONIC), or for about 100 ms. With `spin` it polls without sleeping.
    pub fn receive(
        &self,
        deadline_ns: u64,
        least: usize,
        most: usize,
        spin: bool,
        packets: &mut Vec<Packet>,
    ) -> io::Result<Vec<IcmpError>> {
        let mut receiver = lock(&self.receive);
        let until_ns = deadline_ns.min(monotonic_ns() + POLL_NS);
        loop {
            let Receiver {
                clock,
                room,
                dropped,
                last_dropped,
            } = &mut *receiver;
            while packets.len() < most {
                let Some((packet, drops)) = self.next(clock, room)? else {
                    break;
                };
                if let Some(drops) = drops {
                    *dropped += u64::from(drops.wrapping_sub(*last_dropped));
                    *last_dropped = drops;
                }
                self.heard(&packet);
                packets.push(packet);
            }
            let now_ns = monotonic_ns();
            let mut queue = lock(&self.queue);
            if !spin || now_ns >= until_ns || queue.has_errors() {
                queue.drain(&self.socket, clock);
            }
            if packets.len() + queue.errors() >= least
                || packets.len() >= most
                || now_ns >= until_ns
            {
                return Ok(queue.take_errors());
            }
            drop(queue);
            if spin {
                std::hint::spin_loop();
            } else {
                self.poll(libc::POLLIN, until_ns - now_ns);
            }
        }
    }

    /// Keeps in mind which address the peer asked, so that it hears from the same one.
    fn heard(&self, packet: &Packet) {
        if let (Some(peer), Some(local)) = (packet.source, packet.local) {
            let mut asked_at = lock(&self.asked_at);
            if asked_at.len() >= PEERS {
                asked_at.clear();
            }
            asked_at.insert(peer, local);
        }
    }

    /// The same as `receiving::receive`, but an ICMP error about a packet that was sent is not an error.
    fn next(
        &self,
        clock: &mut Clock,
        room: &mut [u8],
    ) -> io::Result<Option<(Packet, Option<u32>)>> {
        for _ in 0..RETRIES {
            match receive(&self.socket, clock, room) {
                Err(error)
                    if is_of_an_earlier_packet(&error)
                        || error.kind() == io::ErrorKind::Interrupted =>
                {
                    lock(&self.queue).drain(&self.socket, clock);
                }
                other => return other,
            }
        }
        Ok(None)
    }

    /// Stamps of packets that came after `send` had returned: the packet's id and its stamps.
    pub fn late_stamps(&self) -> Vec<(u64, KernelStamps)> {
        let mut receiver = lock(&self.receive);
        let mut queue = lock(&self.queue);
        queue.drain(&self.socket, &mut receiver.clock);
        queue.take_late()
    }

    /// Packets that arrived and found no room in the socket, as far as later packets reported them.
    pub fn dropped(&self) -> u64 {
        lock(&self.receive).dropped
    }

    /// Number of stamps that belong to no awaited packet.
    pub fn unmatched(&self) -> u64 {
        lock(&self.queue).unmatched()
    }

    /// CLOCK_REALTIME minus CLOCK_MONOTONIC in ns, half the width of its bounds, and how often it was stepped.
    pub fn realtime_offset(&self) -> (i64, i64, u64) {
        let mut offset = lock(&self.offset);
        offset.track();
        offset.bounds()
    }

    fn poll(&self, events: i16, wait_ns: u64) -> i16 {
        let mut entry = libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events,
            revents: 0,
        };
        let wait = libc::timespec {
            tv_sec: (wait_ns / 1_000_000_000) as _,
            tv_nsec: (wait_ns % 1_000_000_000) as _,
        };
        // SAFETY: entry and time outlive the call.
        unsafe { libc::ppoll(&raw mut entry, 1, &raw const wait, std::ptr::null()) };
        entry.revents
    }
}

/// Enables the hardware stamps of an interface as long as the values live; also returns the kinds of stamps in words.
fn hardware_of(namespace: Option<&str>, interface: Option<&str>) -> (Vec<HardwareStamps>, String) {
    const KERNEL: &str = "CLOCK_REALTIME of the kernel (SO_TIMESTAMPING, software)";
    let Some(interface) = interface else {
        return (Vec::new(), KERNEL.into());
    };
    let place = Place {
        engine: Engine::Packet,
        interface: interface.into(),
        namespace: namespace.map(str::to_string),
        batch: None,
        capture_bytes: 0,
        phc: None,
        removes_tags: false,
        views: false,
        lots: 1,
        counts_refusals: false,
    };
    let both = [Direction::Transmit, Direction::Receive]
        .map(|direction| HardwareStamps::enable(&place, direction));
    match both.into_iter().collect::<io::Result<Vec<_>>>() {
        Ok(hardware) => (
            hardware,
            format!("{KERNEL}, and the hardware of {interface}"),
        ),
        Err(error) => (
            Vec::new(),
            format!("{KERNEL}; hardware of {interface} refused: {error}"),
        ),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamped_socket::options::Kind;

    const WAIT_NS: u64 = 5_000_000_000;

    fn socket() -> StampedSocket {
        let options = Options {
            kind: Kind::Udp,
            bind: "127.0.0.1:0".parse().expect("an address"),
            connect: None,
            do_not_fragment: false,
            hardware: false,
            receive_bytes: None,
        };
        StampedSocket::open(options, None, None).expect("loopback is there")
    }

    /// The same as with a kernel before 6.13, which numbers the packets itself: after a refused packet, stamps are
    /// matched again.
    #[test]
    fn stamps_stay_with_their_packets_when_some_are_refused() {
        for own_keys in [true, false] {
            let (sender, receiver) = (socket(), socket());
            lock(&sender.send).own_keys = own_keys;
            let open = receiver.address().expect("bound");
            let closed = socket().address().expect("bound");
            let data = [7u8; 32];
            let to = |destination| Outgoing {
                data: &data,
                destination: Some(destination),
                ttl: None,
            };
            let too_long = vec![0u8; 65_535];
            let refused = Outgoing {
                data: &too_long,
                destination: Some(open),
                ttl: None,
            };
            let mut arrived = Vec::new();
            for _ in 0..20 {
                let sent = sender.send(&[to(open), to(closed), to(open)], WAIT_NS);
                assert!(sent.iter().all(|packet| packet.error.is_none()));
                let no = sender.send(std::slice::from_ref(&refused), WAIT_NS);
                assert!(no[0].error.is_some() && no[0].kernel_ns.is_none());
                let alone = sender.send(&[to(open)], WAIT_NS);
                let deadline_ns = monotonic_ns() + WAIT_NS;
                let mut packets = Vec::new();
                while packets.len() < 3 && monotonic_ns() < deadline_ns {
                    receiver
                        .receive(deadline_ns, 3, 3, false, &mut packets)
                        .expect("packets");
                }
                let stamps = [sent[0].kernel_ns, sent[2].kernel_ns, alone[0].kernel_ns];
                arrived.extend(
                    packets
                        .iter()
                        .zip(stamps)
                        .map(|(packet, left)| (left, packet.kernel_ns)),
                );
            }
            assert_eq!(arrived.len(), 60);
            let known = arrived.iter().filter(|(left, _)| left.is_some()).count();
            // A kernel that counts packets itself may lose the stamps of packets that were under way when the
            // numbering was restarted.
            assert!(
                known == 60 || !own_keys && known >= 20,
                "{known} of 60 with own_keys {own_keys}"
            );
            for (left, came) in arrived {
                assert!(
                    left.is_none_or(|left| Some(left) <= came),
                    "{left:?} {came:?}"
                );
            }
        }
    }
}
