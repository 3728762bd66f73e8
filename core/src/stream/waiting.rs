//! How a sending thread waits until its `Pace` lets it send.

use std::time::{Duration, Instant};

use super::pace::Pace;

/// Sleeps for a part of the time until the next bytes are due. Returns true if they were not due yet.
pub fn wait(pace: &mut Pace, start: Instant) -> bool {
    const LONGEST_NS: u64 = 20_000_000;
    const SHORTEST_NS: u64 = 100_000;
    match pace.wait_ns(start.elapsed().as_nanos() as u64) {
        0 => false,
        // Too short for a sleep: the kernel wakes a thread later than that.
        short if short < SHORTEST_NS => {
            std::hint::spin_loop();
            true
        }
        long => {
            std::thread::sleep(Duration::from_nanos(long.min(LONGEST_NS) - SHORTEST_NS / 2));
            true
        }
    }
}
