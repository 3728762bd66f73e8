//! `Client`: carries out the transactions of a plan on all connections, in one thread.

mod slot;

use std::collections::VecDeque;
use std::io;

use serde::Serialize;

use slot::{Slot, State};

use crate::host::epoll::{Epoll, NO_EVENT};
use crate::host::kernel_clock::monotonic_ns;
use crate::stream::usage::Usage;

use super::arrivals::Arrivals;
use super::row::{Failure, Row, UNKNOWN};
use super::stamped::{
    connecting, kept_error, left, reads, receive, send, stamp, stamps_ahead_ns, watch,
};
use super::{GREETING, HEAD_BYTES, Kind, Plan, head};

const ROOM: usize = 1 << 16;
/// Connections that are opened at the same time before the first transaction: fewer than what listens keeps waiting.
const ABREAST: usize = 64;
/// UDP: after this time without an answer a socket greets again.
const GREETING_NS: u64 = 100_000_000;
/// All connections must be open after this time, and a ms more for each of them.
const OPENING_NS: u64 = 5_000_000_000;
/// The kernel wakes a thread later than that: until a transaction is due it looks for answers without sleeping.
const SHORT_NS: u64 = 100_000;

/// What a client saw besides its rows.
#[derive(Debug, Default, Serialize)]
pub struct ClientReport {
    /// From the first transaction until none was begun any more.
    pub window_ns: u64,
    pub cpu_ns: u64,
    /// UDP: answers to requests that had failed by then.
    pub late: u64,
    /// UDP: datagrams that answer nothing.
    pub foreign: u64,
    /// The window ended because there were as many rows as the plan allows.
    pub full: bool,
}

/// Carries out the plan in the calling thread, and in its network namespace. The error is a sentence.
pub fn transact(plan: Plan) -> Result<(Vec<Row>, ClientReport), String> {
    plan.check().map_err(String::from)?;
    // SAFETY: changes the timer slack of this thread only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let mut client = Client::new(plan).map_err(|error| error.to_string())?;
    if client.plan.kind != Kind::Own {
        client.open_all()?;
    }
    let begun = Usage::now();
    client.carry_out().map_err(|error| error.to_string())?;
    client.report.cpu_ns = begun.since().1;
    Ok((client.rows, client.report))
}

struct Client {
    plan: Plan,
    epoll: Epoll,
    slots: Vec<Slot>,
    free: VecDeque<usize>,
    /// Slots whose transaction failed at once: they wait for the next look, so that failures are no busy loop.
    paused: Vec<usize>,
    rows: Vec<Row>,
    /// Transactions that have begun and not ended.
    under_way: usize,
    /// Open loop: when transactions are due for which no connection was free yet.
    waiting: VecDeque<u64>,
    arrivals: Option<Arrivals>,
    start_ns: u64,
    end_ns: u64,
    /// The clock of stamps against the monotonic one.
    stamps_ahead_ns: i64,
    /// Requests so far, which are numbered through.
    numbers: u64,
    opening: bool,
    opened: usize,
    problem: Option<String>,
    request: Vec<u8>,
    room: Vec<u8>,
    report: ClientReport,
}

impl Client {
    fn new(plan: Plan) -> io::Result<Self> {
        let arrivals = plan
            .per_second
            .map(|rate| Arrivals::new(rate, plan.poisson, 0, 1, plan.seed));
        Ok(Client {
            epoll: Epoll::new()?,
            slots: (0..plan.connections).map(|_| Slot::new()).collect(),
            free: (0..plan.connections).collect(),
            paused: Vec::new(),
            rows: Vec::new(),
            under_way: 0,
            waiting: VecDeque::new(),
            arrivals,
            start_ns: 0,
            end_ns: u64::MAX,
            stamps_ahead_ns: 0,
            numbers: 0,
            opening: false,
            opened: 0,
            problem: None,
            request: vec![0; plan.request_bytes],
            room: vec![0; ROOM],
            report: ClientReport::default(),
            plan,
        })
    }

