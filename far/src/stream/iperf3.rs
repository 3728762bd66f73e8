//! iperf3's own server for one client, where that is installed, as an independent check of a throughput.

use std::fs::{read_link, read_to_string};
use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::two_ended::control::Problem;
use crate::two_ended::peer::Peer;

const START: Duration = Duration::from_secs(5);

/// `iperf3 -s -1` on a port of its own, until it is dropped.
pub struct Iperf3 {
    child: Child,
    pub port: u16,
}

impl Iperf3 {
    pub fn start(local: Peer) -> Result<Self, Problem> {
        let port = TcpListener::bind(local.at(0))
            .and_then(|free| free.local_addr())
            .map_err(|error| Problem::Refused(format!("no port is free: {error}; measure again")))?
            .port();
        let mut command = Command::new("iperf3");
        command.args([
            "-s",
            "-1",
            "-B",
            &local.to_string(),
            "-p",
            &port.to_string(),
        ]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // SAFETY: the calls between fork and exec take numbers and plain bits, and allocate nothing.
        unsafe { command.pre_exec(take_signals) };
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Problem::Refused(
                "iperf3 is needed at both ends; install it (Debian: iperf3)".into(),
            ),
            _ => Problem::Refused(format!(
                "iperf3 cannot be started: {error}; try it there by hand"
            )),
        })?;
        let mut started = Iperf3 { child, port };
        let until = Instant::now() + START;
        while !listens(port) {
            if !matches!(started.child.try_wait(), Ok(None)) || Instant::now() > until {
                return Err(Problem::Refused(
                    "iperf3 did not start at the far end; try it there by hand".into(),
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(started)
    }
}

impl Drop for Iperf3 {
    fn drop(&mut self) {
        // One that has ended already is waited for alike.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// This program blocks the signals that would end it; a child must not, and ends with this program.
fn take_signals() -> io::Result<()> {
    // SAFETY: sigset_t is plain bits; prctl takes numbers.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
    }
    Ok(())
}

/// By the kernel's table of sockets: a connection would be taken for the one client.
fn listens(port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    let is_it = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().take(4).collect();
        matches!(fields[..], [_, local, _, "0A"] if local.ends_with(&wanted))
    };
    // A thread's own view, as it may be in another namespace than the process was.
    let own = if read_link("/proc/thread-self").is_ok() {
        "thread-self"
    } else {
        "self"
    };
    ["tcp", "tcp6"].iter().any(|table| {
        let text = read_to_string(format!("/proc/{own}/net/{table}")).unwrap_or_default();
        text.lines().any(is_it)
    })
}
