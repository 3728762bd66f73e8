//! `ReceivingEnd`: accounts for the load of a test upstream, and says in status PDUs what it saw and how fast the client is to send. It
//! does no I/O.

use std::collections::{HashSet, VecDeque};

use super::activation::Activation;
use super::end::{Common, End, NS};
use super::load::Load;
use super::pdu::{NO_DELAY, TESTING};
use super::seal::sealed;
use super::sending_rate::SendingRate;
use super::status::{Status, SubInterval};

/// Numbers of datagrams that came last, among which one that came before is a duplicate.
const REMEMBERED: usize = 1024;
const MS: u64 = 1_000_000;

pub struct ReceivingEnd {
    common: Common,
    feedback_ns: u64,
    next_ns: u64,
    number: u32,
    recent: VecDeque<u32>,
    held: HashSet<u32>,
    statuses: u32,
    trial: Seen,
    sub: Seen,
    /// When the first sub-interval began: with the first status.
    first_ns: u64,
    saved: SubInterval,
    complete: u32,
    clocks_ns: Option<i128>,
    rtt_least_ms: u32,
    status_time: (u32, u32),
}

impl ReceivingEnd {
    pub fn new(parameters: Activation, now_ns: u64, wall_ns: i128, packet_bytes: u32) -> Self {
        let feedback_ns = u64::from(parameters.feedback_ms) * MS;
        ReceivingEnd {
            common: Common::new(parameters, now_ns, wall_ns, packet_bytes),
            feedback_ns,
            next_ns: now_ns + feedback_ns,
            number: 0,
            recent: VecDeque::with_capacity(REMEMBERED),
            held: HashSet::with_capacity(REMEMBERED),
            statuses: 0,
            trial: Seen::since(now_ns),
            sub: Seen::since(now_ns),
            first_ns: now_ns,
            saved: SubInterval::default(),
            complete: 0,
            clocks_ns: None,
            rtt_least_ms: NO_DELAY,
            status_time: (0, 0),
        }
    }

    fn remember(&mut self, number: u32) {
        if self.recent.len() == REMEMBERED
            && let Some(oldest) = self.recent.pop_front()
        {
            self.held.remove(&oldest);
        }
        self.recent.push_back(number);
        self.held.insert(number);
    }

    /// Round trip and one-way delay, of datagrams in order.
    fn time(&mut self, now_ns: u64, load: &Load) {
        let (seen, wall_ns) = (&mut self.trial, self.common.wall(now_ns));
        let moment = |seconds: u32, ns: u32| i128::from(seconds) * i128::from(NS) + i128::from(ns);
        let status_time = (load.status_s, load.status_ns);
        if status_time != self.status_time && load.status_s > 0 {
            self.status_time = status_time;
            let took_ms = rounded_ms(wall_ns - moment(load.status_s, load.status_ns));
            let rtt_ms = in_ms(took_ms - i128::from(load.held_ms));
            if rtt_ms < self.rtt_least_ms {
                (self.rtt_least_ms, seen.least_changed) = (rtt_ms, 1);
            }
            seen.rtt(rtt_ms - self.rtt_least_ms);
        }
        let delta_ns = wall_ns - moment(load.sent_s, load.sent_ns);
        if self.clocks_ns.is_none_or(|least_ns| delta_ns < least_ns) {
            (self.clocks_ns, seen.least_changed) = (Some(delta_ns), 1);
        }
        let over_ns = delta_ns - self.clocks_ns.unwrap_or(delta_ns);
        seen.delay(in_ms(rounded_ms(over_ns)));
    }

    fn status(&self, now_ns: u64) -> Status {
        let (sent_s, sent_ns) = self.common.seconds(now_ns);
        let clocks_ms = rounded_ms(self.clocks_ns.unwrap_or(0));
        let seen = &self.trial;
        Status {
            action: self.common.action,
            stopped: self.common.stopped(now_ns),
            number: self.statuses + 1,
            rate: SendingRate::default(),
            sub_intervals: self.complete,
            sub_interval: self.saved,
            lost: capped(seen.lost),
            reordered: seen.reordered,
            duplicated: seen.duplicated,
            clocks_ms: clocks_ms.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
            delay_least_ms: seen.delay_least_ms,
            delay_most_ms: seen.delay_most_ms,
            delay_sum_ms: capped(seen.delay_sum_ms),
            delays: seen.delays,
            rtt_least_ms: self.rtt_least_ms,
            rtt_over_ms: seen.rtt_last_ms,
            least_changed: seen.least_changed,
            lasted_us: capped((now_ns - seen.since_ns) / 1000),
            datagrams: seen.datagrams,
            payload_bytes: capped(seen.payload_bytes),
            sent_s,
            sent_ns,
        }
    }
}

