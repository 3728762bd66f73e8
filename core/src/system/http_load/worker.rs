//! One thread of a load: its share of the connections, its epoll descriptor, and what it saw.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::chance::part_seed;
use crate::host::epoll::{Epoll, NO_EVENT};
use crate::host::kernel_clock::{monotonic_ns, thread_cpu_ns};
use crate::transaction::arrivals::{Arrivals, Draws};

use super::connection::{Connection, Failure, Request, Step};
use super::load_counts::LoadCounts;
use super::plan::Plan;
use super::response::Response;

/// What all threads of a load share.
pub struct Shared {
    pub plan: Plan,
    pub stop: AtomicBool,
    /// Requests begun.
    pub begun: AtomicU64,
}

/// Interval between two checks for timeouts; a connection that failed waits for the same time before it tries again.
const SCAN_NS: u64 = 100_000_000;
const ROOM: usize = 256 * 1024;

/// Runs thread `number` to the end of its load. It must be called in the namespace of the client.
pub fn run(shared: &Shared, number: usize) -> io::Result<LoadCounts> {
    let mut worker = Worker::new(shared, number)?;
    // SAFETY: changes the timer slack of this thread only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let cpu_ns = thread_cpu_ns();
    worker.wait_for_beginning();
    worker.counts.began_ns = worker.begin_ns;
    worker.serve()?;
    worker.counts.ended_ns = monotonic_ns();
    worker.counts.cpu_ns = thread_cpu_ns() - cpu_ns;
    Ok(worker.counts)
}

