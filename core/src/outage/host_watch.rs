//! `HostWatch`: what the host of one end did to it: times in which its loop did not run, a suspension, steps of the time of
//! day. It judges nothing.

use serde::Serialize;

use crate::host::kernel_clock::{monotonic_ns, read};

/// A loop that comes later than this was stopped.
const STOP_NS: u64 = 3_000_000;
/// The most stops of the list.
const LIMIT: usize = 1 << 14;
/// How often the clocks are compared.
const COMPARE_NS: u64 = 100_000_000;
/// A clock that is slewed changes by less between two comparisons (500 ppm, adjtimex(2)), and a comparison is no worse.
const STEP_NS: i64 = 500_000;
/// A comparison that took longer says nothing.
const TIGHT_NS: u64 = 100_000;

/// The loop gave no sign of life from one time to the other.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub struct Stop {
    pub from_ns: u64,
    pub until_ns: u64,
}

/// A clock that went further than the monotonic one between two comparisons.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub struct Step {
    pub from_ns: u64,
    pub until_ns: u64,
    pub by_ns: i64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct HostRecord {
    pub stops: Vec<Stop>,
    /// Stops for which there was no room.
    pub unlisted: u64,
    /// Of the time of day.
    pub steps: Vec<Step>,
    /// Of the clock that also runs while the host is suspended.
    pub suspended: Vec<Step>,
}

pub struct HostWatch {
    last_ns: u64,
    compared_ns: u64,
    real_ns: i64,
    boot_ns: i64,
    record: HostRecord,
}

impl HostWatch {
    pub fn begin() -> Self {
        let now_ns = monotonic_ns();
        HostWatch {
            last_ns: now_ns,
            compared_ns: now_ns,
            real_ns: ahead_ns(libc::CLOCK_REALTIME).unwrap_or(0),
            boot_ns: ahead_ns(libc::CLOCK_BOOTTIME).unwrap_or(0),
            record: HostRecord::default(),
        }
    }

    /// The loop runs now, and should have run at `due_ns` at the latest.
    pub fn runs(&mut self, now_ns: u64, due_ns: u64) {
        if now_ns > due_ns.max(self.last_ns) + STOP_NS {
            if self.record.stops.len() < LIMIT {
                self.record.stops.push(Stop {
                    from_ns: self.last_ns,
                    until_ns: now_ns,
                });
            } else {
                self.record.unlisted += 1;
            }
        }
        self.last_ns = now_ns;
        if now_ns >= self.compared_ns + COMPARE_NS {
            self.compare(now_ns);
        }
    }

    /// The loop goes on with its work: what it did since it ran last takes no time that counts.
    pub fn works(&mut self, now_ns: u64) {
        self.runs(now_ns, self.last_ns);
    }

    /// How far the clock of the kernel's stamps is ahead of the monotonic one.
    pub fn stamps_ahead_ns(&self) -> i64 {
        self.real_ns
    }

    pub fn record(&self) -> HostRecord {
        self.record.clone()
    }

    fn compare(&mut self, now_ns: u64) {
        let from_ns = self.compared_ns;
        self.compared_ns = now_ns;
        let lists = [
            (
                libc::CLOCK_REALTIME,
                &mut self.real_ns,
                &mut self.record.steps,
            ),
            (
                libc::CLOCK_BOOTTIME,
                &mut self.boot_ns,
                &mut self.record.suspended,
            ),
        ];
        for (clock, before, list) in lists {
            let Some(ahead) = ahead_ns(clock) else {
                continue;
            };
            let by_ns = ahead - std::mem::replace(before, ahead);
            if by_ns.abs() > STEP_NS && list.len() < LIMIT {
                list.push(Step {
                    from_ns,
                    until_ns: now_ns,
                    by_ns,
                });
            }
        }
    }
}

/// How far a clock is ahead of the monotonic one; `None` if the thread was away between the readings.
fn ahead_ns(clock: libc::clockid_t) -> Option<i64> {
    let before = monotonic_ns();
    let shown = read(clock);
    let after = monotonic_ns();
    (after - before < TIGHT_NS).then(|| shown as i64 - (before + (after - before) / 2) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_was_stopped_while_it_sent_a_packet_was_stopped_although_it_waits_no_longer_than_it_should()
     {
        let mut watch = HostWatch::begin();
        let start = watch.last_ns;
        watch.runs(start + 1_000_000, start + 1_000_000);
        watch.works(start + 1_020_000);
        watch.works(start + 285_000_000);
        watch.runs(start + 286_000_000, start + 286_000_000);
        assert_eq!(
            watch.record().stops,
            [Stop {
                from_ns: start + 1_020_000,
                until_ns: start + 285_000_000
            }]
        );
    }

    #[test]
    fn a_loop_that_comes_late_was_stopped_since_it_ran_last() {
        let mut watch = HostWatch::begin();
        let start = watch.last_ns;
        watch.runs(start + 1_000_000, start + 1_000_000);
        watch.runs(start + 11_500_000, start + 11_000_000);
        watch.runs(start + 91_500_000, start + 21_500_000);
        assert_eq!(
            watch.record().stops,
            [Stop {
                from_ns: start + 11_500_000,
                until_ns: start + 91_500_000
            }]
        );
    }
}
