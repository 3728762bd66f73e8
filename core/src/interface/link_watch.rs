//! Watches the links of the tester's ports: whether they have a carrier, their MTUs and names, and whether they exist.
//!
//! The kernel reports each change on a netlink socket, so a look costs one call while nothing changes. A trial in which
//! a port's link was lost says nothing about the device; this file finds that out, and `validity.py` judges it.

mod message;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;

use crate::error::{EngineError, Result};
use crate::host::kernel_clock::monotonic_ns;
use crate::host::netns;
use crate::interface::place::Place;

use message::{Link, Told};

/// How long a port may be without a carrier before a trial: a reset of its hardware, which some drivers need for an XDP
/// program, and the negotiation of the link after it take up to 5 s.
const PATIENCE_NS: u64 = 10_000_000_000;
const LOOK: Duration = Duration::from_millis(20);

/// The link of one port during a trial.
#[derive(Clone, Debug, Serialize)]
pub struct LinkRecord {
    pub port: usize,
    /// At the end of the trial.
    pub carrier: bool,
    /// How often the carrier went or came.
    pub carrier_changes: u32,
    /// When it was first seen to be lost, in ns since the first frame of the trial was due.
    pub lost_ns: Option<u64>,
    /// How long it was seen to have no carrier in all, in ns.
    pub down_ns: u64,
    /// At the begin and at the end of the trial.
    pub mtu_bytes: (u32, u32),
}

pub struct LinkWatch {
    sockets: Vec<(Option<String>, OwnedFd)>,
    ports: Vec<Watched>,
}

struct Watched {
    /// Number of the port in the trial.
    port: usize,
    interface: String,
    /// Index of its namespace's socket.
    socket: usize,
    index: u32,
    /// When the port was opened.
    opened: Link,
    /// At the begin of the trial.
    before: Link,
    /// As last reported; `None` if the interface is gone.
    now: Option<Link>,
    /// When the carrier was first missing in this trial.
    lost_ns: Option<u64>,
    /// Since when it is missing, and how long it was missing in this trial before that.
    down_since_ns: Option<u64>,
    down_ns: u64,
}

