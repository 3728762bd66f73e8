//! Input ports with queues: a frame whose output has no room waits, and so do the frames behind it, whatever their
//! output (head-of-line blocking, RFC 2889 §5.5).
//!
//! An input hands over one frame at a time, at the rate of its line. It drops frames that do not fit into its buffer;
//! with back pressure it makes the sender pause before that (IEEE 802.3 annex 31B). It knows no streams.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::chance::{Concern, Draws};

use super::device;
use super::output_port::Queued;

pub struct Inputs {
    /// The queues by port.
    queues: Vec<Queue>,
    /// When the first frame of each queue that is not empty may continue. Queues with the same time take turns at
    /// random.
    order: BinaryHeap<Reverse<(u64, u64, usize)>>,
    buffer_bytes: u64,
    back_pressure: bool,
    ps_per_byte: f64,
    arbitration: Draws,
    draws: u64,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    occupied_bytes: u64,
    /// When the previous frame has been handed over.
    free_ps: u64,
}

/// A frame, or one copy of a frame that goes to several outputs.
pub struct Waiting {
    pub queued: Queued,
    pub output_port: usize,
    /// Bytes that it occupies, and for how long it keeps the input busy; zero for all copies but one.
    pub frame_bytes: u32,
    pub transfer_ps: u64,
}

impl Inputs {
    pub fn new(model: &device::Input, ports: usize, link_bits_per_second: f64, seed: u64) -> Self {
        Inputs {
            queues: (0..ports).map(|_| Queue::default()).collect(),
            order: BinaryHeap::new(),
            buffer_bytes: model.buffer_bytes,
            back_pressure: model.back_pressure,
            ps_per_byte: 8e12 / link_bits_per_second,
            arbitration: Draws::new(seed, Concern::Arbitration),
            draws: 0,
        }
    }

    /// A frame arrives. It is dropped if there is no room.
    pub fn push(&mut self, port: usize, waiting: Waiting) {
        let queue = &mut self.queues[port];
        let occupied_bytes = queue.occupied_bytes + u64::from(waiting.frame_bytes);
        if occupied_bytes > self.buffer_bytes {
            return;
        }
        queue.occupied_bytes = occupied_bytes;
        let first_ps = waiting.queued.ready_ps.max(queue.free_ps);
        queue.waiting.push_back(waiting);
        if queue.waiting.len() == 1 {
            self.line_up(first_ps, port);
        }
    }

    /// Hands over the frames that may continue before `until_ps`. `take` gets an output, a frame and the time, and
    /// returns when there will be room for the frame if there is none now.
    pub fn serve(&mut self, until_ps: u64, mut take: impl FnMut(usize, Queued) -> Option<u64>) {
        while let Some(&Reverse((now_ps, _, port))) = self.order.peek()
            && now_ps < until_ps
        {
            self.order.pop();
            let queue = &mut self.queues[port];
            let first = queue.waiting.front().expect("it is in line");
            let queued = Queued {
                ready_ps: now_ps,
                ..first.queued
            };
            let next_ps = if let Some(room_ps) = take(first.output_port, queued) {
                Some(room_ps)
            } else {
                queue.free_ps = now_ps + first.transfer_ps;
                queue.occupied_bytes -= u64::from(first.frame_bytes);
                queue.waiting.pop_front();
                let next = queue.waiting.front();
                next.map(|next| next.queued.ready_ps.max(queue.free_ps))
            };
            if let Some(next_ps) = next_ps {
                self.line_up(next_ps, port);
            }
        }
    }

    /// Until when the sender at `port` must pause; `None` if it need not.
    pub fn pause_until_ps(&self, port: usize, now_ps: u64) -> Option<u64> {
        let excess = self.queues[port]
            .occupied_bytes
            .saturating_sub(self.buffer_bytes / 2);
        (self.back_pressure && excess > 0)
            .then(|| now_ps + (excess as f64 * self.ps_per_byte) as u64)
    }

    fn line_up(&mut self, time_ps: u64, port: usize) {
        self.draws += 1;
        self.order
            .push(Reverse((time_ps, self.arbitration.draw(self.draws), port)));
    }
}
