//! An output port of a device with all frames that come to it from any input, and the receiver behind it.
//!
//! Frames wait here for their turn: they reach the port in order of ready time, which differs from the order of
//! departure. No frame is sent or lost at random here.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use super::outage::Outage;
use super::queues::{Coming, Queues};
use super::shared_output::SharedOutput;
use super::transit::{Class, SentFrame, Transit};

pub struct OutputPort {
    /// Index of the tester's port behind it.
    pub port: usize,
    pub last_received_ps: Option<u64>,
    /// Intact frames of streams that are meant for another port.
    pub misdirected: u64,
    output: SharedOutput,
    /// In place of the output, where it has queues for classes of traffic.
    queues: Option<Queues>,
    /// No frame is ready sooner than this after it was sent.
    least_latency_ps: u64,
    queue: BinaryHeap<Reverse<Queued>>,
    /// Frames that leave so late that the trial may be over before, in order.
    late: VecDeque<LateFrame>,
    /// How long after the last frame was sent the receiver waits for frames.
    drain_ps: u64,
    receive_clock: f64,
    outage: Option<Outage>,
    has_restarted: bool,
}

/// A frame on its way to an output.
#[derive(Clone, Copy)]
pub struct Queued {
    pub ready_ps: u64,
    /// Decides the order of frames of several inputs that are ready at the same time, then of frames of one input.
    pub turn: u64,
    pub frame: SentFrame,
    pub class: u32,
}

struct LateFrame {
    start_ps: u64,
    frame: SentFrame,
}

impl OutputPort {
    pub fn new(
        port: usize,
        output: SharedOutput,
        queues: Option<Queues>,
        least_latency_ps: u64,
        drain_ps: u64,
        receive_clock_ppm: f64,
        outage: Option<Outage>,
    ) -> Self {
        OutputPort {
            port,
            last_received_ps: None,
            misdirected: 0,
            output,
            queues,
            least_latency_ps,
            queue: BinaryHeap::new(),
            late: VecDeque::new(),
            drain_ps,
            receive_clock: receive_clock_ppm * 1e-6,
            outage,
            has_restarted: false,
        }
    }

    #[inline]
    pub fn push(&mut self, queued: Queued) {
        self.queue.push(Reverse(queued));
    }

    /// Frames are accounted when they are ready and no sooner, although none can precede them here: those of their
    /// streams at other outputs may.
    pub fn patient(self) -> Self {
        OutputPort {
            least_latency_ps: 0,
            ..self
        }
    }

    /// When the next frame is ready.
    pub fn ready_ps(&self) -> Option<u64> {
        self.queue.peek().map(|Reverse(first)| first.ready_ps)
    }

    /// Sends the next frame.
    pub fn send_first(&mut self, now_ps: u64, transits: &mut [Transit], classes: &[Class]) {
        if let Some(Reverse(first)) = self.queue.pop() {
            self.send(first, now_ps, transits, classes);
        }
    }

    /// Serves the frames that no frame sent at `now_ps` or later can precede.
    #[inline]
    pub fn serve(&mut self, now_ps: u64, transits: &mut [Transit], classes: &[Class]) {
        self.deliver(now_ps, transits);
        while let Some(Reverse(first)) = self.queue.peek()
            && first.ready_ps < now_ps + self.least_latency_ps
        {
            let first = *first;
            self.queue.pop();
            self.send(first, now_ps, transits, classes);
        }
        self.advance(now_ps + self.least_latency_ps, now_ps, transits);
    }

    /// Serves all remaining frames. The last frame of the trial was sent at `now_ps`.
    pub fn finish(&mut self, now_ps: u64, transits: &mut [Transit], classes: &[Class]) {
        self.deliver(now_ps, transits);
        while let Some(Reverse(first)) = self.queue.pop() {
            self.send(first, now_ps, transits, classes);
        }
        self.advance(u64::MAX, now_ps, transits);
    }

