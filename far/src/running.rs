//! Carries out one service: opens it, says where it listens, and serves until a signal, or until its input ends.

use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;

use crate::options::Options;
use crate::service::{Open, Service};

/// Serves until SIGINT or SIGTERM; with `--attached` until standard input ends, too. Fails with one sentence.
pub fn run(service: &Service, options: &Options) -> Result<(), String> {
    let place = options.place()?;
    place.enter()?;
    let signals = Signals::block()?;
    let open: Arc<dyn Open> = Arc::from((service.open)(options)?);
    say(&open.says());
    if options.has("attached") {
        // What it reads counts for nothing; it ends with the program that started this one.
        spawn("keisoku-input", move || {
            let mut room = [0; 64];
            while std::io::stdin()
                .read(&mut room)
                .is_ok_and(|count| count > 0)
            {}
            // SAFETY: kill takes numbers; the signal waits until it is taken.
            unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
        })?;
    }
    let served = open.clone();
    let serving = spawn("keisoku-serve", move || served.serve())?;
    signals.wait();
    open.stop();
    // Its panic has been printed already.
    let _ = serving.join();
    let summary = open.summary();
    if !summary.is_empty() {
        say(&summary);
    }
    Ok(())
}

/// A sentence without the numbers that Rust adds to the kernel's reasons, such as ' (os error 98)'.
pub fn plain(text: &str) -> String {
    const BEFORE: &str = " (os error ";
    let mut found = text.to_owned();
    while let Some(from) = found.find(BEFORE) {
        let Some(length) = found[from..].find(')') else {
            break;
        };
        found.replace_range(from..=from + length, "");
    }
    found
}

/// A line on standard output at once. A reader that has gone is no reason to end.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", plain(line)).and_then(|()| out.flush());
}

pub fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<thread::JoinHandle<()>, String> {
    let builder = thread::Builder::new().name(name.into());
    builder
        .spawn(work)
        .map_err(|error| format!("no thread can be started: {error}; end other programs"))
}

/// SIGINT and SIGTERM, which no thread takes unless it waits for them.
struct Signals(libc::sigset_t);

impl Signals {
    /// To be called before other threads begin, which take over what is blocked.
    fn block() -> Result<Self, String> {
        // SAFETY: sigset_t is plain bits; the calls only read and write the set, which lives across them.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGINT);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) {
                0 => Ok(Signals(set)),
                number => Err(format!("signals cannot be blocked (error {number})")),
            }
        }
    }

    fn wait(&self) {
        let mut number = 0;
        // SAFETY: the kernel reads the set and writes the number; both live across the call.
        while unsafe { libc::sigwait(&raw const self.0, &raw mut number) } != 0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn numbers_of_errors_are_left_out() {
        assert_eq!(plain("no (os error 98); go (os error 1)"), "no; go");
        assert_eq!(plain("no (os error 98"), "no (os error 98");
    }
}
