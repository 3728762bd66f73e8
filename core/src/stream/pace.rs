//! `Pace`: when the next bytes are due at a given rate. It computes times and never sleeps.
//!
//! A late sender catches up, but for at most `MOST_LATE_NS`, so that a stall is not followed by a burst of everything
//! that was missed. What is missing shows in the offered bytes.

pub const MOST_LATE_NS: u64 = 10_000_000;

pub struct Pace {
    bytes_per_second: f64,
    due_ns: f64,
}

impl Pace {
    pub fn new(bytes_per_second: u64) -> Self {
        Pace {
            bytes_per_second: bytes_per_second.max(1) as f64,
            due_ns: 0.0,
        }
    }

    /// At `now_ns` since the start: ns until the next bytes are due, 0 if they are due.
    pub fn wait_ns(&mut self, now_ns: u64) -> u64 {
        let latest = now_ns.saturating_sub(MOST_LATE_NS) as f64;
        self.due_ns = self.due_ns.max(latest);
        (self.due_ns - now_ns as f64).max(0.0) as u64
    }

    pub fn sent(&mut self, bytes: u64) {
        self.due_ns += bytes as f64 * 1e9 / self.bytes_per_second;
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_LATE_NS, Pace};

    #[test]
    fn bytes_are_due_at_the_rate() {
        let mut pace = Pace::new(1_000_000);
        for message in 0..1000 {
            assert_eq!(pace.wait_ns(message * 1_000_000), 0);
            pace.sent(1000);
            assert_eq!(pace.wait_ns(message * 1_000_000), 1_000_000);
        }
    }

    #[test]
    fn a_stall_is_caught_up_with_in_part() {
        let mut pace = Pace::new(1_000_000);
        let now_ns = 10 * MOST_LATE_NS;
        let mut burst = 0;
        while pace.wait_ns(now_ns) == 0 {
            pace.sent(1000);
            burst += 1000;
        }
        assert_eq!(burst, MOST_LATE_NS / 1000 + 1000);
    }
}
