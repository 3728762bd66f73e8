//! Answers ARP and IPv6 neighbour discovery at a port for hosts that only the tester knows.
//!
//! One thread answers requests for the addresses of these hosts at once, also during a trial. `resolve` asks for the
//! MAC address of an address of the device. Requests for addresses that the kernel has at the port are left to the
//! kernel. Answers are kept only while a `resolve` waits for them, and the kernel's own table is never changed.

mod hosts;
mod interface;
mod message;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::{EngineError, Result};
use crate::interface::place::Place;

use hosts::{Hosts, mac_text};
use interface::Own;
use message::{Mac, Message, Party};

pub use hosts::Host;

/// Interval between two requests. RFC 4861 §10 says 1 s, but a link of the tester needs no such care.
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// Longest wait for a frame, after which the thread checks whether it must end.
const LOOK_MS: i32 = 100;
/// No request or answer is longer; bytes beyond belong to options that are not needed.
const LONGEST: usize = 256;

/// Numbers of requests since the beginning.
#[derive(Default)]
struct Answered {
    arp: AtomicU64,
    discovery: AtomicU64,
    others: AtomicU64,
}

/// An address in a VLAN, or in frames without a tag.
type Wanted = (IpAddr, Option<u16>);

/// Several callers may wait for one address; the last one removes it.
#[derive(Default)]
struct Waiting {
    callers: usize,
    /// The MAC address that was announced.
    mac: Option<Mac>,
}

struct Shared {
    name: String,
    socket: OwnedFd,
    hosts: Hosts,
    /// Addresses for which the kernel answers.
    own: Own,
    answered: Answered,
    /// Addresses for which callers wait.
    wanted: Mutex<HashMap<Wanted, Waiting>>,
    told: Condvar,
    stop: AtomicBool,
}

/// The responder, which answers from `begin` until it is dropped.
pub struct Neighbours {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbours {
    /// Fails if the hosts contradict each other or the kernel's addresses, or if the port cannot be opened.
    pub fn begin(place: &Place, hosts: &[Host]) -> Result<Self> {
        let refuse = |problem: String| EngineError(format!("{}: {problem}", place.interface));
        let hosts = Hosts::new(hosts).map_err(refuse)?;
        let own = Own::of(place)?;
        for &ip in &own.ips {
            if hosts.mac_of(ip, None).is_some_and(|mac| mac != own.mac) {
                return Err(refuse(format!(
                    "the kernel answers for {ip} with {}, not with the stream's MAC address; take the address off the interface or use that MAC address",
                    mac_text(own.mac)
                )));
            }
        }
        let shared = Arc::new(Shared {
            name: place.interface.clone(),
            socket: interface::socket(place, hosts.beyond(own.mac))?,
            hosts,
            own,
            answered: Answered::default(),
            wanted: Mutex::default(),
            told: Condvar::new(),
            stop: AtomicBool::new(false),
        });
        let thread = std::thread::spawn({
            let shared = shared.clone();
            move || shared.listen()
        });
        Ok(Neighbours {
            shared,
            thread: Some(thread),
        })
    }

    /// Asks at the port for the MAC address of `ip` in the name of `from`, until there is an answer or `timeout` has
    /// passed. `vlan`: that of both.
    pub fn resolve(
        &self,
        ip: IpAddr,
        from: Party,
        vlan: Option<u16>,
        timeout: Duration,
    ) -> Result<Mac> {
        let shared = &self.shared;
        let question = message::ask(from, ip).ok_or_else(|| {
            EngineError(format!("{ip} and {} are not of one IP version", from.ip))
        })?;
        let question = message::tagged(question, vlan);
        let deadline = Instant::now() + timeout;
        shared.wanted().entry((ip, vlan)).or_default().callers += 1;
        let mut asked = None;
        let outcome = loop {
            let now = Instant::now();
            if asked.is_none_or(|asked| now >= asked + ASK_AGAIN) {
                if let Err(error) = shared.send(&question) {
                    break Err(EngineError(format!(
                        "{}: cannot ask for {ip}: {error}",
                        shared.name
                    )));
                }
                asked = Some(now);
            }
            let wanted = shared.wanted();
            if let Some(mac) = wanted.get(&(ip, vlan)).and_then(|waiting| waiting.mac) {
                break Ok(mac);
            }
            if now >= deadline {
                break Err(EngineError(format!(
                    "nobody at {} answers for {ip}; is the device's port up and addressed?",
                    shared.name
                )));
            }
            let rest = ASK_AGAIN.min(deadline - now);
            drop(shared.told.wait_timeout(wanted, rest));
        };
        shared.leave((ip, vlan));
        outcome
    }

    /// ARP requests answered, neighbour solicitations answered, requests for addresses of others.
    pub fn answered(&self) -> (u64, u64, u64) {
        let answered = &self.shared.answered;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (
            read(&answered.arp),
            read(&answered.discovery),
            read(&answered.others),
        )
    }
}

impl Drop for Neighbours {
    /// Stops answering and closes the socket.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn wanted(&self) -> MutexGuard<'_, HashMap<Wanted, Waiting>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A caller waits no more.
    fn leave(&self, address: Wanted) {
        let mut wanted = self.wanted();
        if let Some(waiting) = wanted.get_mut(&address) {
            waiting.callers -= 1;
            if waiting.callers == 0 {
                wanted.remove(&address);
            }
        }
    }

