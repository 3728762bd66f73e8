//! Stamps that the driver, or its hardware, takes of frames that a packet socket sends.
//!
//! The kernel returns them on the error queue of the socket after the frame has left, so that no frame can carry its
//! own. A stamp costs the kernel 400 ns or more, so stamps are requested for a sample of frames.

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::clock::offset::RealtimeOffset;
use crate::interface::packet_socket;
use crate::interface::stamping::delay::{Delays, TransmitDelay};
use crate::interface::stamping::phc::PhcClock;

/// Interval between two samples: 80 stamps a second are enough for a mean and too few to slow a trial.
const SAMPLE_NS: u64 = 100_000_000;
const RUN: u32 = 16;
/// Frames of a sample that count. For the first frames of a sample the kernel's code for stamps is not in the caches:
/// on a veth they were stamped 2.7 µs after they were handed over, and 1.2 µs after if stamps were requested for all
/// frames.
const COUNTED: u32 = 8;
/// A stamp that has not arrived after this many more requests will not arrive.
const AWAITED: usize = 64;
/// linux/if_packet.h
const PACKET_TX_TIMESTAMP: i32 = 16;

const REPORTED: u32 = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_RAW_HARDWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;

/// The request for a stamp in a message, as `sendmsg` reads it.
#[repr(C)]
struct StampRequest {
    header: libc::cmsghdr,
    flags: u32,
    _unused: u32,
}

/// Aligned room for the two control messages of an answer.
#[repr(C, align(8))]
struct AnswerRoom([u8; 256]);

struct Asked {
    /// The kernel numbers the frames for which a stamp was requested.
    key: u32,
    token: u64,
    sent_ns: u64,
    counted: bool,
}

/// The stamps of one socket.
pub struct DriverStamps {
    request: StampRequest,
    asked: VecDeque<Asked>,
    next_key: u32,
    due_ns: u64,
    /// Frames of the sample for which a stamp is still to be requested.
    left: u32,
    offset: RealtimeOffset,
    hardware: Option<PhcClock>,
    delays: Delays,
}

impl DriverStamps {
    /// Stamps by the driver in software; by its hardware if its clock is given and the hardware stamps of the
    /// interface are on.
    pub fn open(socket: &OwnedFd, hardware: Option<PhcClock>) -> io::Result<Self> {
        number_from_zero(socket)?;
        let by = match hardware {
            Some(_) => libc::SOF_TIMESTAMPING_TX_HARDWARE,
            None => libc::SOF_TIMESTAMPING_TX_SOFTWARE,
        };
        // SAFETY: plain integers, for which all zero is a value; libraries of C differ in what else there is.
        let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
        header.cmsg_len = (size_of::<libc::cmsghdr>() + size_of::<u32>()) as _;
        header.cmsg_level = libc::SOL_SOCKET;
        header.cmsg_type = libc::SO_TIMESTAMPING;
        Ok(DriverStamps {
            request: StampRequest {
                header,
                flags: by,
                _unused: 0,
            },
            asked: VecDeque::with_capacity(AWAITED + 1),
            next_key: 0,
            due_ns: 0,
            left: 0,
            offset: RealtimeOffset::measure(),
            hardware,
            delays: Delays::default(),
        })
    }

    /// True if the frame that is sent now belongs to the sample.
    ///
    /// The first frame after a sample fell due does not belong to it: a sender often sends it late after an
    /// interruption, so that it would represent interruptions only.
    #[inline]
    pub fn due(&mut self, now_ns: u64) -> bool {
        if self.left > 0 {
            return true;
        }
        if now_ns >= self.due_ns {
            self.left = RUN;
        }
        false
    }