impl End for ReceivingEnd {
    fn common(&self) -> &Common {
        &self.common
    }

    /// When the next status leaves.
    fn due_ns(&self) -> u64 {
        self.next_ns
    }

    /// A status, once something has come.
    fn leave(&mut self, now_ns: u64, send: &mut dyn FnMut(&[u8]) -> bool) {
        self.common.watch(now_ns);
        let on_time_ns = self.next_ns + self.feedback_ns;
        self.next_ns = if on_time_ns > now_ns {
            on_time_ns
        } else {
            now_ns + self.feedback_ns
        };
        if self.common.over || (self.number == 0 && self.common.action == TESTING) {
            return;
        }
        let mut status = self.status(now_ns);
        status.rate = self.common.rate_after(&status);
        send(&sealed(status.pack(), None, 0));
        self.statuses += 1;
        let trial = std::mem::replace(&mut self.trial, Seen::since(now_ns));
        self.sub.add(&trial);
        let lasted_ns = now_ns - self.sub.since_ns;
        if self.statuses == 1 {
            (self.first_ns, self.sub) = (now_ns, Seen::since(now_ns));
        } else if lasted_ns + self.feedback_ns / 2
            > u64::from(self.common.parameters.sub_interval_ms) * MS
        {
            self.complete += 1;
            self.saved = self.sub.sub_interval(now_ns, self.first_ns);
            self.sub = Seen::since(now_ns);
        }
    }

    /// A datagram of the load.
    fn arrived(&mut self, now_ns: u64, data: &[u8]) {
        let Some(load) = Load::parse(data) else {
            return;
        };
        self.common.heard(now_ns, load.action);
        if load.action != TESTING || self.common.action != TESTING {
            return;
        }
        let (seen, number) = (&mut self.trial, load.number);
        seen.datagrams += 1;
        seen.payload_bytes += u64::from(load.payload_bytes);
        if number <= self.number {
            if self.held.contains(&number) {
                seen.duplicated += 1;
            } else {
                // It was counted as lost when a later one came; if that was said already, it stays so.
                seen.reordered += 1;
                seen.lost = seen.lost.saturating_sub(1);
                self.remember(number);
            }
            return;
        }
        seen.lost += u64::from(number - self.number - 1);
        self.number = number;
        self.remember(number);
        self.time(now_ns, &load);
    }

    fn sends(&self) -> bool {
        false
    }
}

/// What arrived since some moment; delays in ms above the least.
struct Seen {
    since_ns: u64,
    datagrams: u32,
    payload_bytes: u64,
    lost: u64,
    reordered: u32,
    duplicated: u32,
    least_changed: u8,
    delay_least_ms: u32,
    delay_most_ms: u32,
    delay_sum_ms: u64,
    delays: u32,
    rtt_least_ms: u32,
    rtt_most_ms: u32,
    rtt_last_ms: u32,
}

impl Seen {
    fn since(since_ns: u64) -> Self {
        Seen {
            since_ns,
            datagrams: 0,
            payload_bytes: 0,
            lost: 0,
            reordered: 0,
            duplicated: 0,
            least_changed: 0,
            delay_least_ms: NO_DELAY,
            delay_most_ms: 0,
            delay_sum_ms: 0,
            delays: 0,
            rtt_least_ms: NO_DELAY,
            rtt_most_ms: 0,
            rtt_last_ms: NO_DELAY,
        }
    }

    /// Of one datagram.
    fn delay(&mut self, over_ms: u32) {
        self.delay_least_ms = self.delay_least_ms.min(over_ms);
        self.delay_most_ms = self.delay_most_ms.max(over_ms.min(NO_DELAY - 1));
        self.delay_sum_ms += u64::from(over_ms);
        self.delays += 1;
    }

    /// Of one status.
    fn rtt(&mut self, over_ms: u32) {
        self.rtt_last_ms = over_ms.min(NO_DELAY - 1);
        self.rtt_least_ms = self.rtt_least_ms.min(over_ms);
        self.rtt_most_ms = self.rtt_most_ms.max(self.rtt_last_ms);
    }