impl LinkWatch {
    /// Watches ports, each given with its number in the trial.
    pub fn open<'a>(ports: impl Iterator<Item = (usize, &'a Place)>) -> Result<Self> {
        let mut watch = LinkWatch {
            sockets: Vec::new(),
            ports: Vec::new(),
        };
        for (port, place) in ports {
            let index = place.index()?;
            let failed = |error| place.refusal("watch the link", &error);
            let known = |(namespace, _): &(Option<String>, OwnedFd)| *namespace == place.namespace;
            let socket = match watch.sockets.iter().position(known) {
                Some(socket) => socket,
                None => {
                    let socket =
                        netns::within(place.namespace.as_deref(), listen).map_err(failed)?;
                    watch.sockets.push((place.namespace.clone(), socket));
                    watch.sockets.len() - 1
                }
            };
            let opened = ask(&watch.sockets[socket].1, index, &mut |_| ()).map_err(failed)?;
            let Some(opened) = opened else {
                return Err(failed(io::Error::from_raw_os_error(libc::ENODEV)));
            };
            watch.ports.push(Watched {
                port,
                interface: place.interface.clone(),
                socket,
                index,
                before: opened.clone(),
                now: Some(opened.clone()),
                opened,
                lost_ns: None,
                down_since_ns: None,
                down_ns: 0,
            });
        }
        Ok(watch)
    }

    /// Waits until every port has a carrier, for at most 10 s or until `stop`. Refuses a port that is gone, has another
    /// name, or stays without a carrier.
    pub fn ready(&mut self, carrier: bool, stop: &AtomicBool) -> Result<()> {
        let begun_ns = monotonic_ns();
        loop {
            self.renew();
            for port in &self.ports {
                port.refuse_others()?;
            }
            let down = |port: &&Watched| port.now.as_ref().is_some_and(|link| !link.carrier);
            let Some(port) = self.ports.iter().find(down).filter(|_| carrier) else {
                return Ok(());
            };
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            if monotonic_ns() > begun_ns + PATIENCE_NS {
                return Err(port.without_carrier());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Begins a trial whose longest frame has `longest` bytes without FCS at a port.
    pub fn begin(&mut self, longest: &dyn Fn(usize) -> usize) -> Result<()> {
        self.renew();
        for port in &mut self.ports {
            port.refuse_others()?;
            port.refuse_longer_than_mtu(longest(port.port))?;
            let now = port.now.clone().expect("it was there just now");
            port.down_since_ns = (!now.carrier).then(monotonic_ns);
            (port.before, port.lost_ns, port.down_ns) = (now, None, 0);
        }
        Ok(())
    }

    /// Takes what the kernel reported; true if a port of this trial has lost its carrier or is gone.
    pub fn look(&mut self) -> bool {
        let now_ns = monotonic_ns();
        for (number, (_, socket)) in self.sockets.iter().enumerate() {
            let ports = &mut self.ports;
            hear(socket, &mut |told| take(ports, number, told, now_ns));
        }
        self.ports.iter().any(|port| port.lost_ns.is_some())
    }

    /// Whether a port has a carrier, as last reported.
    pub fn is_up(&self, port: usize) -> bool {
        let mut own = self.ports.iter().filter(|watched| watched.port == port);
        own.all(|watched| watched.now.as_ref().is_some_and(|link| link.carrier))
    }

    /// Waits until the kernel reports something, or for so long.
    pub fn wait(&self, patience: Duration) {
        let descriptor = |(_, socket): &(Option<String>, OwnedFd)| libc::pollfd {
            fd: socket.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut descriptors: Vec<libc::pollfd> = self.sockets.iter().map(descriptor).collect();
        let patience = libc::timespec {
            tv_sec: 0,
            tv_nsec: patience.subsec_nanos().into(),
        };
        let count = descriptors.len() as libc::nfds_t;
        // SAFETY: the descriptors and the time outlive the call, and their number is given.
        unsafe {
            libc::ppoll(
                descriptors.as_mut_ptr(),
                count,
                &raw const patience,
                std::ptr::null(),
            )
        };
    }

    /// What became of the links since `begin`. Refuses a trial one of whose ports is gone.
    pub fn end(&mut self, start_ns: u64) -> Result<Vec<LinkRecord>> {
        self.look();
        self.renew();
        let now_ns = monotonic_ns();
        let record = |watched: &Watched| {
            let down_ns = watched
                .down_since_ns
                .map_or(0, |since_ns| now_ns - since_ns);
            let Some(now) = &watched.now else {
                return Err(watched.gone());
            };
            Ok(LinkRecord {
                port: watched.port,
                carrier: now.carrier,
                carrier_changes: now.changes.wrapping_sub(watched.before.changes),
                lost_ns: watched
                    .lost_ns
                    .map(|lost_ns| lost_ns.saturating_sub(start_ns)),
                down_ns: watched.down_ns + down_ns,
                mtu_bytes: (watched.before.mtu, now.mtu),
            })
        };
        self.ports.iter().map(record).collect()
    }

    /// Why a port failed, if its interface is the cause.
    pub fn failure(&mut self) -> Option<EngineError> {
        self.look();
        self.renew();
        self.ports.iter().find_map(|port| match &port.now {
            None => Some(port.gone()),
            Some(link) if !link.up => Some(port.without_carrier()),
            Some(_) => None,
        })
    }

    /// Asks for the state of every port, as reports may have been lost.
    fn renew(&mut self) {
        for place in 0..self.ports.len() {
            let (number, index) = (self.ports[place].socket, self.ports[place].index);
            let socket = &self.sockets[number].1;
            let ports = &mut self.ports;
            let now_ns = monotonic_ns();
            let answer = ask(socket, index, &mut |told| take(ports, number, told, now_ns));
            if let Ok(link) = answer {
                self.ports[place].take(link, now_ns);
            }
        }
    }
}

/// Takes a report that came on a socket.
fn take(ports: &mut [Watched], socket: usize, told: Told, now_ns: u64) {
    let (index, link) = match told {
        Told::Is(index, link) => (index, Some(link)),
        Told::Gone(index) => (index, None),
    };
    let own = |port: &&mut Watched| port.socket == socket && port.index == index;
    for port in ports.iter_mut().filter(own) {
        port.take(link.clone(), now_ns);
    }
}

impl Watched {
    fn take(&mut self, link: Option<Link>, now_ns: u64) {
        if link
            .as_ref()
            .is_none_or(|link| !link.carrier || link.changes != self.before.changes)
        {
            self.lost_ns.get_or_insert(now_ns);
        }
        if link.as_ref().is_none_or(|link| !link.carrier) {
            self.down_since_ns.get_or_insert(now_ns);
        } else if let Some(since_ns) = self.down_since_ns.take() {
            self.down_ns += now_ns - since_ns;
        }
        self.now = link;
    }

    /// Refuses an interface that is gone or has another name than when it was opened.
    fn refuse_others(&self) -> Result<()> {
        let Some(now) = &self.now else {
            return Err(self.gone());
        };
        if now.name != self.opened.name {
            return Err(EngineError(format!(
                "{0}: the interface was renamed to {1} in the run; name it back with `ip link set {1} name {0}`, or start a new run with its new name",
                self.interface, now.name
            )));
        }
        Ok(())
    }

    fn refuse_longer_than_mtu(&self, longest: usize) -> Result<()> {
        let (then, now) = (
            self.opened.mtu,
            self.now.as_ref().map_or(0, |link| link.mtu),
        );
        if now >= then || longest <= now as usize + message::HEADER_BYTES {
            return Ok(());
        }
        Err(EngineError(format!(
            "{0}: the MTU was lowered from {then} to {now} in the run, so frames of {1} bytes cannot leave; set it back with `ip link set {0} mtu {then}`",
            self.interface,
            longest + 4
        )))
    }

    fn gone(&self) -> EngineError {
        EngineError(format!(
            "{}: the interface is gone: it was unplugged, moved or removed, or its driver was unloaded, in the run",
            self.interface
        ))
    }

    fn without_carrier(&self) -> EngineError {
        let interface = &self.interface;
        if self.now.as_ref().is_some_and(|link| !link.up) {
            return EngineError(format!(
                "{interface}: the interface was set down in the run; set it up with `ip link set {interface} up`"
            ));
        }
        EngineError(format!(
            "{interface}: no carrier for {} s; connect the cable and set the other side up",
            PATIENCE_NS / 1_000_000_000
        ))
    }
}

/// A socket that is told every change of a link in the thread's namespace.
fn listen() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: socket() touches no memory of ours.
    let socket = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: sockaddr_nl is plain integers, for which all zero is a value.
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as u16;
    address.nl_groups = libc::RTMGRP_LINK as u32;
    // SAFETY: the address outlives the call and its size is given.
    let bound = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as u32,
        )
    };
    if bound != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(socket)
}

