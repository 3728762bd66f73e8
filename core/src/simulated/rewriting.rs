//! What a simulated device writes into the headers of frames, and what the receiver sees of it.
//!
//! Python makes the rewritten frames in advance, one for each variant of a stream; this file chooses which frames they
//! replace. It knows no protocols.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;

use crate::account::changes::{Changes, ChangesRecord, EXPECTED, views};
use crate::account::frame_log::{Entry, FrameLog};
use crate::account::tracking::Outcome;
use crate::chance::{Chance, Concern, part_seed};
use crate::frame::signature;
use crate::frame::table::Table;
use crate::frame::view::{Free, Fronts, LONGEST};
use crate::trial::Trial;

use super::faults::STREAM_STEP;

/// Which frames are rewritten. What is absent excludes no frame.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Index of the stream in the trial.
    pub stream: Option<usize>,
    /// Of these sequence numbers only.
    pub frames: Option<HashSet<u64>>,
    /// One in so many, beginning with number `first`.
    pub every: Option<u64>,
    #[serde(default)]
    pub first: u64,
    pub ratio: Option<f64>,
}

/// What is watched in a trial, for all streams.
pub struct Watching {
    pub sent: Vec<Arc<Table>>,
    pub expected: Vec<Arc<Table>>,
    /// Bits that the device may set as it likes.
    pub free: Free,
    /// The frames of each table as they are after a rewriting. Of several that choose a frame the first one counts.
    pub rewritten: Vec<(Choice, Vec<Arc<Table>>)>,
    pub log: Option<Arc<FrameLog>>,
}

/// The receiver's view of one stream.
pub struct Watched {
    changes: Changes,
    fronts: Fronts,
    sent: Made,
    rewritten: Vec<(Choice, Option<Chance>, Made)>,
    log: Option<Arc<FrameLog>>,
    rows: Vec<Entry>,
    number: u16,
    port: usize,
}

/// Frames that arrive, and the view of each.
struct Made {
    table: Arc<Table>,
    views: Vec<u64>,
}

impl Made {
    fn new(table: &Arc<Table>, views: Vec<u64>) -> Self {
        Made {
            table: table.clone(),
            views,
        }
    }
}

impl Watching {
    pub fn stream(&self, trial: &Trial, number: usize) -> Watched {
        let stream = &trial.streams[number];
        let sent = &self.sent[stream.table];
        let headers = self.sent.iter().map(|table| table.checked_from);
        let window = headers.max().unwrap_or(0).next_multiple_of(8);
        let length = sent.frame(0).len();
        let views = |table: &Table| views(table, window, length, &self.free);
        let expected = views(&self.expected[stream.table]);
        let seed = trial
            .seed
            .wrapping_add((number as u64).wrapping_mul(STREAM_STEP));
        let own = self.rewritten.iter().enumerate();
        let own = own.filter(|(_, (choice, _))| choice.stream.is_none_or(|own| own == number));
        let rewritten = own.map(|(rule, (choice, tables))| {
            let seed = part_seed(seed, rule as u64);
            let chance = |ratio| Chance::new(ratio, seed, Concern::Rewrite);
            let made = Made::new(&tables[stream.table], views(&tables[stream.table]));
            (choice.clone(), choice.ratio.map(chance), made)
        });
        let rewritten = rewritten.collect();
        Watched {
            changes: Changes::new(expected, trial.streams.len()),
            sent: Made::new(sent, views(sent)),
            rewritten,
            fronts: Fronts::default(),
            log: self.log.clone(),
            rows: Vec::new(),
            number: trial.first_stream.wrapping_add(number as u16),
            port: stream.receive,
        }
    }
}

impl Choice {
    fn takes(&self, chance: Option<&Chance>, sequence: u64) -> bool {
        let every = self.every.unwrap_or(1);
        sequence >= self.first
            && (sequence - self.first).is_multiple_of(every)
            && self
                .frames
                .as_ref()
                .is_none_or(|own| own.contains(&sequence))
            && chance.is_none_or(|chance| chance.hits(sequence))
    }
}

impl Watched {
    /// A frame reaches the receiver; its `outcome` is absent if it is corrupt. Times are ns.
    pub fn receive(
        &mut self,
        sequence: u64,
        sent_ns: u64,
        received_ns: u64,
        outcome: Option<Outcome>,
    ) {
        let variant = self.changes.variant_of(sequence);
        let mut rules = self.rewritten.iter();
        let rule = rules.find(|(choice, chance, _)| choice.takes(chance.as_ref(), sequence));
        let made = rule.map_or(&self.sent, |(_, _, made)| made);
        let view = made.views[variant];
        let kind = self
            .changes
            .compare(sequence, outcome.is_none(), view, received_ns);
        if kind != EXPECTED && self.fronts.of(view).is_none() {
            let frame = made.table.frame(variant);
            let end = frame.len() - signature::LENGTH - made.table.room;
            let front = &frame[..end.min(LONGEST)];
            self.fronts.keep(view, front, frame.len(), &HashSet::new());
        }
        let Some(log) = &self.log else { return };
        if log.changed_only && kind == EXPECTED {
            return;
        }
        let (stream, port) = (self.number, self.port);
        self.rows.push(match outcome {
            Some(outcome) => {
                Entry::intact(stream, port, sequence, sent_ns, received_ns, outcome, kind)
            }
            None => Entry::corrupt(stream, port, sequence, received_ns, kind),
        });
    }

    /// Hands over the rows so far.
    pub fn flush(&mut self) {
        if let Some(log) = &self.log {
            log.append(&mut self.rows);
        }
    }

    pub fn finish(mut self) -> ChangesRecord {
        self.flush();
        self.changes.finish(0, &[&self.fronts])
    }
}