    /// Opens all connections, and lets one request be answered on each that is in no row.
    fn open_all(&mut self) -> Result<(), String> {
        let all = self.slots.len();
        let patience_ns = OPENING_NS + all as u64 * 1_000_000;
        let deadline_ns = monotonic_ns() + patience_ns;
        self.opening = true;
        let mut next = 0;
        while self.opened < all {
            while next < all && next - self.opened < ABREAST {
                let now = monotonic_ns();
                self.slots[next].begun_ns = now;
                self.slots[next].deadline_ns = now + GREETING_NS;
                self.open(next);
                next += 1;
            }
            self.look(10_000_000).map_err(|error| error.to_string())?;
            if let Some(problem) = self.problem.take() {
                return Err(problem);
            }
            let now = monotonic_ns();
            if now > deadline_ns {
                let (opened, waited_s) = (self.opened, patience_ns / 1_000_000_000);
                return Err(format!(
                    "only {opened} of {all} connections were answered after {waited_s} s"
                ));
            }
            if self.plan.kind == Kind::Udp {
                for place in 0..next {
                    let slot = &mut self.slots[place];
                    if slot.state == State::Asking && now > slot.deadline_ns {
                        slot.deadline_ns = now + GREETING_NS;
                        self.ask(place);
                    }
                }
            }
        }
        self.opening = false;
        Ok(())
    }

    fn carry_out(&mut self) -> io::Result<()> {
        let scan_every_ns = (self.plan.timeout_ns / 16).clamp(1_000_000, 50_000_000);
        self.stamps_ahead_ns = stamps_ahead_ns();
        self.start_ns = monotonic_ns();
        self.end_ns = self.start_ns + self.plan.duration_ns;
        let mut scan_ns = self.start_ns + scan_every_ns;
        let mut over = false;
        loop {
            let now = monotonic_ns();
            if now >= scan_ns {
                self.scan(now);
                scan_ns = now + scan_every_ns;
            }
            if !over && (now >= self.end_ns || self.report.full) {
                over = true;
                self.end_ns = now.min(self.end_ns);
                self.report.window_ns = self.end_ns - self.start_ns;
                self.fall_due(self.end_ns);
            }
            if over && self.under_way == 0 && self.waiting.is_empty() {
                self.drop_stamps_if_the_time_was_set();
                return Ok(());
            }
            if !over {
                self.fall_due(now);
            }
            self.begin_due(over);
            let mut until = scan_ns;
            if !over {
                until = until.min(self.end_ns);
                if let (Some(arrivals), false) = (&self.arrivals, self.free.is_empty()) {
                    until = until.min(self.start_ns + arrivals.next_ns());
                }
            }
            let wait_ns = until.saturating_sub(monotonic_ns());
            let spins = self.arrivals.is_some() && wait_ns < SHORT_NS;
            self.look(if spins { 0 } else { wait_ns })?;
        }
    }

    /// Stamps of before and after that cannot be told from each other.
    fn drop_stamps_if_the_time_was_set(&mut self) {
        const SET_NS: u64 = 20_000;
        if stamps_ahead_ns().abs_diff(self.stamps_ahead_ns) > SET_NS {
            for row in &mut self.rows {
                (row.left, row.arrived) = (UNKNOWN, UNKNOWN);
            }
        }
    }

    /// Begins what can begin now; when the window is over, only what fell due in it.
    fn begin_due(&mut self, over: bool) {
        if self.arrivals.is_none() {
            while !over
                && !self.report.full
                && let Some(place) = self.free.pop_front()
            {
                self.begin(place, None);
            }
            return;
        }
        while !self.waiting.is_empty() && !self.free.is_empty() {
            if let (Some(due), Some(place)) = (self.waiting.pop_front(), self.free.pop_front()) {
                self.begin(place, Some(due));
            }
        }
    }

