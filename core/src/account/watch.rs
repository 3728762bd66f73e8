//! What other threads see of a running trial, and the signal to stop it. It holds no facts of a record.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::account::gaps::Gap;
use crate::trial::Trial;
use crate::trial::switches::{State, Switches};

/// State, and frames offered, received and forwarded so far of a stream; where its frames may arrive at one of several
/// ports, those received at each.
pub type StreamSeen = (&'static str, u64, u64, u64, Vec<u64>);

#[derive(Default)]
pub struct Watch {
    pub offered: AtomicU64,
    pub forwarded: AtomicU64,
    pub stop: AtomicBool,
    pub finished: AtomicBool,
    /// When the first frame is due, on the host's monotonic clock; 0 as long as that is not known.
    pub start_ns: AtomicU64,
    /// Present if streams are switched one by one.
    pub switches: Option<Arc<Switches>>,
    /// Frames of each stream that another host has offered, once it has sent all.
    pub sent: OnceLock<Vec<u64>>,
    pub longest: Longest,
}

/// The longest interruption of each stream, for which another thread asks that which keeps the account.
#[derive(Default)]
pub struct Longest {
    wanted: AtomicBool,
    told: Mutex<Option<Vec<Option<Gap>>>>,
    telling: Condvar,
}

impl Longest {
    /// Waits for the answer; None if there is none in this time, as when no account is kept.
    pub fn ask(&self, patience: Duration) -> Option<Vec<Option<Gap>>> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        *told = None;
        self.wanted.store(true, Ordering::Release);
        let waited = self
            .telling
            .wait_timeout_while(told, patience, |told| told.is_none());
        let (mut told, _) = waited.unwrap_or_else(PoisonError::into_inner);
        told.take()
    }

    /// Answers if somebody asks.
    pub fn tell(&self, found: impl FnOnce() -> Vec<Option<Gap>>) {
        if self.wanted.swap(false, Ordering::Acquire) {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            *told = Some(found());
            self.telling.notify_all();
        }
    }
}

impl Watch {
    pub fn of(trial: &Trial) -> Self {
        Watch {
            switches: Switches::of(trial).map(Arc::new),
            ..Watch::default()
        }
    }

    /// What is seen of each stream.
    pub fn streams(&self) -> Vec<StreamSeen> {
        let Some(switches) = &self.switches else {
            return Vec::new();
        };
        let seen = switches.streams().iter().enumerate();
        seen.map(|(stream, seen)| {
            // The state is read before the counts, which can only have risen since a stream ended.
            let state = match switches.state(stream) {
                State::Ended if !switches.has_left(stream) => State::Going,
                state => state,
            };
            let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            let (received, forwarded) = (count(&seen.received), count(&seen.forwarded));
            let arrived = seen.arrived.iter().map(count).collect();
            (
                state.name(),
                count(&seen.offered),
                received,
                forwarded,
                arrived,
            )
        })
        .collect()
    }

    /// Changes the state of streams. Returns false if there is no such state, no such stream, or if the trial is
    /// over.
    pub fn switch(&self, streams: &[usize], state: &str) -> bool {
        let Some(switches) = &self.switches else {
            return false;
        };
        let count = switches.streams().len();
        let found = State::ALL.into_iter().find(|other| other.name() == state);
        found.is_some_and(|state| {
            streams.iter().all(|stream| *stream < count) && switches.set(streams, state)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_interruptions_is_answered_once_and_does_not_wait_for_ever() {
        let longest = Longest::default();
        assert_eq!(longest.ask(Duration::ZERO), None);
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| longest.ask(Duration::from_secs(60)));
            let mut answers = 0;
            while !asked.is_finished() {
                longest.tell(|| {
                    answers += 1;
                    vec![None]
                });
            }
            assert_eq!(asked.join().unwrap(), Some(vec![None]));
            assert!(answers <= 2, "the first question was given up");
        });
        longest.tell(|| unreachable!("nobody asks"));
    }
}