    /// When there will be room for a frame that is ready, if there is none now.
    pub fn room_ps(&mut self, queued: &Queued, classes: &[Class]) -> Option<u64> {
        let class = &classes[queued.class as usize];
        self.output.room_ps(queued.ready_ps, class.frame_bytes)
    }

    /// Sends a frame that is ready, after all earlier ones. Frames are sent from `now_ps` on.
    #[inline]
    pub fn send(
        &mut self,
        queued: Queued,
        now_ps: u64,
        transits: &mut [Transit],
        classes: &[Class],
    ) {
        let Queued {
            ready_ps, frame, ..
        } = queued;
        let class = &classes[queued.class as usize];
        if let Some(outage) = self.outage {
            if outage.destroys(frame.sent_ps, ready_ps) {
                return;
            }
            // Every frame sent before the outage was ready before it, so it has been served.
            if !self.has_restarted && outage.is_over(frame.sent_ps) {
                self.output.empty();
                if let Some(queues) = &mut self.queues {
                    queues.empty();
                }
                self.has_restarted = true;
            }
        }
        if self.queues.is_some() {
            self.advance(ready_ps, now_ps, transits);
        }
        for _ in 0..transits[frame.stream as usize].copies(frame.sequence) {
            if let Some(queues) = &mut self.queues {
                queues.come(Coming {
                    frame,
                    ready_ps,
                    bytes: class.frame_bytes,
                    service: class.service,
                    code: transits[frame.stream as usize].code(frame.sequence),
                });
                continue;
            }
            let Some(start_ps) = self.output.send(ready_ps, class.frame_bytes, class.service)
            else {
                continue;
            };
            if self
                .outage
                .is_some_and(|outage| outage.destroys(frame.sent_ps, start_ps))
            {
                continue;
            }
            let arrival = LateFrame { start_ps, frame };
            if start_ps > now_ps + self.drain_ps {
                self.late.push_back(arrival);
            } else {
                self.receive(&arrival, transits);
            }
        }
    }

    /// Where there are queues: sends the frames whose turn comes before `until_ps`.
    fn advance(&mut self, until_ps: u64, now_ps: u64, transits: &mut [Transit]) {
        let Some(mut queues) = self.queues.take() else {
            return;
        };
        queues.advance(until_ps, |frame, start_ps| {
            let destroyed = self
                .outage
                .is_some_and(|outage| outage.destroys(frame.sent_ps, start_ps));
            let arrival = LateFrame { start_ps, frame };
            if destroyed {
            } else if start_ps > now_ps + self.drain_ps {
                self.late.push_back(arrival);
            } else {
                self.receive(&arrival, transits);
            }
        });
        self.queues = Some(queues);
    }

    /// Receives the late frames that arrive in time, now that it is `now_ps`.
    #[inline]
    fn deliver(&mut self, now_ps: u64, transits: &mut [Transit]) {
        while let Some(arrival) = self.late.front()
            && arrival.start_ps <= now_ps + self.drain_ps
        {
            let arrival = self.late.pop_front().expect("it is at the front");
            self.receive(&arrival, transits);
        }
    }

    #[inline]
    fn receive(&mut self, arrival: &LateFrame, transits: &mut [Transit]) {
        let LateFrame { start_ps, frame } = arrival;
        let ahead_ps = (*start_ps as f64 * self.receive_clock) as i64;
        let received_ps = start_ps.saturating_add_signed(ahead_ps);
        let transit = &mut transits[frame.stream as usize];
        if !transit.is_meant_for(self.port) {
            self.misdirected += u64::from(transit.is_intact(frame.sequence));
            self.last_received_ps = Some(received_ps);
        } else if transit.receive(frame, self.port, received_ps) {
            self.last_received_ps = Some(received_ps);
        }
    }
}

impl Ord for Queued {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (self.ready_ps, self.turn).cmp(&(other.ready_ps, other.turn))
    }
}

impl PartialOrd for Queued {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Queued {}
