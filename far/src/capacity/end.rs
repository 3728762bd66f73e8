//! What a server's two ends of a test have in common: when the test is over, and the search for the rate. It does no I/O and reads no
//! clock: times are ns since any moment, and `wall_ns` turns them into time of day.

use super::activation::Activation;
use super::pdu::{STOPPING, TESTING};
use super::search::RateSearch;
use super::sending_rate::{SendingRate, table};
use super::status::Status;

pub const NS: u64 = 1_000_000_000;
/// Without anything from the client, after which the test is over (RFC 9946).
pub const SILENT_NS: u64 = 3 * NS;
/// The same after which the client is told.
const STOPPED_NS: u64 = NS;
/// By which a server goes on beyond the time that was asked for, so that the last sub-interval is complete.
const AFTER_NS: u64 = NS / 2;

/// One end of a test. `leave` hands each datagram that is to be sent now to `send`, which says whether this host had room for it.
pub trait End {
    fn common(&self) -> &Common;
    /// When `leave` is to be called next.
    fn due_ns(&self) -> u64;
    fn leave(&mut self, now_ns: u64, send: &mut dyn FnMut(&[u8]) -> bool);
    /// A datagram from the client; what is no PDU of this test is ignored.
    fn arrived(&mut self, now_ns: u64, data: &[u8]);
    /// Whether it sends the load, and so much that it must not look for arrivals each time.
    fn sends(&self) -> bool;
}

pub struct Common {
    pub parameters: Activation,
    wall_ns: i128,
    stop_ns: u64,
    table: Vec<SendingRate>,
    search: RateSearch,
    pub action: u8,
    pub over: bool,
    heard_ns: u64,
}

impl Common {
    pub fn new(parameters: Activation, now_ns: u64, wall_ns: i128, packet_bytes: u32) -> Self {
        let table = table(packet_bytes);
        Common {
            parameters,
            wall_ns,
            stop_ns: now_ns + u64::from(parameters.duration_s) * NS + AFTER_NS,
            search: RateSearch::new(parameters, table.len()),
            table,
            action: TESTING,
            over: false,
            heard_ns: now_ns,
        }
    }

    pub fn first_rate(&self) -> SendingRate {
        self.table[0]
    }

    /// The rate after a trial interval.
    pub fn rate_after(&mut self, status: &Status) -> SendingRate {
        self.table[self.search.after(status)]
    }

    /// 1 if nothing has come for so long that the client must know.
    pub fn stopped(&self, now_ns: u64) -> u8 {
        u8::from(now_ns.saturating_sub(self.heard_ns) > STOPPED_NS)
    }

    /// The client is there, and wants to go on, or confirms that it stops.
    pub fn heard(&mut self, now_ns: u64, action: u8) {
        self.heard_ns = now_ns;
        if action != TESTING && self.action == STOPPING {
            self.over = true;
        }
    }

    /// Ends the test when its time is over, or the client is gone.
    pub fn watch(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.heard_ns) >= SILENT_NS {
            self.over = true;
        } else if now_ns >= self.stop_ns {
            self.action = STOPPING;
        }
    }

    /// Time of day in ns.
    pub fn wall(&self, now_ns: u64) -> i128 {
        i128::from(now_ns) + self.wall_ns
    }

    /// Its seconds and the rest in ns.
    pub fn seconds(&self, now_ns: u64) -> (u32, u32) {
        let wall = self.wall(now_ns);
        (
            (wall / i128::from(NS)) as u32,
            (wall % i128::from(NS)) as u32,
        )
    }
}
