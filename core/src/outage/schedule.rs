//! `Schedule`: when which packet of which flow is due, and which of them were sent late or not at all because this
//! host was away. It reads no clock.
//!
//! Packets keep their numbers: what was not sent in time is never sent, so that a number says when its packet was due.

use serde::Serialize;

/// A packet that is later than this is not sent, unless half of the interval is more.
const LATE_NS: u64 = 200_000;
/// The most entries of the list.
const LIMIT: usize = 1 << 16;

/// Slots that were due while this host was away. Slot n is packet n / flows of flow n % flows.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub struct Slip {
    pub first: u64,
    pub last: u64,
    /// When this was noticed; of a packet that was sent, when it was at the latest.
    pub at_ns: u64,
    /// Whether it was sent, only late.
    pub sent: bool,
}

/// What is to be done now.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    Send { slot: u64 },
    Wait { until_ns: u64 },
}

pub struct Schedule {
    start_ns: u64,
    interval_ns: u64,
    flows: u64,
    late_ns: u64,
    next: u64,
    slips: Vec<Slip>,
    unlisted: u64,
    skipped: u64,
}

/// What a schedule says of itself.
#[derive(Clone, Debug, Serialize)]
pub struct ScheduleRecord {
    pub start_ns: u64,
    pub interval_ns: u64,
    pub flows: u64,
    /// How late a packet may have been sent that is not in the list.
    pub late_ns: u64,
    /// The first slot that was not due yet.
    pub next: u64,
    /// Slots that were not sent.
    pub skipped: u64,
    pub slips: Vec<Slip>,
    /// Entries for which there was no room.
    pub unlisted: u64,
}

impl Schedule {
    /// Slot `first` is due at `now_ns`. `interval_ns` and `flows` must not be zero.
    pub fn new(now_ns: u64, interval_ns: u64, flows: u64, first: u64) -> Self {
        let before_ns = u128::from(first) * u128::from(interval_ns) / u128::from(flows);
        Schedule {
            start_ns: now_ns.saturating_sub(before_ns as u64),
            interval_ns,
            flows,
            late_ns: LATE_NS.max(interval_ns / 2),
            next: first,
            slips: Vec::new(),
            unlisted: 0,
            skipped: 0,
        }
    }

    /// When a slot is due.
    pub fn due_ns(&self, slot: u64) -> u64 {
        let after = u128::from(slot) * u128::from(self.interval_ns) / u128::from(self.flows);
        self.start_ns + after as u64
    }

    /// The interval of a flow, and how many flows there are.
    pub fn pace(&self) -> (u64, u64) {
        (self.interval_ns, self.flows)
    }

    pub fn next(&mut self, now_ns: u64) -> Next {
        let due_ns = self.due_ns(self.next);
        if now_ns < due_ns {
            return Next::Wait { until_ns: due_ns };
        }
        if now_ns - due_ns > self.late_ns {
            let first = self.next;
            let elapsed_ns = u128::from(now_ns - self.late_ns - self.start_ns);
            self.next =
                (elapsed_ns * u128::from(self.flows)).div_ceil(u128::from(self.interval_ns)) as u64;
            self.next = self.next.max(first + 1);
            self.skipped += self.next - first;
            self.keep(Slip {
                first,
                last: self.next - 1,
                at_ns: now_ns,
                sent: false,
            });
            return self.next(now_ns);
        }
        Next::Send { slot: self.next }
    }

    /// That slot was sent, or could not be, and this was over at `now_ns`.
    pub fn sent(&mut self, slot: u64, now_ns: u64) {
        self.next = slot + 1;
        if now_ns > self.due_ns(slot) + self.late_ns {
            self.keep(Slip {
                first: slot,
                last: slot,
                at_ns: now_ns,
                sent: true,
            });
        }
    }

    pub fn record(&self) -> ScheduleRecord {
        ScheduleRecord {
            start_ns: self.start_ns,
            interval_ns: self.interval_ns,
            flows: self.flows,
            late_ns: self.late_ns,
            next: self.next,
            skipped: self.skipped,
            slips: self.slips.clone(),
            unlisted: self.unlisted,
        }
    }

    fn keep(&mut self, slip: Slip) {
        if self.slips.len() < LIMIT {
            self.slips.push(slip);
        } else {
            self.unlisted += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn sent(schedule: &mut Schedule, now_ns: u64) -> Vec<u64> {
        let mut found = Vec::new();
        while let Next::Send { slot } = schedule.next(now_ns) {
            schedule.sent(slot, now_ns);
            found.push(slot);
        }
        found
    }

    #[test]
    fn flows_take_turns_within_an_interval() {
        let mut schedule = Schedule::new(5 * MS, 10 * MS, 4, 0);
        assert_eq!(sent(&mut schedule, 5 * MS), [0]);
        assert_eq!(
            schedule.next(5 * MS),
            Next::Wait {
                until_ns: 7_500_000
            }
        );
        assert_eq!(sent(&mut schedule, 10 * MS), [1, 2]);
        assert_eq!(schedule.due_ns(4), 15 * MS);
    }

    #[test]
    fn what_was_due_while_the_host_was_away_is_never_sent_and_listed() {
        let mut schedule = Schedule::new(0, 10 * MS, 1, 0);
        assert_eq!(sent(&mut schedule, 0), [0]);
        // Packets 1 to 3 were due at 10, 20 and 30 ms; that of 40 ms is 4 ms late, less than half of an interval.
        assert_eq!(sent(&mut schedule, 44 * MS), [4]);
        let record = schedule.record();
        assert_eq!((record.skipped, record.next), (3, 5));
        assert_eq!(
            record.slips,
            [Slip {
                first: 1,
                last: 3,
                at_ns: 44 * MS,
                sent: false
            }]
        );
    }

    #[test]
    fn a_packet_whose_call_took_long_is_listed_as_sent() {
        let mut schedule = Schedule::new(100 * MS, 10 * MS, 1, 7);
        assert_eq!(schedule.next(100 * MS), Next::Send { slot: 7 });
        schedule.sent(7, 106 * MS);
        let slips = schedule.record().slips;
        assert_eq!((slips[0].first, slips[0].sent, slips.len()), (7, true, 1));
    }

    #[test]
    fn a_schedule_that_goes_on_keeps_its_numbers() {
        let mut schedule = Schedule::new(1_000 * MS, 10 * MS, 2, 21);
        assert_eq!(schedule.due_ns(21), 1_000 * MS);
        assert_eq!(sent(&mut schedule, 1_000 * MS), [21]);
    }
}
