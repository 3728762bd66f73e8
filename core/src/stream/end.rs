//! `StreamEnd`: one end of all flows of a measurement. Receivers run from the start, senders when they are told to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::arrivals::in_one_window;
use super::report::{ReceiverReport, SenderReport, Task};
use super::socket;
use super::tcp_info::TcpInfo;
use super::{tcp, udp};

/// Number of round trip times that are sampled while sending.
const SAMPLES: u32 = 20;

struct Flow {
    task: Task,
    socket: Arc<OwnedFd>,
    drops_before: u64,
    ending: Arc<udp::Ending>,
    live: Arc<AtomicU64>,
}

pub struct StreamEnd {
    flows: Vec<Flow>,
    /// Of the times of arrivals.
    origin: Instant,
    stop: Arc<AtomicBool>,
    receivers: Vec<JoinHandle<ReceiverReport>>,
    sent: bool,
}

impl StreamEnd {
    /// Duplicates the sockets of the tasks, which may then be closed.
    pub fn new(tasks: Vec<Task>) -> io::Result<Self> {
        let mut end = StreamEnd {
            flows: Vec::with_capacity(tasks.len()),
            origin: Instant::now(),
            stop: Arc::default(),
            receivers: Vec::new(),
            sent: false,
        };
        for task in tasks {
            let flow = Flow::new(task)?;
            if !flow.task.sends {
                end.receivers
                    .push(flow.receive(end.origin, end.stop.clone())?);
            }
            end.flows.push(flow);
        }
        Ok(end)
    }

    /// Sends on every flow for `duration`, once. Connections are then closed in this direction.
    pub fn send(&mut self, duration: Duration) -> io::Result<Vec<SenderReport>> {
        let senders: Vec<&Flow> = self.flows.iter().filter(|flow| flow.task.sends).collect();
        if self.sent || senders.is_empty() {
            return Ok(Vec::new());
        }
        let stop = Arc::<AtomicBool>::default();
        let threads = senders
            .iter()
            .map(|flow| flow.send(stop.clone()))
            .collect::<io::Result<Vec<_>>>();
        let threads = match threads {
            Ok(threads) => threads,
            Err(error) => {
                stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        };
        let mut round_trips = vec![Vec::new(); senders.len()];
        let (start, step) = (Instant::now(), duration / SAMPLES);
        for sample in 1..=SAMPLES {
            thread::sleep((step * sample).saturating_sub(start.elapsed()));
            for (flow, times) in senders.iter().zip(&mut round_trips) {
                if let Some(info) = flow.tcp_info() {
                    times.push(info.rtt_us);
                }
            }
            if self.stop.load(Ordering::Relaxed) || threads.iter().all(JoinHandle::is_finished) {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        let mut reports = Vec::with_capacity(senders.len());
        for ((flow, thread), times) in senders.iter().zip(threads).zip(round_trips) {
            let mut report = thread.join().unwrap_or_else(|_| SenderReport {
                error: Some("its thread panicked".into()),
                ..SenderReport::default()
            });
            report.flow = flow.task.flow;
            report.tcp = flow.tcp_info();
            report.rtt_us = times;
            if !flow.task.udp {
                // SAFETY: shutdown takes a descriptor that is open, and a number. One that was reset is as good.
                unsafe { libc::shutdown(raw(&flow.socket), libc::SHUT_WR) };
            }
            reports.push(report);
        }
        self.sent = true;
        Ok(reports)
    }

    /// Waits for all receivers: TCP until the far end has closed, UDP until all datagrams `offered` (by flow) have
    /// arrived or nothing has arrived for `quiet`. After `patience` all receivers are stopped.
    pub fn received(
        &mut self,
        offered: &[(u32, u64)],
        quiet: Duration,
        patience: Duration,
    ) -> Vec<ReceiverReport> {
        for flow in &self.flows {
            let count = offered.iter().find(|(number, _)| *number == flow.task.flow);
            if let Some((_, count)) = count {
                let quiet_ns = quiet.as_nanos() as u64;
                flow.ending.quiet_ns.store(quiet_ns, Ordering::Release);
                flow.ending.offered.store(*count, Ordering::Release);
            }
        }
        let deadline = Instant::now() + patience;
        let numbers: Vec<u32> = self
            .flows
            .iter()
            .filter(|flow| !flow.task.sends)
            .map(|flow| flow.task.flow)
            .collect();
        let mut reports = Vec::with_capacity(numbers.len());
        for (number, thread) in numbers.into_iter().zip(self.receivers.drain(..)) {
            while !thread.is_finished() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(1));
            }
            let late = !thread.is_finished();
            if late {
                self.stop.store(true, Ordering::Relaxed);
            }
            let mut report = thread.join().unwrap_or_else(|_| ReceiverReport {
                error: Some("its thread panicked".into()),
                ..ReceiverReport::default()
            });
            report.flow = number;
            if late && report.error.is_none() {
                report.error = Some("the far end did not end".into());
            }
            reports.push(report);
        }
        let warm_up_ns = self
            .flows
            .iter()
            .find(|flow| !flow.task.sends && !flow.task.udp)
            .map_or(0, |flow| flow.task.warm_up_ns);
        let arrivals: Vec<_> = reports.iter().map(|report| &report.arrivals).collect();
        let (bytes, window_ns) = in_one_window(&arrivals, warm_up_ns);
        for (report, bytes) in reports.iter_mut().zip(bytes) {
            report.settled_bytes = bytes.iter().sum();
            (report.settled_parts, report.settled_ns) = (bytes.to_vec(), window_ns);
        }
        reports
    }

    /// What the kernel reports about each connection that sent, by flow; complete once the far end has read
    /// everything.
    pub fn connections(&self) -> Vec<(u32, TcpInfo)> {
        let senders = self.flows.iter().filter(|flow| flow.task.sends);
        senders
            .filter_map(|flow| flow.tcp_info().map(|info| (flow.task.flow, info)))
            .collect()
    }

    /// Bytes so far of all flows: sent, received.
    pub fn bytes(&self) -> (u64, u64) {
        let of = |sends: bool| {
            let flows = self.flows.iter().filter(|flow| flow.task.sends == sends);
            flows.map(|flow| flow.live.load(Ordering::Relaxed)).sum()
        };
        (of(true), of(false))
    }
}

impl Drop for StreamEnd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.receivers.drain(..) {
            // The panic of a thread has been printed already.
            let _ = thread.join();
        }
    }
}

