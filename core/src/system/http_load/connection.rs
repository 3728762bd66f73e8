//! `Connection`: one TCP connection that never blocks, and the request that is under way on it.

use std::io::{self, ErrorKind};
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::response::Response;

/// A request that is under way.
#[derive(Debug)]
pub struct Request {
    /// The time from which its latency is counted.
    pub since_ns: u64,
    /// When it was begun, which in an open loop may be later.
    pub begun_ns: u64,
    /// Which of the plan's files.
    pub path: usize,
    pub sent: usize,
    pub response: Response,
}

/// How far a connection has come.
#[derive(Debug)]
pub enum Step {
    /// The kernel has no more data and no more room.
    Waits,
    Answered,
    /// The server has closed, and no request was under way.
    Closed,
    Failed(Failure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    Refused,
    Broken,
    Malformed,
}

#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    pub request: Option<Request>,
    /// When `connect` was called; `None` once the connection is established.
    pub connecting_ns: Option<u64>,
    pub received: u64,
    /// The response has arrived, but the server has not closed the connection yet.
    pub lingers: bool,
}

impl Connection {
    /// Begins to connect.
    pub fn open(server: SocketAddrV4, now_ns: u64) -> io::Result<Self> {
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: returns a new descriptor or an error, and touches no memory.
        let socket = unsafe { libc::socket(libc::AF_INET, kind, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that was just made and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: server.port().to_be(),
            sin_addr: libc::in_addr {
                s_addr: u32::from_ne_bytes(server.ip().octets()),
            },
            sin_zero: [0; 8],
        };
        let length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the kernel reads the address, which lives across the call, in the length given.
        let refused =
            unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
        if refused != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EINPROGRESS) {
                return Err(error);
            }
        }
        Ok(Connection {
            socket,
            request: None,
            connecting_ns: Some(now_ns),
            received: 0,
            lingers: false,
        })
    }

    pub fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Sends and receives as much as possible now. `texts` are the requests by file; `room` is a buffer for what is
    /// received.
    pub fn step(&mut self, texts: &[Vec<u8>], room: &mut [u8]) -> Step {
        while let Some(request) = &self.request {
            let rest = &texts[request.path][request.sent..];
            if rest.is_empty() {
                break;
            }
            match self.send(rest) {
                Ok(bytes) => {
                    if let Some(request) = &mut self.request {
                        request.sent += bytes;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Step::Waits,
                Err(error) => return Step::Failed(failure(&error)),
            }
        }
        self.receive(room)
    }

    fn receive(&mut self, room: &mut [u8]) -> Step {
        loop {
            // SAFETY: the kernel writes at most the room's length into it.
            let got =
                unsafe { libc::recv(self.descriptor(), room.as_mut_ptr().cast(), room.len(), 0) };
            if got < 0 {
                let error = io::Error::last_os_error();
                return match error.kind() {
                    ErrorKind::WouldBlock => Step::Waits,
                    ErrorKind::Interrupted => continue,
                    _ if self.request.is_none() => Step::Closed,
                    _ => Step::Failed(failure(&error)),
                };
            }
            self.received += got as u64;
            let Some(request) = &mut self.request else {
                if got == 0 {
                    return Step::Closed;
                }
                // A response without a request.
                return Step::Failed(Failure::Malformed);
            };
            if got == 0 {
                return match request.response.end() {
                    Ok(()) => Step::Answered,
                    Err(_) => Step::Failed(Failure::Broken),
                };
            }
            if request.response.take(&room[..got as usize]).is_err() {
                return Step::Failed(Failure::Malformed);
            }
            if request.response.is_done() {
                return Step::Answered;
            }
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let (socket, quiet) = (self.descriptor(), libc::MSG_NOSIGNAL);
        // SAFETY: the kernel reads the bytes, which live across the call, in the length given.
        match unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), quiet) } {
            sent if sent >= 0 => Ok(sent as usize),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::ConnectionRefused => Failure::Refused,
        _ => Failure::Broken,
    }
}
