//! `Links`: a bed in operation: creates its devices, starts its forwarder on a thread, and asks it for the truth.

use std::io;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::host::affinity;

use super::bed::{Bed, Truth};
use super::forwarder::{Command, Forwarder};
use super::poll::{Poll, Waker};
use super::tun::Tun;

const PRIORITY: i32 = 1;

/// A bed in operation. Its devices are removed with it.
pub struct Links {
    commands: Mutex<Sender<Command>>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Links {
    /// Creates the devices and starts. Errors name the device that could not be created.
    pub fn new(bed: &Bed) -> io::Result<Self> {
        let ports = bed.ports.iter().map(|port| {
            Tun::new(port.namespace.as_deref(), &port.interface).map_err(|error| {
                let what = format!("the device {} cannot be made: {error}", port.interface);
                io::Error::new(error.kind(), what)
            })
        });
        let ports = ports.collect::<io::Result<Vec<_>>>()?;
        let (poll, waker) = Poll::new()?;
        let (commands, asked) = channel();
        let mut forwarder = Forwarder::new(bed, ports, poll)?;
        let core = bed.core;
        let thread = thread::Builder::new()
            .name("keisoku-links".into())
            .spawn(move || {
                go_first(core);
                forwarder.run(&asked);
            })?;
        Ok(Links {
            commands: Mutex::new(commands),
            waker,
            thread: Some(thread),
        })
    }

    /// Lets the sources send; the hosts that they send to must be ready.
    pub fn begin(&self) {
        self.ask(Command::Begin);
    }

    /// All counts at one moment; None if the thread has ended.
    pub fn truth(&self) -> Option<Truth> {
        let (answer, answered) = sync_channel(1);
        self.ask(Command::Truth(answer));
        answered.recv().ok()
    }

    fn ask(&self, command: Command) {
        let commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        // Fails only if the thread has ended; then there is no answer, which the caller notices.
        let _ = commands.send(command);
        self.waker.wake();
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.ask(Command::End);
        if let Some(thread) = self.thread.take() {
            // The panic of a thread has been printed already; the devices are gone with it.
            let _ = thread.join();
        }
    }
}

/// Gives the calling thread priority over all others, on a core of its own if it has one.
fn go_first(core: Option<usize>) {
    affinity::restrict(&core.map_or_else(Vec::new, |core| vec![core]));
    affinity::sleep_precisely();
    let parameter = libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: the kernel reads the parameter, which lives across the call; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) } != 0 {
        affinity::hurry(affinity::FIRST_NICE);
    }
}