impl Flow {
    fn new(task: Task) -> io::Result<Self> {
        // SAFETY: fcntl takes numbers; the duplicate is ours alone.
        let duplicate = unsafe { libc::fcntl(task.fd, libc::F_DUPFD_CLOEXEC, 0) };
        if duplicate < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and nobody else knows it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(duplicate) };
        socket::be_patient(descriptor.as_fd())?;
        let drops_before = if task.udp && !task.sends {
            udp::prepare(descriptor.as_fd(), task.segments > 1)?
        } else {
            0
        };
        Ok(Flow {
            task,
            socket: Arc::new(descriptor),
            drops_before,
            ending: Arc::new(udp::Ending::unknown()),
            live: Arc::default(),
        })
    }

    fn send(&self, stop: Arc<AtomicBool>) -> io::Result<JoinHandle<SenderReport>> {
        let (task, descriptor, live) = (self.task.clone(), self.socket.clone(), self.live.clone());
        thread::Builder::new()
            .name("keisoku-stream-tx".into())
            .spawn(move || {
                let (socket, size, rate) = (
                    descriptor.as_fd(),
                    task.message_bytes,
                    task.bytes_per_second,
                );
                if task.udp {
                    let segments = task.segments;
                    udp::send(socket, task.token, size, segments, rate, &stop, &live)
                } else {
                    tcp::send(socket, size, rate, &stop, &live)
                }
            })
    }

    fn receive(
        &self,
        origin: Instant,
        stop: Arc<AtomicBool>,
    ) -> io::Result<JoinHandle<ReceiverReport>> {
        let (task, descriptor, live) = (self.task.clone(), self.socket.clone(), self.live.clone());
        let (ending, drops_before) = (self.ending.clone(), self.drops_before);
        thread::Builder::new()
            .name("keisoku-stream-rx".into())
            .spawn(move || {
                let socket: BorrowedFd<'_> = descriptor.as_fd();
                if task.udp {
                    udp::receive(
                        socket,
                        task.token,
                        drops_before,
                        &ending,
                        origin,
                        &stop,
                        &live,
                    )
                } else {
                    tcp::receive(socket, task.message_bytes, origin, &stop, &live)
                }
            })
    }

    fn tcp_info(&self) -> Option<TcpInfo> {
        (!self.task.udp)
            .then(|| TcpInfo::of(self.socket.as_fd()).ok())
            .flatten()
    }
}

fn raw(socket: &OwnedFd) -> libc::c_int {
    use std::os::fd::AsRawFd;
    socket.as_raw_fd()
}