    /// Puts the transactions of an open loop that are due before `now` into its queue.
    fn fall_due(&mut self, now: u64) {
        let room = self.plan.most_rows.saturating_sub(self.rows.len());
        let Some(arrivals) = &mut self.arrivals else {
            return;
        };
        while self.waiting.len() < room {
            let due = self.start_ns + arrivals.next_ns();
            if due >= now.min(self.end_ns) {
                return;
            }
            arrivals.advance();
            self.waiting.push_back(due);
        }
    }

    /// Begins a transaction on a free slot.
    fn begin(&mut self, place: usize, due_ns: Option<u64>) {
        let now = monotonic_ns();
        let begun = self.since_start(now);
        let due = due_ns.map_or(begun, |due| self.since_start(due));
        let slot = &mut self.slots[place];
        slot.row = self.rows.len();
        slot.begun_ns = now;
        slot.deadline_ns = now + self.plan.timeout_ns;
        let mut row = Row::new(place, due, begun);
        if let Some(setup) = slot.setup_ns.take() {
            row.setup = setup as i64;
        }
        self.rows.push(row);
        self.under_way += 1;
        self.report.full = self.rows.len() >= self.plan.most_rows;
        if slot.socket.is_some() {
            self.ask(place);
        } else {
            self.open(place);
        }
    }

    /// Begins to connect; a request follows.
    fn open(&mut self, place: usize) {
        self.slots[place].state = State::Connecting;
        let made = connecting(self.plan.kind, self.plan.server).and_then(|socket| {
            watch(&self.epoll, &socket, self.plan.kind, place)?;
            Ok(socket)
        });
        let socket = match made {
            Ok(socket) => socket,
            Err(error) => return self.fail(place, failure_of(&error, true), &error),
        };
        let slot = &mut self.slots[place];
        (slot.socket, slot.sent_in_all) = (Some(socket), 0);
        if self.plan.kind == Kind::Udp {
            self.connected(place);
        }
    }

    fn connected(&mut self, place: usize) {
        let slot = &mut self.slots[place];
        if self.plan.kind != Kind::Udp {
            let setup = monotonic_ns() - slot.begun_ns;
            match self.rows.get_mut(slot.row) {
                Some(row) if !self.opening => row.setup = setup as i64,
                _ => slot.setup_ns = Some(setup),
            }
        }
        if self.plan.stamps
            && let Some(socket) = &slot.socket
            && let Err(error) = stamp(socket)
        {
            return self.fail(place, Failure::Local, &error);
        }
        self.ask(place);
    }

    /// Sends a new request.
    fn ask(&mut self, place: usize) {
        let slot = &mut self.slots[place];
        slot.number = self.numbers | if self.opening { GREETING } else { 0 };
        self.numbers += 1;
        slot.state = State::Asking;
        (slot.got, slot.unsent) = (0, self.plan.request_bytes);
        slot.sent_in_all = slot.sent_in_all.wrapping_add(match self.plan.kind {
            Kind::Udp => 1,
            _ => self.plan.request_bytes as u32,
        });
        slot.key = slot.sent_in_all.wrapping_sub(1);
        if let Some(row) = self.rows.get_mut(slot.row) {
            row.sent = monotonic_ns() as i64 - self.start_ns as i64;
        }
        self.write(place);
    }

    /// Sends what is left of the request.
    fn write(&mut self, place: usize) {
        let slot = &mut self.slots[place];
        self.request[..HEAD_BYTES].copy_from_slice(&head(self.plan.token, slot.number));
        while slot.unsent > 0 {
            let rest = &self.request[self.request.len() - slot.unsent..];
            match send(slot.descriptor(), rest, None) {
                Ok(count) => slot.unsent -= count,
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock && self.plan.kind != Kind::Udp =>
                {
                    return;
                }
                Err(error) => {
                    if self.plan.kind == Kind::Udp {
                        // The kernel counts only what it took.
                        slot.sent_in_all = slot.sent_in_all.wrapping_sub(1);
                    }
                    return self.fail(place, failure_of(&error, false), &error);
                }
            }
        }
    }

