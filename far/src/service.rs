//! What a service is. Each is a file in `service/` and a line in `table`.

pub mod iperf3;
pub mod outage;
pub mod path;
pub mod reflect;
pub mod stream;

use crate::options::{Form, Options};

/// What the program can do at the far end.
pub struct Service {
    /// The first word of the command.
    pub name: &'static str,
    pub summary: &'static str,
    /// Its port if none is asked for.
    pub port: u16,
    /// Those besides `--at`, `--port` and `--attached`.
    pub options: &'static [Form],
    /// Opens its sockets. The error is one sentence: what is wrong, and what to do.
    pub open: fn(&Options) -> Result<Box<dyn Open>, String>,
}

/// A service whose sockets are open.
pub trait Open: Send + Sync {
    /// Where it listens, in one line with each port that clients must know: 'listening at TCP port 8621'.
    fn says(&self) -> String;
    /// Answers until `stop`.
    fn serve(&self);
    /// Ends `serve` soon; called by another thread.
    fn stop(&self);
    /// What it did, in a line for its user; empty where nothing is to be said.
    fn summary(&self) -> String {
        String::new()
    }
}
