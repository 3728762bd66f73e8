//! `Server`: answers the requests of one host on a thread of its own, until it is told to end.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use serde::Serialize;

use crate::host::epoll::{Epoll, NO_EVENT};
use crate::stream::usage::Usage;

use super::shares::{Shares, SharesReport};
use super::stamped::{at_once, left, reads, real_ns, receive, send, stamp, watch};
use super::{GREETING, HEAD_BYTES, Kind, Service, check_sizes};

/// How often it looks whether it must end.
const LOOK_NS: u64 = 20_000_000;
/// After a file could not be opened for a connection.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(1);
const ROOM: usize = 1 << 16;
/// UDP: responses whose stamps are awaited; stamps of older ones never come.
const AWAITED: usize = 4096;
const LISTENER: usize = 0;

/// What a server saw.
#[derive(Debug, Default, Serialize)]
pub struct ServerReport {
    pub connections: u64,
    pub answered: u64,
    /// Connections and datagrams of others, or that are no requests of this trial.
    pub foreign: u64,
    /// Connections that this host had no file for, and responses that it could not send.
    pub refused: u64,
    pub cpu_ns: u64,
    pub shares: SharesReport,
}

pub struct Server {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<ServerReport>>>,
}

impl Server {
    /// Answers at a socket that listens (TCP) or is bound (UDP). It is duplicated, and may then be closed.
    pub fn new(service: Service, socket: RawFd) -> io::Result<Self> {
        check_sizes(service.kind, service.request_bytes, service.response_bytes)
            .map_err(|problem| io::Error::new(io::ErrorKind::InvalidInput, problem))?;
        // SAFETY: fcntl takes numbers; the duplicate is ours alone.
        let duplicate = unsafe { libc::fcntl(socket, libc::F_DUPFD_CLOEXEC, 0) };
        if duplicate < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and nobody else knows it.
        let socket = unsafe { OwnedFd::from_raw_fd(duplicate) };
        // SAFETY: fcntl with these commands takes and returns numbers.
        if unsafe { libc::fcntl(duplicate, libc::F_SETFL, libc::O_NONBLOCK) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let stop = Arc::<AtomicBool>::default();
        let over = stop.clone();
        let thread = thread::Builder::new()
            .name("keisoku-answers".into())
            .spawn(move || serve(service, socket, &over))?;
        Ok(Server {
            stop,
            thread: Some(thread),
        })
    }

    /// Ends it. The second time there is nothing to report.
    pub fn end(&mut self) -> io::Result<ServerReport> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(report)) => report,
            Some(Err(_)) => Err(io::Error::other("the thread that answers panicked")),
            None => Ok(ServerReport::default()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What it saw is wanted by nobody any more.
        let _ = self.end();
    }
}

fn serve(service: Service, socket: OwnedFd, stop: &AtomicBool) -> io::Result<ServerReport> {
    let begun = Usage::now();
    let mut response = vec![0; service.response_bytes];
    response[..8].copy_from_slice(&service.token.to_be_bytes());
    let mut at_work = AtWork {
        service,
        response,
        room: vec![0; ROOM],
        report: ServerReport::default(),
        shares: Shares::default(),
    };
    match at_work.service.kind {
        Kind::Udp => at_work.datagrams(&socket, stop)?,
        _ => at_work.connections(&socket, stop)?,
    }
    let mut report = at_work.report;
    report.shares = at_work.shares.report();
    report.cpu_ns = begun.since().1;
    Ok(report)
}

struct AtWork {
    service: Service,
    response: Vec<u8>,
    room: Vec<u8>,
    report: ServerReport,
    shares: Shares,
}

/// When a response left this program, and what is known of it.
#[derive(Clone, Copy)]
struct Answer {
    /// The number that the kernel's stamp will name.
    key: u32,
    /// `None` where there is no stamp, and of a greeting, which does not count.
    arrived: Option<u64>,
    read: u64,
    sent: u64,
}

struct Connection {
    socket: OwnedFd,
    /// Bytes of the request that have come, and its front.
    got: usize,
    head: [u8; HEAD_BYTES],
    /// Bytes of the response that have not been sent yet.
    unsent: usize,
    sent_in_all: u32,
    answer: Option<Answer>,
}

