//! All sending ports of the tester: their frames in the order in which they are sent.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use crate::account::record::Transmitter;
use crate::trial::Trial;
use crate::trial::switches::Switches;

use super::STAMP;
use super::device::Host;
use super::sender::{Leaving, Sender};
use super::server::Service;

pub struct Senders {
    ports: Vec<(usize, Sender)>,
    /// What each port sends next.
    leaving: Vec<Option<Leaving>>,
    /// Time and port of each of these, the earliest first.
    order: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Senders {
    /// `class` returns the class of a stream's next frame and the time that it needs on the line; it is called once
    /// for each frame.
    pub fn new(
        trial: &Trial,
        link_bits_per_second: f64,
        host: Option<&Host>,
        switches: Option<&Arc<Switches>>,
        mut class: impl FnMut(usize) -> (u32, Service),
    ) -> Self {
        let ports: BTreeSet<usize> = trial.streams.iter().map(|stream| stream.transmit).collect();
        let mut ports: Vec<_> = ports
            .into_iter()
            .map(|port| {
                (
                    port,
                    Sender::new(trial, port, link_bits_per_second, host, switches),
                )
            })
            .collect();
        let leaving: Vec<Option<Leaving>> = ports
            .iter_mut()
            .map(|(_, sender)| sender.next(&mut class))
            .collect();
        let timed = leaving.iter().enumerate();
        let order = timed
            .filter_map(|(place, next)| Some(Reverse((next.as_ref()?.sent_ps, place))))
            .collect();
        Senders {
            ports,
            leaving,
            order,
        }
    }

    /// The next frame of any port.
    #[inline]
    pub fn next(&mut self, class: impl FnMut(usize) -> (u32, Service)) -> Option<Leaving> {
        let mut first = self.order.peek_mut()?;
        let Reverse((_, place)) = *first;
        let (_, sender) = &mut self.ports[place];
        let now = self.leaving[place].take()?;
        sender.count(&now);
        self.leaving[place] = sender.next(class);
        match &self.leaving[place] {
            Some(next) => *first = Reverse((next.sent_ps, place)),
            None => drop(PeekMut::pop(first)),
        }
        Some(now)
    }

    /// Applies the changes of single streams, at `now_ns`; ports that had nothing to send continue.
    pub fn obey(&mut self, now_ns: u64, mut class: impl FnMut(usize) -> (u32, Service)) {
        for (place, (_, sender)) in self.ports.iter_mut().enumerate() {
            sender.obey(now_ns);
            if self.leaving[place].is_none()
                && let Some(next) = sender.next(&mut class)
            {
                self.order.push(Reverse((next.sent_ps, place)));
                self.leaving[place] = Some(next);
            }
        }
    }

    /// The device makes `port` pause.
    pub fn pause(&mut self, port: usize, until_ps: u64) {
        let own = self.ports.iter_mut().find(|(number, _)| *number == port);
        if let Some((_, sender)) = own {
            sender.pause(until_ps);
        }
    }

    pub fn are_done(&self) -> bool {
        self.order.is_empty()
    }

    pub fn finish(self) -> Vec<Transmitter> {
        let ports = self.ports.into_iter();
        ports
            .map(|(port, sender)| Transmitter {
                port,
                sent: sender.finish(),
                stamp: STAMP.into(),
            })
            .collect()
    }
}