    /// Waits for events for at most `ns`, and goes on with their slots.
    fn look(&mut self, ns: u64) -> io::Result<()> {
        let mut events = [NO_EVENT; 256];
        let found = self.epoll.wait(Some(ns), &mut events)?;
        for event in &events[..found] {
            let place = event.u64 as usize;
            if self.slots[place].state == State::Connecting {
                let error = self.slots[place].socket.as_ref().and_then(kept_error);
                let ready = event.events & (libc::EPOLLOUT as u32) != 0;
                match error {
                    Some(code) => {
                        let error = io::Error::from_raw_os_error(code);
                        self.fail(place, failure_of(&error, true), &error);
                    }
                    None if ready => self.connected(place),
                    None => {}
                }
                continue;
            }
            let told = event.events;
            let taken = told & (libc::EPOLLERR as u32) != 0 && self.take_stamps(place);
            if self.slots[place].state == State::Asking && self.slots[place].unsent > 0 {
                self.write(place);
            }
            if reads(told, taken) {
                self.read(place);
            }
        }
        Ok(())
    }

    /// Reads what has come for a slot, up to the answer: what comes after it is told anew.
    fn read(&mut self, place: usize) {
        while self.slots[place].socket.is_some() {
            let slot = &mut self.slots[place];
            let received = match receive(slot.descriptor(), &mut self.room) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return self.ended(place, Some(error)),
            };
            let now = monotonic_ns();
            if self.plan.kind == Kind::Udp {
                let whole = received.count == self.plan.response_bytes;
                let front = &self.room[..HEAD_BYTES];
                if whole && front == head(self.plan.token, slot.number) {
                    if slot.state == State::Asking {
                        return self.answered(place, now, received.stamp);
                    }
                } else if whole && front[..8] == self.plan.token.to_be_bytes() {
                    self.report.late += u64::from(!self.opening);
                } else {
                    self.report.foreign += 1;
                }
                continue;
            }
            if received.count == 0 {
                return self.ended(place, None);
            }
            let bytes = &self.room[..received.count];
            if slot.got < HEAD_BYTES {
                let part = bytes.len().min(HEAD_BYTES - slot.got);
                slot.head[slot.got..slot.got + part].copy_from_slice(&bytes[..part]);
            }
            slot.got += bytes.len();
            let expected = head(self.plan.token, slot.number);
            let wrong = slot.got > self.plan.response_bytes
                || slot.state != State::Asking
                || (slot.got >= HEAD_BYTES && slot.head != expected);
            if wrong {
                let error = io::Error::other("something else came instead of the answer");
                return self.fail(place, Failure::Wrong, &error);
            }
            if slot.got == self.plan.response_bytes {
                self.answered(place, now, received.stamp);
                if self.plan.kind == Kind::Kept {
                    return;
                }
            }
        }
    }

    fn answered(&mut self, place: usize, now: u64, stamp: Option<u64>) {
        let start_ns = self.start_ns as i64;
        let slot = &mut self.slots[place];
        if self.opening {
            slot.state = State::Free;
            self.opened += 1;
            return;
        }
        self.under_way -= 1;
        if let Some(row) = self.rows.get_mut(slot.row) {
            row.ended = now as i64 - start_ns;
            if let Some(stamp) = stamp {
                row.arrived = stamp as i64 - self.stamps_ahead_ns - start_ns;
            }
            if self.plan.stamps && row.left == UNKNOWN {
                self.take_stamps(place);
            }
        }
        if self.plan.kind == Kind::Own {
            self.slots[place].state = State::Closing;
            return;
        }
        self.slots[place].state = State::Free;
        self.next(place);
    }

    /// The slot is free: in a closed loop its next transaction begins at once.
    fn next(&mut self, place: usize) {
        let closed = self.arrivals.is_none();
        if closed && !self.report.full && monotonic_ns() < self.end_ns {
            self.begin(place, None);
        } else {
            self.free.push_back(place);
        }
    }

    /// The far end closed the connection, or it broke.
    fn ended(&mut self, place: usize, error: Option<io::Error>) {
        match self.slots[place].state {
            State::Closing => {
                self.slots[place].socket = None;
                self.slots[place].state = State::Free;
                self.next(place);
            }
            // It is opened again when it is needed.
            State::Free => self.slots[place].socket = None,
            _ => {
                let error =
                    error.unwrap_or_else(|| io::Error::other("the far end closed the connection"));
                self.fail(place, failure_of(&error, false), &error);
            }
        }
    }

    fn fail(&mut self, place: usize, failure: Failure, error: &io::Error) {
        let now = monotonic_ns();
        let ended = self.since_start(now);
        let slot = &mut self.slots[place];
        match std::mem::replace(&mut slot.state, State::Free) {
            // Nothing is under way that could fail: only the connection is of no use any more.
            State::Free => return slot.socket = None,
            State::Closing => {
                slot.socket = None;
                return self.paused.push(place);
            }
            State::Connecting | State::Asking => {}
        }
        if self.opening {
            if self.plan.kind == Kind::Udp && failure == Failure::Refused {
                slot.state = State::Asking; // the greeting is repeated
                return;
            }
            let said = || format!("connection {} failed: {error}", place + 1);
            self.problem.get_or_insert_with(said);
            return;
        }
        if let Some(row) = self.rows.get_mut(slot.row) {
            (row.failure, row.ended) = (failure, ended);
        }
        self.under_way -= 1;
        if self.plan.kind != Kind::Udp {
            slot.socket = None;
        }
        self.paused.push(place);
    }

    /// Reads stamps up to that of the request. True if there was one.
    fn take_stamps(&mut self, place: usize) -> bool {
        let start_ns = self.start_ns as i64;
        let slot = &self.slots[place];
        let mut taken = false;
        while let Some((key, stamp)) = left(slot.descriptor()) {
            taken = true;
            if key != slot.key {
                continue;
            }
            if let Some(row) = self.rows.get_mut(slot.row)
                && !self.opening
            {
                row.left = stamp as i64 - self.stamps_ahead_ns - start_ns;
            }
            break;
        }
        taken
    }

    /// Ends what takes too long.
    fn scan(&mut self, now: u64) {
        while let Some(&due_ns) = self.waiting.front()
            && now >= due_ns + self.plan.timeout_ns
        {
            self.waiting.pop_front();
            let (due, ended) = (self.since_start(due_ns), self.since_start(now));
            let mut row = Row::new(u32::MAX as usize, due, ended);
            (row.failure, row.ended) = (Failure::NotBegun, ended);
            self.rows.push(row);
        }
        self.free.extend(self.paused.drain(..));
        for place in 0..self.slots.len() {
            let slot = &mut self.slots[place];
            if now < slot.deadline_ns {
                continue;
            }
            let late = io::Error::from(io::ErrorKind::TimedOut);
            match slot.state {
                State::Free => {}
                State::Connecting => self.fail(place, Failure::NoConnection, &late),
                State::Asking => self.fail(place, Failure::NoAnswer, &late),
                State::Closing => {
                    slot.socket = None;
                    slot.state = State::Free;
                    self.free.push_back(place);
                }
            }
        }
    }

    fn since_start(&self, ns: u64) -> i64 {
        ns as i64 - self.start_ns as i64
    }
}

fn failure_of(error: &io::Error, connecting: bool) -> Failure {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => Failure::Refused,
        Some(libc::ETIMEDOUT) if connecting => Failure::NoConnection,
        Some(
            libc::EADDRNOTAVAIL
            | libc::EMFILE
            | libc::ENFILE
            | libc::ENOBUFS
            | libc::ENOMEM
            | libc::EAGAIN
            | libc::EPERM,
        ) => Failure::Local,
        _ if connecting => Failure::NoConnection,
        _ => Failure::Broken,
    }
}

#[cfg(test)]
mod tests;
