//! The classes of frames of a trial: each size between each pair of ports once. It never carries a frame.

use std::collections::BTreeMap;

use super::device::{Distribution, Jitter};
use super::path::Path;
use super::transit::Class;

/// Each size between each pair of ports once.
#[derive(Default)]
pub struct Classes {
    pub all: Vec<Class>,
    pub index: BTreeMap<((usize, usize), u32), u32>,
}

impl Classes {
    pub fn of(&mut self, path: &Path, pair: (usize, usize), frame_bytes: u32) -> u32 {
        *self.index.entry((pair, frame_bytes)).or_insert_with(|| {
            self.all.push(Class::new(path, frame_bytes));
            self.all.len() as u32 - 1
        })
    }

    /// The shortest time after which a frame to `port` is ready.
    pub fn least_latency_ps(&self, port: usize, path: &Path) -> u64 {
        let shortens = |jitter: &Jitter| jitter.distribution == Distribution::Normal;
        if path.jitter().is_some_and(shortens) {
            return 0;
        }
        let to_port = self.index.iter().filter(|((pair, _), _)| pair.1 == port);
        to_port
            .map(|(_, class)| self.all[*class as usize].latency_ps)
            .min()
            .unwrap_or(0)
    }
}
