//! `Links`: a running bed: makes its devices, starts its forwarder on a thread, and asks it for the truth.

use std::io;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::bed::{Bed, Truth};
use super::forwarder::{Command, Forwarder};
use super::poll::{Poll, Waker};
use super::tun::Tun;
use crate::affinity;

/// Before everything but the kernel's own threads, where a real-time class is refused.
const NICE: i32 = -20;
const PRIORITY: i32 = 1;

/// A running bed; its devices go with it.
pub struct Links {
    commands: Mutex<Sender<Command>>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Links {
    /// Makes the devices and begins. Errors name the device that could not be made.
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

    /// Lets the sources send, once what they send to is there.
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
        // Fails only if the thread has ended; then nobody answers, which the caller sees.
        let _ = commands.send(command);
        self.waker.wake();
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.ask(Command::End);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed; the devices are gone with it.
            let _ = thread.join();
        }
    }
}

/// Lets the calling thread go before all others, on its own core if it has one.
fn go_first(core: Option<usize>) {
    affinity::restrict(&core.map_or_else(Vec::new, |core| vec![core]));
    affinity::sleep_precisely();
    let parameter = libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: the kernel reads the parameter, which lives across the call; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) } != 0 {
        affinity::hurry(NICE);
    }
}
