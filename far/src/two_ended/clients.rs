//! Listens for clients over TCP and answers them, one at a time where they would disturb each other: then others are told that
//! it is busy. Whoever does not greet is left.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::busy::Busy;
use super::control::{Control, Problem};
use super::peer::Peer;
use super::sockets::listening;
use crate::running::{say, spawn};

const GREETING: Duration = Duration::from_secs(5);
/// How long a client waits for one that has just closed its connection, which the server notices a little later.
const CHANGE: Duration = Duration::from_secs(1);
/// Connections that are attended to at the same time, the client's own included; others are closed at once.
const MOST_CONNECTIONS: usize = 32;
/// Number of the first descriptor that a manager hands over.
const FIRST_INHERITED: i32 = 3;
/// How long a client's session may take to end when the server does.
const END: Duration = Duration::from_secs(3);

/// What is done for a client, until it closes its connection.
pub trait Sessions: Send + Sync + 'static {
    /// The greeting of clients of this kind.
    const GREETING: &'static [u8];

    /// Carries out the requests of a client at `host`, which connected to the address `local`. Sockets that hold it up are to be
    /// looked after: once `stopped`, nothing may take long.
    fn answer(
        &self,
        control: &mut Control,
        local: Peer,
        host: Peer,
        stopped: &AtomicBool,
    ) -> Result<(), Problem>;
}

pub struct Server<S> {
    listener: TcpListener,
    shared: Arc<Shared<S>>,
}

struct Shared<S> {
    sessions: S,
    /// Where one client is served at a time.
    busy: Option<Arc<Busy>>,
    stopped: AtomicBool,
    attended: AtomicUsize,
    /// The connection of the client that is served.
    served: Mutex<Option<TcpStream>>,
}

impl<S: Sessions> Server<S> {
    /// `sessions` is given the address at which it listens.
    pub fn open(
        at: SocketAddr,
        busy: Option<Arc<Busy>>,
        sessions: impl FnOnce(SocketAddr) -> Result<S, String>,
    ) -> Result<Self, String> {
        let listener = match inherited() {
            Some(listener) => Ok(listener),
            None => listening(at),
        };
        let listener = listener.map_err(|error| {
            format!("cannot listen at {at}: {error}; choose another address or --port")
        })?;
        let local = listener.local_addr().map_err(|error| error.to_string())?;
        Ok(Server {
            listener,
            shared: Arc::new(Shared {
                sessions: sessions(local)?,
                busy,
                stopped: AtomicBool::new(false),
                attended: AtomicUsize::new(0),
                served: Mutex::new(None),
            }),
        })
    }

    /// The TCP port.
    pub fn port(&self) -> u16 {
        self.listener
            .local_addr()
            .map_or(0, |address| address.port())
    }

    pub fn sessions(&self) -> &S {
        &self.shared.sessions
    }

    /// Answers clients, each on a thread of its own, until `stop`.
    pub fn serve(&self) {
        while !self.shared.stopped.load(Ordering::Relaxed) {
            let Ok((stream, address)) = self.listener.accept() else {
                // Without a file for a connection, the next try is no better at once.
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            if self.shared.attended.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                self.shared.attended.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let shared = self.shared.clone();
            let begun = spawn("keisoku-client", move || {
                shared.attend(stream, Peer::of(address));
                shared.attended.fetch_sub(1, Ordering::Relaxed);
            });
            if begun.is_err() {
                self.shared.attended.fetch_sub(1, Ordering::Relaxed);
            }
        }
        if let Some(served) = self.shared.served().take() {
            // A client that is gone already needs no end.
            let _ = served.shutdown(Shutdown::Both);
        }
        // What the session set back, or removes, is done when it is no longer busy.
        if let Some(busy) = &self.shared.busy {
            busy.take(END);
        }
    }

    /// Ends `serve`.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // SAFETY: shutdown takes numbers; the descriptor is the listener's, which lives.
        unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RDWR) };
    }
}

/// The listener that a manager such as systemd opened for this program (sd_listen_fds(3)), if it did.
fn inherited() -> Option<TcpListener> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    if number("LISTEN_PID")? != std::process::id() || number("LISTEN_FDS")? == 0 {
        return None;
    }
    // SAFETY: the manager handed this descriptor over for this program alone, which opens one service and so takes it once.
    Some(unsafe { TcpListener::from_raw_fd(FIRST_INHERITED) })
}

impl<S: Sessions> Shared<S> {
    fn served(&self) -> std::sync::MutexGuard<'_, Option<TcpStream>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attend(&self, stream: TcpStream, host: Peer) {
        match self.greeted(stream, host) {
            Ok(()) => {}
            Err(Problem::Gone(what) | Problem::Refused(what) | Problem::NotUnderstood(what)) => {
                say(&format!("{host}: {what}"))
            }
        }
    }

    fn greeted(&self, stream: TcpStream, host: Peer) -> Result<(), Problem> {
        let failed = |error: io::Error| Problem::Gone(error.to_string());
        let local = Peer::of(stream.local_addr().map_err(failed)?);
        let kept = stream.try_clone().map_err(failed)?;
        let mut control = Control::new(stream).map_err(failed)?;
        control.greet(S::GREETING, GREETING)?;
        let Some(busy) = &self.busy else {
            return self.answered(&mut control, local, host);
        };
        if !busy.take(CHANGE) {
            return control
                .send(&json!({"error": "is measuring with another client; try again later"}));
        }
        *self.served() = Some(kept);
        say(&format!("{host} measures"));
        let done = self.answered(&mut control, local, host);
        *self.served() = None;
        busy.free();
        if done.is_ok() {
            say(&format!("{host} is done"));
        }
        done
    }

    fn answered(&self, control: &mut Control, local: Peer, host: Peer) -> Result<(), Problem> {
        let answer = || self.sessions.answer(control, local, host, &self.stopped);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(answer))
            .unwrap_or_else(|_| Err(Problem::Gone("its session panicked".into())))
    }
}
