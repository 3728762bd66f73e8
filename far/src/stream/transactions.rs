//! The far end of a trial of transactions: a socket for them, and what answers at it until the client is done.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use keisoku::transaction::server::Server;
use keisoku::transaction::{Kind, Service};
use serde_json::{Value, json};
use socket2::Type;

use super::flows::{UDP_BUFFER_BYTES, set_buffers};
use super::trial::TransactionTrial;
use crate::two_ended::control::Problem;
use crate::two_ended::peer::Peer;
use crate::two_ended::sockets::{bound, port_of};

const BACKLOG: i32 = 4096;
/// Files besides the connections.
const OTHER_FILES: u64 = 1024;

/// Answers from when it is opened until it is ended or dropped.
pub struct Answers {
    server: Server,
    pub port: u16,
    pub token: u64,
}

impl Answers {
    /// Answers the transactions of `host` at `local`.
    pub fn open(trial: &TransactionTrial, local: Peer, host: Peer) -> Result<Self, Problem> {
        allow_files(trial.connections).map_err(Problem::Refused)?;
        let opened = socket(trial.kind, local).map_err(|error| {
            Problem::Refused(format!(
                "no port can be opened at {local}: {error}; measure again"
            ))
        })?;
        let token = token()?;
        let service = Service {
            kind: trial.kind,
            peer: host.ip,
            token,
            request_bytes: trial.request_bytes,
            response_bytes: trial.response_bytes,
            stamps: trial.stamps,
        };
        let server = Server::new(service, opened.as_raw_fd()).map_err(|error| {
            Problem::Refused(format!(
                "transactions cannot be answered: {error}; measure again"
            ))
        })?;
        Ok(Answers {
            server,
            port: port_of(&opened),
            token,
        })
    }

    /// What it saw, as the client is sent it.
    pub fn end(mut self) -> Result<Value, Problem> {
        let report = self.server.end().map_err(|error| {
            Problem::Refused(format!(
                "transactions could not be answered: {error}; measure again"
            ))
        })?;
        Ok(json!({"report": report}))
    }
}

fn socket(kind: Kind, local: Peer) -> io::Result<socket2::Socket> {
    if kind == Kind::Udp {
        let made = bound(local.at(0), Type::DGRAM)?;
        // One socket answers all connections.
        set_buffers(made.as_fd(), UDP_BUFFER_BYTES)?;
        return Ok(made);
    }
    let made = bound(local.at(0), Type::STREAM)?;
    made.listen(BACKLOG)?;
    Ok(made)
}

/// A random number of 63 bits, which whoever has not read it from the control connection cannot know.
pub fn token() -> Result<u64, Problem> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::Refused(format!(
            "this host has no random numbers: {error}; measure again"
        ))
    })?;
    Ok(u64::from_be_bytes(bytes) >> 1)
}

/// Every connection is an open file.
fn allow_files(connections: u64) -> Result<(), String> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel fills the structure, which lives across the call.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let wanted = connections + OTHER_FILES;
    if limit.rlim_cur >= wanted {
        return Ok(());
    }
    if limit.rlim_max < wanted {
        let most = limit.rlim_max;
        return Err(format!(
            "connections: {connections} connections need {wanted} open files, and this host allows a process {most}; use \
             fewer of them, or allow more by 'ulimit -n'"
        ));
    }
    limit.rlim_cur = wanted;
    // SAFETY: the kernel reads the structure, which lives across the call.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    Ok(())
}