impl AtWork {
    fn connections(&mut self, listener: &OwnedFd, stop: &AtomicBool) -> io::Result<()> {
        let epoll = Epoll::new()?;
        watch(&epoll, listener, Kind::Kept, LISTENER)?;
        // The place of a connection is one less than its number.
        let mut connections: Vec<Option<Connection>> = Vec::new();
        let mut free = Vec::new();
        let mut events = [NO_EVENT; 256];
        let mut more = false;
        while !stop.load(Ordering::Relaxed) {
            let found = epoll.wait(Some(if more { 0 } else { LOOK_NS }), &mut events)?;
            for event in &events[..found] {
                let number = event.u64 as usize;
                if number == LISTENER {
                    more = true;
                    continue;
                }
                let place = number - 1;
                if let Some(connection) = &mut connections[place]
                    && !self.advance(connection, event.events)
                {
                    connections[place] = None;
                    free.push(place);
                }
            }
            if more {
                more = false;
                while let Some(connection) = self.accept(listener, &mut more) {
                    let place = free.pop().unwrap_or_else(|| {
                        connections.push(None);
                        connections.len() - 1
                    });
                    watch(&epoll, &connection.socket, Kind::Kept, place + 1)?;
                    connections[place] = Some(connection);
                }
            }
        }
        Ok(())
    }