    /// Requests a stamp of the frame in `message`. `token` identifies the frame. `message` must be sent before this
    /// value moves or before the next request.
    pub fn ask(&mut self, message: &mut libc::msghdr, token: u64, sent_ns: u64) {
        message.msg_control = (&raw mut self.request).cast();
        message.msg_controllen = size_of::<StampRequest>() as _;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.due_ns = sent_ns + SAMPLE_NS;
        }
        let counted = self.left < COUNTED;
        if self.asked.len() >= AWAITED {
            self.asked.pop_front();
        }
        self.asked.push_back(Asked {
            key: self.next_key,
            token,
            sent_ns,
            counted,
        });
        self.next_key = self.next_key.wrapping_add(1);
        if counted {
            self.delays.asked();
        }
    }

    /// The kernel refused the frame of the last request: it is unknown whether the frame got a number.
    pub fn refused(&mut self, socket: &OwnedFd) -> io::Result<()> {
        self.collect(socket, &mut |_, _| ());
        self.asked.clear();
        self.next_key = 0;
        number_from_zero(socket)
    }

    /// Reads the stamps that have arrived and hands over each: token, ns of CLOCK_MONOTONIC.
    pub fn collect(&mut self, socket: &OwnedFd, sink: &mut dyn FnMut(u64, u64)) {
        self.offset.track();
        if let Some(hardware) = &mut self.hardware {
            hardware.track();
        }
        while let Some((key, software_ns, hardware_ns)) = next_answer(socket) {
            let Some(place) = self.asked.iter().position(|asked| asked.key == key) else {
                continue;
            };
            let asked = self.asked.remove(place).expect("just found");
            let driver_ns = match &self.hardware {
                Some(hardware) if hardware_ns != 0 => hardware.to_monotonic(hardware_ns),
                None if software_ns != 0 => self.offset.to_monotonic(software_ns),
                _ => continue,
            };
            if asked.counted {
                self.delays.record(asked.sent_ns, driver_ns);
            }
            sink(asked.token, driver_ns);
        }
    }

    /// The delay of all frames since the last call for which a stamp was requested.
    pub fn finish(&mut self) -> TransmitDelay {
        std::mem::take(&mut self.delays).finish()
    }
}

/// Restarts the kernel's numbering, which happens whenever OPT_ID is set after it was not set.
fn number_from_zero(socket: &OwnedFd) -> io::Result<()> {
    for flags in [0, REPORTED] {
        packet_socket::set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags)?;
    }
    Ok(())
}

/// The next answer on the error queue: number of the frame, software stamp, hardware stamp (0: none).
fn next_answer(socket: &OwnedFd) -> Option<(u32, u64, u64)> {
    let mut room = MaybeUninit::<AnswerRoom>::uninit();
    // SAFETY: msghdr is integers and pointers, for which all zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = room.as_mut_ptr().cast();
    message.msg_controllen = size_of::<AnswerRoom>() as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the kernel writes at most the control length given, into room that outlives the call.
    if unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) } < 0 {
        return None;
    }
    let (mut key, mut software_ns, mut hardware_ns) = (0, 0, 0);
    // SAFETY: the macros walk the control messages that the kernel wrote; each is as long as its type.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            let data = libc::CMSG_DATA(header);
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                    let stamps = data.cast::<[libc::timespec; 3]>().read_unaligned();
                    software_ns = in_ns(&stamps[0]);
                    hardware_ns = in_ns(&stamps[2]);
                }
                (libc::SOL_PACKET, PACKET_TX_TIMESTAMP) => {
                    let error = data.cast::<libc::sock_extended_err>().read_unaligned();
                    key = error.ee_data;
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Some((key, software_ns, hardware_ns))
}

