//! Which streams of a running trial go, wait or have ended, and what has become of each so far.
//!
//! Seen by every thread of a trial whose streams are switched one by one. It sends nothing, reads no clock, and holds no
//! facts of a record: those are the trackers'.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::record::Trial;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Was not started; a trial does not wait for it.
    Waiting,
    Going,
    /// Goes on later, where it was.
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

/// Of one stream.
#[derive(Default)]
pub struct Seen {
    state: AtomicU8,
    pub offered: AtomicU64,
    pub received: AtomicU64,
    pub forwarded: AtomicU64,
}

pub struct Switches {
    streams: Vec<Seen>,
    changes: AtomicU64,
    over: AtomicBool,
    /// Held by who changes states, so that nothing is started in a trial that has just ended.
    changing: Mutex<()>,
}

impl Switches {
    /// Those of a trial; none if its streams are not switched.
    pub fn of(trial: &Trial) -> Option<Self> {
        let wanted = trial.switches.as_ref()?;
        let seen = |waits: bool| Seen {
            state: AtomicU8::new(if waits { State::Waiting } else { State::Going } as u8),
            ..Seen::default()
        };
        Some(Switches {
            streams: wanted.iter().map(|switch| seen(switch.waits)).collect(),
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

    /// How often anything was changed from outside.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Changes streams that have not ended; false if it is too late, because the trial is over.
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

    /// The last departure of a stream was handed out.
    pub fn end(&self, stream: usize) {
        let _changing = self.change();
        self.streams[stream]
            .state
            .store(State::Ended as u8, Ordering::Release);
    }

    /// The trial is over once no stream goes or is paused; from then on nothing can be started in it.
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
