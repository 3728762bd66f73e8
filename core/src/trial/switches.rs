//! Which streams of a running trial run, wait or have ended, and the counts of each so far.
//!
//! All threads of a trial whose streams are switched one by one share it. It never sends, never reads a clock, and
//! holds no facts of a record: the trackers do.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::trial::{Stream, Trial};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// It was not started; a trial does not wait for it.
    Waiting,
    Going,
    /// It continues later where it stopped.
    Paused,
    /// All of its frames have been handed to the sender, or it was told to end.
    Ended,
}

impl State {
    pub const ALL: [State; 4] = [State::Waiting, State::Going, State::Paused, State::Ended];

    pub fn name(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Going => "going",
            State::Paused => "paused",
            State::Ended => "ended",
        }
    }
}

/// The state and the counts of one stream.
#[derive(Default)]
pub struct Seen {
    state: AtomicU8,
    /// Frames that were handed to the sender in all; known once the stream has ended.
    handed: AtomicU64,
    pub offered: AtomicU64,
    /// Frames that were not sent, because their port had no link.
    pub unsent: AtomicU64,
    pub received: AtomicU64,
    pub forwarded: AtomicU64,
    /// Of those received, how many at each of the ports that they may arrive at; empty if it is one.
    pub arrived: Vec<AtomicU64>,
}

impl Seen {
    /// Publishes how many frames have arrived so far at each port that they may arrive at.
    pub fn tell_arrived(&self, frames: impl Iterator<Item = u64>) {
        for (seen, frames) in self.arrived.iter().zip(frames) {
            seen.store(frames, Ordering::Relaxed);
        }
    }
}

pub struct Switches {
    streams: Vec<Seen>,
    changes: AtomicU64,
    over: AtomicBool,
    /// Held while states change, so that no stream is started in a trial that has just ended.
    changing: Mutex<()>,
}

impl Switches {
    /// The switches of a trial; `None` if its streams are not switched.
    pub fn of(trial: &Trial) -> Option<Self> {
        let wanted = trial.switches.as_ref()?;
        let seen = |waits: bool, stream: &Stream| Seen {
            state: AtomicU8::new(if waits { State::Waiting } else { State::Going } as u8),
            handed: AtomicU64::new(u64::MAX),
            arrived: match stream.among.len() {
                0 => Vec::new(),
                others => (0..=others).map(|_| AtomicU64::new(0)).collect(),
            },
            ..Seen::default()
        };
        let streams = wanted.iter().zip(&trial.streams);
        Some(Switches {
            streams: streams
                .map(|(switch, stream)| seen(switch.waits, stream))
                .collect(),
            changes: AtomicU64::new(0),
            over: AtomicBool::new(false),
            changing: Mutex::new(()),
        })
    }

    pub fn streams(&self) -> &[Seen] {
        &self.streams
    }

    #[inline]
    pub fn state(&self, stream: usize) -> State {
        State::ALL[usize::from(self.streams[stream].state.load(Ordering::Acquire))]
    }

    /// Number of changes from outside so far.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Changes streams that have not ended. Returns false if the trial is over.
    pub fn set(&self, streams: &[usize], state: State) -> bool {
        let _changing = self.change();
        if self.is_over() {
            return false;
        }
        for stream in streams {
            if self.state(*stream) != State::Ended {
                self.streams[*stream]
                    .state
                    .store(state as u8, Ordering::Release);
            }
        }
        self.changes.fetch_add(1, Ordering::Release);
        true
    }

    /// Nothing more of a stream is handed to the sender, which has been given `handed` frames of it.
    pub fn end(&self, stream: usize, handed: u64) {
        let _changing = self.change();
        let seen = &self.streams[stream];
        seen.handed.store(handed, Ordering::Relaxed);
        seen.state.store(State::Ended as u8, Ordering::Release);
    }

    /// Whether a stream has ended and all of it has left. A sender that the host stops keeps for a while what it was
    /// handed.
    pub fn has_left(&self, stream: usize) -> bool {
        let seen = &self.streams[stream];
        self.state(stream) == State::Ended
            && seen.offered.load(Ordering::Relaxed) + seen.unsent.load(Ordering::Relaxed)
                >= seen.handed.load(Ordering::Relaxed)
    }

    /// Ends the trial if no stream runs or is paused. From then on no stream can be started in it.
    pub fn settle(&self) -> bool {
        let _changing = self.change();
        let lives = |stream| matches!(self.state(stream), State::Going | State::Paused);
        if !(0..self.streams.len()).any(lives) {
            self.over.store(true, Ordering::Release);
        }
        self.is_over()
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
