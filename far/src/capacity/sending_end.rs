//! `SendingEnd`: sends the load of a test downstream at the rate that its search finds. It does no I/O.

use keisoku::chance::{GOLDEN, mix};

use super::activation::Activation;
use super::end::{Common, End, NS};
use super::load::{LOAD_BYTES, Load};
use super::pdu::TESTING;
use super::seal::Tail;
use super::sending_rate::{IPV6_MORE_BYTES, RANDOM, SendingRate};
use super::status::Status;

/// By which it may be late and still send everything; what is later is left out.
const BEHIND_NS: u64 = 1_000_000;
const STOPPING_NS: u64 = 10_000_000;
/// In place of a number of lost status PDUs: they came in another order.
const REORDERED: u16 = 0xFFFF;
/// Payload of the longest datagram of any row.
const LONGEST: usize = 9000 - 28;
/// Of a second transmitter that there is not.
const IDLE_US: u32 = 50_000;

pub struct SendingEnd {
    common: Common,
    rate: SendingRate,
    /// What IPv6's header has more.
    shorter: u32,
    draws: u64,
    buffer: Vec<u8>,
    next_ns: [u64; 2],
    number: u32,
    statuses: u32,
    status_errors: u16,
    status_at_ns: u64,
    status_time: (u32, u32),
}

impl SendingEnd {
    pub fn new(
        parameters: Activation,
        now_ns: u64,
        wall_ns: i128,
        packet_bytes: u32,
        of_ipv6: bool,
    ) -> Self {
        let common = Common::new(parameters, now_ns, wall_ns, packet_bytes);
        SendingEnd {
            rate: common.first_rate(),
            common,
            shorter: if of_ipv6 { IPV6_MORE_BYTES } else { 0 },
            draws: now_ns,
            buffer: vec![0; LONGEST],
            next_ns: [now_ns; 2],
            number: 0,
            statuses: 0,
            status_errors: 0,
            status_at_ns: now_ns,
            status_time: (0, 0),
        }
    }

    /// Transmitters that begin do so now.
    fn take(&mut self, rate: SendingRate, now_ns: u64) {
        let before = self.used();
        self.rate = rate;
        for which in self.used().into_iter().flatten() {
            let (interval_ns, ..) = self.transmitter(which);
            let began = !before.contains(&Some(which));
            let next_ns = &mut self.next_ns[which];
            *next_ns = if began {
                now_ns
            } else {
                (*next_ns).min(now_ns + interval_ns)
            };
        }
    }

    /// Transmitters of the rate; the second, which then does nothing, if there is none.
    fn used(&self) -> [Option<usize>; 2] {
        match (self.rate.interval1_us, self.rate.interval2_us) {
            (0, _) => [None, Some(1)],
            (_, 0) => [Some(0), None],
            _ => [Some(0), Some(1)],
        }
    }

    /// The one that is due next.
    fn next(&self) -> usize {
        let used = self.used();
        used.into_iter()
            .flatten()
            .min_by_key(|which| self.next_ns[*which])
            .unwrap_or(1)
    }

    /// Interval in ns, payload, burst and addon.
    fn transmitter(&self, which: usize) -> (u64, u32, u32, u32) {
        let rate = &self.rate;
        if which == 0 {
            return (
                u64::from(rate.interval1_us) * 1000,
                rate.payload1,
                rate.burst1,
                0,
            );
        }
        let interval_us = if rate.interval2_us == 0 {
            IDLE_US
        } else {
            rate.interval2_us
        };
        (
            u64::from(interval_us) * 1000,
            rate.payload2,
            rate.burst2,
            rate.addon2,
        )
    }

    /// Bytes of a datagram of a row's payload.
    fn length(&mut self, payload: u32) -> usize {
        let longest = (payload & !RANDOM)
            .saturating_sub(self.shorter)
            .max(LOAD_BYTES as u32);
        if payload & RANDOM == 0 {
            return longest as usize;
        }
        self.draws = self.draws.wrapping_add(GOLDEN);
        let choices = u64::from(longest) - LOAD_BYTES as u64 + 1;
        LOAD_BYTES + (mix(self.draws) % choices) as usize
    }

    fn send_one(&mut self, now_ns: u64, bytes: usize, send: &mut dyn FnMut(&[u8]) -> bool) {
        let (sent_s, sent_ns) = self.common.seconds(now_ns);
        let held_ms = (now_ns.saturating_sub(self.status_at_ns) + NS / 2000) / (NS / 1000);
        let load = Load {
            action: self.common.action,
            stopped: self.common.stopped(now_ns),
            number: self.number.wrapping_add(1),
            payload_bytes: bytes as u16,
            status_errors: self.status_errors,
            status_s: self.status_time.0,
            status_ns: self.status_time.1,
            sent_s,
            sent_ns,
            held_ms: held_ms.min(0xFFFF) as u16,
        };
        load.write(&mut self.buffer);
        // What this host has no room for was not sent, so that the next one has its number.
        if send(&self.buffer[..bytes]) {
            self.number = load.number;
        }
    }
}

impl End for SendingEnd {
    fn common(&self) -> &Common {
        &self.common
    }

    fn due_ns(&self) -> u64 {
        match self.common.action {
            TESTING => self.next_ns[self.next()],
            _ => self.next_ns[0],
        }
    }

    /// One burst: the next is stamped when it leaves, even if this end is late.
    fn leave(&mut self, now_ns: u64, send: &mut dyn FnMut(&[u8]) -> bool) {
        self.common.watch(now_ns);
        if self.common.over {
            return;
        }
        if self.common.action != TESTING {
            self.next_ns[0] = now_ns + STOPPING_NS;
            self.send_one(now_ns, LOAD_BYTES, send);
            return;
        }
        let which = self.next();
        if self.next_ns[which] > now_ns {
            return;
        }
        let (interval_ns, payload, burst, addon) = self.transmitter(which);
        let late_ns = (now_ns - self.next_ns[which]).saturating_sub(BEHIND_NS);
        self.next_ns[which] += late_ns + interval_ns;
        let burst =
            std::iter::repeat_n(payload, burst as usize).chain((addon > 0).then_some(addon));
        for wanted in burst {
            let bytes = self.length(wanted);
            self.send_one(now_ns, bytes, send);
        }
    }

    /// A status, from which the rate follows.
    fn arrived(&mut self, now_ns: u64, data: &[u8]) {
        let (Some(status), Some(_)) = (Status::parse(data), Tail::of(data)) else {
            return;
        };
        let Some(lost) = status.number.checked_sub(self.statuses.saturating_add(1)) else {
            self.status_errors = REORDERED;
            return;
        };
        self.status_errors = lost.min(REORDERED.into()) as u16;
        self.statuses = status.number;
        (self.status_at_ns, self.status_time) = (now_ns, (status.sent_s, status.sent_ns));
        self.common.heard(now_ns, status.action);
        if status.action != TESTING {
            self.next_ns[0] = now_ns;
            return;
        }
        let rate = self.common.rate_after(&status);
        self.take(rate, now_ns);
    }

    fn sends(&self) -> bool {
        true
    }
}
