//! The time in which a device is reset: it forwards nothing, and frames inside are lost.
//!
//! This file knows times and never holds a frame.

use crate::trial::Trial;

use super::device::Device;

#[derive(Clone, Copy, Debug)]
pub struct Outage {
    from_ps: u64,
    to_ps: u64,
}

impl Outage {
    /// The outage of `device` in `trial`: when the trial asks for it, or else when the device resets by itself.
    pub fn new(device: &Device, trial: &Trial) -> Option<Self> {
        let reset = device.reset.as_ref()?;
        let from_ps = trial.reset_after_ns.or(reset.at_ns)? * 1000;
        Some(Outage {
            from_ps,
            to_ps: from_ps + reset.duration_ns * 1000,
        })
    }

    /// True if a frame whose first bit arrives at this time is lost.
    #[inline]
    pub fn is_at(&self, now_ps: u64) -> bool {
        (self.from_ps..self.to_ps).contains(&now_ps)
    }

    /// True if a frame that arrived at `in_ps` and is to continue at `on_ps` was in the device when the outage began.
    #[inline]
    pub fn destroys(&self, in_ps: u64, on_ps: u64) -> bool {
        in_ps < self.from_ps && on_ps >= self.from_ps
    }

    #[inline]
    pub fn is_over(&self, now_ps: u64) -> bool {
        now_ps >= self.to_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_a_first_and_no_last_picosecond() {
        let outage = Outage {
            from_ps: 10,
            to_ps: 20,
        };
        assert_eq!(
            [9, 10, 19, 20].map(|now_ps| outage.is_at(now_ps)),
            [false, true, true, false]
        );
        assert_eq!(
            [9, 10].map(|on_ps| outage.destroys(9, on_ps)),
            [false, true]
        );
        assert!(outage.is_over(20) && !outage.is_over(19) && !outage.destroys(20, 25));
    }
}
