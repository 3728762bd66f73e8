//! `Busy`: one client at a time, as two measurements at once would disturb each other.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often it looks whether another program is done.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Default)]
pub struct Busy {
    taken: Mutex<bool>,
    freed: Condvar,
    /// Whose lock is held meanwhile, so that another program has no client at the same time.
    file: Option<File>,
}

impl Busy {
    /// `file`: one whose lock (flock(2)) programs hold while they have a client.
    pub fn with(file: File) -> Self {
        Busy {
            file: Some(file),
            ..Busy::default()
        }
    }

    /// Takes it, waiting for whoever has it for at most that long. False if it stayed taken.
    pub fn take(&self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_timeout_while(taken, wait, |taken| *taken);
        let (mut taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *taken {
            return false;
        }
        if let Some(file) = &self.file {
            while !flock(file, libc::LOCK_EX | libc::LOCK_NB) {
                if Instant::now() >= until {
                    return false;
                }
                std::thread::sleep(LOOK);
            }
        }
        *taken = true;
        true
    }

    pub fn free(&self) {
        if let Some(file) = &self.file {
            // A lock that is gone already is free, too.
            flock(file, libc::LOCK_UN);
        }
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.freed.notify_one();
    }
}

/// Whether the kernel does it.
fn flock(file: &File, what: libc::c_int) -> bool {
    // SAFETY: flock takes numbers.
    unsafe { libc::flock(file.as_raw_fd(), what) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_taken_once_until_it_is_free() {
        let busy = Busy::default();
        assert!(busy.take(Duration::ZERO));
        assert!(!busy.take(Duration::ZERO));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| busy.take(Duration::from_secs(60)));
            busy.free();
            assert!(waiting.join().unwrap());
        });
    }
}
