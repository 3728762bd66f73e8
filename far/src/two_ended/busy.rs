//! `Busy`: one client at a time, as two measurements at once would disturb each other.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

#[derive(Default)]
pub struct Busy {
    taken: Mutex<bool>,
    freed: Condvar,
}

impl Busy {
    /// Takes it, waiting for whoever has it for at most that long. False if it stayed taken.
    pub fn take(&self, wait: Duration) -> bool {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_timeout_while(taken, wait, |taken| *taken);
        let (mut taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *taken {
            return false;
        }
        *taken = true;
        true
    }

    pub fn free(&self) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.freed.notify_one();
    }
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