    /// The next connection of the client; `None` when there is none now, with `again` if it must be tried once more.
    fn accept(&mut self, listener: &OwnedFd, again: &mut bool) -> Option<Connection> {
        loop {
            let mut from = crate::stamped_socket::address::KernelAddress::empty();
            let (storage, length) = ((&raw mut from.storage).cast(), &raw mut from.length);
            let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            // SAFETY: the kernel writes an address into room of the length given.
            let made = unsafe { libc::accept4(listener.as_raw_fd(), storage, length, flags) };
            if made < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                        self.report.refused += 1;
                        *again = true;
                        thread::sleep(PAUSE);
                    }
                    Some(libc::EAGAIN) => {}
                    // One that was gone before it was accepted.
                    _ => continue,
                }
                return None;
            }
            // SAFETY: a descriptor that was just made and belongs to nobody else.
            let socket = unsafe { OwnedFd::from_raw_fd(made) };
            let stamped = !self.service.stamps || stamp(&socket).is_ok();
            let from = from.get().map(|address| address.ip());
            if from != Some(self.service.peer) || !stamped || at_once(&socket).is_err() {
                self.report.foreign += 1;
                continue;
            }
            self.report.connections += 1;
            return Some(Connection {
                socket,
                got: 0,
                head: [0; HEAD_BYTES],
                unsent: 0,
                sent_in_all: 0,
                answer: None,
            });
        }
    }

    /// Goes on with a connection after `events`, for one request at most: the next one is told anew. False if the
    /// connection is over.
    fn advance(&mut self, connection: &mut Connection, events: u32) -> bool {
        let taken = events & libc::EPOLLERR as u32 != 0 && self.take_stamps(connection);
        if connection.unsent > 0 && !self.write(connection) {
            return false;
        }
        if !reads(events, taken) {
            return true;
        }
        loop {
            let received = match receive(connection.socket.as_raw_fd(), &mut self.room) {
                Ok(received) => received,
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            };
            if received.count == 0 {
                self.take_stamps(connection);
                return false;
            }
            let bytes = &self.room[..received.count];
            if connection.got < HEAD_BYTES {
                let part = bytes.len().min(HEAD_BYTES - connection.got);
                connection.head[connection.got..connection.got + part]
                    .copy_from_slice(&bytes[..part]);
            }
            connection.got += bytes.len();
            if connection.got < self.service.request_bytes {
                continue;
            }
            let ours = connection.head[..8] == self.service.token.to_be_bytes();
            if connection.got > self.service.request_bytes || !ours || connection.unsent > 0 {
                self.report.foreign += 1;
                return false;
            }
            let read = real_ns();
            self.take_stamps(connection);
            connection.got = 0;
            connection.unsent = self.service.response_bytes;
            connection.sent_in_all = connection
                .sent_in_all
                .wrapping_add(self.service.response_bytes as u32);
            connection.answer = Some(Answer {
                key: connection.sent_in_all.wrapping_sub(1),
                arrived: received.stamp.filter(|_| !is_greeting(&connection.head)),
                read,
                sent: real_ns(),
            });
            if !self.write(connection) {
                return false;
            }
            if events & libc::EPOLLRDHUP as u32 == 0 {
                return true;
            }
        }
    }

    /// Sends what is left of a response. False if the connection is over.
    fn write(&mut self, connection: &mut Connection) -> bool {
        self.response[8..HEAD_BYTES].copy_from_slice(&connection.head[8..]);
        while connection.unsent > 0 {
            let rest = &self.response[self.response.len() - connection.unsent..];
            match send(connection.socket.as_raw_fd(), rest, None) {
                Ok(count) => connection.unsent -= count,
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
        self.report.answered += u64::from(!is_greeting(&connection.head));
        if self.service.kind == Kind::Own {
            // Closed when the client has closed too: then the stamp of the response has come.
            // SAFETY: shutdown takes a descriptor that is open, and a number.
            unsafe { libc::shutdown(connection.socket.as_raw_fd(), libc::SHUT_WR) };
        }
        true
    }

    /// Reads stamps up to that of the last answer, if it is awaited. True if there was one.
    fn take_stamps(&mut self, connection: &mut Connection) -> bool {
        let mut taken = false;
        while self.service.stamps
            && connection.answer.is_some()
            && let Some((key, stamp)) = left(connection.socket.as_raw_fd())
        {
            taken = true;
            if let Some(answer) = connection.answer.take_if(|answer| answer.key == key) {
                self.count(answer, stamp);
            }
        }
        taken
    }

    fn count(&mut self, answer: Answer, left: u64) {
        if let Some(arrived) = answer.arrived {
            self.shares.record(arrived, answer.read, answer.sent, left);
        }
    }

    fn datagrams(&mut self, socket: &OwnedFd, stop: &AtomicBool) -> io::Result<()> {
        if self.service.stamps {
            stamp(socket)?;
        }
        let epoll = Epoll::new()?;
        watch(&epoll, socket, Kind::Udp, LISTENER)?;
        let mut events = [NO_EVENT; 256];
        let (mut answers, mut next) = (VecDeque::<Answer>::new(), 0u32);
        while !stop.load(Ordering::Relaxed) {
            epoll.wait(Some(LOOK_NS), &mut events)?;
            while let Ok(received) = receive(socket.as_raw_fd(), &mut self.room) {
                let read = real_ns();
                let from = received.from.get().map(|address| address.ip());
                let ours = self.room[..8] == self.service.token.to_be_bytes();
                if from != Some(self.service.peer)
                    || received.count != self.service.request_bytes
                    || !ours
                {
                    self.report.foreign += 1;
                    continue;
                }
                self.response[8..HEAD_BYTES].copy_from_slice(&self.room[8..HEAD_BYTES]);
                let sent = real_ns();
                match send(socket.as_raw_fd(), &self.response, Some(&received.from)) {
                    Ok(_) => {
                        let greeting = is_greeting(&self.room);
                        self.report.answered += u64::from(!greeting);
                        if answers.len() >= AWAITED {
                            answers.pop_front();
                        }
                        answers.push_back(Answer {
                            key: next,
                            arrived: received.stamp.filter(|_| !greeting),
                            read,
                            sent,
                        });
                        next = next.wrapping_add(1);
                    }
                    Err(_) => self.report.refused += 1,
                }
                if self.service.stamps && answers.len() >= AWAITED / 2 {
                    self.take_stamps_of(socket, &mut answers);
                }
            }
            if self.service.stamps {
                self.take_stamps_of(socket, &mut answers);
            }
        }
        Ok(())
    }

    fn take_stamps_of(&mut self, socket: &OwnedFd, answers: &mut VecDeque<Answer>) {
        while let Some((key, stamp)) = left(socket.as_fd().as_raw_fd()) {
            // Numbers rise by one; what is before this one was never stamped, or is older than what is awaited.
            let Some(first) = answers.front() else {
                continue;
            };
            let place = key.wrapping_sub(first.key) as usize;
            if place < answers.len() {
                answers.drain(..place);
                if let Some(answer) = answers.pop_front() {
                    self.count(answer, stamp);
                }
            }
        }
    }
}

/// Of the front of a request.
fn is_greeting(head: &[u8]) -> bool {
    head[8] & (GREETING >> 56) as u8 != 0
}