    /// What arrived in a part of the same time.
    fn add(&mut self, later: &Seen) {
        self.datagrams += later.datagrams;
        self.payload_bytes += later.payload_bytes;
        self.lost += later.lost;
        self.reordered += later.reordered;
        self.duplicated += later.duplicated;
        self.delay_sum_ms += later.delay_sum_ms;
        self.delays += later.delays;
        self.delay_least_ms = self.delay_least_ms.min(later.delay_least_ms);
        self.rtt_least_ms = self.rtt_least_ms.min(later.rtt_least_ms);
        self.delay_most_ms = self.delay_most_ms.max(later.delay_most_ms);
        self.rtt_most_ms = self.rtt_most_ms.max(later.rtt_most_ms);
    }

    /// As it is said; `first_ns`: when the first one began.
    fn sub_interval(&self, now_ns: u64, first_ns: u64) -> SubInterval {
        SubInterval {
            datagrams: self.datagrams,
            payload_bytes: self.payload_bytes,
            lasted_us: capped((now_ns - self.since_ns) / 1000),
            lost: capped(self.lost),
            reordered: self.reordered,
            duplicated: self.duplicated,
            delay_least_ms: self.delay_least_ms,
            delay_most_ms: self.delay_most_ms,
            delay_sum_ms: capped(self.delay_sum_ms),
            delays: self.delays,
            rtt_least_ms: self.rtt_least_ms,
            rtt_most_ms: self.rtt_most_ms,
            since_ms: capped((now_ns - first_ns) / MS),
        }
    }
}

fn capped(count: u64) -> u32 {
    count.min(u32::MAX.into()) as u32
}

fn rounded_ms(ns: i128) -> i128 {
    (ns + i128::from(MS / 2)).div_euclid(i128::from(MS))
}

fn in_ms(ms: i128) -> u32 {
    ms.clamp(0, i128::from(NO_DELAY - 1)) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn load(number: u32, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        let load = Load {
            number,
            payload_bytes: bytes as u16,
            sent_s: 1,
            ..Load::default()
        };
        load.write(&mut data);
        data
    }

    fn said(end: &mut ReceivingEnd, now_ns: u64) -> Vec<Status> {
        let mut found = Vec::new();
        end.leave(now_ns, &mut |data| {
            found.extend(Status::parse(data));
            true
        });
        found
    }

    #[test]
    fn what_is_lost_late_and_twice_is_told_apart() {
        let mut end = ReceivingEnd::new(Activation::USUAL.granted(), 0, 0, 1250);
        assert_eq!(said(&mut end, 50 * MS), []);
        for number in [1, 2, 5, 3, 3, 7] {
            end.arrived(60 * MS, &load(number, 100));
        }
        let (status, number) = (said(&mut end, 100 * MS)[0], end.number);
        assert_eq!(
            (status.datagrams, status.payload_bytes, number),
            (6, 600, 7)
        );
        assert_eq!(
            (status.lost, status.reordered, status.duplicated),
            (2, 1, 1)
        );
        assert_eq!(said(&mut end, 150 * MS)[0].datagrams, 0);
    }

    proptest! {
        #[test]
        fn offered_are_those_that_arrived_and_those_that_are_lost(numbers in prop::collection::vec(1u32..200, 1..100)) {
            let mut end = ReceivingEnd::new(Activation::USUAL.granted(), 0, 0, 1250);
            for number in &numbers {
                end.arrived(MS, &load(*number, 40));
            }
            let status = said(&mut end, 50 * MS)[0];
            let different: HashSet<u32> = numbers.iter().copied().collect();
            prop_assert_eq!(status.datagrams as usize, numbers.len());
            prop_assert_eq!(status.datagrams - status.duplicated, different.len() as u32);
            prop_assert_eq!(status.lost + different.len() as u32, *numbers.iter().max().unwrap());
        }

        #[test]
        fn any_datagrams_leave_it_going(all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20)) {
            let mut end = ReceivingEnd::new(Activation::USUAL.granted(), 0, 0, 1250);
            for mut data in all {
                if data.len() >= 32 {
                    let length = (data.len() as u16).to_be_bytes();
                    data[..4].copy_from_slice(&[0xBE, 0xEF, 0, 0]);
                    data[8..10].copy_from_slice(&length);
                    data[30..32].fill(0);
                }
                end.arrived(MS, &data);
            }
            said(&mut end, 60 * MS);
        }
    }
}
