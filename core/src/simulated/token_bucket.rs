//! A token bucket that is full at first, as policers and shapers have one (RFC 4115 §2, RFC 2697 with one rate).
//!
//! It is kept as the time at which it will be full again, so that nothing needs to be done while time passes.

use super::device::Bucket;

pub struct TokenBucket {
    ps_per_byte: f64,
    /// Time in which an empty bucket fills.
    depth_ps: f64,
    full_ps: f64,
}

impl TokenBucket {
    pub fn new(settings: &Bucket) -> Self {
        let ps_per_byte = 8e12 / settings.bits_per_second;
        TokenBucket {
            ps_per_byte,
            depth_ps: settings.burst_bytes as f64 * ps_per_byte,
            full_ps: 0.0,
        }
    }

    /// When there are tokens for a frame, if none is taken before. A bucket that is smaller than the frame serves it
    /// when it is full.
    pub fn ready_ps(&self, frame_bytes: u32) -> u64 {
        let needed_ps = (f64::from(frame_bytes) * self.ps_per_byte).min(self.depth_ps);
        (self.full_ps + needed_ps - self.depth_ps).max(0.0).ceil() as u64
    }

    /// Takes the tokens of a frame that leaves at `now_ps`.
    pub fn take(&mut self, frame_bytes: u32, now_ps: u64) {
        self.full_ps = self.full_ps.max(now_ps as f64) + f64::from(frame_bytes) * self.ps_per_byte;
    }

    /// Takes the tokens of a frame if there are enough.
    pub fn admits(&mut self, frame_bytes: u32, now_ps: u64) -> bool {
        let fits = f64::from(frame_bytes) * self.ps_per_byte <= self.depth_ps;
        let admitted = fits && self.ready_ps(frame_bytes) <= now_ps;
        if admitted {
            self.take(frame_bytes, now_ps);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The definition: tokens come at the rate up to the depth, and a frame passes if there are as many as bytes.
        #[test]
        fn it_agrees_with_counted_tokens(
            rate in 1e3f64..1e9, burst in 100u64..100_000,
            frames in proptest::collection::vec((0u64..1_000_000_000, 64u32..2000), 1..200),
        ) {
            let mut bucket = TokenBucket::new(&Bucket { bits_per_second: rate, burst_bytes: burst });
            let (mut now_ps, mut tokens) = (0u64, burst as f64);
            for (step_ps, bytes) in frames {
                now_ps += step_ps;
                tokens = (tokens + step_ps as f64 * rate / 8e12).min(burst as f64);
                let margin = (tokens - f64::from(bytes)).abs();
                let passes = tokens >= f64::from(bytes);
                let admitted = bucket.admits(bytes, now_ps);
                if margin > 1e-3 {
                    prop_assert_eq!(admitted, passes);
                }
                if admitted {
                    tokens -= f64::from(bytes);
                }
            }
        }
    }
}