fn in_ns(time: &libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    //! The driver's stamps on the loopback interface of a new namespace, whose driver takes stamps.

    use std::process::Command;

    use super::*;
    use crate::host::kernel_clock::monotonic_ns;
    use crate::host::netns;
    use crate::interface::place::Place;

    fn send(socket: &OwnedFd, message: &libc::msghdr) {
        // SAFETY: the message and all that it points to outlive the call.
        let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), message, 0) };
        assert_eq!(sent, 60, "{}", io::Error::last_os_error());
    }

    /// Runs `test` if this process may create namespaces; otherwise there is no socket to test.
    fn on_loopback(test: fn(&OwnedFd)) {
        let tried = netns::within_a_new_one(|| {
            let up = Command::new("ip")
                .args(["link", "set", "lo", "up"])
                .status()?;
            assert!(up.success());
            let thread = std::fs::read_link("/proc/thread-self")?;
            let json = serde_json::json!({
                "engine": "packet", "interface": "lo", "namespace": format!("/proc/{}/ns/net", thread.display())
            });
            let place: Place = serde_json::from_value(json).expect("a place");
            let socket = packet_socket::open(&place, false, |socket| {
                packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)
            })
            .expect("a packet socket on the loopback");
            test(&socket);
            Ok(())
        });
        if let Err(error) = tried {
            assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
        }
    }

    fn ask_and_send(socket: &OwnedFd, stamps: &mut DriverStamps, frame: &mut [u8; 60], token: u64) {
        let mut part = libc::iovec {
            iov_base: frame.as_mut_ptr().cast(),
            iov_len: frame.len(),
        };
        // SAFETY: msghdr is integers and pointers, for which all zero is a value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        stamps.ask(&mut message, token, monotonic_ns());
        send(socket, &message);
    }

    #[test]
    fn each_frame_asked_for_gets_its_stamp_after_it_was_sent() {
        on_loopback(|socket| {
            let mut stamps = DriverStamps::open(socket, None).expect("SO_TIMESTAMPING");
            let mut frame = [0; 60];
            let begun_ns = monotonic_ns();
            let mut got = Vec::new();
            for token in 0..200 {
                ask_and_send(socket, &mut stamps, &mut frame, token);
                stamps.collect(socket, &mut |token, driver_ns| got.push((token, driver_ns)));
            }
            let ended_ns = monotonic_ns();
            assert_eq!(
                got.iter().map(|(token, _)| *token).collect::<Vec<_>>(),
                (0..200).collect::<Vec<_>>()
            );
            assert!(got.windows(2).all(|pair| pair[0].1 <= pair[1].1));
            assert!(
                got.iter()
                    .all(|(_, at_ns)| (begun_ns..=ended_ns).contains(at_ns))
            );
            let found = stamps.finish();
            let delay = found.delay.expect("stamps came");
            assert_eq!(
                (found.asked_frames, delay.count, delay.histogram.negative),
                (200, 200, 0)
            );
            assert_eq!(
                stamps.finish().asked_frames,
                0,
                "the next trial begins anew"
            );
        });
    }

    #[test]
    fn frames_that_nobody_asked_for_get_none_and_a_refusal_starts_the_numbers_anew() {
        on_loopback(|socket| {
            let mut stamps = DriverStamps::open(socket, None).expect("SO_TIMESTAMPING");
            let mut frame = [0; 60];
            ask_and_send(socket, &mut stamps, &mut frame, 1);
            stamps.refused(socket).expect("numbers anew");
            for token in [7, 8] {
                // SAFETY: the frame outlives the call and its length is given.
                let sent = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), 60, 0) };
                assert_eq!(sent, 60);
                ask_and_send(socket, &mut stamps, &mut frame, token);
            }
            let mut got = Vec::new();
            stamps.collect(socket, &mut |token, _| got.push(token));
            assert_eq!(got, [7, 8]);
        });
    }

    #[test]
    fn runs_of_frames_are_asked_for_and_the_first_of_each_are_not_counted() {
        on_loopback(|socket| {
            let mut stamps = DriverStamps::open(socket, None).expect("SO_TIMESTAMPING");
            let mut run = |now_ns| {
                let mut asked = 0;
                while stamps.due(now_ns) {
                    // SAFETY: as above.
                    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
                    stamps.ask(&mut message, 0, now_ns);
                    asked += 1;
                }
                asked
            };
            let later_ns = 5_000 + SAMPLE_NS;
            let asked = [5_000, 5_000, 5_000, later_ns - 1, later_ns, later_ns].map(&mut run);
            assert_eq!(asked, [0, RUN, 0, 0, 0, RUN]);
            assert_eq!(stamps.finish().asked_frames, u64::from(2 * COUNTED));
        });
    }
}