/// The link with this index, `None` if there is none; reports that came before the answer go to `sink`.
fn ask(socket: &OwnedFd, index: u32, sink: &mut dyn FnMut(Told)) -> io::Result<Option<Link>> {
    hear(socket, sink);
    let request = message::question(index);
    // SAFETY: the request outlives the call and its length is given.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            request.as_ptr().cast(),
            request.len(),
            0,
        )
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    // The kernel has answered when the call returns.
    let mut answer = Err(io::Error::from(io::ErrorKind::WouldBlock));
    while let Some(bytes) = receive(socket)? {
        message::each(&bytes, &mut |told, asked| match told {
            Ok(Told::Is(_, link)) if asked => answer = Ok(Some(link)),
            Ok(told) => sink(told),
            Err(libc::ENODEV) => answer = Ok(None),
            Err(code) => answer = Err(io::Error::from_raw_os_error(code)),
        });
    }
    answer
}

/// Hands over every report that has come.
fn hear(socket: &OwnedFd, sink: &mut dyn FnMut(Told)) {
    loop {
        match receive(socket) {
            Ok(Some(bytes)) => message::each(&bytes, &mut |told, _| {
                if let Ok(told) = told {
                    sink(told);
                }
            }),
            Ok(None) => return,
            // Reports were lost, for lack of room; the state is asked for at the end of each trial.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
            Err(_) => return,
        }
    }
}

