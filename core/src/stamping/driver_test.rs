//! The driver's stamps on the loopback of a namespace of its own, whose driver takes them.

use std::process::Command;

use super::*;
use crate::clock::monotonic_ns;
use crate::netns;
use crate::port::Place;

fn send(socket: &OwnedFd, message: &libc::msghdr) {
    // SAFETY: the message and all that it points to outlive the call.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), message, 0) };
    assert_eq!(sent, 60, "{}", io::Error::last_os_error());
}

/// Runs where this process may make namespaces; elsewhere there is no socket to try.
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
