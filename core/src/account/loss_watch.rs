//! Detects that more frames are certainly lost than a trial may lose, so that the trial can end at once.
//!
//! A frame is certainly lost when it is missing below a number that was received at least `PATIENCE_NS` ago, because
//! a frame that overtook it has then been waiting for that long. A device that forwards nothing at all is never
//! detected this way. The counts of a record are not made here.

use crate::account::tracking::Tracker;

/// How long the watch waits for a frame that was overtaken. Reordering ends within microseconds on one path and
/// within a few milliseconds on parallel paths; a queue delays all frames alike and needs no waiting time.
pub const PATIENCE_NS: u64 = 50_000_000;
/// Interval between two checks.
pub const LOOK_NS: u64 = 5_000_000;

pub struct LossWatch {
    allowed: u64,
    /// The number expected next at `marked_ns`, for each stream.
    marks: Vec<u64>,
    marked_ns: Option<u64>,
}

impl LossWatch {
    /// None if the trial may lose any number of frames.
    pub fn new(stop_after_lost: Option<u64>) -> Option<Self> {
        stop_after_lost.map(|allowed| LossWatch {
            allowed,
            marks: Vec::new(),
            marked_ns: None,
        })
    }

    /// Checks the trackers of the trial, which must be the same each time. Returns true if the trial need not go on.
    /// `received_ns` is when the latest of their frames arrived, which in virtual time may be later than `now_ns`.
    pub fn look<'a>(
        &mut self,
        now_ns: u64,
        received_ns: u64,
        trackers: impl Iterator<Item = &'a Tracker> + Clone,
    ) -> bool {
        match self.marked_ns {
            Some(marked_ns) if now_ns < marked_ns + PATIENCE_NS => return false,
            Some(_) => {
                let marked = trackers.clone().zip(&self.marks);
                let lost: u64 = marked
                    .map(|(tracker, mark)| tracker.missing_below(*mark))
                    .sum();
                if lost > self.allowed {
                    return true;
                }
            }
            None => {}
        }
        self.marks.clear();
        self.marks.extend(trackers.map(Tracker::expected));
        self.marked_ns = Some(now_ns.max(received_ns));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn tracker(sequences: &[u64]) -> Tracker {
        let mut tracker = Tracker::new(0, MS);
        sequences.iter().for_each(|sequence| {
            tracker.arrive(*sequence, 0, 0);
        });
        tracker
    }

    #[test]
    fn a_missing_frame_is_lost_after_the_patience_only() {
        let mut watch = LossWatch::new(Some(0)).unwrap();
        let own = tracker(&[0, 1, 3]);
        let looks = [0, 49, 50, 60].map(|ms| watch.look(ms * MS, 0, [&own].into_iter()));
        assert_eq!(looks, [false, false, true, true]);
    }

    #[test]
    fn a_frame_that_was_only_overtaken_is_not_lost() {
        let mut watch = LossWatch::new(Some(0)).unwrap();
        let mut own = tracker(&[0, 1, 3]);
        assert!(!watch.look(0, 0, [&own].into_iter()));
        own.arrive(2, 0, 0);
        assert!(!watch.look(60 * MS, 0, [&own].into_iter()));
        // Missing, but not for long: the mark is older.
        own.arrive(9, 0, 0);
        assert!(!watch.look(110 * MS, 0, [&own].into_iter()));
        assert!(watch.look(160 * MS, 0, [&own].into_iter()));
    }

    #[test]
    fn streams_are_added_up_and_what_is_allowed_is_allowed() {
        let (one, other) = (tracker(&[0, 2]), tracker(&[3]));
        for (allowed, stops) in [(3, true), (4, false)] {
            let mut watch = LossWatch::new(Some(allowed)).unwrap();
            watch.look(0, 0, [&one, &other].into_iter());
            assert_eq!(watch.look(50 * MS, 0, [&one, &other].into_iter()), stops);
        }
        assert!(LossWatch::new(None).is_none());
    }

    #[test]
    fn patience_counts_from_when_a_frame_came() {
        let mut watch = LossWatch::new(Some(0)).unwrap();
        let own = tracker(&[1]);
        assert!(!watch.look(0, 30 * MS, [&own].into_iter()));
        assert!(!watch.look(79 * MS, 0, [&own].into_iter()));
        assert!(watch.look(80 * MS, 0, [&own].into_iter()));
    }
}
