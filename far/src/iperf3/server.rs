//! `Iperf3Server`: takes connections of iperf3's clients, and brings each to its test by the cookie with which it begins.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::test::Test;
use crate::running::{say, spawn};
use crate::two_ended::peer::Peer;
use crate::two_ended::sockets::listening;

pub const COOKIE_BYTES: usize = 37;
const GREETING: Duration = Duration::from_secs(5);
/// Connections that have not said to which test they belong.
const MOST_STRANGERS: usize = 64;
const ACCESS_DENIED: [u8; 1] = (-1i8).to_ne_bytes();

pub struct Iperf3Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    strangers: AtomicUsize,
    running: Mutex<Option<Running>>,
}

/// The test that is carried out.
struct Running {
    cookie: [u8; COOKIE_BYTES],
    host: Peer,
    control: TcpStream,
    streams: Sender<TcpStream>,
}

impl Iperf3Server {
    pub fn open(at: SocketAddr) -> Result<Self, String> {
        let listener = listening(at).map_err(|error| {
            format!("cannot listen at {at}: {error}; choose another address or --port")
        })?;
        Ok(Iperf3Server {
            listener,
            shared: Arc::default(),
        })
    }

    pub fn port(&self) -> u16 {
        self.listener.local_addr().map_or(0, |at| at.port())
    }

    /// Until `stop`.
    pub fn serve(&self) {
        while !self.shared.stopped.load(Ordering::Relaxed) {
            let Ok((stream, address)) = self.listener.accept() else {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            if self.shared.strangers.fetch_add(1, Ordering::Relaxed) >= MOST_STRANGERS {
                self.shared.strangers.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let shared = self.shared.clone();
            let begun = spawn("keisoku-client", move || {
                shared.attend(stream, Peer::of(address))
            });
            if begun.is_err() {
                self.shared.strangers.fetch_sub(1, Ordering::Relaxed);
            }
        }
        if let Some(running) = self.shared.running().as_ref() {
            // A client that is gone already needs no end.
            let _ = running.control.shutdown(Shutdown::Both);
        }
    }

    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        // SAFETY: shutdown takes numbers; the descriptor is the listener's, which lives.
        unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RDWR) };
    }
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that has just begun: of the test that runs, of a new one, or of one that has to wait.
    fn attend(&self, mut stream: TcpStream, host: Peer) {
        let mut cookie = [0; COOKIE_BYTES];
        let said = stream
            .set_read_timeout(Some(GREETING))
            .and_then(|()| stream.set_write_timeout(Some(GREETING)))
            .and_then(|()| stream.read_exact(&mut cookie));
        self.strangers.fetch_sub(1, Ordering::Relaxed);
        if said.is_err() {
            return;
        }
        let (sender, streams) = channel();
        {
            let mut running = self.running();
            if let Some(other) = running.as_ref() {
                if other.cookie == cookie && other.host == host {
                    // A test that is just over takes no stream any more.
                    let _ = other.streams.send(stream);
                } else {
                    // It may be gone as well.
                    let _ = stream.write_all(&ACCESS_DENIED);
                }
                return;
            }
            let Ok(control) = stream.try_clone() else {
                return;
            };
            *running = Some(Running {
                cookie,
                host,
                control,
                streams: sender,
            });
        }
        say(&format!("{host} measures"));
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            Test::new(stream, host, streams).and_then(Test::carry_out)
        }));
        *self.running() = None;
        match done {
            Ok(Ok(())) => say(&format!("{host} is done")),
            Ok(Err(error)) => say(&format!("{host}: {error}")),
            Err(_) => say(&format!("{host}: its test panicked")),
        }
    }
}