struct Worker<'a> {
    shared: &'a Shared,
    epoll: Epoll,
    slots: Vec<Option<Connection>>,
    /// Slots without a request, and those that wait for the next scan.
    free: Vec<usize>,
    paused: Vec<usize>,
    texts: Vec<Vec<u8>>,
    /// Sums of the paths' weights up to each.
    shares: Vec<f64>,
    draws: Draws,
    arrivals: Option<Arrivals>,
    due: VecDeque<u64>,
    begin_ns: u64,
    end_ns: u64,
    exhausted: bool,
    room: Vec<u8>,
    counts: LoadCounts,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared, number: usize) -> io::Result<Self> {
        let plan = &shared.plan;
        let own = (number..plan.connections).step_by(plan.threads).count();
        let ending = if plan.keep_alive {
            "keep-alive"
        } else {
            "close"
        };
        let more: String = (plan.headers.iter())
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let text = |path: &str| {
            format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: {ending}\r\nAccept: */*\r\n{more}\r\n",
                plan.host
            )
            .into_bytes()
        };
        let seed = part_seed(plan.seed, number as u64);
        let begin_ns = plan.begin_ns.max(monotonic_ns());
        let end_ns = plan
            .seconds
            .map_or(u64::MAX, |seconds| begin_ns + (seconds * 1e9) as u64);
        Ok(Worker {
            shared,
            epoll: Epoll::new()?,
            slots: (0..own).map(|_| None).collect(),
            free: (0..own).rev().collect(),
            paused: Vec::new(),
            texts: plan.paths.iter().map(|(path, _)| text(path)).collect(),
            shares: plan
                .paths
                .iter()
                .scan(0.0, |sum, (_, weight)| {
                    *sum += weight;
                    Some(*sum)
                })
                .collect(),
            draws: Draws::new(part_seed(seed, 0)),
            arrivals: plan.per_second.map(|rate| {
                let own = part_seed(seed, 1);
                Arrivals::new(rate, plan.poisson, number, plan.threads, own)
            }),
            due: VecDeque::new(),
            begin_ns,
            end_ns,
            exhausted: false,
            room: vec![0; ROOM],
            counts: LoadCounts::default(),
        })
    }

    fn wait_for_beginning(&self) {
        let until = libc::timespec {
            tv_sec: (self.begin_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (self.begin_ns % 1_000_000_000) as libc::c_long,
        };
        let (clock, absolute) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
        // SAFETY: the kernel reads the time, which lives across the call.
        while unsafe { libc::clock_nanosleep(clock, absolute, &until, std::ptr::null_mut()) }
            == libc::EINTR
        {}
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut scan_ns = self.begin_ns + SCAN_NS;
        loop {
            let now = monotonic_ns();
            if now >= self.end_ns || self.shared.stop.load(Ordering::Relaxed) {
                break;
            }
            if now >= scan_ns {
                self.scan(now);
                scan_ns = now + SCAN_NS;
            }
            self.begin_requests(now);
            if self.exhausted && self.due.is_empty() && self.is_idle() {
                break;
            }
            let mut until = scan_ns.min(self.end_ns);
            if let (Some(arrivals), false) = (&self.arrivals, self.exhausted) {
                until = until.min(self.begin_ns + arrivals.next_ns());
            }
            self.wait(until.saturating_sub(monotonic_ns()))?;
        }
        // What is due at the end itself is due after the load.
        self.fall_due(monotonic_ns().min(self.end_ns - 1));
        self.counts.unsent += self.due.len() as u64;
        let under_way = |slot: &&Option<Connection>| {
            slot.as_ref()
                .is_some_and(|connection| connection.request.is_some())
        };
        self.counts.given_up += self.slots.iter().filter(under_way).count() as u64;
        Ok(())
    }

    fn is_idle(&self) -> bool {
        self.slots
            .iter()
            .flatten()
            .all(|connection| connection.request.is_none())
    }

    fn begin_requests(&mut self, now: u64) {
        self.fall_due(now);
        if self.arrivals.is_some() {
            while let (Some(&due), Some(slot)) = (self.due.front(), self.free.last().copied()) {
                self.due.pop_front();
                self.free.pop();
                self.counts
                    .lag
                    .record((monotonic_ns() - due.min(monotonic_ns())) as i64);
                self.begin(slot, due);
            }
            return;
        }
        while !self.exhausted {
            let Some(slot) = self.free.pop() else { return };
            if !self.another() {
                self.free.push(slot);
                return;
            }
            self.begin(slot, monotonic_ns());
        }
    }

    /// Puts the requests of an open loop that are due by now into its queue.
    fn fall_due(&mut self, now: u64) {
        loop {
            let Some(arrivals) = &self.arrivals else {
                return;
            };
            let due = self.begin_ns + arrivals.next_ns();
            if due > now || self.exhausted || !self.another() {
                return;
            }
            self.due.push_back(due);
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.advance();
            }
        }
    }

    /// Whether there is another request to make; if so, it counts as begun.
    fn another(&mut self) -> bool {
        let Some(most) = self.shared.plan.requests else {
            return true;
        };
        self.exhausted = self.shared.begun.fetch_add(1, Ordering::Relaxed) >= most;
        !self.exhausted
    }

    fn begin(&mut self, slot: usize, since_ns: u64) {
        let at = self.draws.unit() * self.shares.last().copied().unwrap_or(0.0);
        let path = self.shares.partition_point(|share| *share < at);
        let begun_ns = monotonic_ns();
        let request = Request {
            since_ns,
            begun_ns,
            path: path.min(self.texts.len() - 1),
            sent: 0,
            response: Response::default(),
        };
        let kept = self.slots[slot].is_some();
        if !kept {
            match self.connect(slot, begun_ns) {
                Ok(connection) => self.slots[slot] = Some(connection),
                Err(_) => {
                    self.counts.failures.local += 1;
                    self.paused.push(slot);
                    return;
                }
            }
        }
        if let Some(connection) = &mut self.slots[slot] {
            connection.request = Some(request);
        }
        if kept {
            self.advance(slot);
        }
    }

    fn connect(&self, slot: usize, now: u64) -> io::Result<Connection> {
        let connection = Connection::open(self.shared.plan.server, now)?;
        let wanted = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let descriptor = connection.descriptor();
        self.epoll.watch(descriptor, wanted, slot as u64)?;
        Ok(connection)
    }

    fn wait(&mut self, ns: u64) -> io::Result<()> {
        let mut events = [NO_EVENT; 256];
        let found = self.epoll.wait(Some(ns), &mut events)?;
        for event in &events[..found] {
            let slot = event.u64 as usize;
            let writable = event.events & libc::EPOLLOUT as u32 != 0;
            let failed = event.events & (libc::EPOLLERR as u32) != 0;
            if let Some(connection) = &mut self.slots[slot]
                && writable
                && !failed
                && let Some(since) = connection.connecting_ns.take()
            {
                self.counts
                    .connecting
                    .record((monotonic_ns() - since) as i64);
            }
            self.advance(slot);
        }
        Ok(())
    }

    /// Lets a connection send and receive as much as possible now.
    fn advance(&mut self, slot: usize) {
        while let Some(connection) = &mut self.slots[slot] {
            match connection.step(&self.texts, &mut self.room) {
                Step::Waits => return,
                Step::Answered => {
                    if self.answered(slot) {
                        self.free.push(slot);
                        return;
                    }
                }
                Step::Closed => {
                    let taken = self.slots[slot].take();
                    self.keep_bytes(taken);
                    // A kept connection that the server closed may be in the list already.
                    if !self.free.contains(&slot) {
                        self.free.push(slot);
                    }
                }
                Step::Failed(failure) => {
                    let failures = &mut self.counts.failures;
                    *match failure {
                        Failure::Refused => &mut failures.refused,
                        Failure::Broken => &mut failures.broken,
                        Failure::Malformed => &mut failures.malformed,
                    } += 1;
                    self.give_up(slot);
                }
            }
        }
    }

    /// Counts a response. Returns true if the connection is kept and free for another request.
    fn answered(&mut self, slot: usize) -> bool {
        let now = monotonic_ns();
        let Some(connection) = &mut self.slots[slot] else {
            return false;
        };
        let Some(request) = connection.request.take() else {
            return false;
        };
        let bytes = std::mem::take(&mut connection.received);
        let counts = &mut self.counts;
        counts.completed += 1;
        counts.refusals += u64::from(request.response.status >= 400);
        counts.body_bytes += request.response.body_bytes;
        counts.bytes += bytes;
        counts
            .latency
            .record((now - request.since_ns.min(now)) as i64);
        let number = (now - self.begin_ns) / (self.shared.plan.slice_ms * 1_000_000);
        let slice = counts.slice(number as usize);
        slice.completed += 1;
        slice.bytes += bytes;
        self.shared.plan.keep_alive && !request.response.closes
    }

    fn keep_bytes(&mut self, connection: Option<Connection>) {
        self.counts.bytes += connection.map_or(0, |connection| connection.received);
    }

    fn give_up(&mut self, slot: usize) {
        let taken = self.slots[slot].take();
        self.keep_bytes(taken);
        self.free.retain(|one| *one != slot);
        self.paused.push(slot);
    }

    fn scan(&mut self, now: u64) {
        self.free.append(&mut self.paused);
        let patience_ns = (self.shared.plan.timeout_s * 1e9) as u64;
        for slot in 0..self.slots.len() {
            let Some(connection) = &mut self.slots[slot] else {
                continue;
            };
            if let Some(request) = &connection.request {
                if now > request.begun_ns + patience_ns {
                    self.counts.failures.timed_out += 1;
                    self.give_up(slot);
                }
            } else if !self.shared.plan.keep_alive {
                // The response has arrived and the server was asked to close the connection; it has had the time of a
                // whole scan.
                if connection.lingers {
                    self.give_up(slot);
                } else {
                    connection.lingers = true;
                }
            }
        }
    }
}