    fn listen(&self) {
        let mut frame = [0; LONGEST];
        while !self.stop.load(Ordering::Relaxed) {
            if let Some((length, vlan)) = self.receive(&mut frame) {
                match message::read(&frame[..length]) {
                    Some(Message::Ask { asker, target }) => self.answer(asker, target, vlan),
                    Some(Message::Tell(party)) => self.hear(party, vlan),
                    None => {}
                }
            }
        }
    }

    fn answer(&self, asker: Party, target: IpAddr, vlan: Option<u16>) {
        if vlan.is_none() && self.own.ips.contains(&target) {
            return;
        }
        let Some(mac) = self.hosts.mac_of(target, vlan) else {
            self.answered.others.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let me = Party { mac, ip: target };
        // A neighbour that gets no answer asks again.
        let answer = message::answer(me, asker).map(|frame| message::tagged(frame, vlan));
        if answer.is_some_and(|frame| self.send(&frame).is_ok()) {
            let count = match target {
                IpAddr::V4(_) => &self.answered.arp,
                IpAddr::V6(_) => &self.answered.discovery,
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn hear(&self, party: Party, vlan: Option<u16>) {
        if let Some(waiting) = self.wanted().get_mut(&(party.ip, vlan)) {
            waiting.mac = Some(party.mac);
            self.told.notify_all();
        }
    }

    /// Receives one frame and the VLAN of its tag; None if there was none within `LOOK_MS`.
    fn receive(&self, frame: &mut [u8]) -> Option<(usize, Option<u16>)> {
        let mut ready = libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one structure, as is said.
        if unsafe { libc::poll(&mut ready, 1, LOOK_MS) } < 1 {
            return None;
        }
        interface::receive(&self.socket, frame)
    }

    fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: the frame outlives the call and its length is given.
        let sent = unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                0,
            )
        };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

/// Python's `keisoku._core.Neighbours`.
#[cfg(feature = "python")]
pub mod python {
    use std::net::IpAddr;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::Duration;

    use pyo3::prelude::*;

    use super::hosts::parse_mac;
    use super::{Host, Party, mac_text};
    use crate::error::{EngineError, Result};

    /// Answers ARP and neighbour solicitations at the port `place_json` for the hosts of `hosts_json`, a list of
    /// `Host`. Raises EngineError if the port cannot be opened or the hosts contradict each other.
    #[pyclass(frozen, module = "keisoku._core")]
    pub struct Neighbours {
        running: Mutex<Option<Arc<super::Neighbours>>>,
    }

    #[pymethods]
    impl Neighbours {
        #[new]
        fn new(py: Python<'_>, place_json: &str, hosts_json: &str) -> Result<Self> {
            let place =
                serde_json::from_str(place_json).map_err(|error| refuse("place", &error))?;
            let hosts: Vec<Host> =
                serde_json::from_str(hosts_json).map_err(|error| refuse("hosts", &error))?;
            let running = py.detach(|| super::Neighbours::begin(&place, &hosts));
            Ok(Neighbours {
                running: Mutex::new(Some(Arc::new(running?))),
            })
        }

        /// The MAC address that answers for `ip`, asked for by the host `from_mac` and `from_ip`.
        /// Raises EngineError if nobody answers within `timeout_s` seconds. `vlan`: that of both.
        #[pyo3(signature = (ip, from_mac, from_ip, timeout_s, vlan = None))]
        fn resolve(
            &self,
            py: Python<'_>,
            ip: &str,
            from_mac: &str,
            from_ip: &str,
            timeout_s: f64,
            vlan: Option<u16>,
        ) -> Result<String> {
            let from = Party {
                mac: parse_mac(from_mac).map_err(EngineError)?,
                ip: parse_ip(from_ip)?,
            };
            let timeout = Duration::try_from_secs_f64(timeout_s)
                .map_err(|error| refuse("timeout_s", &error))?;
            let (ip, running) = (parse_ip(ip)?, self.running()?);
            let mac = py.detach(|| running.resolve(ip, from, vlan, timeout));
            mac.map(mac_text)
        }

        /// ARP requests answered, solicitations answered, questions for addresses of others.
        fn answered(&self) -> Result<(u64, u64, u64)> {
            Ok(self.running()?.answered())
        }

        /// Stops answering; closing twice is no error.
        fn close(&self, py: Python<'_>) {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = running.take();
            drop(running);
            py.detach(|| drop(taken));
        }
    }

    impl Neighbours {
        fn running(&self) -> Result<Arc<super::Neighbours>> {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running
                .clone()
                .ok_or_else(|| EngineError("the neighbours are closed".into()))
        }
    }

    fn parse_ip(text: &str) -> Result<IpAddr> {
        text.parse()
            .map_err(|_| EngineError(format!("{text:?} is no IP address")))
    }

    fn refuse(what: &str, problem: &dyn std::fmt::Display) -> EngineError {
        EngineError(format!("{what}: {problem}"))
    }
}