/// The next datagram; `None` if there is none now.
fn receive(socket: &OwnedFd) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; message::LONGEST];
    // SAFETY: the buffer outlives the call and its length is given.
    let received = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            0,
        )
    };
    match usize::try_from(received) {
        Ok(length) => {
            bytes.truncate(length);
            Ok(Some(bytes))
        }
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    //! The links of a veth in a new namespace, whose carrier is that of its peer.

    use std::process::Command;

    use super::*;

    fn ip(words: &str) {
        let told = Command::new("ip").args(words.split(' ')).status();
        assert!(told.expect("ip").success(), "ip {words}");
    }

    fn within_a_lab(test: impl FnOnce(&mut LinkWatch) + Send) {
        let tried = netns::within_a_new_one(|| {
            ip("link add eth7 type veth peer name far");
            ip("link set eth7 up");
            ip("link set far up");
            let thread = std::fs::read_link("/proc/thread-self")?;
            let json = serde_json::json!({
                "engine": "packet", "interface": "eth7", "namespace": format!("/proc/{}/ns/net", thread.display())
            });
            let place: Place = serde_json::from_value(json).expect("a place");
            let mut watch = LinkWatch::open([(0, &place)].into_iter()).expect("it is there");
            watch
                .ready(true, &AtomicBool::new(false))
                .expect("it has a carrier");
            watch.begin(&|_| 60).expect("as it was");
            test(&mut watch);
            Ok(())
        });
        if let Err(error) = tried {
            assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
        }
    }

    #[test]
    fn nothing_is_seen_where_nothing_happens() {
        within_a_lab(|watch| {
            assert!(!watch.look());
            let links = watch.end(0).expect("it is there");
            assert_eq!((links[0].carrier, links[0].carrier_changes), (true, 0));
            assert_eq!((links[0].lost_ns, links[0].mtu_bytes), (None, (1500, 1500)));
        });
    }

    #[test]
    fn a_carrier_that_was_lost_is_seen_even_if_it_is_back() {
        within_a_lab(|watch| {
            let start_ns = monotonic_ns();
            ip("link set far down");
            ip("link set far up");
            let links = watch.end(start_ns).expect("it is there");
            assert!(links[0].carrier && links[0].lost_ns.is_some());
            assert_eq!(links[0].carrier_changes, 2);
            assert!(
                watch.begin(&|_| 60).is_ok() && !watch.look(),
                "the next trial begins anew"
            );
        });
    }

    #[test]
    fn an_interface_that_is_removed_is_gone() {
        within_a_lab(|watch| {
            ip("link del eth7");
            assert!(watch.look());
            for told in [
                watch.end(0).err(),
                watch.begin(&|_| 60).err(),
                watch.failure(),
            ] {
                assert!(
                    told.expect("an error")
                        .0
                        .starts_with("eth7: the interface is gone")
                );
            }
        });
    }

    #[test]
    fn a_new_name_is_no_loss_but_refused_before_the_next_trial() {
        within_a_lab(|watch| {
            ip("link set eth7 down");
            ip("link set eth7 name lan0");
            ip("link set lan0 up");
            let told = watch.begin(&|_| 60).expect_err("renamed").0;
            assert!(told.contains("was renamed to lan0 in the run"), "{told}");
        });
    }

    #[test]
    fn an_mtu_below_a_frame_is_refused_and_a_change_recorded() {
        within_a_lab(|watch| {
            ip("link set eth7 mtu 1280");
            assert_eq!(
                watch.end(0).expect("it is there")[0].mtu_bytes,
                (1500, 1280)
            );
            watch.begin(&|_| 1294).expect("it fits");
            let told = watch.begin(&|_| 1514).expect_err("too long").0;
            assert!(told.contains("lowered from 1500 to 1280 in the run, so frames of 1518 bytes"));
        });
    }

    #[test]
    fn an_interface_that_is_set_down_has_no_carrier() {
        within_a_lab(|watch| {
            ip("link set eth7 down");
            assert!(watch.look());
            let told = watch.failure().expect("it is down").0;
            assert!(told.starts_with("eth7: the interface was set down in the run"));
            watch
                .ready(true, &AtomicBool::new(true))
                .expect("a stop ends the wait");
        });
    }
}
